package agui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
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
	message     string          // id of the assistant message of the step
	text        bool            // it is open
	reasoning   bool            // its reasoning is open
	reasoned    bool            // its reasoning was shown
	calls       []string        // that are open
	asked       map[string]bool // calls that have no result
	shown       awaken.Cursor   // of the latest part of the message that was shown
	retracted   bool            // a call of the step was taken back
	seen        map[string]bool // ids of stored messages that the client has
	outputs     map[string]bool // calls whose output is shown
	state       json.RawMessage // what the client has been told the shared state is
	usage       []modelUsage
}

type modelUsage struct {
	model string
	llm.Usage
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
		if ev.Delta == "" {
			return nil
		}
		e.openReasoning(f)
		f.Close(append(appendjson.Text(with(f, "REASONING_MESSAGE_CONTENT", "messageId", e.reasoningID()), `,"delta":`, ev.Delta), '}'))
		e.shown = entry.Cursor
	case *awaken.ReasoningEncryptedValue:
		e.openReasoning(f)
		buf := appendjson.Text(open(f, "REASONING_ENCRYPTED_VALUE"), `,"subtype":"message","entityId":`, e.reasoningID())
		f.Close(append(appendjson.Text(buf, `,"encryptedValue":`, ev.EncryptedValue), '}'))
		e.shown = entry.Cursor
	case *awaken.TextDelta:
		if ev.Delta == "" {
			return nil
		}
		e.closeReasoning(f)
		if !e.text {
			f.Close(append(with(f, "TEXT_MESSAGE_START", "messageId", e.message), `,"role":"assistant"}`...))
			e.text = true
		}
		f.Close(append(appendjson.Text(with(f, "TEXT_MESSAGE_CONTENT", "messageId", e.message), `,"delta":`, ev.Delta), '}'))
		e.shown = entry.Cursor
	case *awaken.ToolCallStart:
		e.closeMessage(f)
		if awaken.IsHeldCall(ev.ID) {
			return nil // the interrupt says it all, and the conversation has no such call
		}
		buf := appendjson.Text(with(f, "TOOL_CALL_START", "toolCallId", ev.ID), `,"toolCallName":`, ev.Name)
		f.Close(append(appendjson.TextIf(buf, `,"parentMessageId":`, e.message), '}'))
		e.calls = append(e.calls, ev.ID)
		if e.asked == nil {
			e.asked = map[string]bool{}
		}
		e.asked[ev.ID] = true
		e.shown = entry.Cursor
	case *awaken.ToolCallDelta:
		if ev.ArgsDelta == "" || !slices.Contains(e.calls, ev.ID) {
			return nil
		}
		f.Close(append(appendjson.Text(with(f, "TOOL_CALL_ARGS", "toolCallId", ev.ID), `,"delta":`, ev.ArgsDelta), '}'))
		e.shown = entry.Cursor
	case *awaken.ToolCallReady:
		e.closeCall(f, ev.ID)
	case *awaken.ToolCallCancel:
		e.closeCall(f, ev.ID)
		delete(e.asked, ev.ID)
		e.retracted = true
		return e.raw(f, ev)
	case *awaken.ToolCallStreamDelta:
		e.output(f, ev)
	case *awaken.ToolCallDone:
		if ev.Outcome != awaken.CallSuspended && !awaken.IsHeldCall(ev.ID) {
			e.result(f, ev.ID, ev.MessageID, resultText(ev.Result))
		}
	case *awaken.ToolCallResumed:
		if awaken.IsHeldCall(ev.TargetID) {
			return nil
		}
		e.result(f, ev.TargetID, ev.MessageID, resumedText(ev))
	case *awaken.ActivitySnapshot:
		return e.activity(f, ev)
	case *awaken.ActivityDelta:
		buf := appendjson.Text(with(f, "ACTIVITY_DELTA", "messageId", activityID(ev.MessageID, ev.ActivityType)), `,"activityType":`, ev.ActivityType)
		return closeValue(f, buf, `,"patch":`, ev.Patch)
	case *awaken.InferenceComplete:
		e.count(ev)
		return closeValue(f, append(open(f, "CUSTOM"), `,"name":"inference_complete"`...), `,"value":`, ev)
	case *awaken.StateSnapshot:
		doc, _, err := ev.Snapshot.Value(awaken.ClientState.Name())
		if err != nil {
			return err
		}
		return e.showState(f, doc)
	case *awaken.StateDelta:
		return e.stateDelta(f, ev)
	case *awaken.MessagesSnapshot:
		e.closeMessage(f)
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

// open begins an event.
func open(f *protocol.Frames, kind string) []byte {
	return append(append(append(f.Open(), `{"type":"`...), kind...), '"')
}

// with begins an event that is about something with an id.
func with(f *protocol.Frames, kind, name, id string) []byte {
	buf := append(append(append(open(f, kind), `,"`...), name...), `":`...)
	return appendjson.String(buf, id)
}

// closeValue ends an event with a field that encoding/json encodes.
func closeValue(f *protocol.Frames, buf []byte, name string, v any) error {
	buf, err := appendjson.Value(buf, name, v)
	if err != nil {
		return err
	}
	f.Close(append(buf, '}'))
	return nil
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
	e.steps, e.state, e.usage = 0, nil, nil
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
	return e.showState(f, e.opts.State)
}

func (e *Encoder) stepStart(f *protocol.Frames, messageID string) {
	e.closeStep(f)
	e.steps++
	e.step = "step_" + strconv.Itoa(e.steps)
	e.message, e.shown, e.reasoned, e.retracted = messageID, awaken.Cursor{}, false, false
	f.Close(append(with(f, "STEP_STARTED", "stepName", e.step), '}'))
}

func (e *Encoder) reasoningID() string { return reasoningID(e.message) }

// reasoningID is the id of the reasoning that led to a message.
func reasoningID(messageID string) string { return messageID + ":reasoning" }

func (e *Encoder) openReasoning(f *protocol.Frames) {
	if e.reasoning {
		return
	}
	e.closeMessage(f)
	f.Close(append(with(f, "REASONING_START", "messageId", e.reasoningID()), '}'))
	f.Close(append(with(f, "REASONING_MESSAGE_START", "messageId", e.reasoningID()), `,"role":"reasoning"}`...))
	e.reasoning, e.reasoned = true, true
}

func (e *Encoder) closeReasoning(f *protocol.Frames) {
	if !e.reasoning {
		return
	}
	f.Close(append(with(f, "REASONING_MESSAGE_END", "messageId", e.reasoningID()), '}'))
	f.Close(append(with(f, "REASONING_END", "messageId", e.reasoningID()), '}'))
	e.reasoning = false
}

// closeMessage closes the text and the reasoning of the step's message.
func (e *Encoder) closeMessage(f *protocol.Frames) {
	e.closeReasoning(f)
	if e.text {
		f.Close(append(with(f, "TEXT_MESSAGE_END", "messageId", e.message), '}'))
		e.text = false
	}
}

func (e *Encoder) closeCall(f *protocol.Frames, id string) {
	i := slices.Index(e.calls, id)
	if i < 0 {
		return
	}
	e.calls = slices.Delete(e.calls, i, i+1)
	f.Close(append(with(f, "TOOL_CALL_END", "toolCallId", id), '}'))
}

// closeContent closes everything in the step.
func (e *Encoder) closeContent(f *protocol.Frames) {
	e.closeMessage(f)
	for len(e.calls) > 0 {
		e.closeCall(f, e.calls[0])
	}
}

// closeStep closes everything but the run.
func (e *Encoder) closeStep(f *protocol.Frames) {
	e.closeContent(f)
	if e.step != "" {
		f.Close(append(with(f, "STEP_FINISHED", "stepName", e.step), '}'))
		e.step = ""
	}
}

// stepEnd ends a step, which is stored now.
func (e *Encoder) stepEnd(f *protocol.Frames) error {
	e.closeContent(f)
	e.has(e.message)
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
	e.closeMessage(f)
	e.closeCall(f, callID)
	delete(e.asked, callID)
	if messageID == "" {
		messageID = "result:" + callID
	}
	e.has(messageID)
	buf := appendjson.Text(with(f, "TOOL_CALL_RESULT", "messageId", messageID), `,"toolCallId":`, callID)
	f.Close(append(appendjson.Text(buf, `,"content":`, content), `,"role":"tool"}`...))
}

// outputActivity is the type of the activity that shows what a tool says while it runs.
const outputActivity = "tool-stream-output"

// output shows a piece of what a tool says, as an activity with a list of pieces.
func (e *Encoder) output(f *protocol.Frames, ev *awaken.ToolCallStreamDelta) {
	id := activityID("tool_call:"+ev.ID, outputActivity)
	if !e.outputs[ev.ID] {
		if e.outputs == nil {
			e.outputs = map[string]bool{}
		}
		e.outputs[ev.ID] = true
		buf := appendjson.Text(with(f, "ACTIVITY_SNAPSHOT", "messageId", id), `,"activityType":"`+outputActivity+`","content":{"toolCallId":`, ev.ID)
		f.Close(append(appendjson.Text(buf, `,"toolName":`, ev.Name), `,"output":[]},"replace":true}`...))
	}
	buf := append(with(f, "ACTIVITY_DELTA", "messageId", id), `,"activityType":"`+outputActivity+`","patch":[{"op":"add","path":"/output/-","value":`...)
	f.Close(append(appendjson.String(buf, ev.Delta), `}]}`...))
}

// activityID tells activities apart that are about the same thing. A client knows an
// activity by its id alone.
func activityID(messageID, kind string) string { return messageID + ":" + kind }

// activity shows an activity. Those whose type begins with custom: or raw: are CUSTOM and
// RAW events, under the rest of the type.
func (e *Encoder) activity(f *protocol.Frames, ev *awaken.ActivitySnapshot) error {
	content := ev.Content
	if len(content) == 0 {
		content = json.RawMessage("null")
	}
	if name, ok := strings.CutPrefix(ev.ActivityType, "custom:"); ok {
		return closeRaw(f, with(f, "CUSTOM", "name", name), `,"value":`, content)
	}
	if source, ok := strings.CutPrefix(ev.ActivityType, "raw:"); ok {
		return closeRaw(f, appendjson.TextIf(open(f, "RAW"), `,"source":`, source), `,"event":`, content)
	}
	if content = bytes.TrimSpace(content); content[0] != '{' {
		content = append(append([]byte(`{"value":`), content...), '}')
	}
	buf := appendjson.Text(with(f, "ACTIVITY_SNAPSHOT", "messageId", activityID(ev.MessageID, ev.ActivityType)), `,"activityType":`, ev.ActivityType)
	if ev.Replace != nil {
		buf = strconv.AppendBool(append(buf, `,"replace":`...), *ev.Replace)
	}
	return closeRaw(f, buf, `,"content":`, content)
}

// closeRaw ends an event with a field that is JSON already.
func closeRaw(f *protocol.Frames, buf []byte, name string, value json.RawMessage) error {
	buf, err := appendjson.Raw(buf, name, value)
	if err != nil {
		return err
	}
	f.Close(append(buf, '}'))
	return nil
}

// raw passes on an event that AG-UI has no word for.
func (e *Encoder) raw(f *protocol.Frames, ev awaken.Event) error {
	buf, err := awaken.AppendEvent(append(open(f, "RAW"), `,"event":`...), ev)
	if err != nil {
		return err
	}
	f.Close(append(buf, `,"source":"awaken"}`...))
	return nil
}

// stateDelta picks what happened to the shared state out of all changes.
func (e *Encoder) stateDelta(f *protocol.Frames, ev *awaken.StateDelta) error {
	at := "/extensions/" + pointer.Replace(awaken.ClientState.Name())
	for i := range ev.Delta {
		if op := &ev.Delta[i]; op.Path == at {
			if err := e.showState(f, op.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// showState tells the client what the shared state is: all of it for the first time, and
// then what has changed. What was never written is not shown.
func (e *Encoder) showState(f *protocol.Frames, doc json.RawMessage) error {
	switch {
	case len(doc) == 0 && e.state == nil:
		return nil
	case len(doc) == 0:
		doc = json.RawMessage("{}")
	}
	last := e.state
	if last == nil {
		e.state = doc
		return closeRaw(f, open(f, "STATE_SNAPSHOT"), `,"snapshot":`, doc)
	}
	if bytes.Equal(last, doc) {
		return nil
	}
	e.state = doc
	ops, err := diff(last, doc)
	if err != nil || len(ops) == 0 {
		return err
	}
	return closeValue(f, open(f, "STATE_DELTA"), `,"delta":`, ops)
}

// reset takes back deltas: those of the step, or all after a cursor.
func (e *Encoder) reset(f *protocol.Frames, ev *awaken.StreamReset) error {
	if err := e.raw(f, &awaken.StreamReset{Reason: ev.Reason}); err != nil {
		return err
	}
	if ev.Cursor == "" {
		clear(e.asked)
		return e.takeBack(f, false)
	}
	at, err := awaken.ParseCursor(ev.Cursor)
	if err != nil {
		return fmt.Errorf("stream_reset: %w", err)
	}
	if e.shown != (awaken.Cursor{}) && !at.Before(e.shown) {
		e.has(e.message) // what was shown of it stays
	}
	err = e.takeBack(f, false)
	e.closeStep(f)
	return err
}

// takeBack shows the conversation without what is not stored of it. Ended means that all
// the run has stored may be shown.
func (e *Encoder) takeBack(f *protocol.Frames, ended bool) error {
	e.closeContent(f)
	if e.opts.Conversation == nil {
		return nil
	}
	all, err := e.opts.Conversation()
	if err != nil {
		return err
	}
	emptied := ""
	if e.reasoned && !e.seen[e.message] {
		emptied = e.reasoningID()
	}
	return closeMessages(f, e.until(all, ended), emptied)
}

// until cuts a conversation off where the client is: it may have gone on since.
func (e *Encoder) until(all []*llm.Message, ended bool) []*llm.Message {
	inside := false
	for i, m := range all {
		of := ""
		if m.Metadata != nil {
			of = m.Metadata.RunID
		}
		switch {
		case of == e.run && !ended && !e.seen[m.ID], of != e.run && of != "" && inside:
			return all[:i]
		case of == e.run:
			inside = true
		}
	}
	return all
}

// closeMessages sends a MESSAGES_SNAPSHOT. A client keeps reasoning that is in no
// snapshot, unless there is other reasoning in it: emptied is one to be sent without
// content, or "".
func closeMessages(f *protocol.Frames, msgs []*llm.Message, emptied string) error {
	buf := append(open(f, "MESSAGES_SNAPSHOT"), `,"messages":[`...)
	buf, err := appendMessages(buf, msgs)
	if err != nil {
		return err
	}
	if emptied != "" {
		if buf[len(buf)-1] != '[' {
			buf = append(buf, ',')
		}
		buf = append(appendjson.Text(buf, `{"id":`, emptied), `,"role":"reasoning","content":""}`...)
	}
	f.Close(append(buf, `]}`...))
	return nil
}

// count adds up what models used.
func (e *Encoder) count(ev *awaken.InferenceComplete) {
	if ev.Usage == nil {
		return
	}
	i := slices.IndexFunc(e.usage, func(u modelUsage) bool { return u.model == ev.Model })
	if i < 0 {
		i = len(e.usage)
		e.usage = append(e.usage, modelUsage{model: ev.Model})
	}
	u := &e.usage[i]
	u.PromptTokens += ev.Usage.PromptTokens
	u.CompletionTokens += ev.Usage.CompletionTokens
	u.TotalTokens += ev.Usage.TotalTokens
	u.CacheReadTokens += ev.Usage.CacheReadTokens
	u.ThinkingTokens += ev.Usage.ThinkingTokens
}

func (e *Encoder) appendUsage(buf []byte) []byte {
	for i, u := range e.usage {
		if i == 0 {
			buf = append(buf, `,"usage":[`...)
		} else {
			buf = append(buf, ',')
		}
		start := len(buf)
		buf = appendjson.TextIf(buf, `,"model":`, u.model)
		buf = appendjson.IntIf(buf, `,"inputTokens":`, u.PromptTokens)
		buf = appendjson.IntIf(buf, `,"outputTokens":`, u.CompletionTokens)
		buf = appendjson.IntIf(buf, `,"totalTokens":`, u.TotalTokens)
		buf = appendjson.IntIf(buf, `,"reasoningTokens":`, u.ThinkingTokens)
		buf = appendjson.Close(appendjson.IntIf(buf, `,"cachedInputTokens":`, u.CacheReadTokens), start)
	}
	if len(e.usage) > 0 {
		buf = append(buf, ']')
	}
	return buf
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
	f.Close(append(e.appendUsage(buf), '}'))
	e.started = false
	return nil
}

func (e *Encoder) fail(f *protocol.Frames, message, code string) {
	buf := appendjson.TextIf(with(f, "RUN_ERROR", "message", message), `,"code":`, code)
	f.Close(append(e.appendUsage(buf), '}'))
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

// Interrupt is a question to a person that a run waits for.
type Interrupt struct {
	ID             string          `json:"id"`
	Reason         string          `json:"reason"` // tool_call: may it be made; input_required: an answer is needed
	Message        string          `json:"message,omitempty"`
	ToolCallID     string          `json:"toolCallId,omitempty"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty"` // of the payload
	ExpiresAt      string          `json:"expiresAt,omitempty"`
	Metadata       map[string]any  `json:"metadata,omitempty"`
}

// approvalSchema is what the answer to an interrupt of the reason tool_call looks like.
const approvalSchema = `{"type":"object","properties":{"approved":{"type":"boolean"},"reason":{"type":"string"},"editedArgs":{"type":"object"}},"required":["approved"]}`

// approvalWith is the schema of an approval that has to fit the question's own schema too.
// It has the fields of both side by side, as pages make forms of them.
func approvalWith(own json.RawMessage) json.RawMessage {
	var out, fields map[string]json.RawMessage
	var required []string
	var approval struct {
		Type, Properties json.RawMessage
		Required         []string
	}
	if json.Unmarshal([]byte(approvalSchema), &approval) != nil || json.Unmarshal(approval.Properties, &fields) != nil || json.Unmarshal(own, &out) != nil {
		return json.RawMessage(approvalSchema)
	}
	approved := fields["approved"]
	if p, ok := out["properties"]; ok && json.Unmarshal(p, &fields) != nil {
		return json.RawMessage(approvalSchema)
	}
	if r, ok := out["required"]; ok && json.Unmarshal(r, &required) != nil {
		return json.RawMessage(approvalSchema)
	}
	fields["approved"] = approved
	for _, name := range approval.Required {
		if !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	out["type"] = approval.Type
	out["properties"], _ = json.Marshal(fields) // of JSON
	out["required"], _ = json.Marshal(required)
	data, _ := json.Marshal(out)
	return data
}

// questions tells what a run waits for apart: people, and calls that the client makes.
func questions(w *awaken.Waiting) (interrupts []Interrupt, calls []string) {
	if w == nil {
		return nil, nil
	}
	for i := range w.Tickets {
		t := &w.Tickets[i]
		if isClientCall(t) {
			calls = append(calls, t.ToolCallID)
			continue
		}
		in := Interrupt{ID: t.TicketID, Reason: "tool_call", Message: t.Reason, ToolCallID: t.ToolCallID, ResponseSchema: json.RawMessage(approvalSchema),
			Metadata: map[string]any{"toolName": t.ToolName, "arguments": t.Arguments}}
		if t.ResumeMode == awaken.UseDecisionAsToolResult || t.ResumeMode == awaken.PassDecisionToTool {
			in.Reason, in.ResponseSchema = "input_required", nil
		}
		if s := t.Suspension; s != nil {
			if s.Message != "" {
				in.Message = s.Message
			}
			switch {
			case !isObject(s.ResponseSchema):
			case in.Reason == "tool_call":
				in.ResponseSchema = approvalWith(s.ResponseSchema)
			default:
				in.ResponseSchema = s.ResponseSchema
			}
			if s.Action != "" {
				in.Metadata["action"] = s.Action
			}
		}
		if t.ExpiresAt > 0 {
			in.ExpiresAt = time.UnixMilli(t.ExpiresAt).UTC().Format(time.RFC3339Nano)
		}
		interrupts = append(interrupts, in)
	}
	return interrupts, calls
}

// isClientCall reports whether a ticket stands for a call that the client makes itself.
func isClientCall(t *awaken.WaitingTicket) bool {
	return t.ResumeMode == awaken.UseDecisionAsToolResult && t.Suspension != nil && t.Suspension.Action == "tool:"+t.ToolName && len(t.Suspension.ResponseSchema) == 0
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{'
}

// resultText is what a result says: the text of its message in the conversation.
func resultText(r *awaken.ToolResult) string {
	if r == nil {
		return ""
	}
	return r.Text()
}

// resumedText is the same of a call that waited.
func resumedText(ev *awaken.ToolCallResumed) string {
	var failure struct {
		Error *string `json:"error"`
	}
	if ev.Outcome != awaken.CallSucceeded && json.Unmarshal(ev.Result, &failure) == nil && failure.Error != nil {
		return *failure.Error
	}
	var s string
	if json.Unmarshal(ev.Result, &s) == nil {
		return s
	}
	return string(ev.Result)
}
