package aisdk

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// Encoder turns the entries of a run into chunks of the UI message stream, version v1, with
// the fields that all versions of the ai package since 6.0.1 take. The zero Encoder has
// seen nothing.
type Encoder struct {
	frames *protocol.Frames // while something is being encoded
	seq    uint64           // of the entry that is being encoded
	err    error            // of the first chunk that could not be

	info    awaken.RunInfo
	message string // the id of the UI message: that of the run's first assistant message
	begun   bool   // this activation's start was said
	held    []awaken.Event

	step      string // the id of the step's message, "" between steps
	parts     int    // texts and reasonings that were begun
	shown     uint64 // the number of the entry that showed the step's latest part, or 0
	text      string // the id of the open text, or ""
	reasoning string // the id of the open reasoning, or ""
	calls     callIDs
	open      map[string]*openCall // calls without an outcome, by the model's id
}

// openCall is a call that has been shown and has no outcome.
type openCall struct {
	above   string // the call that waits for the run which asks, or ""
	name    string
	asked   bool   // its approval was asked for
	output  string // the end of what the tool has said so far
	started string // the step it was asked for in
}

// Encode adds the chunks that an entry becomes.
func (e *Encoder) Encode(f *protocol.Frames, entry *awaken.Entry) error {
	e.frames, e.seq, e.err = f, entry.Seq, nil
	e.event(entry.Event)
	e.frames = nil
	return e.err
}

// End adds what every response ends with.
func (e *Encoder) End(f *protocol.Frames, failure *protocol.Failure) {
	if failure != nil {
		f.Close(append(appendjson.Text(append(f.Open(), `{"type":"error"`...), `,"errorText":`, failure.Message), '}'))
	}
	f.Data([]byte("[DONE]"))
}

// event adds the chunks of an event. Whatever comes before the first message's id is
// known waits for it, because nothing may come before the start.
func (e *Encoder) event(ev awaken.Event) {
	switch ev := ev.(type) {
	case *awaken.RunStart:
		if e.info.RunID != "" && e.info.RunID != ev.RunID { // the stream of a thread
			*e = Encoder{frames: e.frames}
		}
		e.info = awaken.RunInfo{ThreadID: ev.ThreadID, RunID: ev.RunID}
		if ev.Identity != nil {
			e.info = *ev.Identity
		}
		e.begun = false
		if e.message != "" {
			e.begin()
		}
		return
	case *awaken.StepStart:
		if e.message == "" {
			e.message = ev.MessageID
		}
	case *awaken.RunFinish:
		if e.info.RunID == "" { // it ended before it started
			e.info = awaken.RunInfo{ThreadID: ev.ThreadID, RunID: ev.RunID}
		}
	case *awaken.Error:
	default:
		if !e.begun {
			e.held = append(e.held, ev)
			return
		}
	}
	if !e.begun {
		e.begin()
	}
	e.chunks(ev)
}

// begin adds the start of a response, and what waited for it.
func (e *Encoder) begin() {
	e.begun = true
	buf := append(e.frames.Open(), `{"type":"start"`...)
	buf = appendjson.TextIf(buf, `,"messageId":`, e.message)
	if e.info.RunID != "" {
		buf = appendjson.Text(append(buf, `,"messageMetadata":{`...), `"threadId":`, e.info.ThreadID)
		buf = appendjson.Text(buf, `,"runId":`, e.info.RunID)
		buf = append(appendjson.TextIf(buf, `,"agentId":`, e.info.AgentID), '}')
	}
	e.frames.Close(append(buf, '}'))
	if e.info.RunID != "" {
		buf = appendjson.Text(append(e.frames.Open(), `{"type":"data-run-info","data":{`...), `"runId":`, e.info.RunID)
		buf = appendjson.Text(buf, `,"threadId":`, e.info.ThreadID)
		e.frames.Close(append(buf, `},"transient":true}`...))
	}
	held := e.held
	e.held = nil
	for _, ev := range held {
		e.chunks(ev)
	}
}

