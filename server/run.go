package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

type runList struct {
	Items   []*awaken.Run `json:"items"`
	Total   int           `json:"total"`
	HasMore bool          `json:"has_more"`
}

// listRuns lists runs, of a thread if the path names one.
func (c *call) listRuns() error {
	var q awaken.RunQuery
	var err error
	if q.Offset, q.Limit, err = c.page(); err != nil {
		return err
	}
	switch s := awaken.RunStatus(c.value("status")); s {
	case "", awaken.RunCreated, awaken.RunRunning, awaken.RunWaiting, awaken.RunDone:
		q.Status = s
	default:
		return badRequest(fmt.Sprintf("invalid status filter: %s", s))
	}
	if id := c.path("thread_id"); id != "" {
		if _, err := c.thread(); err != nil {
			return err
		}
		q.ThreadID = id
	}
	s := c.store()
	total, err := s.CountRuns(c.ctx, q)
	if err != nil {
		return err
	}
	list, err := s.ListRuns(c.ctx, q)
	if err != nil {
		return err
	}
	if list == nil {
		list = []*awaken.Run{}
	}
	return c.Reply(200, runList{Items: list, Total: total, HasMore: q.Offset+len(list) < total})
}

// run returns the run of the path.
func (c *call) run() (*awaken.Run, error) {
	r, err := c.tenant.Store.LoadRun(c.ctx, c.path("run_id"))
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, notFound("run", c.path("run_id"))
	}
	return r, err
}

func (c *call) getRun() error {
	r, err := c.run()
	if err != nil {
		return err
	}
	return c.Reply(200, r)
}

