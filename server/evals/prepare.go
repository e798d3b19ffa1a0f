package evals

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/archive"
	"github.com/awaken-go/awaken/eval/job"
	"github.com/awaken-go/awaken/eval/runner"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
)

// prepared is a run that can be started.
type prepared struct {
	archive *archive.Archive
	mode    string
	regs    []*registry.Registry
	plan    *runner.Plan
	run     archive.Run // without an id
}

// prepare checks a request and plans its run. If the run is a repetition, body becomes the request of the first run.
func (h *evaluations) prepare(req *server.Request, body *evalRunBody) (*prepared, error) {
	a, err := archiveOf(req)
	if err != nil {
		return nil, err
	}
	p := &prepared{archive: a}
	var cases []eval.Fixture
	if body.RepeatOf != "" {
		if cases, err = p.repeat(req.Context(), body); err != nil {
			return nil, err
		}
	}
	if p.mode, err = body.mode(); err != nil {
		return nil, err
	}
	if p.mode == liveMode {
		if err := body.check(&h.limits); err != nil {
			return nil, err
		}
		if err := body.permit(req); err != nil {
			return nil, err
		}
	}
	if d := body.InDoubt; d != "" && d != job.ReportInDoubt && d != job.RetryInDoubt {
		return nil, protocol.BadRequest("in_doubt is %q; want %s or %s", d, job.ReportInDoubt, job.RetryInDoubt)
	}
	if body.RepeatOf == "" {
		if cases, err = p.cases(req.Context(), body.DatasetID); err != nil {
			return nil, err
		}
	}
	if p.regs, err = h.versions(req, body); err != nil {
		return nil, err
	}
	if p.plan, err = body.plan(p.regs, cases, p.mode == liveMode); err != nil {
		return nil, err
	}
	p.plan.Limits.Concurrency = h.limits.Concurrency
	p.run.ExecutionMode, p.run.CellCount, p.run.Samples = p.mode, p.plan.Len(), p.plan.Samples
	return p, nil
}

// cases returns the cases of a dataset.
func (p *prepared) cases(ctx context.Context, id string) ([]eval.Fixture, error) {
	if id == "" {
		return nil, protocol.BadRequest("dataset_id is missing; want the id of a dataset")
	}
	d, err := p.archive.Dataset(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(d.Spec.Fixtures) == 0 {
		return nil, protocol.BadRequest("dataset %q has no fixtures; want one or more", id)
	}
	p.run.DatasetID, p.run.DatasetRevision = id, d.Meta.Revision
	return d.Spec.Fixtures, nil
}

// repeat replaces body by the request of the run that it repeats, and returns the cases of that run.
func (p *prepared) repeat(ctx context.Context, body *evalRunBody) ([]eval.Fixture, error) {
	asked := *body
	first, err := p.archive.Header(ctx, asked.RepeatOf)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, server.Fail(http.StatusNotFound, "not_found", "repeat_of is %q, which is not found; want the id of an eval run", asked.RepeatOf)
	}
	if err != nil {
		return nil, err
	}
	alone := evalRunBody{RepeatOf: asked.RepeatOf, BaselineRunID: asked.BaselineRunID, InDoubt: asked.InDoubt, Traces: asked.Traces}
	if !sameJSON(alone, asked) {
		return nil, protocol.BadRequest("repeat_of is %q with other fields; want only baseline_run_id, in_doubt and traces besides", asked.RepeatOf)
	}
	if first.DatasetID == adhoc {
		return nil, protocol.BadRequest("repeat_of is %q, which has no dataset; want a run over a dataset", asked.RepeatOf)
	}
	cases, err := p.archive.Cases(ctx, asked.RepeatOf)
	if err != nil {
		return nil, err
	}
	*body = evalRunBody{}
	if err := json.Unmarshal(first.Request, body); err != nil {
		return nil, err
	}
	body.RepeatOf, body.BaselineRunID = asked.RepeatOf, asked.BaselineRunID
	if asked.InDoubt != "" {
		body.InDoubt = asked.InDoubt
	}
	if asked.Traces != nil {
		body.Traces = asked.Traces
	}
	p.run.DatasetID, p.run.DatasetRevision = first.DatasetID, first.DatasetRevision
	return cases, nil
}

func sameJSON(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(x) == string(y)
}

// evalEstimate is what a run probably takes, and its limits.
type evalEstimate struct {
	runner.Estimate
	Limits evalLimits `json:"limits"` // the limits of the request, or else limits that leave room above the estimate
}

type evalLimits struct {
	MaxWalltime *int64   `json:"max_walltime_secs,omitempty"` // absent with Prefer: respond-async, unless the request has one
	MaxTokens   *int64   `json:"max_total_tokens,omitempty"`
	MaxCostUSD  *float64 `json:"max_cost_usd,omitempty"` // absent if a model has no prices
}

// estimate says what a run would take.
func (h *evaluations) estimate(req *server.Request, body *evalRunBody) error {
	p, err := h.prepare(req, body)
	if err != nil {
		return err
	}
	out := evalEstimate{Estimate: runner.Estimate{Cells: p.plan.Len()}}
	if p.mode == liveMode {
		if out.Estimate, err = h.fit(req.Context(), p, body, prefersAsync(req.HTTP())); err != nil {
			return err
		}
		out.Limits = evalLimits{body.MaxWalltime, body.MaxTokens, body.MaxCostUSD}
	}
	return req.Reply(200, out)
}

// fit gives a live run the limits that the request leaves open, by an estimate, and writes them into the body, so that they are stored with the run. A run
// that no client waits for has no limit of time by default.
func (h *evaluations) fit(ctx context.Context, p *prepared, body *evalRunBody, async bool) (runner.Estimate, error) {
	seen, err := earlier(ctx, p)
	if err != nil {
		return runner.Estimate{}, err
	}
	return body.fit(p.plan, seen, async), nil
}

// fit sets the limits of a plan that are open, in the plan and in the body.
func (b *evalAgent) fit(plan *runner.Plan, seen []eval.Item, async bool) runner.Estimate {
	e := plan.Fit(seen)
	l := &plan.Limits
	if b.MaxTokens == nil {
		b.MaxTokens = new(l.Tokens)
	}
	if b.MaxCostUSD == nil && l.USD > 0 {
		b.MaxCostUSD = new(l.USD)
	}
	switch {
	case b.MaxWalltime != nil:
	case async:
		l.Time = 0
	default:
		b.MaxWalltime = new(int64(l.Time / time.Second))
	}
	return e
}

// lookedAt is how many of the newest runs are searched for one over the same dataset.
const lookedAt = 200

// earlier returns the items of the newest completed run over the same dataset that asked models, if there is one.
func earlier(ctx context.Context, p *prepared) ([]eval.Item, error) {
	n := 0
	for h, err := range p.archive.Runs(ctx, "") {
		if err != nil {
			return nil, err
		}
		if h.DatasetID == p.run.DatasetID && h.ExecutionMode == liveMode && h.Status == archive.Done && h.CellCount <= 1000 {
			run, err := p.archive.Run(ctx, h.ID)
			if errors.Is(err, awaken.ErrNotFound) {
				continue // it was deleted meanwhile
			}
			if err != nil {
				return nil, err
			}
			return run.Items, nil
		}
		if n++; n == lookedAt {
			break
		}
	}
	return nil, nil
}