func (e *Encoder) chunks(ev awaken.Event) {
	switch ev := ev.(type) {
	case *awaken.StepStart:
		if e.step == ev.MessageID && e.step != "" {
			return // another owner goes on with it
		}
		e.endStep()
		e.step, e.shown = ev.MessageID, 0
		e.bare("start-step")
	case *awaken.StepEnd:
		e.endStep()
	case *awaken.TextDelta:
		e.endReasoning()
		if e.text == "" {
			e.text = e.part("text-start")
		}
		e.delta("text-delta", e.text, ev.Delta)
	case *awaken.ReasoningDelta:
		e.endText()
		if e.reasoning == "" {
			e.reasoning = e.part("reasoning-start")
		}
		e.delta("reasoning-delta", e.reasoning, ev.Delta)
	case *awaken.ReasoningEncryptedValue:
		buf := e.data("reasoning-encrypted", e.step)
		buf = append(appendjson.Text(append(buf, '{'), `"encryptedValue":`, ev.EncryptedValue), '}')
		e.transient(buf)
	case *awaken.ToolCallStart:
		e.callStart(ev)
	case *awaken.ToolCallDelta:
		buf := append(e.frames.Open(), `{"type":"tool-input-delta"`...)
		buf = appendjson.Text(buf, `,"toolCallId":`, e.calls.wire(ev.ID))
		buf = appendjson.Text(buf, `,"inputTextDelta":`, ev.ArgsDelta)
		e.frames.Close(append(buf, '}'))
	case *awaken.ToolCallReady:
		e.callReady(ev)
	case *awaken.ToolCallCancel:
		e.inputError(ev.ID, ev.Name, ev.Reason)
	case *awaken.ToolCallStreamDelta:
		e.callOutput(ev)
	case *awaken.ToolCallDone:
		e.callDone(ev)
	case *awaken.ToolCallResumed:
		e.callResumed(ev)
	case *awaken.StreamReset:
		e.reset(ev)
	case *awaken.ActivitySnapshot:
		e.activity(ev)
	case *awaken.ActivityDelta:
		e.object("activity-delta", "", true, map[string]any{"messageId": ev.MessageID, "activityType": ev.ActivityType, "patch": ev.Patch})
	case *awaken.StateSnapshot:
		buf, err := ev.Snapshot.AppendJSON(e.data("state-snapshot", "state"))
		e.close(buf, err)
	case *awaken.StateDelta:
		e.object("state-delta", "", true, ev.Delta)
	case *awaken.MessagesSnapshot:
		e.object("messages-snapshot", "", true, ev.Messages)
	case *awaken.InferenceComplete:
		e.inference(ev)
	case *awaken.RunFinish:
		e.finish(ev)
	case *awaken.Error:
		e.failed(ev.Message)
	}
}

// bare adds a chunk that is only a type.
func (e *Encoder) bare(kind string) {
	e.frames.Close(append(append(append(e.frames.Open(), `{"type":"`...), kind...), `"}`...))
}

// part begins a text or a reasoning, and returns its id.
func (e *Encoder) part(kind string) string {
	e.parts++
	id := strconv.Itoa(e.parts) // it has to differ from others of the message only
	e.of(kind, id)
	return id
}

// of adds a chunk that has a type and an id.
func (e *Encoder) of(kind, id string) {
	buf := append(append(append(e.frames.Open(), `{"type":"`...), kind...), '"')
	e.frames.Close(append(appendjson.Text(buf, `,"id":`, id), '}'))
}

func (e *Encoder) delta(kind, id, text string) {
	e.shown = e.seq
	buf := append(append(append(e.frames.Open(), `{"type":"`...), kind...), '"')
	buf = appendjson.Text(buf, `,"id":`, id)
	e.frames.Close(append(appendjson.Text(buf, `,"delta":`, text), '}'))
}

func (e *Encoder) endText() {
	if e.text != "" {
		e.of("text-end", e.text)
		e.text = ""
	}
}

