package a2a

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// sendRequest is the request to send a message.
type sendRequest struct {
	Tenant        string          `json:"tenant,omitempty"`
	AgentID       string          `json:"agentId,omitempty"` // same as tenant
	Message       *Message        `json:"message"`
	Configuration sendConfig      `json:"configuration,omitzero"`
	Metadata      json.RawMessage `json:"metadata,omitempty"`
}

type sendConfig struct {
	AcceptedOutputModes []string    `json:"acceptedOutputModes,omitempty"`
	Push                *pushConfig `json:"taskPushNotificationConfig,omitempty"`
	HistoryLength       *int        `json:"historyLength,omitempty"`
	ReturnImmediately   bool        `json:"returnImmediately,omitempty"`
}

// UnmarshalJSON ignores unknown fields.
func (r *sendRequest) UnmarshalJSON(data []byte) error {
	type plain sendRequest
	return strict.UnmarshalKnown(data, (*plain)(r))
}

func (r *sendRequest) check() error {
	if r.Message == nil {
		return protocol.BadRequest("message is missing")
	}
	if err := r.Message.check(); err != nil {
		return err
	}
	c := &r.Configuration
	if err := checkHistory(c.HistoryLength); err != nil {
		return err
	}
	if modes := c.AcceptedOutputModes; len(modes) > 0 && !slices.ContainsFunc(modes, func(m string) bool {
		return m == "*/*" || slices.ContainsFunc(outputModes, func(ours string) bool { return covers(ours)(strings.TrimSpace(m)) })
	}) {
		return failure(http.StatusUnsupportedMediaType, contentTypeUnknown, "configuration.acceptedOutputModes is %.200q, want %s among them", modes, strings.Join(outputModes, " or "))
	}
	return nil
}

func checkHistory(n *int) error {
	if n != nil && *n < 0 {
		return protocol.BadRequest("historyLength is %d, want 0 or more", *n)
	}
	return nil
}

// send takes a message, and replies with its task or streams it.
func (x *exchange) send(in *sendRequest, streams bool) error {
	tenant, err := protocol.Either("tenant", in.Tenant, in.AgentID)
	if err != nil {
		return err
	}
	if err := x.address(tenant); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	if c := in.Configuration.Push; c != nil {
		if err := (pushes{x}).check(c, "configuration.taskPushNotificationConfig."); err != nil {
			return err
		}
	}
	if err := x.Admit(in.Message.ContextID); err != nil {
		return err
	}
	msg, err := in.Message.message()
	if err != nil {
		return err
	}
	d := &delivery{exchange: x, in: in, msg: msg, streams: streams}
	if in.Message.TaskID != "" {
		return d.toTask()
	}
	return d.toContext()
}

// delivery is a message on its way.
type delivery struct {
	*exchange
	in      *sendRequest
	msg     *llm.Message
	streams bool
}

// toContext starts a task. If the task of the context waits, the message continues it.
func (d *delivery) toContext() error {
	agent, err := d.target()
	if err != nil {
		return err
	}
	m := d.in.Message
	said, err := json.Marshal(m)
	if err != nil {
		return err
	}
	s := &mailbox.Submission{Request: awaken.RunRequest{AgentID: agent, ThreadID: m.ContextID, Messages: []*llm.Message{d.msg}, Adapter: "a2a"},
		IdempotencyKey: fmt.Sprintf("a2a:%q:%q:%q", agent, m.ContextID, m.MessageID), Digest: fmt.Sprintf("%x", sha256.Sum256(said))}
	if m.ContextID != "" {
		if s.Said, err = protocol.Say(d.msg, "a2a", agent); err != nil {
			return err
		}
	}
	r, err := d.Submit(s)
	if err != nil {
		return d.failure(err)
	}
	started := r.New || r.Duplicate
	if !started && d.streams {
		run, err := d.Tenant().Store.LoadRun(d.Context(), r.RunID)
		if err != nil {
			return err
		}
		started = run.StartedAt == 0
	}
	return d.respond(r, started)
}

// failure converts the error of a submission.
func (d *delivery) failure(err error) error {
	if errors.Is(err, awaken.ErrConflict) {
		return failure(http.StatusConflict, "conflict", "message.messageId %.80q was used for another message", d.msg.ID)
	}
	return err
}

// toTask gives a message to a task that runs or waits.
func (d *delivery) toTask() error {
	m := d.in.Message
	run, err := d.run(m.TaskID)
	if err != nil {
		return err
	}
	if m.ContextID != "" && m.ContextID != run.ThreadID {
		return protocol.BadRequest("message.contextId is %.80q, but the task belongs to context %s", m.ContextID, run.ThreadID)
	}
	again, err := d.taken(run)
	if err != nil {
		return err
	}
	if again {
		return d.respond(&mailbox.Receipt{ThreadID: run.ThreadID, RunID: run.RunID, Duplicate: true}, false)
	}
	if run.Status == awaken.RunDone {
		return unsupported("task %s is over (%s); send the message without taskId to start another in context %s", run.RunID, stateOf(run), run.ThreadID)
	}
	if run.Status == awaken.RunCreated { // the thread's open run, if it has one, is another task
		f := failure(http.StatusConflict, "conflict", "task %s has not begun; send the message again when it is working, or without taskId", run.RunID)
		f.RetryAfter = time.Second
		return f
	}
	if err := (pushes{d.exchange}).room(d.in.Configuration.Push, run); err != nil {
		return err
	}
	s := &mailbox.Submission{Mode: mailbox.ModeResume, Request: awaken.RunRequest{RunID: run.RunID, ThreadID: run.ThreadID, Messages: []*llm.Message{d.msg}}}
	if run.Waiting != nil {
		decisions, rest, err := answers(m, d.msg, run.Waiting)
		if err != nil {
			return err
		}
		if len(decisions) > 0 {
			s.Request.Decisions, s.Request.Messages = decisions, rest
		}
	}
	if len(s.Request.Decisions) == 0 {
		if s.Said, err = protocol.Say(d.msg, "a2a", run.RunID); err != nil {
			return err
		}
	}
	r, err := d.Submit(s)
	if errors.Is(err, mailbox.ErrIdle) || errors.Is(err, mailbox.ErrExists) {
		return unsupported("task %s is over; send the message without taskId to start another", run.RunID)
	}
	if err != nil {
		return d.failure(err)
	}
	return d.respond(r, false)
}

