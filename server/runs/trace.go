package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/eval/archive"
	"github.com/awaken-go/awaken/eval/live"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/server/internal/judgement"
	"github.com/awaken-go/awaken/trace"
	"github.com/awaken-go/awaken/trace/body"
)

// traces has the handlers that show what runs did, in the shapes of the original.
type traces struct {
	control *config.Manager // nil if there is none
	live    live.Store      // what is said about runs; nil if none is judged

	pageBytes int // what a page has before it ends, even if the client asks for more lines
}

func (h *traces) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/traces", Needs: permit.ReadTraces, Handle: server.Handle(h.list),
			Summary: "List the traces of runs, newest first",
			Query: slices.Concat(runFilters, []protocol.Param{server.Param("thread_id", "string", "only runs of this thread"), server.UserParam,
				server.Param("prompt_id", "string", "only runs with this prompt; none has one"), server.Param("experiment_id", "string", "only runs of this experiment; none has one"),
				server.Param("variant_name", "string", "only runs of this variant; none has one"),
				server.Param("max_score", "number", "only runs that were judged by the policies of their agents and have a score below this, 0 to 1; not with offset")}, server.ListParams),
			Replies: map[int]any{200: traceList{}}},
		{Method: "GET", Path: "/v1/traces/{run_id}", Needs: permit.ReadTraces, Handle: server.Handle(h.get),
			Summary: "Get the trace of a run, one event per line; the headers x-trace-total-events and x-trace-next-offset have the number of events and the start of the next page",
			Query:   []protocol.Param{server.Param("offset", "integer", "number of events to skip; default 0"), server.Param("limit", "integer", "maximum number of events, 1 to 1000; default 1000")},
			Replies: map[int]any{200: server.NDJSON("")}},
	}
}

type traceList struct {
	Runs       []traceSummary `json:"runs"`
	HasMore    bool           `json:"has_more"`
	NextCursor string         `json:"next_cursor,omitempty"`
}

// traceSummary is a run in a list of traces.
type traceSummary struct {
	RunID       string   `json:"run_id"`
	AgentID     string   `json:"agent_id"`
	StartedAt   *string  `json:"started_at"`
	EndedAt     *string  `json:"ended_at"`
	PromptIDs   []string `json:"prompt_ids"` // always empty
	FinalStatus string   `json:"final_status,omitempty"`

	ThreadID  string           `json:"thread_id"`
	Version   string           `json:"version,omitempty"` // of the registry
	UserID    string           `json:"user_id,omitempty"`
	Status    awaken.RunStatus `json:"status"`
	ErrorCode string           `json:"error_code,omitempty"`
	Steps     int              `json:"steps"`
	CostUSD   float64          `json:"cost_usd"` // without children
	Pinned    bool             `json:"pinned,omitempty"`
	// JudgeScore is that of the model that judged the run, and Score the lowest of all scores.
	JudgeScore *float64 `json:"judge_score,omitempty"`
	Score      *float64 `json:"score,omitempty"`
}

func summaryOf(run *awaken.Run) traceSummary {
	s := traceSummary{RunID: run.RunID, AgentID: run.AgentID, StartedAt: timeText(run.StartedAt), EndedAt: timeText(run.FinishedAt), PromptIDs: []string{},
		FinalStatus: string(run.Termination.Type), ThreadID: run.ThreadID, Version: run.ResolutionID, UserID: run.UserID, Status: run.Status, Steps: run.Steps, CostUSD: run.CostUSD}
	if run.ErrorPayload != nil {
		s.ErrorCode = run.ErrorPayload.Code
	}
	return s
}

// timeText returns a time in Unix ms in RFC 3339, or nil for 0.
func timeText(ms int64) *string {
	if ms == 0 {
		return nil
	}
	return new(time.UnixMilli(ms).UTC().Format(time.RFC3339Nano))
}

func (h *traces) list(req *server.Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	q, err := runQuery(req)
	if err != nil {
		return err
	}
	out := traceList{Runs: []traceSummary{}}
	if req.Value("prompt_id") != "" || req.Value("experiment_id") != "" || req.Value("variant_name") != "" {
		return req.Reply(200, out)
	}
	if req.Value("max_score") != "" {
		return h.listJudged(req, q)
	}
	from, skip, err := req.Place("trc_", server.FiltersOf(req, q))
	if err != nil {
		return err
	}
	q.Offset, q.Limit = req.Page()
	if skip > 0 {
		q.Offset = skip
	}
	q.At = &from.At
	list, err := req.Tenant().Store.ListRuns(req.Context(), q)
	if err != nil {
		return server.BadPlace(err, q.Offset)
	}
	for _, run := range list {
		out.Runs = append(out.Runs, summaryOf(run))
	}
	out.HasMore, out.NextCursor = from.At != "", from.Next("trc_")
	return h.reply(req, out)
}

// reply replies with a page of traces, with what is said about their runs, and which of them are pinned.
func (h *traces) reply(req *server.Request, out traceList) error {
	ids := make([]string, len(out.Runs))
	for i := range out.Runs {
		ids[i] = out.Runs[i].RunID
	}
	known, err := judgement.Of(req.Context(), h.live, req.TenantName(), ids...)
	if err != nil {
		return err
	}
	pinned, err := runsOf(req, awaken.RunQuery{Pinned: true}, ids)
	if err != nil {
		return err
	}
	for i := range out.Runs {
		run := &out.Runs[i]
		run.Pinned = pinned[run.RunID] != nil
		if j := known[run.RunID]; j != nil {
			if run.Score = j.Score; j.Judge != nil {
				run.JudgeScore = &j.Judge.Score
			}
		}
	}
	return req.Reply(200, out)
}

