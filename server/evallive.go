package server

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/eval/live"
	"github.com/awaken-go/awaken/eval/live/jury"
	"github.com/awaken-go/awaken/eval/runner"
	"github.com/awaken-go/awaken/plugin/observe"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/trace"
)

// lives has the handlers of what is said about the runs of users by the policies of their agents.
type lives struct {
	worker *jury.Worker
	audit  *config.Manager // nil keeps no audit log
}

// live returns what keeps judgements, or nil.
func (e *Evals) live() live.Store {
	if e == nil {
		return nil
	}
	return e.Live
}

// newLives returns the handlers, or nil if the server does not judge runs.
func newLives(cfg *Config, evals *evaluations) *lives {
	if cfg.Evals.Live == nil || RuntimeOf(cfg.Mailbox.Tenant("")).Profile() == nil {
		return nil
	}
	queue := cfg.Mailbox.Queue()
	return &lives{audit: cfg.Control, worker: &jury.Worker{Store: cfg.Evals.Live, Budgets: RuntimeOf(cfg.Mailbox.Tenant("")).Profile(), Registry: evals.registry, Ask: evals.opinion, Ours: isExperiment,
		Runs: func(tenant string) jury.Runs { return queue.Handle(tenant).(jury.Runs) }, Judged: toldOf(cfg.Observer), Logger: cfg.Logger}}
}

