package remote

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
)

// exchange is one step of a run: a message to the agent, and what it answers.
type exchange struct {
	*agent
	x       *registry.Exchange
	yield   func(llm.Delta, error) bool
	stopped bool // the runtime wants no more deltas

	n       notes
	at      *place
	reply   reply
	status  status
	history []*message
	resumed bool // the message continues a task that waited
	stale   int  // how often the task was seen asking what has been answered
	heard   bool // something arrived since the last look
	shown   int  // bytes of activities
}

var errTimeout = errors.New("timeout")

// run makes the exchange, from where the notes say.
func (e *exchange) run(outer context.Context) error {
	ctx, stop := context.WithTimeoutCause(outer, e.timeout, errTimeout)
	defer stop()
	err := e.start(ctx)
	if err != nil && outer.Err() == nil && errors.Is(context.Cause(ctx), errTimeout) {
		return &taskError{fmt.Sprintf("no answer within %v", e.timeout)}
	}
	return err
}

func (e *exchange) start(ctx context.Context) error {
	e.n = readNotes(e.x.Notes)
	again := e.n.Exchange == e.x.ID
	if again {
		e.reply.said, e.resumed = e.n.Said, e.n.Said != nil
	}
	switch {
	case again && e.n.Sending != "":
		if err := e.find(ctx); err != nil {
			return err
		}
		return e.resolve(ctx)
	case again && e.n.TaskID != "":
		if err := e.find(ctx); err != nil {
			return err
		}
		return e.follow(ctx)
	}
	return e.begin(ctx)
}

// find looks up where the agent is. A server that cannot be reached is tried again.
func (e *exchange) find(ctx context.Context) error {
	for try := 0; ; try++ {
		at, err := e.client.find(ctx, e.settings)
		if err == nil {
			e.at = at
			return nil
		}
		if f, ok := errors.AsType[*Failure](err); ok && f.transient() {
			if err = e.pause(ctx, try, f); err == nil {
				continue
			}
			return fmt.Errorf("%w: %w", err, f)
		} else if !ok && ctx.Err() == nil {
			return &taskError{err.Error()}
		}
		return err
	}
}

// connectTries limits how often a server that refuses or cannot be reached is tried before a message is sent.
const connectTries = 7

