package runs

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// runs has the handlers of runs.
type runs struct {
	streams *server.Streams
}

func (h *runs) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/threads/{thread_id}/runs", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: server.Handle(h.list),
			Summary: "List the thread's runs, newest first", Query: slices.Concat(runFilters, server.ListParams), Replies: map[int]any{200: runList{}}},
		{Method: "GET", Path: "/v1/threads/{thread_id}/runs/latest", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: server.Handle(h.latest),
			Summary: "Get the thread's latest run", Replies: map[int]any{200: awaken.Run{}}},
		{Method: "GET", Path: "/v1/threads/{thread_id}/runs/active", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: server.Handle(h.active),
			Summary: "Get the thread's open run", Replies: map[int]any{200: activeRunBody{}}},
		{Method: "GET", Path: "/v1/runs", Needs: permit.ReadThreads, Scope: protocol.ByCaller, Handle: server.Handle(h.list),
			Summary: "List runs, newest first", Query: slices.Concat(runFilters, []protocol.Param{server.Param("thread_id", "string", "only runs of this thread"), server.UserParam}, server.ListParams), Replies: map[int]any{200: runList{}}},
		{Method: "POST", Path: "/v1/runs", Needs: permit.StartRuns, Scope: protocol.ByCaller, Handle: server.HandleBody(h.start),
			Summary: "Start a run and stream its events, or wait for its result", Headers: server.OnceOnly, Body: newRun{}, Replies: map[int]any{200: runResult{}},
			Failures: []int{409, 504}, Stream: true, Events: "#Event"},
		{Method: "GET", Path: "/v1/runs/{run_id}", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: server.Handle(h.get),
			Summary: "Get a run", Replies: map[int]any{200: awaken.Run{}}},
		{Method: "POST", Path: "/v1/runs/{run_id}/inputs", Needs: permit.StartRuns, Scope: protocol.ByPath, Handle: server.HandleBody(h.addInputs),
			Summary: "Send messages to a run", Headers: server.OnceOnly, Body: runInputs{}, Replies: map[int]any{202: runAccepted{}}, Failures: []int{409}},
		{Method: "POST", Path: "/v1/runs/{run_id}/cancel", Needs: permit.CancelRuns, Scope: protocol.ByPath, Handle: server.Handle(h.cancel),
			Summary: "Cancel a run", Replies: map[int]any{202: runAccepted{}}},
		{Method: "POST", Path: "/v1/runs/{run_id}/continue", Needs: permit.StartRuns, Scope: protocol.ByPath, Handle: server.Handle(h.resume),
			Summary: "Continue a run that waits for budget or for its pinned version", Replies: map[int]any{202: runAccepted{}}, Failures: []int{409}},
	}
}

// runFilters are the parameters that [runQuery] reads.
var runFilters = []protocol.Param{server.Param("status", "created|running|waiting|done", "only runs with this status"),
	server.Param("agent_id", "string", "only runs of this agent"),
	server.Param("version", "string", "only runs pinned to this registry version"),
	server.Param("origin", "user|mcp|subagent|internal", "only runs with this origin"),
	server.Param("outcome", "natural_end|behavior_requested|stopped|cancelled|blocked|error", "only runs that ended so"),
	server.Param("waiting_reason", "tool_permission|user_input|background_tasks|budget_exhausted|pin_unavailable|restored",
		"only runs that wait for this"),
	server.Param("parent_run_id", "string", "only children of this run"),
	server.Param("root", "boolean", "only runs without a parent"),
	server.Param("tool", "string", "only runs that called this tool"),
	server.Param("in_doubt", "boolean", "only runs that have had a call in doubt"),
	server.Param("error_code", "string", "only runs that failed with this code"),
	server.Param("min_cost_usd", "number", "only runs that wait or are done and cost at least this much, without children"),
	server.Param("min_duration_ms", "integer", "only done runs that took at least this long from start to end"),
	server.Param("pinned", "boolean", "only pinned runs"),
	server.Param("since", "string", "only runs created at or after this time, in RFC 3339"),
	server.Param("until", "string", "only runs created before this time, in RFC 3339"),
	server.Param("q", "string", "only runs whose ids, agent, question, reason, error or answer contain this text; case does not matter")}