func (e *Encoder) endReasoning() {
	if e.reasoning != "" {
		e.of("reasoning-end", e.reasoning)
		e.reasoning = ""
	}
}

// endStep closes what is open, and the step.
func (e *Encoder) endStep() {
	e.endText()
	e.endReasoning()
	if e.step != "" {
		e.bare("finish-step")
		e.step = ""
	}
}

// data begins a custom part. A part of the same name and id takes its place.
func (e *Encoder) data(name, id string) []byte {
	buf := append(append(append(e.frames.Open(), `{"type":"data-`...), name...), '"')
	return append(appendjson.TextIf(buf, `,"id":`, id), `,"data":`...)
}

// transient ends a custom part that is not kept with the message.
func (e *Encoder) transient(buf []byte) { e.frames.Close(append(buf, `,"transient":true}`...)) }

// close ends a chunk, or remembers that it could not be made.
func (e *Encoder) close(buf []byte, err error) {
	if err != nil {
		if e.err == nil {
			e.err = err
		}
		return
	}
	e.frames.Close(append(buf, '}'))
}

// object adds a custom part of which a run has only a few.
func (e *Encoder) object(name, id string, transient bool, v any) {
	data, err := json.Marshal(v)
	buf := append(e.data(name, id), data...)
	if err == nil && transient {
		buf = append(buf, `,"transient":true`...)
	}
	e.close(buf, err)
}

func (e *Encoder) callStart(ev *awaken.ToolCallStart) {
	e.endText()
	e.endReasoning()
	e.shown = e.seq
	if e.open == nil {
		e.open = map[string]*openCall{}
	}
	e.open[ev.ID] = &openCall{name: ev.Name, started: e.step}
	buf := append(e.frames.Open(), `{"type":"tool-input-start"`...)
	buf = appendjson.Text(buf, `,"toolCallId":`, e.calls.begin(ev.ID))
	e.frames.Close(append(appendjson.Text(buf, `,"toolName":`, ev.Name), '}'))
}

func (e *Encoder) callReady(ev *awaken.ToolCallReady) {
	if e.open[ev.ID] == nil {
		e.callStart(&awaken.ToolCallStart{ID: ev.ID, Name: ev.Name})
	}
	buf := append(e.frames.Open(), `{"type":"tool-input-available"`...)
	buf = appendjson.Text(buf, `,"toolCallId":`, e.calls.wire(ev.ID))
	buf = appendjson.Text(buf, `,"toolName":`, ev.Name)
	e.close(appendjson.Raw(buf, `,"input":`, orNull(ev.Arguments)))
}

// inputError says that a call will not be made.
func (e *Encoder) inputError(id, name, reason string) {
	if e.open[id] == nil {
		return // it was never shown, or is over
	}
	delete(e.open, id)
	buf := append(e.frames.Open(), `{"type":"tool-input-error"`...)
	buf = appendjson.Text(buf, `,"toolCallId":`, e.calls.wire(id))
	buf = appendjson.Text(buf, `,"toolName":`, name)
	buf = appendjson.Text(append(buf, `,"input":null`...), `,"errorText":`, reason)
	e.frames.Close(append(buf, '}'))
}

// maxOutput is how much of what a tool has said so far is shown while it runs.
const maxOutput = 8 << 10

// callOutput shows what a tool has said so far. The client replaces what it had, so the
// end of a long output has to do.
func (e *Encoder) callOutput(ev *awaken.ToolCallStreamDelta) {
	c := e.open[ev.ID]
	if c == nil {
		return
	}
	c.output += ev.Delta
	if cut := len(c.output) - maxOutput; cut > 0 {
		for cut < len(c.output) && !utf8.RuneStart(c.output[cut]) {
			cut++
		}
		c.output = c.output[cut:]
	}
	buf := append(e.frames.Open(), `{"type":"tool-output-available"`...)
	buf = appendjson.Text(buf, `,"toolCallId":`, e.calls.wire(ev.ID))
	buf = appendjson.Text(buf, `,"output":`, c.output)
	e.frames.Close(append(buf, `,"preliminary":true}`...))
}

