package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// callParams are the parameters of tools/call.
type callParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Of the newer era: answers to the questions of an earlier result, and its state.
	Responses map[string]json.RawMessage `json:"inputResponses,omitempty"`
	State     string                     `json:"requestState,omitempty"`
}

// UnmarshalJSON ignores unknown fields.
func (p *callParams) UnmarshalJSON(data []byte) error {
	type plain callParams
	return strict.UnmarshalKnown(data, (*plain)(p))
}

// agentArguments are the arguments of an agent's tool.
type agentArguments struct {
	Message  string `json:"message"`
	ThreadID string `json:"thread_id,omitempty"`
}

// requestState is what a client of the newer era hands back with its answers.
type requestState struct {
	RunID string `json:"r"`
	Tool  string `json:"t"`
	// Tickets are the questions. Answers to others are ignored, so this is only for the client, to which another
	// round is another state.
	Tickets []string `json:"q"`
}

// callTool runs a tool.
func (x *exchange) callTool(m *message) error {
	var in callParams
	if err := m.params(&in); err != nil {
		return err
	}
	t := x.tool(in.Name)
	if t == nil {
		return invalid("params.name is %.80q, which is no tool; tools/list has them", in.Name)
	}
	x.say.Tool = in.Name
	if err := x.chooseLevel(); err != nil {
		return err
	}
	c := &toolCall{x, &in}
	if x.modern && in.State != "" {
		return c.proceed()
	}
	req, wrong := t.request(in.Arguments)
	if wrong != "" { // for the model that chose them
		return x.reply(failedResult(wrong))
	}
	return c.start(req)
}

// toolCall is a request of tools/call.
type toolCall struct {
	*exchange
	in *callParams
}

// request returns the run that a call starts, or what is wrong with its arguments.
func (t *tool) request(raw json.RawMessage) (req awaken.RunRequest, wrong string) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if raw[0] != '{' {
		return req, fmt.Sprintf("arguments is %.80s, want an object", raw)
	}
	if t.planned != "" {
		return awaken.RunRequest{AgentID: t.agent, Adapter: "mcp", Call: &awaken.PlannedCall{Tool: t.planned, Arguments: raw}}, ""
	}
	var in agentArguments
	if err := strict.Unmarshal(raw, &in); err != nil {
		return req, fmt.Sprintf("arguments: %v", err)
	}
	if strings.TrimSpace(in.Message) == "" {
		return req, "'message' parameter is required and must be non-empty"
	}
	if err := protocol.CheckID("thread_id", in.ThreadID); err != nil {
		return req, err.Error()
	}
	return awaken.RunRequest{AgentID: t.agent, ThreadID: in.ThreadID, Adapter: "mcp", Messages: []*llm.Message{{Role: llm.User, Content: []llm.Block{llm.Text(in.Message)}}}}, ""
}

// start submits a run and answers with it. A request that is sent again in its session gets the run of the first.
func (x *toolCall) start(req awaken.RunRequest) error {
	if req.ThreadID != "" {
		if err := x.Admit(req.ThreadID); err != nil {
			return err
		}
	}
	req.Trace = x.at.String()
	s := &mailbox.Submission{Request: req}
	if x.session.Nonce != "" {
		s.Request.RunID, s.Request.SessionID = x.session.runID(x.id), x.session.Nonce
		s.IdempotencyKey, s.Digest = "mcp:"+s.Request.RunID, fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q %s", x.in.Name, x.in.Arguments)))
		if _, err := x.load(s.Request.RunID); err == nil {
			s.Request.ThreadID = "" // a run that exists is found by the key alone
		}
	}
	r, err := x.Submit(s)
	if errors.Is(err, awaken.ErrConflict) && s.Request.ThreadID != "" && s.Request.RunID != "" {
		s.Request.RunID = "" // the message continues the run of the thread that waits
		r, err = x.Submit(s)
	}
	if errors.Is(err, awaken.ErrConflict) && x.session.Nonce != "" {
		return x.used()
	}
	if err != nil {
		return err
	}
	return x.follow(r)
}

func (x *toolCall) used() error {
	return failure(http.StatusConflict, invalidRequest, "id %.80s was used for another request of this session", x.id)
}

// load returns a run that the request may see.
func (x *exchange) load(runID string) (*awaken.Run, error) {
	missing := protocol.NotFound("run", runID)
	if !protocol.ValidID(runID) {
		return nil, missing
	}
	if err := x.Admit(runID); err != nil {
		return nil, err
	}
	run, err := x.Tenant().Store.LoadRun(x.Context(), runID)
	if errors.Is(err, awaken.ErrNotFound) || err == nil && !x.visible(run) {
		return nil, missing
	}
	return run, err
}

// options returns how the entries of a run are encoded for the request.
func (x *toolCall) options(runID string) Options {
	o := Options{RunID: runID, Request: x.id, Modern: x.modern, Progress: x.meta.ProgressToken, Level: x.level, Elicits: x.elicits, cfg: x.cfg}
	if x.modern {
		o.State = func(tickets []string) string {
			return x.cfg.signer.seal("state", requestState{runID, x.in.Name, tickets})
		}
	} else {
		o.Prefix = o.prefix()
	}
	return o
}

// follow answers with the run of a submission.
func (x *toolCall) follow(r *mailbox.Receipt) error {
	opts := x.options(r.RunID)
	if !x.streams() {
		return x.collect(r, opts)
	}
	s := &protocol.Stream{ThreadID: r.ThreadID, RunID: r.RunID, After: protocol.AfterAll(r.After), New: r.New, Resumed: r.Duplicate}
	if r.Duplicate {
		s.After = protocol.Position{}
		if last := x.Request().Header.Get("Last-Event-ID"); last != "" && !x.modern {
			return x.resume()
		}
	}
	if !x.modern && x.revision >= legacy {
		s.Opening = opts.prime
	}
	if x.modern && r.New { // the only way to cancel in this era
		defer x.abandon(r.RunID)
	}
	return x.stream(s, opts)
}

