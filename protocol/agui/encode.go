package agui

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/builtin"
	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// Version is the version of the protocol that clients of today speak.
const Version = "1.0"

// Options are what an encoder has to know beside the run. The zero value is a client
// from before version 1.0 that reads the run under the run's own id.
type Options struct {
	// RunID is what the client calls the run, if that is not its id: a client that
	// answers an interrupt gives the run that goes on a new name.
	RunID string
	// ParentRunID is what the client says the run follows on.
	ParentRunID string
	// Current says that the client speaks version 1.0. Others do not understand all of it.
	Current bool
	// Conversation returns what the thread says at present. It is asked when something
	// that was shown has to be taken back, which AG-UI can only do by showing all that is
	// left. Without it, nothing is taken back.
	Conversation func() ([]*llm.Message, error)
	// Before, if it is not nil, is the conversation that the run goes on from. It is shown
	// when the run starts, or at its first activation behind At, and so is State: a client
	// who knows nothing, or too much, is brought to where the run began.
	Before []*llm.Message
	State  json.RawMessage
	At     awaken.Cursor
}

// Encoder turns the entries of a run into AG-UI events. Whatever the entries are, what it
// writes keeps the rules that clients check: a run is started before and finished after
// all else, and everything that is opened is closed.
type Encoder struct {
	opts Options

	thread, run string // of the run that is open
	started     bool   // RUN_STARTED was sent, and nothing that ends the run
	begun       bool   // the client knows the conversation before the run
	step        string // the open step, or ""
	steps       int
	content     content
	asked       map[string]bool // calls that have no result
	retracted   bool            // a call of the step was taken back
	seen        map[string]bool // ids of stored messages that the client has
	outputs     map[string]bool // calls whose output is shown
	state       sharedState
	usage       usage
}

// NewEncoder returns an encoder that has seen nothing.
func NewEncoder(opts Options) *Encoder { return &Encoder{opts: opts} }

// Encode adds the frames of an entry.
func (e *Encoder) Encode(f *protocol.Frames, entry *awaken.Entry) error {
	switch ev := entry.Event.(type) {
	case *awaken.RunStart:
		return e.runStart(f, ev, entry.Cursor)
	case *awaken.StepStart:
		e.stepStart(f, ev.MessageID)
	case *awaken.ReasoningDelta:
		e.content.reasoningDelta(f, ev.Delta, entry.Cursor)
	case *awaken.ReasoningEncryptedValue:
		e.content.encrypted(f, ev.EncryptedValue, entry.Cursor)
	case *awaken.TextDelta:
		e.content.textDelta(f, ev.Delta, entry.Cursor)
	case *awaken.ToolCallStart:
		e.callStart(f, ev, entry.Cursor)
	case *awaken.ToolCallDelta:
		e.content.callDelta(f, ev, entry.Cursor)
	case *awaken.ToolCallReady:
		e.content.closeCall(f, ev.ID)
	case *awaken.ToolCallCancel:
		e.content.closeCall(f, ev.ID)
		delete(e.asked, ev.ID)
		e.retracted = true
		return e.raw(f, ev)
	case *awaken.ToolCallStreamDelta:
		e.output(f, ev)
	case *awaken.ToolCallDone:
		if ev.Outcome != awaken.CallSuspended && !strings.HasPrefix(ev.ID, awaken.HeldCallPrefix) {
			e.result(f, ev.ID, ev.MessageID, resultText(ev.Result))
		}
	case *awaken.ToolCallResumed:
		if strings.HasPrefix(ev.TargetID, awaken.HeldCallPrefix) {
			return nil
		}
		e.result(f, ev.TargetID, ev.MessageID, resumedText(ev))
	case *awaken.ActivitySnapshot:
		return e.activity(f, ev)
	case *awaken.ActivityDelta:
		buf := appendjson.Text(with(f, "ACTIVITY_DELTA", "messageId", activityID(ev.MessageID, ev.ActivityType)), `,"activityType":`, ev.ActivityType)
		return closeValue(f, buf, `,"patch":`, ev.Patch)
	case *awaken.InferenceComplete:
		e.usage.add(ev)
		return closeValue(f, append(open(f, "CUSTOM"), `,"name":"inference_complete"`...), `,"value":`, ev)
	case *awaken.StateSnapshot:
		doc, _, err := ev.Snapshot.Value(builtin.ClientState.Name())
		if err != nil {
			return err
		}
		return e.state.show(f, doc)
	case *awaken.StateDelta:
		return e.state.delta(f, ev)
	case *awaken.MessagesSnapshot:
		e.content.closeMessage(f)
		clear(e.asked) // those that are left are in it
		return closeMessages(f, ev.Messages, "")
	case *awaken.StreamReset:
		return e.reset(f, ev)
	case *awaken.StepEnd:
		return e.stepEnd(f)
	case *awaken.RunFinish:
		return e.runFinish(f, ev)
	case *awaken.Error:
		e.closeStep(f)
		e.fail(f, ev.Message, ev.Code)
	}
	return nil
}

// End tells the client if the server cannot go on.
func (e *Encoder) End(f *protocol.Frames, failure *protocol.Failure) {
	if failure != nil {
		e.fail(f, failure.Message, failure.Code)
	}
}

func (e *Encoder) runID() string {
	if e.opts.RunID != "" {
		return e.opts.RunID
	}
	return e.run
}