func (e *Encoder) callDone(ev *awaken.ToolCallDone) {
	c := e.open[ev.ID]
	if c == nil || ev.Result == nil {
		return // a call that was never shown has no part
	}
	switch {
	case ev.Outcome == awaken.CallSuspended || ev.Result.Status == awaken.ToolPending:
		e.callSuspended(ev, c)
		return
	case ev.Result.Status == awaken.ToolError:
		e.outputError(ev.ID, ev.Result.Message)
	default:
		e.output(ev.ID, resultData(ev.Result))
		e.files(ev.Result.Content)
	}
	delete(e.open, ev.ID)
}

// callSuspended asks for an approval, if that is what the call waits for. Whatever else
// a call waits for, the client answers with the call's output.
func (e *Encoder) callSuspended(ev *awaken.ToolCallDone, c *openCall) {
	t := ev.Result.Suspension
	if t == nil {
		return
	}
	if t.Child != "" {
		e.object("suspension", t.Suspension.ID, false, newSuspension(t, e.calls.wire(ev.ID)))
		e.askBelow(ev.ID, t.Tickets)
		return
	}
	if c.asked = isApproval(t.ResumeMode, &t.Suspension); c.asked {
		buf := append(e.frames.Open(), `{"type":"tool-approval-request"`...)
		buf = appendjson.Text(buf, `,"approvalId":`, t.Suspension.ID)
		buf = appendjson.Text(buf, `,"toolCallId":`, e.calls.wire(ev.ID))
		e.frames.Close(append(buf, '}'))
	}
	e.object("suspension", t.Suspension.ID, false, newSuspension(t, e.calls.wire(ev.ID)))
}

// askBelow shows what the run that a call waits for is waiting for: each question as a
// call of its own, under the id of its ticket. Those that were shown and are no longer asked
// are over.
func (e *Encoder) askBelow(callID string, tickets []awaken.WaitingTicket) {
	for _, id := range slices.Sorted(maps.Keys(e.open)) {
		if e.open[id].above == callID && !slices.ContainsFunc(tickets, func(t awaken.WaitingTicket) bool { return t.TicketID == id }) {
			delete(e.open, id)
			e.output(id, json.RawMessage(`"decided"`))
		}
	}
	for i := range tickets {
		t := &tickets[i]
		if e.open[t.TicketID] != nil {
			continue
		}
		e.callReady(&awaken.ToolCallReady{ID: t.TicketID, Name: t.ToolName, Arguments: t.Arguments})
		e.open[t.TicketID].above = callID
		e.callSuspended(&awaken.ToolCallDone{ID: t.TicketID, Result: &awaken.ToolResult{Suspension: ticketBelow(t)}}, e.open[t.TicketID])
	}
}

// ticketBelow is a question of a run below as if the run had asked it itself.
func ticketBelow(t *awaken.WaitingTicket) *awaken.Ticket {
	own := &awaken.Ticket{ResumeMode: t.ResumeMode, ExpiresAt: t.ExpiresAt}
	if t.Suspension != nil {
		own.Suspension = *t.Suspension
	}
	own.Suspension.ID = t.TicketID
	return own
}

// isApproval reports whether a plain yes or no is an answer: the call is made as it is, and
// needs to be told no more than that.
func isApproval(mode awaken.ResumeMode, s *awaken.Suspension) bool {
	return (mode == awaken.ReplayToolCall || mode == "") && fits(s, approved{Approved: true})
}

// fits reports whether a question takes an approval as its answer.
func fits(s *awaken.Suspension, a approved) bool {
	if s == nil || len(s.ResponseSchema) == 0 {
		return true
	}
	wanted, err := schema.Compile(s.ResponseSchema)
	return err == nil && wanted.Check(a.result()) == nil
}

