package agui

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/state/builtin"
)

// exchange is one request of an AG-UI client.
type exchange struct {
	protocol.Call
	in     input
	thread *awaken.Thread        // nil if it does not exist
	open   *awaken.Run           // the thread's running or waiting run, or nil
	unseen int                   // index of the first message that the thread does not have
	asked  *protocol.CallHistory // the calls of that run, if it waits
	has    protocol.Position     // what the client received on an earlier connection
}

// run answers RunAgentInput with the events of the run. The agent and thread in the path take
// precedence over the body.
func run(c protocol.Call, in *input, agentID, threadID string) error {
	x := &exchange{Call: c, in: *in}
	x.in.AgentID, x.in.ThreadID = cmp.Or(agentID, x.in.AgentID), cmp.Or(threadID, x.in.ThreadID)
	if err := x.in.check(); err != nil {
		return err
	}
	if err := x.load(); err != nil {
		return err
	}
	var waiting *awaken.Waiting
	if x.open != nil && x.open.Waiting != nil {
		waiting = x.open.Waiting
		asked, err := protocol.LoadCallHistory(c.Context(), c.Tenant(), x.open)
		if err != nil {
			return err
		}
		x.asked = asked
	}
	decisions, err := x.in.decisions(waiting, x.asked, x.question)
	if err != nil {
		return err
	}
	if len(decisions) > 0 {
		return x.resume(decisions)
	}
	if r, err := x.answered(); err != nil {
		return err
	} else if r != nil {
		return x.attach(r)
	}
	s, err := x.submission()
	if err != nil {
		return err
	}
	if asked, _ := questions(waiting); len(asked) > 0 && s.Request.RunID != x.open.RunID {
		d, err := c.Tenant().Repeated(c.Context(), x.in.ThreadID, s.Said)
		if errors.Is(err, awaken.ErrNotFound) {
			return x.refuse(asked)
		}
		if err != nil {
			return err
		}
		return x.follow(&mailbox.Receipt{ThreadID: d.ThreadID, RunID: d.RunID, Duplicate: true}, x.has, Options{})
	}
	return x.submit(s)
}

// load reads the thread, its open run and the client's position.
func (x *exchange) load() (err error) {
	if err := x.Admit(x.in.ThreadID, x.in.RunID); err != nil {
		return err
	}
	ids := make([]string, len(x.in.Messages))
	for i, m := range x.in.Messages {
		ids[i] = m.ID
	}
	has, err := protocol.Receive(x, x.in.ThreadID, ids)
	if err != nil {
		return err
	}
	var end awaken.Cursor
	if has.Recent != nil {
		x.thread, x.open, x.unseen, end = has.Thread, has.Open(), has.Unseen, has.Thread.End
	}
	x.has, err = protocol.ResumeAfter(x, end)
	return err
}

// question returns the ticket that an id refers to, among those of the thread's latest run:
// what the run waits for, or a call that was suspended before or is suspended while others
// run. It is nil if there is none.
func (x *exchange) question(id string) (*awaken.WaitingTicket, error) {
	if x.thread == nil {
		return nil, protocol.NotFound("thread", x.in.ThreadID)
	}
	if x.open != nil {
		if t := ticket(x.open.Waiting, id); t != nil {
			return t, nil
		}
	}
	calls, err := x.calls()
	if err != nil {
		return nil, err
	}
	for _, c := range slices.Backward(calls) {
		if c.Ticket != nil && (c.CallID == id || c.SuspensionID() == id) {
			return &awaken.WaitingTicket{TicketID: c.SuspensionID(), ToolCallID: c.CallID, ResumeMode: c.ResumeMode}, nil
		}
	}
	for _, c := range calls { // questions of child runs
		if c.Ticket != nil {
			if t := ticket(&awaken.Waiting{Tickets: c.Ticket.Tickets}, id); t != nil {
				return t, nil
			}
		}
	}
	return nil, nil
}

// calls returns the calls of the latest run.
func (x *exchange) calls() ([]*awaken.CallState, error) {
	id := x.latestRun()
	if id == "" {
		return nil, nil
	}
	return x.Tenant().Store.Calls(x.Context(), id)
}