// pause waits before another attempt. It returns an error if there should be none.
func (e *exchange) pause(ctx context.Context, try int, f *Failure) error {
	if try >= connectTries {
		return f
	}
	return sleep(ctx, max(min(250*time.Millisecond<<try, 10*time.Second), f.After))
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin sends what the conversation has new.
func (e *exchange) begin(ctx context.Context) error {
	calls, err := e.x.Calls(ctx)
	if err != nil {
		return err
	}
	from, id := e.n.Through, e.x.ID
	if d := doubtful(e.x.Messages, calls); d != nil && e.n.Sending != "" {
		if d.Action == awaken.ActionCancel {
			return &taskError{"the message may have arrived, and was not sent again"}
		}
		from, id = e.n.Before, e.n.Sending
	}
	parts, through, err := compose(e.x.Messages, from, calls)
	if err != nil {
		return &taskError{err.Error()}
	}
	was := e.n
	e.n = notes{ContextID: was.ContextID, Run: e.x.Run.RunID, Exchange: e.x.ID, Sending: id, Through: through, Before: from, Fresh: was.Fresh && was.Sending != ""}
	if was.TaskID != "" && was.State.interrupted() && was.Run == e.x.Run.RunID {
		e.n.TaskID, e.n.State, e.n.Question, e.n.Said = was.TaskID, was.State, was.Question, was.Said
		e.reply.said, e.resumed = was.Said, true
	}
	if e.n.ContextID == "" {
		e.n.ContextID, e.n.Fresh = e.contextID(), true
	}
	if err := e.find(ctx); err != nil {
		return err
	}
	if err := e.save(ctx, true); err != nil {
		return err
	}
	return e.send(ctx, parts)
}

// contextID returns the id of a new context: one for each thread, or for each agent of a parent's thread.
func (e *exchange) contextID() string {
	thread := e.x.Run.ThreadID
	if e.settings.Context == "parent" && e.x.Run.ParentThreadID != "" {
		thread = e.x.Run.ParentThreadID
	}
	sum := sha256.Sum256([]byte("a2a context\x00" + e.id + "\x00" + thread))
	return hex.EncodeToString(sum[:16])
}

// message returns the message that is being sent.
func (e *exchange) message(parts []part) *message {
	return &message{MessageID: e.n.Sending, ContextID: e.n.ContextID, TaskID: e.n.TaskID, Role: roleUser, Parts: parts}
}

// save makes the notes durable.
func (e *exchange) save(ctx context.Context, begins bool) error {
	e.n.UpdatedAt = e.client.now().UnixMilli()
	return e.x.Save(ctx, e.n.encode(), begins)
}

// keep lets the next commit of the run take the notes along.
func (e *exchange) keep() {
	e.n.UpdatedAt = e.client.now().UnixMilli()
	e.x.Keep(e.n.encode())
}

// send sends the message that the notes announce. One that certainly did not arrive is sent again.
func (e *exchange) send(ctx context.Context, parts []part) error {
	for try := 0; ; try++ {
		over, err := e.consume(ctx, e.client.send(ctx, e.at, e.settings, outgoing{e.message(parts), modes(e.x.Output)}))
		f, failed := errors.AsType[*Failure](err)
		switch {
		case err != nil && (!failed || ctx.Err() != nil || e.stopped):
			return err
		case over:
			return e.finish()
		case e.n.Sending == "": // the task is known
			if failed && !f.transient() {
				return err
			}
			return e.follow(ctx)
		case !failed || f.Sent && !errors.Is(err, errMalformed):
			return e.resolve(ctx)
		case f.transient():
			if err := e.pause(ctx, try, f); err != nil {
				e.n.Sending, e.n.Through = "", e.n.Before
				e.keep()
				return err
			}
		default: // the server refused the message, or answers in another language
			if !f.Sent {
				e.n.Sending = ""
				e.keep()
			}
			return err
		}
	}
}

// consume takes events until the exchange is over, or the stream is.
func (e *exchange) consume(ctx context.Context, events iter.Seq2[*event, error]) (over bool, err error) {
	for ev, err := range events {
		if err != nil {
			return false, err
		}
		e.heard = true
		over, err := e.take(ctx, ev)
		if over || err != nil || e.stopped {
			return over, err
		}
	}
	return false, context.Cause(ctx)
}

// take takes one event. It reports whether the exchange is over.
func (e *exchange) take(ctx context.Context, ev *event) (over bool, err error) {
	switch {
	case ev.Message != nil:
		if e.n.TaskID == "" || ev.Message.TaskID == "" {
			e.n.TaskID, e.n.State, e.n.Question, e.n.Said = "", "", "", nil
		}
		e.n.ContextID, e.n.Sending = cmp.Or(ev.Message.ContextID, e.n.ContextID), ""
		e.status = status{State: completed, Message: ev.Message}
		return true, nil
	case ev.Task != nil:
		if err := e.learn(ctx, ev.Task.ID, ev.Task.ContextID, ev.Task.Status.State); err != nil {
			return false, err
		}
		e.history = ev.Task.History
		if err := e.say(e.reply.replace(ev.Task.Artifacts)); err != nil {
			return false, err
		}
		return e.setStatus(&ev.Task.Status), nil
	case ev.Status != nil:
		if err := e.learn(ctx, ev.Status.TaskID, ev.Status.ContextID, ev.Status.Status.State); err != nil {
			return false, err
		}
		return e.setStatus(&ev.Status.Status), nil
	}
	if err := e.learn(ctx, ev.Artifact.TaskID, ev.Artifact.ContextID, working); err != nil {
		return false, err
	}
	if !hasText(&ev.Artifact.Artifact) {
		e.showArtifact(&ev.Artifact.Artifact)
	}
	return false, e.say(e.reply.add(&ev.Artifact.Artifact, ev.Artifact.Append))
}

// learn notes that the message has arrived, and which task it is of.
func (e *exchange) learn(ctx context.Context, taskID, contextID string, s state) error {
	if e.n.TaskID != "" && e.n.TaskID != taskID {
		return malformed("an event is of task %.80q, want %.80q", taskID, e.n.TaskID)
	}
	if e.n.Sending == "" && e.n.TaskID == taskID {
		return nil
	}
	e.n.TaskID, e.n.ContextID, e.n.Sending, e.n.Fresh = taskID, cmp.Or(contextID, e.n.ContextID), "", false
	if !s.terminal() && !s.interrupted() {
		e.n.State = s
	}
	if s.terminal() {
		return nil // the end of the step follows
	}
	return e.save(ctx, false)
}

// setStatus takes a status. It reports whether the task needs nothing but its client, or is over.
func (e *exchange) setStatus(s *status) bool {
	if s.State.interrupted() && e.resumed && s.Message != nil && s.Message.MessageID == e.n.Question && e.n.Question != "" && e.stale < 3 {
		return false // it does not know of the answer yet
	}
	e.status = *s
	if s.State.terminal() || s.State.interrupted() {
		return true
	}
	e.resumed = false
	progress := map[string]any{"schema": "a2a-task-progress.v1", "task_id": e.n.TaskID, "context_id": e.n.ContextID, "state": s.State}
	if text := textOf(s.Message); text != "" {
		progress["message"] = clip(text, 4<<10)
	}
	if data, err := json.Marshal(progress); err == nil {
		e.show("a2a-task-progress", data)
	}
	return false
}

// follow watches the task until it is over or waits: by subscribing, or by looking at it again and again.
func (e *exchange) follow(ctx context.Context) error {
	subscribes := e.at.streaming
	for try := 0; ; try++ {
		e.heard = false
		var failure *Failure
		if subscribes {
			over, err := e.consume(ctx, e.client.subscribe(ctx, e.at, e.n.TaskID))
			f, failed := errors.AsType[*Failure](err)
			switch {
			case err != nil && (!failed || ctx.Err() != nil || e.stopped || errors.Is(err, errMalformed)):
				return err
			case over:
				return e.finish()
			case failed && !f.transient():
				subscribes = false // not supported, or the task is over
			}
			failure = f
		}
		over, err := e.look(ctx)
		if err != nil {
			f, failed := errors.AsType[*Failure](err)
			if !failed || !f.transient() || ctx.Err() != nil || e.stopped {
				return err
			}
			failure = f
		} else if over {
			return e.finish()
		}
		if e.heard {
			try = 0
		}
		wait := time.Duration(pollInterval(e.settings)) * time.Millisecond
		if subscribes {
			wait = min(250*time.Millisecond<<min(try, 6), 10*time.Second)
		}
		if failure != nil {
			wait = max(wait, min(250*time.Millisecond<<min(try, 6), 10*time.Second), failure.After)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

func pollInterval(s *settings) int64 {
	if s.PollIntervalMS > 0 {
		return s.PollIntervalMS
	}
	return 2000
}

// look gets the task.
func (e *exchange) look(ctx context.Context) (over bool, err error) {
	history := -1
	if e.settings.HistoryLength != nil {
		history = *e.settings.HistoryLength
	}
	t, err := e.client.get(ctx, e.at, e.n.TaskID, history)
	if err != nil {
		return false, err
	}
	if t.Status.State.interrupted() {
		e.stale++
	}
	return e.take(ctx, &event{Task: t})
}

// finish ends the step with what the task has come to.
func (e *exchange) finish() error {
	e.n.State, e.n.Question, e.n.Said = e.status.State, "", nil
	switch s := e.status.State; {
	case s.interrupted():
		if e.status.Message != nil && len(e.status.Message.MessageID) <= maxID {
			e.n.Question = e.status.Message.MessageID
		}
		e.n.Said = e.reply.all()
		e.keep()
		return e.ask(questionsOf(&e.status))
	case s != completed:
		e.keep()
		text := clip(textOf(e.status.Message), 4<<10)
		if text == "" {
			text = "it gives no reason"
		}
		return &taskError{fmt.Sprintf("task %s ended with %s: %s", e.n.TaskID, s, text)}
	}
	e.keep()
	if e.reply.silent() {
		if err := e.say(e.reply.fallback(&e.status, e.history)); err != nil {
			return err
		}
	}
	e.emit(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn})
	return nil
}

// say yields what an update of the answer adds.
func (e *exchange) say(u update) error {
	switch {
	case len(e.reply.parts) > maxArtifacts:
		return &taskError{fmt.Sprintf("the task has more than %d artifacts", maxArtifacts)}
	case e.reply.size > maxAnswer:
		return &taskError{fmt.Sprintf("the answer is longer than %d bytes", maxAnswer)}
	case u.retracts:
		e.x.Retract("the agent replaced its answer")
	}
	if u.text != "" {
		e.emit(llm.Delta{Kind: llm.TextDelta, Text: u.text})
	}
	return nil
}

// emit yields a delta and reports whether the runtime wants more.
func (e *exchange) emit(d llm.Delta) bool {
	if !e.stopped && !e.yield(d, nil) {
		e.stopped = true
	}
	return !e.stopped
}

// showArtifact shows an artifact that is not text.
func (e *exchange) showArtifact(a *artifact) {
	if data, err := json.Marshal(a); err == nil && len(data) <= 256<<10 {
		e.show("a2a-artifact:"+a.ArtifactID, data)
	}
}

// show shows an activity, unless the exchange has shown too much already: the thread's log keeps each.
func (e *exchange) show(activityType string, content json.RawMessage) {
	if e.shown += len(activityType) + len(content); e.shown <= maxShown {
		e.x.Show(activityType, content)
	}
}