// runsOf returns the runs with these ids that a query selects, by their ids.
func runsOf(req *server.Request, q awaken.RunQuery, ids []string) (map[string]*awaken.Run, error) {
	out := map[string]*awaken.Run{}
	if len(ids) == 0 {
		return out, nil
	}
	q.RunIDs, q.Limit = ids, len(ids)
	list, err := req.Tenant().Store.ListRuns(req.Context(), q)
	for _, run := range list {
		out[run.RunID] = run
	}
	return out, err
}

// A list of runs with a low score reads so many judgements at once, and so many times before it ends a page that is not full.
const (
	judgedAtOnce = 200
	judgedReads  = 20
)

// listJudged lists the runs with a low score that a query selects. Their agents, versions and times are those of their judgements.
func (h *traces) listJudged(req *server.Request, runs awaken.RunQuery) error {
	if req.Value("offset") != "" {
		return protocol.BadRequest("offset cannot be combined with max_score, want next_cursor of the previous page as cursor")
	}
	q, err := judgement.Query(req)
	if err != nil {
		return err
	}
	limit := q.Limit
	runs.AgentID, runs.Version, runs.Since, runs.Until = "", "", 0, 0
	q.Limit = 0
	from, err := req.Behind("trc_", server.FiltersOf(req, []any{q, runs}))
	if err != nil {
		return err
	}
	if !judgement.After(from.At, &q) {
		return server.ErrCursor
	}
	out := traceList{Runs: []traceSummary{}}
	if h.live == nil {
		return req.Reply(200, out)
	}
	q.Limit, out.HasMore = judgedAtOnce, true
	for n := 0; n < judgedReads && out.HasMore && len(out.Runs) < limit; n++ {
		list, err := h.live.Judgements(req.Context(), q)
		if err != nil {
			return err
		}
		ids := make([]string, len(list))
		for i, j := range list {
			ids[i] = j.RunID
		}
		found, err := runsOf(req, runs, ids)
		if err != nil {
			return err
		}
		out.HasMore = len(list) == judgedAtOnce
		for i, j := range list {
			if run := found[j.RunID]; run != nil {
				out.Runs = append(out.Runs, summaryOf(run))
			}
			q.After = new(j.Place())
			if len(out.Runs) == limit {
				out.HasMore = out.HasMore || i < len(list)-1
				break
			}
		}
	}
	if out.HasMore {
		at, err := json.Marshal(q.After)
		if err != nil {
			return err
		}
		from.At = string(at)
		out.NextCursor = from.Next("trc_")
	}
	return h.reply(req, out)
}

func (h *traces) get(req *server.Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	run, err := req.Run()
	if f, ok := errors.AsType[*protocol.Failure](err); ok && f.Status == http.StatusNotFound {
		return h.ofCell(req, err)
	}
	if err != nil {
		return err
	}
	rec, err := (&trace.Recorder{Source: req.Tenant().Store.(trace.Source), Alone: true, Before: true}).Record(req.Context(), run.RunID)
	if err != nil {
		return err
	}
	if h.control != nil {
		if reg, err := h.control.Pinned(req.Context(), run.ResolutionID); err == nil { // a version may be gone
			rec.Agent = reg.Agent(run.AgentID)
		}
	}
	children, err := req.Tenant().Store.ListRuns(req.Context(), awaken.RunQuery{ParentRunID: run.RunID, Limit: 200})
	if err != nil {
		return err
	}
	for _, child := range slices.Backward(children) {
		rec.Children = append(rec.Children, &trace.Recording{Run: child})
	}
	known, err := judgement.Of(req.Context(), h.live, req.TenantName(), run.RunID)
	if err != nil {
		return err
	}
	if j := known[run.RunID]; j != nil {
		rec.Evaluations = judgement.Evaluations(j)
	}
	asked, err := body.ReadSteps(req.Context(), req.Tenant().Store, run.ThreadID, run.RunID)
	if err != nil {
		return err
	}
	lines := rec.Lines(true)
	return h.writeLines(req, len(lines), func(i int) ([]byte, error) {
		in := lines[i].Inference
		if in == nil {
			return json.Marshal(lines[i])
		}
		list, err := asked.Of(*lines[i].StepIndex)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			in.Asked(r)
		}
		return json.Marshal(lines[i])
	})
}

// ofCell replies with the trace of a cell of an evaluation, or with an error if there is none.
func (h *traces) ofCell(req *server.Request, missing error) error {
	values, err := server.ProfileOf(req)
	if err != nil {
		return missing
	}
	t, err := archive.New(values).Trace(req.Context(), req.Path("run_id"))
	if errors.Is(err, awaken.ErrNotFound) {
		return missing
	}
	if err != nil {
		return err
	}
	return h.writeLines(req, len(t.Lines), func(i int) ([]byte, error) { return t.Lines[i], nil })
}

// writeLines replies with the page of a trace that a request asks for. Line returns one of total lines.
func (h *traces) writeLines(req *server.Request, total int, line func(i int) ([]byte, error)) error {
	offset, limit := req.Number("offset", 0, 0, 1<<31-1), req.Number("limit", 1000, 1, 1000)
	var page bytes.Buffer
	next, end := min(offset, total), min(total, offset+limit)
	for ; next < end && page.Len() < h.pageBytes; next++ {
		data, err := line(next)
		if err != nil {
			return err
		}
		page.Write(data)
		page.WriteByte('\n')
	}
	head := req.Writer().Header()
	head.Set("Content-Type", "application/x-ndjson")
	head.Set("X-Trace-Total-Events", strconv.Itoa(total))
	if next < total {
		head.Set("X-Trace-Next-Offset", strconv.Itoa(next))
	}
	req.Writer().WriteHeader(200)
	_, _ = page.WriteTo(req.Writer()) // the client may be gone
	return nil
}