// latestRun returns the id of the thread's open run, else of its last one, or "".
func (x *exchange) latestRun() string { return cmp.Or(x.thread.OpenRunID, x.thread.LatestRunID) }

// submission converts the new part of a request to a submission.
func (x *exchange) submission() (*mailbox.Submission, error) {
	tools, err := x.in.tools()
	if err != nil {
		return nil, err
	}
	context, err := x.in.context()
	if err != nil {
		return nil, err
	}
	msgs, err := x.in.messages(x.unseen, x.thread == nil)
	if err != nil {
		return nil, err
	}
	acted, err := x.acted()
	if err != nil {
		return nil, err
	}
	if acted != nil {
		msgs = append(msgs, acted)
	}
	s := &mailbox.Submission{Mode: mailbox.ModeInterrupt, Request: awaken.RunRequest{AgentID: x.in.AgentID, ThreadID: x.in.ThreadID, RunID: x.in.RunID,
		Messages: msgs, FrontendTools: tools, Seed: x.in.seed(), Context: context, Adapter: "ag_ui"}}
	if x.in.RunID != "" {
		s.IdempotencyKey = fmt.Sprintf("ag-ui:%q:%q", x.in.ThreadID, x.in.RunID) // quoted, because ids may contain colons
		said, err := json.Marshal(x.in.Messages)
		if err != nil {
			return nil, err
		}
		if acted != nil {
			said = append(said, acted.Text()...)
		}
		s.Digest = fmt.Sprintf("%x", sha256.Sum256(said))
	}
	if acted == nil {
		if err := x.say(s); err != nil {
			return nil, err
		}
	}
	if len(msgs) == 0 {
		err = x.answerAgain(&s.Request)
	}
	return s, err
}

// repeatFor is how long the same message under another run id is the same request, sent twice. AG-UI has no word for another answer: a
// page drops the answer that it has and sends the message again.
const repeatFor = 2 * time.Second

// say identifies the message of a submission, which is the last one of the request.
func (x *exchange) say(s *mailbox.Submission) error {
	n := len(x.in.Messages)
	if n == 0 || x.in.Messages[n-1].Role != "user" {
		return nil
	}
	last, err := x.in.messages(n-1, false)
	if err != nil {
		return err
	}
	s.Said, err = protocol.SayLast(last, "ag-ui", x.in.AgentID)
	s.Said.RepeatFor = repeatFor
	return err
}

// acted returns the message of what the user did in an interface of the thread, or nil. A repeated request
// has the same message.
func (x *exchange) acted() (*llm.Message, error) {
	a, err := x.in.action()
	if a == nil || err != nil {
		return nil, err
	}
	known, err := x.knows(x.in.RunID)
	if err != nil {
		return nil, err
	}
	if !known { // the run may have changed the interface since
		if err := a.Check(x.Context(), x.Tenant(), x.in.ThreadID, actionField); err != nil {
			return nil, err
		}
	}
	text, err := a.Text()
	if err != nil {
		return nil, err
	}
	return llm.UserText(text), nil
}

// knows reports whether the thread has the run.
func (x *exchange) knows(runID string) (bool, error) {
	if x.thread == nil || runID == "" {
		return false, nil
	}
	run, err := x.Tenant().Store.LoadRun(x.Context(), runID)
	if errors.Is(err, awaken.ErrNotFound) {
		return false, nil
	}
	return err == nil && run.ThreadID == x.thread.ID, err
}

// answerAgain makes a request without new input answer the last message again, if that is the
// user's.
func (x *exchange) answerAgain(req *awaken.RunRequest) error {
	noInput := protocol.BadRequest("nothing new: want a message, an answer to an interrupt, or the result of a call that the client executes")
	n := len(x.in.Messages)
	if n == 0 || x.in.Messages[n-1].Role != "user" || x.in.Messages[n-1].ID == "" {
		return noInput
	}
	all, err := protocol.Conversation(x.Context(), x.Tenant(), x.in.ThreadID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(m *llm.Message) bool { return m.ID == x.in.Messages[n-1].ID })
	if at < 0 {
		return noInput
	}
	protocol.AnswerAgain(req, all, at+1, x.open != nil && x.open.Status == awaken.RunRunning)
	return nil
}

