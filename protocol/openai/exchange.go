package openai

import (
	"context"
	"errors"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// exchange is one request that talks to an agent.
type exchange struct {
	protocol.Call
	field   string // in which the request has the prompt
	prompt  *prompt
	request awaken.RunRequest // of a new run
	// threadID is the conversation that the request names, or "". A request that names none is a
	// conversation of its own, unless it answers a call.
	threadID string
	branch   *branch // the beginning that a new conversation shares, or nil
	unstored bool    // the client has asked not to store the response
}

// branch is the beginning of a conversation.
type branch struct {
	threadID string
	seq      int // of the last message
}

// accepted says which part of which run answers a request.
type accepted struct {
	*mailbox.Receipt
	from awaken.Cursor // the end of the run's earlier responses
}

// ask sets the client's tools and what the request asks of the model.
func (x *exchange) ask(tools []awaken.ToolSpec, choice *llm.ToolChoice, o *awaken.InferenceOverride) {
	x.request.FrontendTools = tools
	if o.ToolChoice = choice; !o.IsZero() {
		x.request.Overrides = o
	}
}

// submit submits what the client says.
func (x *exchange) submit() (*accepted, error) {
	run, err := x.asking()
	if err != nil {
		return nil, err
	}
	var out *accepted
	if run != nil {
		out, err = x.resume(run)
	} else {
		out, err = x.begin()
	}
	if err != nil {
		return nil, err
	}
	x.Header().Set("X-Run-Id", out.RunID)
	x.Header().Set("X-Thread-Id", out.ThreadID)
	if x.Request().Header.Get("Idempotency-Key") == "" { // SDKs retry by themselves, which would start another run
		x.Header().Set("X-Should-Retry", "false")
	}
	return out, nil
}

// asking returns the run that the answers of the request are about, or nil if it has none. A
// conversation that was held elsewhere may have answers to calls that are not the server's.
func (x *exchange) asking() (*awaken.Run, error) {
	var runID string
	for i := range x.prompt.answers {
		a := &x.prompt.answers[i]
		id, _, ok := parseCall(a.id)
		if !ok {
			continue
		}
		if runID != "" && id != runID {
			return nil, refused(a.field, "%s answers a call of another run than the answers before it", a.field)
		}
		runID = id
	}
	if runID == "" {
		return x.waiting()
	}
	if err := x.Admit(runID); err != nil {
		return nil, notFound(x.prompt.answers[0].field, "call", x.prompt.answers[0].id)
	}
	run, err := x.Tenant().Store.LoadRun(x.Context(), runID)
	if errors.Is(err, awaken.ErrNotFound) || err == nil && x.threadID != "" && x.threadID != run.ThreadID {
		return nil, notFound(x.prompt.answers[0].field, "call", x.prompt.answers[0].id)
	}
	return run, err
}

// waiting returns the waiting run of the conversation that the request names, if the request answers one
// of its calls by the ticket's id.
func (x *exchange) waiting() (*awaken.Run, error) {
	if x.threadID == "" || len(x.prompt.answers) == 0 {
		return nil, nil
	}
	if err := x.Admit(x.threadID); err != nil {
		return nil, err
	}
	_, run, err := protocol.OpenRun(x.Context(), x.Tenant(), x.threadID)
	if run == nil && err == nil {
		err = notFound(x.prompt.answers[0].field, "call", x.prompt.answers[0].id)
	}
	return run, err
}

func notFound(param, what, id string) error {
	f := protocol.NotFound(what, id)
	f.Param = param
	return f
}

// begin starts a run. On a thread whose run waits, it ends that run.
func (x *exchange) begin() (*accepted, error) {
	x.request.Messages, x.request.Adapter = x.prompt.history(), "openai"
	if len(x.request.Messages) == 0 {
		return nil, refused(x.field, "%s has nothing to answer, want a message", x.field)
	}
	made, err := x.makeThread()
	if err != nil {
		return nil, err
	}
	x.request.ThreadID = x.threadID
	r, err := x.Submit(&mailbox.Submission{Mode: mailbox.ModeInterrupt, Anew: true, Request: x.request})
	if made && (err != nil || r.ThreadID != x.threadID) {
		x.removeThread(x.threadID) // one that has accepted the run all the same is not removed
	}
	if err != nil {
		return nil, err
	}
	return &accepted{Receipt: r}, nil
}

// resume continues a run with answers. Answers that were given before count once.
func (x *exchange) resume(run *awaken.Run) (*accepted, error) {
	ctx, t := x.Context(), x.Tenant()
	if x.unstored && !isUnstored(run.ThreadID) {
		return nil, refused("store", "store is false, but the response that asked is stored, and so is what continues it; leave store out")
	}
	x.request.FrontendTools, x.request.Overrides, x.request.OutputSchema = run.FrontendTools, run.Overrides, run.OutputSchema // it keeps them
	decisions, err := decisionsOf(ctx, t, run, x.prompt.answers)
	if err != nil {
		return nil, err
	}
	r, err := x.Submit(&mailbox.Submission{Mode: mailbox.ModeResume, Request: awaken.RunRequest{ThreadID: run.ThreadID, Decisions: decisions, Messages: x.prompt.beside()}})
	if err != nil {
		return nil, err
	}
	out := &accepted{r, r.After}
	if r.Duplicate {
		r.RunID = run.RunID // not a later run of the thread
		out.from, err = lastAsked(ctx, t, run, decisions)
	}
	return out, err
}

// lastAsked returns the end of the response that last asked one of the questions that decisions answer.
func lastAsked(ctx context.Context, t *mailbox.Tenant, run *awaken.Run, decisions []awaken.Decision) (at awaken.Cursor, err error) {
	ends, err := pauses(ctx, t, run)
	for _, e := range ends {
		w := e.Event.(*awaken.RunFinish).Result.Waiting
		if w != nil && slices.ContainsFunc(decisions, func(d awaken.Decision) bool { return slices.Contains(w.TicketIDs, d.Target) }) {
			at = e.Cursor
		}
	}
	return at, err
}

// pauses returns the entries with which a run began to wait.
func pauses(ctx context.Context, t *mailbox.Tenant, run *awaken.Run) (out []awaken.Entry, err error) {
	entries, err := t.Store.Entries(ctx, run.ThreadID, awaken.EntryQuery{RunID: run.RunID})
	for _, e := range entries {
		if ev, ok := e.Event.(*awaken.RunFinish); ok && ev.Termination.Type == awaken.Suspended && ev.Result != nil {
			out = append(out, e)
		}
	}
	return out, err
}

// stream replies with what an encoder makes of a response.
func (x *exchange) stream(a *accepted, format string, enc func() protocol.Encoder) error {
	s := &protocol.Stream{ThreadID: a.ThreadID, RunID: a.RunID, Encoder: enc, Format: format, New: a.New, Resumed: a.Duplicate, After: protocol.AfterAll(a.After)}
	if a.Duplicate {
		s.After, s.Through = protocol.AfterAll(a.from), awaken.Cursor{Epoch: a.from.Epoch, Seq: a.from.Seq + 1}
		if a.from.Seq == 0 {
			s.After, s.Through = protocol.Position{}, awaken.Cursor{}
		}
	}
	return x.Stream(s)
}

// collect waits for a response and feeds it to an encoder.
func (x *exchange) collect(a *accepted, enc protocol.Encoder) (*awaken.Run, error) {
	if a.Duplicate {
		a.After = a.from
	}
	run, err := x.Wait(a.Receipt)
	if err != nil {
		return nil, err
	}
	return run, feed(x.Context(), x.Tenant(), run, enc)
}

// feed encodes what is stored of a run, and discards the frames.
func feed(ctx context.Context, t *mailbox.Tenant, run *awaken.Run, enc protocol.Encoder) error {
	entries, err := t.Store.Entries(ctx, run.ThreadID, awaken.EntryQuery{RunID: run.RunID})
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		return err
	}
	if len(entries) == 0 && run.Status == awaken.RunDone { // cancelled while queued
		entries = []awaken.Entry{{Cursor: awaken.Cursor{Seq: 1}, RunID: run.RunID, Time: run.UpdatedAt, Event: &awaken.RunFinish{ThreadID: run.ThreadID, RunID: run.RunID, Identity: run.Info(),
			Result: &awaken.RunOutput{Status: run.Status, StatusReason: run.StatusReason}, Termination: run.Termination}}}
	}
	var discarded protocol.Frames
	for i := range entries {
		if err := enc.Encode(&discarded, &entries[i]); err != nil {
			return err
		}
		discarded.Into(nil)
	}
	return nil
}
