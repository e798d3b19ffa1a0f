package evals

import (
	"context"
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/eval/live"
	"github.com/awaken-go/awaken/eval/live/jury"
	"github.com/awaken-go/awaken/eval/runner"
	"github.com/awaken-go/awaken/plugin/observe"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/server/internal/forked"
	"github.com/awaken-go/awaken/server/internal/judgement"
)

// lives has the handlers of what is said about the runs of users by the policies of their agents.
type lives struct {
	worker *jury.Worker
	audit  *config.Manager // nil keeps no audit log
}

// newLives returns the handlers, or nil if the server does not judge runs.
func newLives(cfg *Config, k *server.Kernel, evals *evaluations) *lives {
	budgets := server.RuntimeOf(k.Mailbox.Tenant("")).Profile()
	if cfg.Live == nil || budgets == nil {
		return nil
	}
	queue := k.Mailbox.Queue()
	return &lives{audit: k.Control, worker: &jury.Worker{Store: cfg.Live, Budgets: budgets, Registry: evals.registry, Ask: evals.opinion, Ours: forked.IsExperiment,
		Runs: func(tenant string) jury.Runs { return queue.Handle(tenant).(jury.Runs) }, Judged: toldOf(cfg.Observer), Logger: k.Logger}}
}

// toldOf returns what tells an observer of judgements, or nil if there is none.
func toldOf(o *observe.Plugin) func(ctx context.Context, run *awaken.Run, j *live.Judgement) {
	if o == nil {
		return nil
	}
	return func(ctx context.Context, run *awaken.Run, j *live.Judgement) {
		for _, e := range judgement.Evaluations(j) {
			o.Evaluated(ctx, run, e)
		}
	}
}

// opinion asks a model about an answer.
func (h *evaluations) opinion(ctx context.Context, q jury.Question) (jury.Opinion, error) {
	g := &runner.Judge{Registry: q.Registry, ModelID: q.ModelID, Rubric: q.Rubric, Votes: q.Votes}
	o, err := h.runner.Judge(ctx, g, q.Said, q.Answer)
	return jury.Opinion{Verdict: live.Verdict{ModelID: q.ModelID, Score: o.Score, Reasoning: o.Reasoning, Revision: g.Revision()}, Tokens: o.Tokens, CostUSD: o.CostUSD}, err
}

func (h *lives) routes() []protocol.Route {
	const one = "/v1/eval/live/{run_id}"
	return []protocol.Route{
		{Method: "GET", Path: "/v1/eval/live", Needs: permit.ReadEvals, Handle: server.Handle(h.list),
			Summary: "List the judgements of production runs, newest runs first",
			Query: []protocol.Param{server.Param("agent_id", "string", "only runs that were started with this agent"), server.Param("version", "string", "only runs of this version"),
				server.Param("status", "pending|judging|done|failed|in_doubt|skipped", "only judgements with this status"),
				server.Param("min_score", "number", "only with a score of at least this"), server.Param("max_score", "number", "only with a score below this"),
				server.Param("since", "string", "only runs created at or after this time, in RFC 3339"), server.Param("until", "string", "only runs created before this time, in RFC 3339"),
				server.Param("cursor", "string", "next_cursor of the previous page, with the same filters"), server.Param("limit", "integer", "maximum number of items, 1 to 200; default 50")},
			Replies: map[int]any{200: judgementList{}}},
		{Method: "GET", Path: one, Needs: permit.ReadEvals, Handle: server.Handle(h.get),
			Summary: "Get the judgement of a run", Replies: map[int]any{200: live.Judgement{}}},
		{Method: "POST", Path: one + "/retry", Needs: permit.RunEvals, Handle: server.Handle(h.retry),
			Summary: "Retry the judgement of a run without a score; the judge may be paid twice", Replies: map[int]any{202: live.Judgement{}}, Failures: []int{404, 409}},
		{Method: "GET", Path: "/v1/eval/live-budgets", Needs: permit.ReadServer, Handle: server.Handle(h.budgets),
			Summary: "List the cost of judgements by day and agent, latest day first", Replies: map[int]any{200: liveBudgets{}}},
	}
}

type judgementList struct {
	Judgements []*live.Judgement `json:"judgements"`
	HasMore    bool              `json:"has_more"`
	NextCursor string            `json:"next_cursor,omitempty"`
}

// judgements returns a page of judgements, and where it ends.
func judgements(req *server.Request, store live.Store, q live.Query) ([]*live.Judgement, server.Keyset, error) {
	limit := q.Limit
	q.Limit = 0
	from, err := req.Behind("jdg_", server.FiltersOf(req, q))
	if err != nil {
		return nil, from, err
	}
	if !judgement.After(from.At, &q) {
		return nil, from, server.ErrCursor
	}
	q.Limit = limit + 1
	list, err := store.Judgements(req.Context(), q)
	if err != nil {
		return nil, from, err
	}
	if from.At = ""; len(list) > limit {
		list = list[:limit]
		at, err := json.Marshal(list[limit-1].Place())
		if err != nil {
			return nil, from, err
		}
		from.At = string(at)
	}
	return list, from, nil
}

func (h *lives) list(req *server.Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	q, err := judgement.Query(req)
	if err != nil {
		return err
	}
	q.Status = live.Status(req.Value("status"))
	list, from, err := judgements(req, h.worker.Store, q)
	if err != nil {
		return err
	}
	return req.Reply(200, judgementList{Judgements: append([]*live.Judgement{}, list...), HasMore: from.At != "", NextCursor: from.Next("jdg_")})
}

func (h *lives) get(req *server.Request) error {
	id := req.Path("run_id")
	known, err := judgement.Of(req.Context(), h.worker.Store, req.TenantName(), id)
	if err != nil {
		return err
	}
	if known[id] == nil {
		return protocol.NotFound("judgement of run", id)
	}
	return req.Reply(200, known[id])
}

func (h *lives) retry(req *server.Request) error {
	id := req.Path("run_id")
	j, err := h.worker.Retry(req.Context(), req.TenantName(), id)
	if err != nil {
		return err
	}
	if err := server.RecordChange(req, h.audit, "retry", "eval-live/"+id); err != nil {
		return err
	}
	return req.Reply(202, j)
}

type liveBudgets struct {
	Days []jury.Day `json:"days"`
}

func (h *lives) budgets(req *server.Request) error {
	days, err := h.worker.Days(req.Context())
	if err != nil {
		return err
	}
	return req.Reply(200, liveBudgets{append([]jury.Day{}, days...)})
}