// refuse answers that the open interrupts must be resolved first.
func (x *exchange) refuse(asked []interrupt) error {
	ids := make([]string, len(asked))
	for i, a := range asked {
		ids[i] = a.ID
	}
	id := cmp.Or(x.in.RunID, x.open.RunID)
	return x.Stream(&protocol.Stream{ThreadID: x.in.ThreadID, Encoder: x.encoders(Options{}).next, Entries: []awaken.Entry{
		{Event: &awaken.RunStart{ThreadID: x.in.ThreadID, RunID: id}},
		{Event: &awaken.Error{Code: "interrupt_pending", Message: "the thread waits for answers to interrupts; resume must contain " + strings.Join(ids, ", ")}},
	}})
}

// submit starts a run. A repeated request attaches to the run that the first one started.
func (x *exchange) submit(s *mailbox.Submission) error {
	r, err := x.Submit(s)
	if err != nil {
		return err
	}
	after := x.has
	if after == (protocol.Position{}) && !r.Duplicate {
		after = protocol.AfterAll(r.After)
	}
	return x.follow(r, after, Options{})
}

// resume submits decisions to the waiting run.
func (x *exchange) resume(decisions []awaken.Decision) error {
	s := &mailbox.Submission{Mode: mailbox.ModeResume, Request: awaken.RunRequest{ThreadID: x.in.ThreadID, Decisions: decisions}}
	if x.thread == nil {
		return protocol.NotFound("thread", x.in.ThreadID)
	}
	var err error
	if s.Request.Messages, err = x.in.messages(x.unseen, false); err != nil {
		return err
	}
	var opts Options
	if x.fakesResult(decisions) {
		if opts.Before, err = x.conversation(); err != nil {
			return err
		}
	}
	r, err := x.Submit(s)
	if err != nil {
		return err
	}
	if r.Duplicate {
		return x.attach(r)
	}
	opts.At = r.After
	return x.follow(r, x.after(r.After), opts)
}

// answered returns the run that already received the results in this request, if the request
// is a repetition. It fails with the record of a result that the request contradicts.
func (x *exchange) answered() (*mailbox.Receipt, error) {
	if x.thread == nil || x.in.RunID == "" || len(x.in.Messages) == 0 || x.in.Messages[len(x.in.Messages)-1].Role != "tool" {
		return nil, nil
	}
	calls, err := x.calls()
	if err != nil {
		return nil, err
	}
	for _, c := range calls {
		if c.Decision == nil {
			continue
		}
		again := c.Decision.ID == x.in.decisionID(c.SuspensionID())
		if last := &x.in.Messages[len(x.in.Messages)-1]; !again && c.CallID == last.ToolCallID && c.ResumeMode == awaken.UseDecisionAsToolResult && c.Ticket != nil && c.Ticket.Child == "" {
			result, err := last.result("messages")
			if err != nil {
				return nil, err
			}
			d := awaken.Decision{Action: awaken.ActionResume, Result: result}
			if again = d.Digest() == c.Decision.Digest(); !again {
				return nil, c.Decided(x.thread.ID, c.Decision)
			}
		}
		if again {
			return &mailbox.Receipt{ThreadID: x.thread.ID, RunID: x.latestRun(), Duplicate: true}, nil
		}
	}
	return nil, nil
}

// attach answers a repeated request with the outcome of the first one.
func (x *exchange) attach(r *mailbox.Receipt) error {
	at, err := protocol.LastActivation(x.Context(), x.Tenant(), r.ThreadID, r.RunID)
	if err != nil {
		return err
	}
	return x.follow(r, x.after(at), Options{At: at})
}

// after returns the client's position, or the end of entry at if the client has none.
func (x *exchange) after(at awaken.Cursor) protocol.Position {
	if x.has != (protocol.Position{}) {
		return x.has
	}
	return protocol.AfterAll(at)
}

// fakesResult reports whether the client put its own answer into the conversation as the
// call's result. The real result will differ.
func (x *exchange) fakesResult(decisions []awaken.Decision) bool {
	if x.open == nil {
		return false
	}
	for _, d := range decisions {
		t := ticket(x.open.Waiting, d.Target)
		if t != nil && !isClientCall(t) && x.in.resultOf(t.ToolCallID, x.asked) >= 0 {
			return true
		}
	}
	return false
}