func (c *call) latestRun() error {
	t, err := c.thread()
	if err != nil {
		return err
	}
	if t.LatestRunID == "" {
		return fail(404, "not_found", "run not found: no runs for thread "+t.ID)
	}
	r, err := c.tenant.Store.LoadRun(c.ctx, t.LatestRunID)
	if err != nil {
		return err
	}
	return c.Reply(200, r)
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

func (c *call) activeRun() error {
	t, err := c.thread()
	if err != nil {
		return err
	}
	var out activeRunBody
	if t.OpenRunID != "" {
		r, err := c.tenant.Store.LoadRun(c.ctx, t.OpenRunID)
		if err != nil {
			return err
		}
		out.ActiveRun = &activeRun{ThreadID: r.ThreadID, RunID: r.RunID, AgentID: r.AgentID, Status: r.Status, TerminationReason: r.Termination,
			DispatchID: r.DispatchID, SessionID: r.SessionID, Waiting: r.Waiting}
	}
	return c.Reply(200, out)
}

type runCounts struct {
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	Created int `json:"created"`
}

func (c *call) summarizeRuns() error {
	s := c.store()
	var out runCounts
	var err error
	for status, n := range map[awaken.RunStatus]*int{awaken.RunRunning: &out.Running, awaken.RunWaiting: &out.Waiting, awaken.RunCreated: &out.Created} {
		if *n, err = s.CountRuns(c.ctx, awaken.RunQuery{Status: status}); err != nil {
			return err
		}
	}
	return c.Reply(200, out)
}

type newRun struct {
	AgentID       string                    `json:"agent_id,omitempty"`
	AgentIDCamel  string                    `json:"agentId,omitempty"`
	ThreadID      string                    `json:"thread_id,omitempty"`
	ThreadIDCamel string                    `json:"threadId,omitempty"`
	UserID        string                    `json:"user_id,omitempty"` // whom the run is for
	Messages      []inputMessage            `json:"messages"`
	Mode          string                    `json:"mode,omitempty"`
	Stream        *bool                     `json:"stream,omitempty"` // false waits for the end and answers with JSON
	Overrides     *awaken.InferenceOverride `json:"overrides,omitempty"`
	FrontendTools []awaken.ToolSpec         `json:"frontend_tools,omitempty"`
	OutputSchema  json.RawMessage           `json:"output_schema,omitempty"` // what the answer has to fit
	Budget        *awaken.RunBudget         `json:"budget,omitempty"`
}

// runResult is the answer of a request that waited for its run.
type runResult struct {
	RunID       string             `json:"run_id"`
	ThreadID    string             `json:"thread_id"`
	Response    string             `json:"response"`
	Output      json.RawMessage    `json:"structured_output,omitempty"` // the answer that fits output_schema
	Status      awaken.RunStatus   `json:"status"`
	Termination awaken.Termination `json:"termination"`
	Waiting     *awaken.Waiting    `json:"waiting,omitempty"`
	Usage       llm.Usage          `json:"usage"`
	Cost        float64            `json:"cost"`
}

// startRun accepts a run. The answer is its stream, or with "stream": false or Accept:
// application/json, how it came out.
func (c *call) startRun() error {
	var body newRun
	if err := c.Decode(&body); err != nil {
		return err
	}
	agent, err := either("agent_id", body.AgentID, body.AgentIDCamel)
	if err != nil {
		return err
	}
	if agent == "" {
		return badRequest("agent_id cannot be empty")
	}
	thread, err := either("thread_id", body.ThreadID, body.ThreadIDCamel)
	if err != nil {
		return err
	}
	if thread != "" && !protocol.ValidID(thread) {
		return badRequest("thread_id must have at most 512 bytes and no control characters")
	}
	msgs, err := c.messages(body.Messages)
	if err != nil {
		return err
	}
	if len(body.OutputSchema) > 0 {
		if err := awaken.CheckOutputSchema(body.OutputSchema); err != nil {
			return err
		}
	}
	if err := body.Budget.Validate(); err != nil {
		return badRequest(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	s, err := c.submission(body.Mode, mailbox.ModeInterrupt, "")
	if err != nil {
		return err
	}
	if err := c.setUser(s, body.UserID); err != nil {
		return err
	}
	s.Request.AgentID, s.Request.ThreadID, s.Request.Messages = agent, thread, msgs
	s.Request.Overrides, s.Request.FrontendTools = body.Overrides, body.FrontendTools
	s.Request.OutputSchema, s.Request.Budget = body.OutputSchema, body.Budget
	r, err := c.submit(s)
	if err != nil {
		return err
	}
	c.w.Header().Set("X-Run-Id", r.RunID)
	c.w.Header().Set("X-Thread-Id", r.ThreadID)
	if body.Stream != nil && !*body.Stream || body.Stream == nil && prefersJSON(c.r.Header.Get("Accept")) {
		return c.awaitRun(r)
	}
	return c.srv.streams.run(&c.request, r.ThreadID, r.RunID, r.After, rawFrames)
}

// prefersJSON reports whether a client asked for JSON and not for a stream.
func prefersJSON(accept string) bool {
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/event-stream")
}

// awaitRun answers when the run has ended or waits.
func (c *call) awaitRun(r *mailbox.Receipt) error {
	c.body = nil // it would be kept as long as the run takes
	ctx, cancel := c.srv.streams.whileServing(&c.request)
	defer cancel()
	limit := time.Now().Add(c.srv.cfg.Limits.WaitTime)
	for e, err := range c.tenant.Log.Tail(ctx, r.ThreadID, r.After, eventlog.Follow{RunID: r.RunID, Pause: 500 * time.Millisecond}) {
		if err != nil {
			return err
		}
		// It may have ended before it started; and one that waited may go on by now.
		if _, over := e.Event.(*awaken.RunFinish); over || e.Event == nil {
			run, err := c.tenant.Store.LoadRun(ctx, r.RunID)
			if err != nil {
				return err
			}
			if run.Status == awaken.RunDone || over && run.Status == awaken.RunWaiting {
				return c.Reply(200, resultOf(run))
			}
		}
		if time.Now().After(limit) {
			return &protocol.Failure{Status: 504, Code: "timeout", Message: "the run goes on: look at GET /v1/runs/" + r.RunID, RetryAfter: time.Second}
		}
	}
	return &protocol.Failure{Status: 503, Code: "stopping", Message: "the server stops, the run goes on: look at GET /v1/runs/" + r.RunID, RetryAfter: time.Second}
}

func resultOf(run *awaken.Run) runResult {
	out := runResult{RunID: run.RunID, ThreadID: run.ThreadID, Response: run.FinalOutput, Output: run.StructuredOutput, Status: run.Status, Termination: run.Termination,
		Waiting: run.Waiting, Usage: run.Usage, Cost: run.CostUSD}
	if run.Status == awaken.RunWaiting {
		out.Termination = awaken.Termination{Type: awaken.Suspended}
	}
	return out
}

type runInputs struct {
	Mode     string         `json:"mode,omitempty"`
	Boundary string         `json:"boundary,omitempty"`
	Messages []inputMessage `json:"messages"`
}

type runAccepted struct {
	Status     string `json:"status"`
	RunID      string `json:"run_id"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

func (c *call) addInputs() error {
	var body runInputs
	if err := c.Decode(&body); err != nil {
		return err
	}
	msgs, err := c.messages(body.Messages)
	if err != nil {
		return err
	}
	run, err := c.run()
	if err != nil {
		return err
	}
	s, err := c.submission(body.Mode, mailbox.ModeResume, body.Boundary)
	if err != nil {
		return err
	}
	s.Request.ThreadID, s.Request.AgentID, s.Request.Messages = run.ThreadID, run.AgentID, msgs
	r, err := c.submit(s)
	if err != nil {
		return err
	}
	return c.Reply(202, runAccepted{Status: "inputs_accepted", RunID: r.RunID})
}

func (c *call) cancelRun() error {
	id := c.path("run_id")
	if err := c.tenant.Cancel(c.ctx, id); err != nil {
		return nothing(err, "run", id)
	}
	return c.Reply(202, runAccepted{Status: "cancel_requested", RunID: id})
}

// continueRun goes on with a run that waits for money, or for its version.
func (c *call) continueRun() error {
	id := c.path("run_id")
	if _, err := c.tenant.Continue(c.ctx, id); err != nil {
		return nothing(err, "run", id)
	}
	return c.Reply(202, runAccepted{Status: "continue_requested", RunID: id})
}

func (c *call) decideRun() error {
	id := c.path("run_id")
	d, err := c.decision("")
	if err != nil {
		return err
	}
	if err := c.decide(id, d); err != nil {
		return nothing(err, "waiting tool call of run", id+" "+d.Target)
	}
	return c.Reply(202, runAccepted{Status: "decision_submitted", RunID: id, ToolCallID: d.Target})
}

// Approvals: the calls that wait for people, on all threads.

type approval struct {
	awaken.WaitingTicket
	RunID     string `json:"run_id"`
	ThreadID  string `json:"thread_id"`
	AgentID   string `json:"agent_id"`
	WaitingOn string `json:"waiting_reason"`
}

type approvalList struct {
	Items   []approval `json:"items"`
	HasMore bool       `json:"has_more"` // of the runs that wait
}

func (c *call) listApprovals() error {
	offset, limit, err := c.page()
	if err != nil {
		return err
	}
	runs, err := c.tenant.Store.ListRuns(c.ctx, awaken.RunQuery{Status: awaken.RunWaiting, Offset: offset, Limit: limit + 1})
	if err != nil {
		return err
	}
	out := approvalList{Items: []approval{}, HasMore: len(runs) > limit}
	for _, r := range runs[:min(limit, len(runs))] {
		for _, t := range r.Waiting.Tickets {
			if t.RunID != "" {
				continue // of a run below this one, which waits too
			}
			out.Items = append(out.Items, approval{WaitingTicket: t, RunID: r.RunID, ThreadID: r.ThreadID, AgentID: r.AgentID, WaitingOn: string(r.Waiting.Reason)})
		}
	}
	return c.Reply(200, out)
}

func (c *call) decideApproval() error {
	id := c.path("run_id")
	d, err := c.decision(c.path("ticket_id"))
	if err != nil {
		return err
	}
	if err := c.decide(id, d); err != nil {
		return nothing(err, "approval", id+" "+d.Target)
	}
	return c.Reply(202, runAccepted{Status: "decision_submitted", RunID: id, ToolCallID: d.Target})
}

// Dispatches.

type mailboxItem struct {
	Payload json.RawMessage `json:"payload"`
}

type mailboxAccepted struct {
	DispatchID string `json:"dispatch_id"`
	RunID      string `json:"run_id"`
	ThreadID   string `json:"thread_id"`
}

func (c *call) postMailbox() error {
	var body mailboxItem
	if err := c.Decode(&body); err != nil {
		return err
	}
	if len(body.Payload) == 0 {
		return fail(422, "invalid_body", `field "payload" is missing`)
	}
	var payload struct {
		Text *string `json:"text"`
	}
	text := string(compact(body.Payload))
	if err := json.Unmarshal(body.Payload, &payload); err == nil && payload.Text != nil {
		text = *payload.Text
	}
	s, err := c.submission("", mailbox.ModeQueue, "")
	if err != nil {
		return err
	}
	s.Request.ThreadID, s.Request.Messages = c.path("thread_id"), []*llm.Message{llm.UserText(text)}
	r, err := c.submit(s)
	if err != nil {
		return err
	}
	return c.Reply(201, mailboxAccepted{DispatchID: r.DispatchID, RunID: r.RunID, ThreadID: r.ThreadID})
}
