package agui

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/state/builtin"
)

// version is the AG-UI version that current clients speak.
const version = "1.0"

// Options configures an [Encoder]. The zero value suits a client older than version 1.0 that
// reads the run under the run's own id.
type Options struct {
	// RunID is the name that the client gave the run, if it differs from the run's id: a
	// client that answers an interrupt gives the resumed run a new name.
	RunID string
	// ParentRunID is the run that, according to the client, this one follows.
	ParentRunID string
	// Current reports that the client speaks version 1.0. Older clients reject parts of it.
	Current bool
	// Conversation returns the thread's current messages. The encoder calls it when it has to
	// retract output, which AG-UI can only do by sending every message that remains. If it is
	// nil, nothing is retracted.
	Conversation func() ([]*llm.Message, error)
	// Before, if not nil, is the conversation that precedes the run. The encoder sends it, and
	// State, when the run starts, or at the first activation after At. That brings a client
	// that has nothing, or retracted output, to the point where the run began.
	Before []*llm.Message
	State  json.RawMessage
	At     awaken.Cursor
}

// Encoder translates the entries of a run into AG-UI events. Its output satisfies the rules
// that clients check, whatever the entries are: RUN_STARTED comes first, the end of the run
// last, and everything opened is closed.
type Encoder struct {
	opts Options
	out  protocol.Writer

	run       string // the open run
	started   bool   // RUN_STARTED was sent, and no end of the run
	begun     bool   // the client has the conversation before the run
	sent      func() // called when it was sent, if set
	step      string // name of the open step, or ""
	steps     int
	stepped   bool // the run has begun to answer, in this activation or an earlier one
	content   content
	asked     map[string]bool // calls without a result
	retracted bool            // a call of this step was retracted
	answered  bool            // the step's answer is complete
	resend    bool            // the conversation is to be shown when the run ends
	seen      map[string]bool // ids of stored messages that the client has
	outputs   map[string]bool // calls whose output has an activity
	state     sharedState
	usage     usage
}

// NewEncoder returns an encoder at the start of a run.
func NewEncoder(opts Options) *Encoder { return &Encoder{opts: opts} }

// Encode implements [protocol.Encoder].
func (e *Encoder) Encode(f *protocol.Frames, entry *awaken.Entry) error {
	e.out.Begin(f)
	e.event(entry.Event, entry.Cursor)
	return e.out.End()
}

func (e *Encoder) event(ev awaken.Event, at awaken.Cursor) {
	switch ev := ev.(type) {
	case *awaken.RunStart:
		e.runStart(ev, at)
	case *awaken.StepStart:
		e.stepStart(ev.MessageID)
	case *awaken.ReasoningDelta:
		e.content.reasoningDelta(&e.out, ev.Delta, at)
	case *awaken.ReasoningEncryptedValue:
		e.content.encrypted(&e.out, ev.EncryptedValue, at)
	case *awaken.TextDelta:
		e.content.textDelta(&e.out, ev.Delta, at)
	case *awaken.ToolCallStart:
		e.callStart(ev, at)
	case *awaken.ToolCallDelta:
		e.content.callDelta(&e.out, ev, at)
	case *awaken.ToolCallReady:
		e.answered = true
		e.content.closeCall(&e.out, ev.ID)
	case *awaken.ToolCallCancel:
		e.content.closeCall(&e.out, ev.ID)
		delete(e.asked, ev.ID)
		e.retracted = true
		e.raw(ev)
	case *awaken.ToolCallStreamDelta:
		e.output(ev)
	case *awaken.ToolCallDone:
		if ev.Outcome != awaken.CallSuspended {
			e.result(ev.ID, ev.MessageID, resultText(ev.Result))
		}
	case *awaken.ToolCallResumed:
		e.result(ev.TargetID, ev.MessageID, resumedText(ev))
	case *awaken.ActivitySnapshot:
		e.activity(ev)
	case *awaken.ActivityDelta:
		e.out.Object("ACTIVITY_DELTA").Text(`,"messageId":`, activityID(ev.MessageID, ev.ActivityType)).Text(`,"activityType":`, ev.ActivityType).
			Value(`,"patch":`, ev.Patch).Close()
	case *awaken.InferenceComplete:
		e.answered = true
		e.usage.add(ev)
		e.out.Object("CUSTOM").Value(`,"name":"inference_complete","value":`, ev).Close()
	case *awaken.StateSnapshot:
		doc, _, err := ev.Snapshot.Value(builtin.ClientState.Name())
		e.out.Fail(err)
		e.state.show(&e.out, doc)
	case *awaken.StateDelta:
		e.state.delta(&e.out, ev)
	case *awaken.MessagesSnapshot:
		e.content.closeMessage(&e.out)
		clear(e.asked) // the snapshot has the pending calls
		showMessages(&e.out, ev.Messages, "")
	case *awaken.StreamReset:
		e.reset(ev)
	case *awaken.StepEnd:
		e.stepEnd()
	case *awaken.RunFinish:
		e.runFinish(ev)
	case *awaken.Error:
		e.closeStep()
		e.fail(ev.Message, ev.Code)
	}
}

// End reports a server failure to the client.
func (e *Encoder) End(f *protocol.Frames, failure *protocol.Failure) {
	if failure != nil {
		e.out.Begin(f)
		e.failure(failure.Message, failure.Code)
	}
}

func (e *Encoder) runID() string { return cmp.Or(e.opts.RunID, e.run) }