// follow streams the events of a submitted run.
func (x *exchange) follow(r *mailbox.Receipt, after protocol.Position, opts Options) error {
	x.in.ThreadID = r.ThreadID
	opts.RunID, opts.ParentRunID = x.in.RunID, x.in.ParentRunID
	if r.New && after == protocol.AfterAll(r.After) { // nothing of the run can be lost yet
		return x.stream(&protocol.Stream{RunID: r.RunID, After: after, New: true}, opts)
	}
	s := &protocol.Stream{RunID: r.RunID, After: after, Resumed: r.Duplicate}
	if opts.At.Seq > 0 { // where the run waited before does not end the stream of a client that starts over
		s.Through = awaken.Cursor{Epoch: opts.At.Epoch, Seq: opts.At.Seq + 1}
	}
	return x.stream(s, opts)
}

// stream replies with a stream of a run. A client that has seen lost output starts over, with the conversation
// before the run.
func (x *exchange) stream(s *protocol.Stream, opts Options) (err error) {
	opts.Current = x.in.current()
	if s.Format, err = opts.format(); err != nil {
		return err
	}
	s.ThreadID = x.in.ThreadID
	encoders := x.encoders(opts)
	s.Encoder = encoders.next
	s.Lost = func(*protocol.Frames) error { return encoders.startOver(s.RunID) }
	x.Header().Set("X-Run-Id", s.RunID)
	x.Header().Set("X-Thread-Id", s.ThreadID)
	return x.Stream(s)
}

// before sets what preceded a run: the conversation and the shared state. The encoder shows it when the run starts.
func (o *Options) before(ctx context.Context, t *mailbox.Tenant, threadID, runID string) error {
	all, err := conversation(ctx, t, threadID)
	if err != nil {
		return err
	}
	first, err := t.Store.Entries(ctx, threadID, awaken.EntryQuery{RunID: runID, Limit: 1})
	if err != nil {
		return err
	}
	var until uint64
	if len(first) > 0 {
		until = first[0].Seq - 1
	} else { // the run has no entries yet
		th, err := t.Store.Thread(ctx, threadID)
		if err != nil {
			return err
		}
		until = th.End.Seq
	}
	state, err := stateAt(ctx, t, threadID, until)
	if err != nil {
		return err
	}
	o.At, o.State = awaken.Cursor{}, state
	o.Before = slices.DeleteFunc(slices.Clone(all), func(m *llm.Message) bool { return protocol.RunOf(m) == runID })
	return nil
}

// conversation returns the thread's messages. It is never nil, so that an empty conversation
// is sent too.
func (x *exchange) conversation() ([]*llm.Message, error) {
	return conversation(x.Context(), x.Tenant(), x.in.ThreadID)
}

func conversation(ctx context.Context, t *mailbox.Tenant, threadID string) ([]*llm.Message, error) {
	all, err := protocol.Conversation(ctx, t, threadID)
	if all == nil {
		all = []*llm.Message{}
	}
	return all, err
}

// format returns a text that differs if encoders with these options make different frames of the same
// entries.
func (o *Options) format() (string, error) {
	before, err := json.Marshal(o.Before)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("ag-ui %q %q %t %s %x %x", o.RunID, o.ParentRunID, o.Current, o.At, sha256.Sum256(before), sha256.Sum256(o.State)), nil
}

// readTime is how long reading a conversation for a client may take.
const readTime = 10 * time.Second

// encoders makes the encoders of a client's stream, and of others of the same format, which may last
// longer. A stream may be open for hours, so it retains neither the request nor, once sent, the
// conversation before the run.
type encoders struct {
	ctx      context.Context // of the tenant's reads; it outlasts the request
	tenant   *mailbox.Tenant
	threadID string
	opts     Options // without Before
	before   *atomic.Pointer[[]*llm.Message]
}

func (x *exchange) encoders(opts Options) *encoders {
	f := &encoders{ctx: context.WithoutCancel(x.Context()), tenant: x.Tenant(), threadID: x.in.ThreadID}
	opts.Current = x.in.current()
	opts.Conversation = func() ([]*llm.Message, error) {
		ctx, cancel := context.WithTimeout(f.ctx, readTime)
		defer cancel()
		return protocol.Patiently(ctx, func() ([]*llm.Message, error) { return conversation(ctx, f.tenant, f.threadID) })
	}
	x.in = input{ThreadID: x.in.ThreadID, RunID: x.in.RunID, ProtocolVersion: x.in.ProtocolVersion}
	f.use(opts)
	return f
}