// stream streams a run.
func (x *exchange) stream(s *protocol.Stream, opts Options) error {
	x.Header().Set("X-Run-Id", s.RunID)
	x.Header().Set("X-Thread-Id", s.ThreadID)
	opts.ThreadID = s.ThreadID
	s.Keeps = true // progress increases
	s.Encoder = func() protocol.Encoder { return NewEncoder(opts) }
	s.Continues = func(fin *awaken.RunFinish) bool { return continues(fin, opts.Elicits && !opts.Modern) }
	return x.Stream(s)
}

// continues reports whether a run that waits will continue without another request: it waits for its own children, or for answers to
// the questions that the stream has asked.
func continues(fin *awaken.RunFinish, asks bool) bool {
	w := waitingOf(fin)
	return w != nil && (len(w.Tickets) > 0 && asks || len(w.Tickets) == 0 && w.Reason == awaken.WaitBackgroundTasks)
}

func waitingOf(fin *awaken.RunFinish) *awaken.Waiting {
	if fin.Result == nil {
		return nil
	}
	return fin.Result.Waiting
}

// cancelTime bounds the cancellation of a run whose client is gone.
const cancelTime = 10 * time.Second

// abandon cancels a run if the client has closed the stream.
func (x *toolCall) abandon(runID string) {
	if x.Request().Context().Err() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.Request().Context()), cancelTime)
	defer cancel()
	_ = x.Tenant().Cancel(ctx, runID) // it may be over
}

// collect answers with the result of a run, without a stream.
func (x *toolCall) collect(r *mailbox.Receipt, opts Options) error {
	opts.ThreadID, opts.Elicits = r.ThreadID, opts.Elicits && opts.Modern
	opts.Progress, opts.Level, opts.Prefix = nil, "", ""
	for {
		run, err := x.Wait(r)
		if err != nil {
			return err
		}
		entries, err := x.Tenant().Store.Entries(x.Context(), run.ThreadID, awaken.EntryQuery{RunID: run.RunID})
		if err != nil && !errors.Is(err, awaken.ErrNotFound) {
			return err
		}
		enc := NewEncoder(opts)
		var f protocol.Frames
		for i := range entries {
			if err := enc.Encode(&f, &entries[i]); err != nil {
				return err
			}
		}
		if enc.final == nil && run.Status == awaken.RunDone { // it was cancelled before it began
			enc.finish(&awaken.RunFinish{RunID: run.RunID, ThreadID: run.ThreadID, Result: &awaken.RunOutput{Status: run.Status, StatusReason: run.StatusReason}, Termination: run.Termination})
		}
		if enc.final != nil {
			return x.reply(enc.final)
		}
		th, err := x.Tenant().Store.Thread(x.Context(), run.ThreadID)
		if err != nil {
			return err
		}
		r = &mailbox.Receipt{ThreadID: run.ThreadID, RunID: run.RunID, After: th.End}
	}
}

// resume continues a stream after the frame that Last-Event-ID names.
func (x *exchange) resume() error {
	last := x.Request().Header.Get("Last-Event-ID")
	if last == "" {
		x.Header().Set("Allow", "POST")
		return failure(http.StatusMethodNotAllowed, invalidRequest, "there is no stream of the server's own; GET resumes the stream of a call with Last-Event-ID")
	}
	opts, at, err := parsePrefix(last)
	if err != nil {
		return err
	}
	run, err := x.load(opts.RunID)
	if err != nil {
		return err
	}
	th, err := x.Tenant().Store.Thread(x.Context(), run.ThreadID)
	if err != nil {
		return err
	}
	if at.Epoch > th.End.Epoch {
		return &protocol.Failure{Status: http.StatusGone, Code: "cursor_expired", Message: fmt.Sprintf("Last-Event-ID %s is not of this log, which ends at %s", at, th.End)}
	}
	opts.cfg = x.cfg
	s := &protocol.Stream{ThreadID: run.ThreadID, RunID: run.RunID, After: at, Resumed: true}
	if cmp.Or(x.revision, x.Request().Header.Get("MCP-Protocol-Version")) >= legacy { // clients forget the position of the stream before: one that is cut off at once would begin without any
		s.Opening = func(f *protocol.Frames) { prime(f, last) }
	}
	return x.stream(s, opts)
}

// cancelParams name a request to cancel.
type cancelParams struct {
	RequestID json.RawMessage `json:"requestId"`
}

// UnmarshalJSON ignores unknown fields.
func (p *cancelParams) UnmarshalJSON(data []byte) error {
	type plain cancelParams
	return strict.UnmarshalKnown(data, (*plain)(p))
}

// cancelled cancels the run of a request of the session. A request that is over, or has no run, is ignored.
func (x *exchange) cancelled(m *message) error {
	var in cancelParams
	if err := m.params(&in); err != nil {
		return err
	}
	if x.session.Nonce == "" || !validID(in.RequestID) {
		return nil
	}
	run, err := x.load(x.session.runID(in.RequestID))
	if err != nil {
		if f := x.Failure(err); f.Status == http.StatusNotFound {
			return nil
		}
		return err
	}
	if err := x.Tenant().Cancel(x.Context(), run.RunID); err != nil && !errors.Is(err, mailbox.ErrIdle) && !errors.Is(err, awaken.ErrNotFound) {
		return err
	}
	return nil
}