// start sends RUN_STARTED, unless the run is open already.
func (e *Encoder) start(threadID, runID string) {
	if e.started {
		return
	}
	e.stepped = e.stepped && e.run == runID
	e.run, e.started = runID, true
	e.steps, e.state, e.usage = 0, sharedState{}, nil
	started := e.out.Object("RUN_STARTED").Text(`,"threadId":`, threadID).Text(`,"runId":`, e.runID()).TextIf(`,"parentRunId":`, e.opts.ParentRunID)
	if e.opts.Current {
		started = started.Text(`,"protocolVersion":`, version)
	}
	started.Close()
}

// runStart begins an activation. The client sees only one start when a new owner takes over
// from one that died.
func (e *Encoder) runStart(ev *awaken.RunStart, at awaken.Cursor) {
	e.closeStep()
	e.start(ev.ThreadID, ev.RunID)
	if e.begun || !e.opts.At.Before(at) {
		return
	}
	e.begun = true
	if e.opts.Before != nil {
		showMessages(&e.out, e.opts.Before, "")
		e.opts.Before = nil // it may be long, and is sent once
		if e.sent != nil {
			e.sent()
		}
	}
	e.state.show(&e.out, e.opts.State)
}

func (e *Encoder) stepStart(messageID string) {
	if e.content.id == messageID && !e.answered && e.content.shown != (awaken.Cursor{}) {
		e.retract(false) // a new owner begins the step again
	}
	e.closeStep()
	e.steps++
	e.stepped = true
	e.step = "step_" + strconv.Itoa(e.steps)
	e.content = content{id: messageID, calls: e.content.calls} // keeps the capacity; none is open
	e.retracted, e.answered = false, false
	e.out.Object("STEP_STARTED").Text(`,"stepName":`, e.step).Close()
}

// callStart shows a call whose result is still to come.
func (e *Encoder) callStart(ev *awaken.ToolCallStart, at awaken.Cursor) {
	e.content.closeMessage(&e.out)
	if strings.HasPrefix(ev.ID, awaken.HeldCallPrefix) {
		return // the interrupt shows it; the conversation has no such call
	}
	e.content.callStart(&e.out, ev, at)
	note(&e.asked, ev.ID)
}

// closeStep closes everything except the run.
func (e *Encoder) closeStep() {
	e.content.close(&e.out)
	if e.step != "" {
		e.out.Object("STEP_FINISHED").Text(`,"stepName":`, e.step).Close()
		e.step = ""
	}
}

// stepEnd ends a step, which is stored by now. One without an answer has no message: its ID is used by the step that is
// made instead, once the run goes on.
func (e *Encoder) stepEnd() {
	e.content.close(&e.out)
	if e.answered || e.content.shown != (awaken.Cursor{}) {
		e.has(e.content.id)
	}
	if e.retracted {
		e.retract(false)
	}
	e.closeStep()
}

// has records that the client has a stored message.
func (e *Encoder) has(id string) { note(&e.seen, id) }

// note adds an id to a set, which may be nil.
func note(set *map[string]bool, id string) {
	if *set == nil {
		*set = map[string]bool{}
	}
	(*set)[id] = true
}

// result shows the result of a call, except for the synthetic call of a message held by a
// guard.
func (e *Encoder) result(callID, messageID, content string) {
	if strings.HasPrefix(callID, awaken.HeldCallPrefix) {
		return
	}
	e.content.closeMessage(&e.out)
	e.content.closeCall(&e.out, callID)
	delete(e.asked, callID)
	messageID = cmp.Or(messageID, "result:"+callID)
	e.has(messageID)
	e.out.Object("TOOL_CALL_RESULT").Text(`,"messageId":`, messageID).Text(`,"toolCallId":`, callID).Text(`,"content":`, content).Add(`,"role":"tool"`).Close()
}

func (e *Encoder) runFinish(ev *awaken.RunFinish) {
	e.start(ev.ThreadID, ev.RunID) // a run cancelled while queued has no run_start
	e.closeStep()
	if ev.Termination.Type != awaken.Suspended && (len(e.asked) > 0 || e.resend) {
		e.retract(true) // suspended calls may have been answered without an event
		clear(e.asked)
		e.resend = false
	}
	if ev.Termination.Type == awaken.Failed {
		e.fail(ev.Termination.Message, "run_failed")
		return
	}
	if ev.Termination.Type == awaken.Cancelled && !e.stepped { // there is nothing to show
		e.fail(protocol.NotBegun, "cancelled")
		return
	}
	finished := e.out.Object("RUN_FINISHED").Text(`,"threadId":`, ev.ThreadID).Text(`,"runId":`, e.runID())
	var waiting *awaken.Waiting
	if ev.Result != nil {
		waiting = ev.Result.Waiting
		shown := *ev.Result
		shown.Waiting = nil
		finished = finished.Value(`,"result":`, shown)
	}
	e.outcome(finished, ev.Termination.Type, waiting).Append("", e.usage.append).Close()
	e.started = false
}

func (e *Encoder) fail(message, code string) {
	e.failure(message, code)
	e.started = false
}

func (e *Encoder) failure(message, code string) {
	e.out.Object("RUN_ERROR").Text(`,"message":`, message).TextIf(`,"code":`, code).Append("", e.usage.append).Close()
}

// outcome adds how a run ended, and what it waits for.
func (e *Encoder) outcome(o protocol.Object, how awaken.TerminationType, waiting *awaken.Waiting) protocol.Object {
	interrupts, pending := questions(waiting)
	switch {
	case how == awaken.Cancelled && e.opts.Current:
		return o.Add(`,"outcome":{"type":"cancelled"}`)
	case len(interrupts) > 0:
		return o.Value(`,"outcome":{"type":"interrupt","interrupts":`, interrupts).Add("}")
	case e.opts.Current && len(pending) > 0:
		return o.Value(`,"outcome":{"type":"success","pendingToolCallIds":`, pending).Add("}")
	}
	return o.Add(`,"outcome":{"type":"success"}`)
}