// suspension is what a person is asked, beyond what an approval request can say.
type suspension struct {
	ToolCallID     string            `json:"toolCallId"`
	Action         string            `json:"action,omitempty"`
	Message        string            `json:"message,omitempty"`
	Parameters     json.RawMessage   `json:"parameters,omitempty"`
	ResponseSchema json.RawMessage   `json:"responseSchema,omitempty"`
	ResumeMode     awaken.ResumeMode `json:"resumeMode"`
	ExpiresAt      int64             `json:"expiresAt,omitempty"` // unix ms
}

func newSuspension(t *awaken.Ticket, wireID string) suspension {
	s := suspension{ToolCallID: wireID, Action: t.Suspension.Action, Message: t.Suspension.Message, Parameters: t.Suspension.Parameters,
		ResponseSchema: t.Suspension.ResponseSchema, ResumeMode: t.ResumeMode, ExpiresAt: t.ExpiresAt}
	if s.ResumeMode == "" {
		s.ResumeMode = awaken.ReplayToolCall
	}
	return s
}

func (e *Encoder) callResumed(ev *awaken.ToolCallResumed) {
	c := e.open[ev.TargetID]
	if c == nil {
		return
	}
	delete(e.open, ev.TargetID)
	e.askBelow(ev.TargetID, nil)
	switch {
	case ev.Outcome == awaken.CallCancelled && c.asked:
		buf := append(e.frames.Open(), `{"type":"tool-output-denied"`...)
		e.frames.Close(append(appendjson.Text(buf, `,"toolCallId":`, e.calls.wire(ev.TargetID)), '}'))
	case ev.Outcome == awaken.CallCancelled || ev.Outcome == awaken.CallFailed || !c.asked && isError(ev.Result):
		e.outputError(ev.TargetID, errorText(ev.Result))
	default:
		e.output(ev.TargetID, ev.Result)
	}
}

func (e *Encoder) output(id string, data json.RawMessage) {
	buf := append(e.frames.Open(), `{"type":"tool-output-available"`...)
	buf = appendjson.Text(buf, `,"toolCallId":`, e.calls.wire(id))
	e.close(appendjson.Raw(buf, `,"output":`, orNull(data)))
}

func (e *Encoder) outputError(id, message string) {
	if message == "" {
		message = "tool execution error"
	}
	buf := append(e.frames.Open(), `{"type":"tool-output-error"`...)
	buf = appendjson.Text(buf, `,"toolCallId":`, e.calls.wire(id))
	e.frames.Close(append(appendjson.Text(buf, `,"errorText":`, message), '}'))
}

// files shows the media of a result.
func (e *Encoder) files(blocks []llm.Block) {
	for i := range blocks {
		if address, mediaType, ok := fileURL(&blocks[i]); ok {
			e.file(address, mediaType)
		}
	}
}

func (e *Encoder) file(address, mediaType string) {
	buf := appendjson.Text(append(e.frames.Open(), `{"type":"file"`...), `,"url":`, address)
	e.frames.Close(append(appendjson.Text(buf, `,"mediaType":`, mediaType), '}'))
}

// reset takes back what the step has shown, as far as a client can: parts cannot be
// removed, so a part says that those before it, from the step's beginning on, are void.
func (e *Encoder) reset(ev *awaken.StreamReset) {
	kept := uint64(0)
	if at, err := awaken.ParseCursor(ev.Cursor); err == nil {
		kept = at.Seq
	}
	e.endText()
	e.endReasoning()
	if e.shown <= kept {
		return
	}
	e.shown = 0
	for _, id := range e.calls.order {
		if c := e.open[id]; c != nil && c.started == e.step {
			e.inputError(id, c.name, "the answer was taken back: "+ev.Reason)
		}
	}
	e.object("stream-reset", "", false, map[string]string{"reason": ev.Reason})
}