// use sets the options of the encoders to come.
func (f *encoders) use(opts Options) {
	f.before = new(atomic.Pointer[[]*llm.Message]) // nil once sent
	if before := opts.Before; before != nil {
		f.before.Store(&before)
	}
	f.opts, f.opts.Before = opts, nil
}

// next returns a new encoder.
func (f *encoders) next() protocol.Encoder {
	opts, before := f.opts, f.before
	if all := before.Load(); all != nil {
		opts.Before = *all
	}
	e := NewEncoder(opts)
	e.sent = func() { before.Store(nil) }
	return e
}

// startOver makes the next encoder begin with what preceded a run.
func (f *encoders) startOver(runID string) error {
	ctx, cancel := context.WithTimeout(f.ctx, readTime)
	defer cancel()
	opts := f.opts
	if err := opts.before(ctx, f.tenant, f.threadID, runID); err != nil {
		return err
	}
	f.use(opts)
	return nil
}

// connect sends the thread as it is, and follows the run in flight.
func connect(c protocol.Call, in *input) error {
	x := &exchange{Call: c, in: *in}
	if err := x.in.check(); err != nil {
		return err
	}
	if x.in.ThreadID == "" {
		return protocol.BadRequest("threadId is empty")
	}
	if err := x.load(); err != nil {
		return err
	}
	if x.thread == nil { // no messages yet
		return x.Stream(&protocol.Stream{ThreadID: x.in.ThreadID, Encoder: x.encoders(Options{}).next, Entries: []awaken.Entry{}})
	}
	ctx, t := x.Context(), x.Tenant()
	going, end, err := protocol.ActiveRun(ctx, t, x.in.ThreadID)
	if err != nil {
		return err
	}
	var opts Options
	if going != nil {
		if err := opts.before(ctx, t, x.in.ThreadID, going.RunID); err != nil {
			return err
		}
		return x.stream(&protocol.Stream{RunID: going.RunID, After: x.has, Through: end, Resumed: true}, opts)
	}
	if opts.Before, err = x.conversation(); err != nil {
		return err
	}
	if opts.State, err = stateAt(ctx, t, x.in.ThreadID, end.Seq); err != nil {
		return err
	}
	start := &awaken.RunStart{ThreadID: x.in.ThreadID, RunID: cmp.Or(x.latestRun(), x.in.RunID)}
	finish := &awaken.RunFinish{ThreadID: x.in.ThreadID, RunID: start.RunID, Termination: awaken.Termination{Type: awaken.NaturalEnd}}
	if x.open != nil {
		finish.Termination.Type, finish.Result = awaken.Suspended, &awaken.RunOutput{Status: x.open.Status, StatusReason: x.open.StatusReason, Waiting: x.open.Waiting}
	}
	at := awaken.Cursor{Epoch: end.Epoch, Seq: end.Seq + 1}
	return x.Stream(&protocol.Stream{ThreadID: x.in.ThreadID, Encoder: x.encoders(opts).next,
		Entries: []awaken.Entry{{Cursor: at, Event: start}, {Cursor: at, Event: finish}}})
}

// lastState is how many entries may follow the last state snapshot of an activation, the
// snapshot included.
const lastState = 4

// stateAt returns the shared state at the end of the activation that ends at seq, or nil.
func stateAt(ctx context.Context, t *mailbox.Tenant, threadID string, seq uint64) (json.RawMessage, error) {
	if seq == 0 {
		return nil, nil
	}
	entries, err := t.Store.Entries(ctx, threadID, awaken.EntryQuery{After: seq - min(seq, lastState), Limit: lastState})
	if err != nil {
		return nil, err
	}
	for i := range slices.Backward(entries) {
		if ev, ok := entries[i].Event.(*awaken.StateSnapshot); ok && entries[i].Seq <= seq {
			doc, _, err := ev.Snapshot.Value(builtin.ClientState.Name())
			return doc, err
		}
	}
	return nil, nil
}
