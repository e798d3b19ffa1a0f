package evals

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/archive"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
)

type onlineBody struct {
	UserInput    string            `json:"user_input"`
	Expectations *eval.Expectation `json:"expectations,omitempty"`
	Persist      *bool             `json:"persist,omitempty"` // keep the run; default true
	evalAgent
}

type onlineReply struct {
	Run       *archive.Run `json:"run"`
	Persisted bool         `json:"persisted"`
	// Statistics of each model, with 95 % intervals.
	Statistics []eval.Statistics `json:"statistics,omitempty"`
}

// online asks several models the same.
func (h *evaluations) online(req *server.Request, body *onlineBody) error {
	a, err := archiveOf(req)
	if err != nil {
		return err
	}
	if err := body.check(&h.limits); err != nil {
		return err
	}
	if err := body.permit(req); err != nil {
		return err
	}
	f := eval.Fixture{ID: "online", Exchange: eval.Exchange{UserInput: body.UserInput}}
	if body.Expectations != nil {
		f.Expect = *body.Expectations
	}
	if err := f.Validate(); err != nil {
		return protocol.BadRequest("%s", strings.Replace(server.Plain(err.Error()), "expect.", "expectations.", 1))
	}
	cases := []eval.Fixture{f}
	reg := h.registry()
	plan, err := body.plan([]*registry.Registry{reg}, cases, true)
	if err != nil {
		return err
	}
	if most := h.limits.OnlineCells; plan.Len() > most {
		return protocol.BadRequest("the evaluation has %d cells; want at most %d", plan.Len(), most)
	}
	plan.Limits.Concurrency = h.limits.OnlineConcurrency
	body.fit(plan, nil, false)
	run := &archive.Run{ID: h.newID(), DatasetID: adhoc, ExecutionMode: liveMode, CellCount: plan.Len(), Samples: plan.Samples}
	if body.Persist == nil || *body.Persist {
		return h.launch(req, a, run, evalRunBody{DatasetID: adhoc, Mode: liveMode, evalAgent: body.evalAgent}, reg.ID(), plan, cases, false, func(done *archive.Run) error {
			r := replyOf(done, nil, 0, false)
			return req.Reply(200, onlineReply{Run: r.Run, Persisted: true, Statistics: r.Statistics})
		})
	}
	ctx, cancel := h.streams.WhileServing(req)
	defer cancel()
	plan.Spend = h.jobs.Purse(req.TenantName()).Spend(context.WithoutCancel(ctx))
	run.Items, run.StartedAtSecs, run.Status = make([]eval.Item, plan.Len()), time.Now().Unix(), archive.Done
	if err := h.runner.Run(ctx, plan, func(n int, it eval.Item) error { run.Items[n] = it; return nil }); err != nil {
		return fmt.Errorf("evaluation: %w", err)
	}
	run.EndedAtSecs = time.Now().Unix()
	r := replyOf(run, nil, 0, false)
	return req.Reply(200, onlineReply{Run: r.Run, Statistics: r.Statistics})
}