// activity shows what is going on. Sources and files are parts of their own.
func (e *Encoder) activity(ev *awaken.ActivitySnapshot) {
	var c struct {
		SourceID  string `json:"sourceId"`
		URL       string `json:"url"`
		MediaType string `json:"mediaType"`
		Title     string `json:"title"`
		Filename  string `json:"filename"`
	}
	special := json.Unmarshal(ev.Content, &c) == nil
	if c.SourceID == "" {
		c.SourceID = ev.MessageID
	}
	switch {
	case special && ev.ActivityType == "source-url" && c.URL != "":
		buf := appendjson.Text(append(e.frames.Open(), `{"type":"source-url"`...), `,"sourceId":`, c.SourceID)
		buf = appendjson.Text(buf, `,"url":`, c.URL)
		e.frames.Close(append(appendjson.TextIf(buf, `,"title":`, c.Title), '}'))
	case special && ev.ActivityType == "source-document" && c.MediaType != "":
		buf := appendjson.Text(append(e.frames.Open(), `{"type":"source-document"`...), `,"sourceId":`, c.SourceID)
		buf = appendjson.Text(buf, `,"mediaType":`, c.MediaType)
		buf = appendjson.Text(buf, `,"title":`, c.Title)
		e.frames.Close(append(appendjson.TextIf(buf, `,"filename":`, c.Filename), '}'))
	case special && ev.ActivityType == "file" && c.URL != "" && c.MediaType != "":
		e.file(c.URL, c.MediaType)
	}
	replace := ev.Replace == nil || *ev.Replace
	e.object("activity-snapshot", ev.MessageID+":"+ev.ActivityType, false, activity{ev.MessageID, ev.ActivityType, orNull(ev.Content), replace})
}

type activity struct {
	MessageID    string          `json:"messageId"`
	ActivityType string          `json:"activityType"`
	Content      json.RawMessage `json:"content"`
	Replace      bool            `json:"replace"`
}

func (e *Encoder) inference(ev *awaken.InferenceComplete) {
	e.endText()
	e.endReasoning()
	e.object("inference-complete", "", true, inference{ev.Model, usageOf(ev.Usage), ev.CostUSD, ev.DurationMS})
}

type inference struct {
	Model      string  `json:"model"`
	Usage      *usage  `json:"usage,omitempty"`
	CostUSD    float64 `json:"costUsd,omitempty"`
	DurationMS int64   `json:"durationMs"`
}

// usage is in the words of the ai package.
type usage struct {
	InputTokens       int64 `json:"inputTokens"`
	OutputTokens      int64 `json:"outputTokens"`
	TotalTokens       int64 `json:"totalTokens"`
	ReasoningTokens   int64 `json:"reasoningTokens,omitempty"`
	CachedInputTokens int64 `json:"cachedInputTokens,omitempty"`
}

func usageOf(u *llm.Usage) *usage {
	if u == nil || *u == (llm.Usage{}) {
		return nil
	}
	total := u.TotalTokens
	if total == 0 {
		total = u.PromptTokens + u.CompletionTokens
	}
	return &usage{u.PromptTokens, u.CompletionTokens, total, u.ThinkingTokens, u.CacheReadTokens}
}

// metadata is what a message's metadata says of its end.
type metadata struct {
	Usage       *usage             `json:"usage,omitempty"`
	Termination awaken.Termination `json:"termination"`
	CostUSD     float64            `json:"costUsd,omitempty"`
	Output      json.RawMessage    `json:"output,omitempty"` // the answer that fits the output schema
}