type runList struct {
	Items []*awaken.Run `json:"items"`
	Total int           `json:"total"`
	// TotalAtLeast says that there may be more than Total: the server does not count further.
	TotalAtLeast bool   `json:"total_at_least,omitempty"`
	HasMore      bool   `json:"has_more"`
	NextCursor   string `json:"next_cursor,omitempty"`
}

// list lists all runs, or the runs of the thread in the path.
func (h *runs) list(req *server.Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	q, err := runQuery(req)
	if err != nil {
		return err
	}
	filters := server.FiltersOf(req, q)
	from, skip, err := req.Place("run_", filters)
	if err != nil {
		return err
	}
	q.Offset, q.Limit = req.Page()
	if skip > 0 {
		q.Offset = skip
	}
	counted := ""
	q.At = &counted
	total, err := req.Tenant().Store.CountRuns(req.Context(), q)
	if err != nil {
		return err
	}
	q.At = &from.At
	list, err := req.Tenant().Store.ListRuns(req.Context(), q)
	if err != nil {
		return server.BadPlace(err, q.Offset)
	}
	if list == nil {
		list = []*awaken.Run{}
	}
	return req.Reply(200, runList{Items: list, Total: total, TotalAtLeast: counted != "", HasMore: from.At != "", NextCursor: from.Next("run_")})
}

// runQuery parses the filters of a list of runs.
func runQuery(req *server.Request) (q awaken.RunQuery, err error) {
	q = awaken.RunQuery{Status: awaken.RunStatus(req.Value("status")), AgentID: req.Value("agent_id"), Version: req.Value("version"), Origin: req.Value("origin"),
		Outcome: awaken.TerminationType(req.Value("outcome")), Waiting: awaken.WaitingReason(req.Value("waiting_reason")),
		ParentRunID: req.Value("parent_run_id"), Root: req.Value("root") == "true", Tool: req.Value("tool"), InDoubt: req.Value("in_doubt") == "true",
		ErrorCode: req.Value("error_code"), Text: req.Value("q"), ThreadID: req.Value("thread_id"), MinDuration: int64(req.Number("min_duration_ms", 0, 0, 1<<31-1)), Pinned: req.Value("pinned") == "true"}
	if q.Root && q.ParentRunID != "" {
		return q, protocol.BadRequest("root=true cannot be combined with parent_run_id")
	}
	if text := req.Value("min_cost_usd"); text != "" {
		if q.MinCostUSD, err = strconv.ParseFloat(text, 64); err != nil || !(q.MinCostUSD >= 0 && q.MinCostUSD <= 1e9) {
			return q, protocol.BadRequest("min_cost_usd is %q, want 0 to 1000000000", text)
		}
	}
	if q.Since, q.Until, err = req.Times(); err != nil {
		return q, err
	}
	if q.Owner, err = req.Owner(); err != nil {
		return q, err
	}
	if id := req.Path("thread_id"); id != "" {
		if _, err := req.Thread(); err != nil {
			return q, err
		}
		q.ThreadID = id
	}
	return q, nil
}

func (h *runs) get(req *server.Request) error {
	return req.OK(req.Run())
}

func (h *runs) latest(req *server.Request) error {
	t, err := req.Thread()
	if err != nil {
		return err
	}
	if t.LatestRunID == "" {
		return server.Fail(404, "not_found", "run not found: no runs for thread %s", t.ID)
	}
	return req.OK(req.Tenant().Store.LoadRun(req.Context(), t.LatestRunID))
}

type activeRun struct {
	ThreadID          string             `json:"thread_id"`
	RunID             string             `json:"run_id"`
	AgentID           string             `json:"agent_id"`
	Status            awaken.RunStatus   `json:"status"`
	TerminationReason awaken.Termination `json:"termination_reason,omitzero"`
	DispatchID        string             `json:"dispatch_id,omitempty"`
	SessionID         string             `json:"session_id,omitempty"`
	Waiting           *awaken.Waiting    `json:"waiting,omitempty"`
}