// toldOf returns what tells an observer of judgements, or nil if there is none.
func toldOf(o *observe.Plugin) func(ctx context.Context, run *awaken.Run, j *live.Judgement) {
	if o == nil {
		return nil
	}
	return func(ctx context.Context, run *awaken.Run, j *live.Judgement) {
		for _, e := range evaluationsOf(j) {
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

// isExperiment reports whether a thread was made to try a run again with changes.
func isExperiment(t *awaken.Thread) bool {
	from := forkedOf(t)
	return from != nil && from.RunID != ""
}

func (h *lives) routes() []protocol.Route {
	const one = "/v1/eval/live/{run_id}"
	routes := []protocol.Route{
		{Method: "GET", Path: "/v1/eval/live", Access: protocol.Admins, Handle: Handle(h.list),
			Summary: "List what is said about runs of users, by the time that the runs were created, newest first",
			Query: []protocol.Param{Param("agent_id", "string", "only runs that were started with this agent"), Param("version", "string", "only runs of this version"),
				Param("status", "pending|judging|done|failed|in_doubt|skipped", "only judgements that are so"),
				Param("min_score", "number", "only with a score of at least this"), Param("max_score", "number", "only with a score below this"),
				Param("since", "string", "only runs created at or after this time, in RFC 3339"), Param("until", "string", "only runs created before this time, in RFC 3339"),
				Param("cursor", "string", "next_cursor of the previous page, with the same filters"), Param("limit", "integer", "maximum number of items, 1 to 200; default 50")},
			Replies: map[int]any{200: judgementList{}}},
		{Method: "GET", Path: one, Access: protocol.Admins, Handle: Handle(h.get),
			Summary: "Get what is said about a run", Replies: map[int]any{200: live.Judgement{}}},
		{Method: "POST", Path: one + "/retry", Access: protocol.Admins, Handle: Handle(h.retry),
			Summary: "Judge a run again that has no score; the judge may be paid twice", Replies: map[int]any{202: live.Judgement{}}, Failures: []int{404, 409}},
	}
	return append(routes, ForGlobalAdmins([]protocol.Route{
		{Method: "GET", Path: "/v1/eval/live-budgets", Handle: Handle(h.budgets),
			Summary: "List what judging runs of users has taken by day and agent, the latest day first", Replies: map[int]any{200: liveBudgets{}}},
	})...)
}

type judgementList struct {
	Judgements []*live.Judgement `json:"judgements"`
	HasMore    bool              `json:"has_more"`
	NextCursor string            `json:"next_cursor,omitempty"`
}

// score returns a parameter that is a score, or nil.
func score(req *Request, name string) (*float64, error) {
	text := req.Value(name)
	if text == "" {
		return nil, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return nil, protocol.BadRequest("%s is %q, want 0 to 1", name, text)
	}
	return &v, nil
}

// judgementQuery parses the filters of a list of judgements.
func judgementQuery(req *Request) (q live.Query, err error) {
	q = live.Query{Tenant: req.TenantName(), AgentID: req.Value("agent_id"), Version: req.Value("version"), Limit: req.Number("limit", 50, 1, 200)}
	if q.MinScore, err = score(req, "min_score"); err != nil {
		return q, err
	}
	if q.MaxScore, err = score(req, "max_score"); err != nil {
		return q, err
	}
	q.Since, q.Until, err = req.Times()
	return q, err
}

// afterJudgement has a query begin where the cursor of a list with these filters says.
func afterJudgement(req *Request, prefix, filters string, q *live.Query) (Keyset, error) {
	from, err := req.Behind(prefix, filters)
	if err != nil || from.At == "" {
		return from, err
	}
	q.After = new(live.Place)
	if json.Unmarshal([]byte(from.At), q.After) != nil {
		return from, ErrCursor
	}
	return from, nil
}

// judgements returns a page of judgements, and where it ends.
func judgements(req *Request, store live.Store, q live.Query) ([]*live.Judgement, Keyset, error) {
	limit := q.Limit
	q.Limit = 0
	from, err := afterJudgement(req, "jdg_", FiltersOf(req, q), &q)
	if err != nil {
		return nil, from, err
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

func (h *lives) list(req *Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	q, err := judgementQuery(req)
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

// judgementsOf returns what is said about runs, by their ids.
func judgementsOf(ctx context.Context, store live.Store, tenant string, runIDs ...string) (map[string]*live.Judgement, error) {
	out := map[string]*live.Judgement{}
	if store == nil || len(runIDs) == 0 {
		return out, nil
	}
	list, err := store.Judgements(ctx, live.Query{Tenant: tenant, RunIDs: runIDs})
	for _, j := range list {
		out[j.RunID] = j
	}
	return out, err
}

// evaluationsOf returns the scores of a run as events of its trace.
func evaluationsOf(j *live.Judgement) (out []trace.Evaluation) {
	if j.Status != live.Done {
		return nil
	}
	for _, s := range j.Scores {
		out = append(out, trace.Evaluation{Name: s.Scorer, Score: s.Score, Passed: s.Passed, Explanation: s.Reason, At: j.JudgedAt})
	}
	if v := j.Judge; v != nil {
		out = append(out, trace.Evaluation{Name: "judge", Score: v.Score, Passed: v.Score >= jury.Low, Explanation: v.Reasoning, Model: v.ModelID, Revision: v.Revision, At: j.JudgedAt})
	}
	return out
}

func (h *lives) get(req *Request) error {
	id := req.Path("run_id")
	known, err := judgementsOf(req.Context(), h.worker.Store, req.TenantName(), id)
	if err != nil {
		return err
	}
	if known[id] == nil {
		return protocol.NotFound("judgement of run", id)
	}
	return req.Reply(200, known[id])
}

func (h *lives) retry(req *Request) error {
	id := req.Path("run_id")
	j, err := h.worker.Retry(req.Context(), req.TenantName(), id)
	if err != nil {
		return err
	}
	if err := RecordChange(req, h.audit, "retry", "eval-live/"+id); err != nil {
		return err
	}
	return req.Reply(202, j)
}

type liveBudgets struct {
	Days []jury.Day `json:"days"`
}

func (h *lives) budgets(req *Request) error {
	days, err := h.worker.Days(req.Context())
	if err != nil {
		return err
	}
	return req.Reply(200, liveBudgets{append([]jury.Day{}, days...)})
}