func (e *Encoder) finish(ev *awaken.RunFinish) {
	e.endStep()
	if ev.Termination.Type == awaken.Failed {
		e.failed(ev.Termination.Message)
		return
	}
	end, waits := metadata{Termination: ev.Termination}, (*waiting)(nil)
	if r := ev.Result; r != nil {
		end.Usage, end.CostUSD, end.Output = usageOf(&r.Usage), r.CostUSD, r.StructuredOutput
		waits = waitingOf(r.Waiting)
	}
	data, err := json.Marshal(end)
	if ev.Termination.Type == awaken.Cancelled {
		e.close(append(append(e.frames.Open(), `{"type":"message-metadata","messageMetadata":`...), data...), err)
		e.bare("abort")
		return
	}
	reason := "stop"
	switch ev.Termination.Type {
	case awaken.Suspended:
		if reason = "tool-calls"; waits != nil {
			reason = "other"
			e.object("waiting", "", true, waits)
		}
	case awaken.Blocked:
		reason = "content-filter"
	}
	buf := append(append(append(e.frames.Open(), `{"type":"finish","finishReason":"`...), reason...), `","messageMetadata":`...)
	e.close(append(buf, data...), err)
}

// waiting is what a run waits for, if it is not the client's turn.
type waiting struct {
	Reason  awaken.WaitingReason `json:"reason"`
	Message string               `json:"message,omitempty"`
}

func waitingOf(w *awaken.Waiting) *waiting {
	if w == nil || w.Reason == awaken.WaitToolPermission || w.Reason == awaken.WaitUserInput {
		return nil
	}
	return &waiting{w.Reason, w.Message}
}

func (e *Encoder) failed(message string) {
	if message == "" {
		message = "the run failed"
	}
	buf := append(e.frames.Open(), `{"type":"error"`...)
	e.frames.Close(append(appendjson.Text(buf, `,"errorText":`, message), '}'))
}

// resultData is what a client is shown of a successful result.
func resultData(r *awaken.ToolResult) json.RawMessage {
	data := orNull(r.Data)
	if bytes.Equal(data, null) && r.Message != "" {
		data, _ = json.Marshal(r.Message)
	}
	if len(r.Metadata) == 0 {
		return data
	}
	both, err := json.Marshal(struct {
		Data     json.RawMessage `json:"data"`
		Metadata map[string]any  `json:"metadata"`
	}{data, r.Metadata})
	if err != nil {
		return data
	}
	return both
}

var null = json.RawMessage("null")

func orNull(data json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(data)) == 0 {
		return null
	}
	return data
}

// isError reports whether the result of a tool that the page ran says that it failed.
func isError(result json.RawMessage) bool {
	var v map[string]json.RawMessage
	return json.Unmarshal(result, &v) == nil && len(v) == 1 && len(v["error"]) > 0 && v["error"][0] == '"'
}

// errorText is what went wrong with a call that waited.
func errorText(result json.RawMessage) string {
	var v struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(result, &v) == nil && v.Error != "" {
		return v.Error
	}
	var s string
	if json.Unmarshal(result, &s) == nil {
		return s
	}
	return string(result)
}

// fileURL is where a client finds the media of a block.
func fileURL(b *llm.Block) (address, mediaType string, ok bool) {
	if b.Source == nil {
		return "", "", false
	}
	mediaType = b.Source.MediaType
	if mediaType == "" {
		mediaType = map[llm.BlockType]string{llm.ImageBlock: "image/*", llm.AudioBlock: "audio/*", llm.VideoBlock: "video/*"}[b.Type]
	}
	if mediaType == "" {
		mediaType = "application/octet-stream"
	}
	if b.Source.URL != "" {
		return b.Source.URL, mediaType, true
	}
	return "data:" + mediaType + ";base64," + b.Source.Data, mediaType, true
}

// callIDs tells calls of a message apart that have the same id: a model may use an id
// again in a later step, and a client knows only one call of an id in a message.
type callIDs struct {
	times map[string]int
	order []string // ids in the order of their first use
}

// begin returns what a new call of an id is called on the wire.
func (c *callIDs) begin(id string) string {
	if c.times == nil {
		c.times = map[string]int{}
	}
	if c.times[id] == 0 {
		c.order = append(c.order, id)
	}
	c.times[id]++
	return c.wire(id)
}

// wire returns what the latest call of an id is called on the wire.
func (c *callIDs) wire(id string) string {
	if n := c.times[id]; n > 1 {
		return id + "~" + strconv.Itoa(n)
	}
	return id
}