// start says that the run has started, if it has not been said.
func (e *Encoder) start(f *protocol.Frames, threadID, runID string) {
	if e.started {
		return
	}
	e.thread, e.run, e.started = threadID, runID, true
	e.steps, e.state, e.usage = 0, sharedState{}, nil
	buf := appendjson.Text(with(f, "RUN_STARTED", "threadId", threadID), `,"runId":`, e.runID())
	buf = appendjson.TextIf(buf, `,"parentRunId":`, e.opts.ParentRunID)
	if e.opts.Current {
		buf = appendjson.Text(buf, `,"protocolVersion":`, Version)
	}
	f.Close(append(buf, '}'))
}

// runStart begins an activation. If its owner died, another goes on, and the client is
// not told of a second start.
func (e *Encoder) runStart(f *protocol.Frames, ev *awaken.RunStart, at awaken.Cursor) error {
	e.closeStep(f)
	e.start(f, ev.ThreadID, ev.RunID)
	if e.begun || !e.opts.At.Before(at) {
		return nil
	}
	e.begun = true
	if e.opts.Before != nil {
		if err := closeMessages(f, e.opts.Before, ""); err != nil {
			return err
		}
		e.opts.Before = nil // it may be long, and is not shown again
	}
	return e.state.show(f, e.opts.State)
}

func (e *Encoder) stepStart(f *protocol.Frames, messageID string) {
	e.closeStep(f)
	e.steps++
	e.step = "step_" + strconv.Itoa(e.steps)
	e.content = content{id: messageID, calls: e.content.calls} // none is open
	e.retracted = false
	f.Close(append(with(f, "STEP_STARTED", "stepName", e.step), '}'))
}

// callStart shows a call, whose result is to come.
func (e *Encoder) callStart(f *protocol.Frames, ev *awaken.ToolCallStart, at awaken.Cursor) {
	e.content.closeMessage(f)
	if strings.HasPrefix(ev.ID, awaken.HeldCallPrefix) {
		return // the interrupt says it all, and the conversation has no such call
	}
	e.content.callStart(f, ev, at)
	if e.asked == nil {
		e.asked = map[string]bool{}
	}
	e.asked[ev.ID] = true
}

// closeStep closes everything but the run.
func (e *Encoder) closeStep(f *protocol.Frames) {
	e.content.close(f)
	if e.step != "" {
		f.Close(append(with(f, "STEP_FINISHED", "stepName", e.step), '}'))
		e.step = ""
	}
}

// stepEnd ends a step, which is stored now.
func (e *Encoder) stepEnd(f *protocol.Frames) error {
	e.content.close(f)
	e.has(e.content.id)
	if e.retracted {
		if err := e.takeBack(f, false); err != nil {
			return err
		}
	}
	e.closeStep(f)
	return nil
}

// has notes that the client has a message that is stored.
func (e *Encoder) has(id string) {
	if e.seen == nil {
		e.seen = map[string]bool{}
	}
	e.seen[id] = true
}

func (e *Encoder) result(f *protocol.Frames, callID, messageID, content string) {
	e.content.closeMessage(f)
	e.content.closeCall(f, callID)
	delete(e.asked, callID)
	if messageID == "" {
		messageID = "result:" + callID
	}
	e.has(messageID)
	buf := appendjson.Text(with(f, "TOOL_CALL_RESULT", "messageId", messageID), `,"toolCallId":`, callID)
	f.Close(append(appendjson.Text(buf, `,"content":`, content), `,"role":"tool"}`...))
}

func (e *Encoder) runFinish(f *protocol.Frames, ev *awaken.RunFinish) error {
	e.start(f, ev.ThreadID, ev.RunID) // it may have ended before it started
	e.closeStep(f)
	if ev.Termination.Type != awaken.Suspended && len(e.asked) > 0 {
		// Calls that waited got their answers without a word.
		if err := e.takeBack(f, true); err != nil {
			return err
		}
		clear(e.asked)
	}
	if ev.Termination.Type == awaken.Failed {
		e.fail(f, ev.Termination.Message, "run_failed")
		return nil
	}
	buf := appendjson.Text(with(f, "RUN_FINISHED", "threadId", ev.ThreadID), `,"runId":`, e.runID())
	var waiting *awaken.Waiting
	if ev.Result != nil {
		waiting = ev.Result.Waiting
		shown := *ev.Result
		shown.Waiting = nil
		var err error
		if buf, err = appendjson.Value(buf, `,"result":`, shown); err != nil {
			return err
		}
	}
	buf, err := e.appendOutcome(append(buf, `,"outcome":`...), ev.Termination.Type, waiting)
	if err != nil {
		return err
	}
	f.Close(append(e.usage.append(buf), '}'))
	e.started = false
	return nil
}

func (e *Encoder) fail(f *protocol.Frames, message, code string) {
	buf := appendjson.TextIf(with(f, "RUN_ERROR", "message", message), `,"code":`, code)
	f.Close(append(e.usage.append(buf), '}'))
	e.started = false
}

// appendOutcome appends how a run ended, and what it waits for.
func (e *Encoder) appendOutcome(buf []byte, how awaken.TerminationType, waiting *awaken.Waiting) ([]byte, error) {
	if how == awaken.Cancelled && e.opts.Current {
		return append(buf, `{"type":"cancelled"}`...), nil
	}
	interrupts, pending := questions(waiting)
	if len(interrupts) > 0 {
		buf, err := appendjson.Value(append(buf, `{"type":"interrupt"`...), `,"interrupts":`, interrupts)
		return append(buf, '}'), err
	}
	buf = append(buf, `{"type":"success"`...)
	if e.opts.Current && len(pending) > 0 {
		var err error
		if buf, err = appendjson.Value(buf, `,"pendingToolCallIds":`, pending); err != nil {
			return nil, err
		}
	}
	return append(buf, '}'), nil
}