type activeRunBody struct {
	ActiveRun *activeRun `json:"active_run"`
}

func (h *runs) active(req *server.Request) error {
	t, err := req.Thread()
	if err != nil {
		return err
	}
	var out activeRunBody
	if t.OpenRunID != "" {
		r, err := req.Tenant().Store.LoadRun(req.Context(), t.OpenRunID)
		if err != nil {
			return err
		}
		out.ActiveRun = &activeRun{ThreadID: r.ThreadID, RunID: r.RunID, AgentID: r.AgentID, Status: r.Status, TerminationReason: r.Termination,
			DispatchID: r.DispatchID, SessionID: r.SessionID, Waiting: r.Waiting}
	}
	return req.Reply(200, out)
}

type newRun struct {
	AgentID       *string                   `json:"agent_id,omitempty"`
	AgentIDCamel  *string                   `json:"agentId,omitempty"`
	ThreadID      string                    `json:"thread_id,omitempty"`
	ThreadIDCamel string                    `json:"threadId,omitempty"`
	UserID        string                    `json:"user_id,omitempty"` // the user of the run
	Messages      []server.InputMessage     `json:"messages"`
	Mode          string                    `json:"mode,omitempty"`
	Priority      string                    `json:"priority,omitempty"` // interactive, the default, or background: it waits for those that a user waits for
	Stream        *bool                     `json:"stream,omitempty"`   // false waits for the run and replies with its result
	Overrides     *awaken.InferenceOverride `json:"overrides,omitempty"`
	FrontendTools []awaken.ToolSpec         `json:"frontend_tools,omitempty"`
	OutputSchema  json.RawMessage           `json:"output_schema,omitempty"` // JSON Schema of the answer
	Budget        *awaken.RunBudget         `json:"budget,omitempty"`
}

// runResult is the response to a request that waited for its run.
type runResult struct {
	RunID       string             `json:"run_id"`
	ThreadID    string             `json:"thread_id"`
	Response    string             `json:"response"`
	Output      json.RawMessage    `json:"structured_output,omitempty"` // the answer, valid against output_schema
	Status      awaken.RunStatus   `json:"status"`
	Termination awaken.Termination `json:"termination"`
	Waiting     *awaken.Waiting    `json:"waiting,omitempty"`
	Usage       llm.Usage          `json:"usage"`
	Cost        float64            `json:"cost"`
	// FinishReason says why the model stopped its last answer.
	FinishReason llm.FinishReason    `json:"finish_reason,omitempty"`
	Diagnostics  []awaken.Diagnostic `json:"diagnostics,omitempty"`
}

// start accepts a run. The response is its stream or, with "stream": false or Accept:
// application/json, its result.
func (h *runs) start(req *server.Request, body *newRun) error {
	r, err := submit(req, body)
	if err != nil {
		return err
	}
	if body.Stream != nil && !*body.Stream || body.Stream == nil && prefersJSON(req.HTTP().Header.Get("Accept")) {
		return h.await(req, r)
	}
	return h.streams.Follow(req, r.ThreadID, r.RunID, r.After, r.New, server.NewFormat("raw", server.RawFrames))
}