// recent is how many messages of a thread are searched for one that was sent before.
const recent = 64

// taken reports whether the run has got the message before: as a decision, or as a message that is stored or still to be
// read.
func (d *delivery) taken(run *awaken.Run) (bool, error) {
	ctx, store, id := d.Context(), d.Tenant().Store, d.msg.ID
	calls, err := store.Calls(ctx, run.RunID)
	if err != nil {
		return false, err
	}
	decided := func(by *awaken.Decision) bool { return by != nil && by.ID == decisionID(id, by.Target) }
	for _, c := range calls {
		if decided(c.Decision) || slices.ContainsFunc(c.Earlier, func(e awaken.Decision) bool { return decided(&e) }) {
			return true, nil
		}
	}
	items, err := store.Unread(ctx, run.ThreadID)
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		return false, err
	}
	for _, it := range items {
		if decided(it.Decision) || slices.ContainsFunc(it.Messages, func(m *llm.Message) bool { return m.ID == id }) {
			return true, nil
		}
	}
	page, err := store.Messages(ctx, run.ThreadID, awaken.MessageQuery{Limit: recent, Last: true})
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		return false, err
	}
	return slices.ContainsFunc(page, func(r awaken.MessageRecord) bool { return r.Message.ID == id }), nil
}

// respond answers a message that was taken. Started says that the message started the task.
func (d *delivery) respond(r *mailbox.Receipt, started bool) error {
	if err := (pushes{d.exchange}).sent(d.in.Configuration.Push, r, started); err != nil {
		return err
	}
	if d.streams {
		return d.follow(r, started)
	}
	run, err := d.awaited(r)
	if err != nil {
		return err
	}
	task, err := d.task(run, true, d.in.Configuration.HistoryLength)
	if err != nil {
		return err
	}
	return d.reply(update{Task: task})
}

// awaited returns the run that a reply shows: as it is, or when it is over or needs its client.
func (d *delivery) awaited(r *mailbox.Receipt) (*awaken.Run, error) {
	ctx, store := d.Context(), d.Tenant().Store
	for !d.in.Configuration.ReturnImmediately {
		run, err := d.Wait(r)
		if f, ok := errors.AsType[*protocol.Failure](err); ok && f.Status == http.StatusGatewayTimeout {
			break
		}
		if err != nil || settled(run) && !(r.Duplicate && d.answered(run)) {
			return run, err
		}
		// It continues by itself, and its next end comes after what is stored by now, unless it is over already.
		th, err := store.Thread(ctx, r.ThreadID)
		if err != nil {
			return nil, err
		}
		r = &mailbox.Receipt{ThreadID: r.ThreadID, RunID: r.RunID, After: th.End}
		if run, err = store.LoadRun(ctx, r.RunID); err != nil || settled(run) && !d.answered(run) {
			return run, err
		}
	}
	return store.LoadRun(ctx, r.RunID)
}

// answered reports whether a run that waits has input to continue with.
func (x *exchange) answered(run *awaken.Run) bool {
	if run.Status != awaken.RunWaiting {
		return false
	}
	items, err := x.Tenant().Store.Unread(x.Context(), run.ThreadID)
	return err == nil && len(items) > 0
}

// follow streams what follows a message.
func (d *delivery) follow(r *mailbox.Receipt, started bool) error {
	s := &protocol.Stream{ThreadID: r.ThreadID, RunID: r.RunID, Resumed: r.Duplicate}
	if started {
		s.After, s.New = protocol.AfterAll(r.After), r.New
		if r.Duplicate {
			var err error
			if s.After, err = d.has(r.ThreadID); err != nil {
				return err
			}
			if s.After != (protocol.Position{}) {
				return d.stream(s, Options{})
			}
		}
		task := &Task{ID: r.RunID, ContextID: r.ThreadID, Status: Status{State: Submitted}}
		if said := shown(d.msg, r.ThreadID, r.RunID); said != nil && (d.in.Configuration.HistoryLength == nil || *d.in.Configuration.HistoryLength > 0) {
			task.History = []*Message{said}
		}
		s.Opening = opening(d.rpc, task)
		return d.stream(s, Options{})
	}
	return d.followOn(r, s)
}

// followOn streams a task that the message continues.
func (d *delivery) followOn(r *mailbox.Receipt, s *protocol.Stream) error {
	run, err := d.Tenant().Store.LoadRun(d.Context(), r.RunID)
	if err != nil {
		return err
	}
	if r.Duplicate {
		if s.After, err = d.has(r.ThreadID); err != nil {
			return err
		}
		if s.After != (protocol.Position{}) {
			return d.stream(s, Options{})
		}
		if r.After, err = protocol.LastActivation(d.Context(), d.Tenant(), run.ThreadID, run.RunID); err != nil {
			return err
		}
	}
	s.After = protocol.AfterAll(r.After)
	task, err := d.taskAt(run, r.After, d.in.Configuration.HistoryLength)
	if err != nil {
		return err
	}
	task.Status = Status{State: Working, Timestamp: task.Status.Timestamp} // what it waited for has come
	s.Opening = opening(d.rpc, task)
	return d.stream(s, Options{})
}