// submit accepts a run, and says in the response's headers which it is.
func submit(req *server.Request, body *newRun) (*mailbox.Receipt, error) {
	switch {
	case body.AgentID == nil && body.AgentIDCamel == nil:
		return nil, protocol.InvalidBody("agent_id is missing")
	case body.Messages == nil:
		return nil, protocol.InvalidBody("messages is missing")
	}
	agent, err := protocol.Either("agent_id", valueOf(body.AgentID), valueOf(body.AgentIDCamel))
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(agent) == "" {
		return nil, protocol.BadRequest("agent_id is empty")
	}
	thread, err := protocol.Either("thread_id", body.ThreadID, body.ThreadIDCamel)
	if err != nil {
		return nil, err
	}
	if err := protocol.CheckID("thread_id", thread); err != nil {
		return nil, err
	}
	msgs, err := server.MessagesOf(body.Messages)
	if err != nil {
		return nil, err
	}
	s, err := server.NewSubmission(req, body.Mode, mailbox.ModeInterrupt, "", body.Priority)
	if err != nil {
		return nil, err
	}
	if s.Request.UserID, err = req.ForUser(body.UserID); err != nil {
		return nil, err
	}
	s.Request.AgentID, s.Request.ThreadID, s.Request.Messages = agent, thread, msgs
	s.Request.Overrides, s.Request.FrontendTools = body.Overrides, body.FrontendTools
	s.Request.OutputSchema, s.Request.Budget = body.OutputSchema, body.Budget
	if s.Said, err = protocol.SayLast(msgs, agent); err != nil {
		return nil, err
	}
	r, err := server.Submit(req, s)
	if err != nil {
		return nil, err
	}
	req.Writer().Header().Set("X-Run-Id", r.RunID)
	req.Writer().Header().Set("X-Thread-Id", r.ThreadID)
	return r, nil
}

// valueOf returns the value of a field, or "" if it is missing.
func valueOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// prefersJSON reports whether a client accepts JSON and no stream.
func prefersJSON(accept string) bool {
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/event-stream")
}

// await replies when the run has ended or waits.
func (h *runs) await(req *server.Request, r *mailbox.Receipt) error {
	run, err := h.streams.Await(req, r)
	if err != nil {
		return err
	}
	return req.Reply(200, resultOf(run))
}

func resultOf(run *awaken.Run) runResult {
	out := runResult{RunID: run.RunID, ThreadID: run.ThreadID, Response: run.FinalOutput, Output: run.StructuredOutput, Status: run.Status, Termination: run.Termination,
		Waiting: run.Waiting, Usage: run.Usage, Cost: run.CostUSD, FinishReason: run.FinishReason, Diagnostics: run.Diagnostics}
	if run.Status == awaken.RunWaiting {
		out.Termination = awaken.Termination{Type: awaken.Suspended}
	}
	return out
}

type runInputs struct {
	Mode     string                `json:"mode,omitempty"`
	Boundary string                `json:"boundary,omitempty"`
	Messages []server.InputMessage `json:"messages"`
}

type runAccepted struct {
	Status     string `json:"status"`
	RunID      string `json:"run_id"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

func (h *runs) addInputs(req *server.Request, body *runInputs) error {
	msgs, err := server.MessagesOf(body.Messages)
	if err != nil {
		return err
	}
	run, err := req.Run()
	if err != nil {
		return err
	}
	s, err := server.NewSubmission(req, body.Mode, mailbox.ModeResume, body.Boundary, "")
	if err != nil {
		return err
	}
	s.Request.ThreadID, s.Request.AgentID, s.Request.Messages = run.ThreadID, run.AgentID, msgs
	if s.Said, err = protocol.SayLast(msgs, run.AgentID); err != nil {
		return err
	}
	r, err := server.Submit(req, s)
	if err != nil {
		return err
	}
	return req.Reply(202, runAccepted{Status: "inputs_accepted", RunID: r.RunID})
}

func (h *runs) cancel(req *server.Request) error {
	id := req.Path("run_id")
	if err := req.Tenant().Cancel(req.Context(), id); err != nil {
		return explainMissing(err, "run", id)
	}
	return req.Reply(202, runAccepted{Status: "cancel_requested", RunID: id})
}

// resume continues a run that waits for budget or for its pinned version.
func (h *runs) resume(req *server.Request) error {
	id := req.Path("run_id")
	if _, err := req.Tenant().Continue(req.Context(), id); err != nil {
		return explainMissing(err, "run", id)
	}
	return req.Reply(202, runAccepted{Status: "continue_requested", RunID: id})
}
