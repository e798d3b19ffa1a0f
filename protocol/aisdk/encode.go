package aisdk

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
)

// Encoder turns the entries of a run into chunks of the UI message stream, version v1, with
// the fields that all versions of the ai package since 6.0.1 take. The zero Encoder has
// seen nothing.
type Encoder struct {
	out protocol.Writer
	seq uint64 // of the entry that is being encoded

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

// Encode adds the chunks that an entry becomes.
func (e *Encoder) Encode(f *protocol.Frames, entry *awaken.Entry) error {
	e.out.Begin(f)
	e.seq = entry.Seq
	e.event(entry.Event)
	return e.out.End()
}

// End adds what every response ends with.
func (e *Encoder) End(f *protocol.Frames, failure *protocol.Failure) {
	if failure != nil {
		e.out.Begin(f)
		e.out.Object("error").Text(`,"errorText":`, failure.Message).Close()
	}
	f.Data([]byte("[DONE]"))
}

// event adds the chunks of an event. Whatever comes before the first message's id is
// known waits for it, because nothing may come before the start.
func (e *Encoder) event(ev awaken.Event) {
	switch ev := ev.(type) {
	case *awaken.RunStart:
		if e.info.RunID != "" && e.info.RunID != ev.RunID { // the stream of a thread
			*e = Encoder{out: e.out, seq: e.seq}
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
	start := e.out.Object("start").TextIf(`,"messageId":`, e.message)
	if e.info.RunID != "" {
		start = start.Text(`,"messageMetadata":{"threadId":`, e.info.ThreadID).Text(`,"runId":`, e.info.RunID).TextIf(`,"agentId":`, e.info.AgentID).Add("}")
	}
	start.Close()
	if e.info.RunID != "" {
		e.out.Object("data-run-info").Text(`,"data":{"runId":`, e.info.RunID).Text(`,"threadId":`, e.info.ThreadID).Add(`},"transient":true`).Close()
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
		e.out.Object("start-step").Close()
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
		e.out.Object("data-reasoning-encrypted").TextIf(`,"id":`, e.step).Text(`,"data":{"encryptedValue":`, ev.EncryptedValue).Add(`},"transient":true`).Close()
	case *awaken.ToolCallStart:
		e.callStart(ev)
	case *awaken.ToolCallDelta:
		e.call("tool-input-delta", ev.ID).Text(`,"inputTextDelta":`, ev.ArgsDelta).Close()
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
		e.data("activity-delta", "", true, map[string]any{"messageId": ev.MessageID, "activityType": ev.ActivityType, "patch": ev.Patch})
	case *awaken.StateSnapshot:
		e.out.Object("data-state-snapshot").Append(`,"id":"state","data":`, ev.Snapshot.AppendJSON).Close()
	case *awaken.StateDelta:
		e.data("state-delta", "", true, ev.Delta)
	case *awaken.MessagesSnapshot:
		e.data("messages-snapshot", "", true, ev.Messages)
	case *awaken.InferenceComplete:
		e.inference(ev)
	case *awaken.RunFinish:
		e.finish(ev)
	case *awaken.Error:
		e.failed(ev.Message)
	}
}

// call begins a chunk about a call.
func (e *Encoder) call(kind, id string) protocol.Object {
	return e.out.Object(kind).Text(`,"toolCallId":`, e.calls.wire(id))
}

// data adds a custom part. A part of the same name and id takes its place; one that is
// transient is not kept with the message.
func (e *Encoder) data(name, id string, transient bool, v any) {
	part := e.out.Object("data-"+name).TextIf(`,"id":`, id).Value(`,"data":`, v)
	if transient {
		part = part.Add(`,"transient":true`)
	}
	part.Close()
}

func (e *Encoder) file(address, mediaType string) {
	e.out.Object("file").Text(`,"url":`, address).Text(`,"mediaType":`, mediaType).Close()
}

func (e *Encoder) failed(message string) {
	e.out.Object("error").Text(`,"errorText":`, cmp.Or(message, "the run failed")).Close()
}

// part begins a text or a reasoning, and returns its id.
func (e *Encoder) part(kind string) string {
	e.parts++
	id := strconv.Itoa(e.parts) // it has to differ from others of the message only
	e.out.Object(kind).Text(`,"id":`, id).Close()
	return id
}

func (e *Encoder) delta(kind, id, text string) {
	e.shown = e.seq
	e.out.Object(kind).Text(`,"id":`, id).Text(`,"delta":`, text).Close()
}

func (e *Encoder) endText() {
	if e.text != "" {
		e.out.Object("text-end").Text(`,"id":`, e.text).Close()
		e.text = ""
	}
}

func (e *Encoder) endReasoning() {
	if e.reasoning != "" {
		e.out.Object("reasoning-end").Text(`,"id":`, e.reasoning).Close()
		e.reasoning = ""
	}
}

// endStep closes what is open, and the step.
func (e *Encoder) endStep() {
	e.endText()
	e.endReasoning()
	if e.step != "" {
		e.out.Object("finish-step").Close()
		e.step = ""
	}
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
	e.data("stream-reset", "", false, map[string]string{"reason": ev.Reason})
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
	c.SourceID = cmp.Or(c.SourceID, ev.MessageID)
	switch {
	case special && ev.ActivityType == "source-url" && c.URL != "":
		e.out.Object("source-url").Text(`,"sourceId":`, c.SourceID).Text(`,"url":`, c.URL).TextIf(`,"title":`, c.Title).Close()
	case special && ev.ActivityType == "source-document" && c.MediaType != "":
		e.out.Object("source-document").Text(`,"sourceId":`, c.SourceID).Text(`,"mediaType":`, c.MediaType).Text(`,"title":`, c.Title).TextIf(`,"filename":`, c.Filename).Close()
	case special && ev.ActivityType == "file" && c.URL != "" && c.MediaType != "":
		e.file(c.URL, c.MediaType)
	}
	replace := ev.Replace == nil || *ev.Replace
	e.data("activity-snapshot", ev.MessageID+":"+ev.ActivityType, false, activity{ev.MessageID, ev.ActivityType, orNull(ev.Content), replace})
}

type activity struct {
	MessageID    string          `json:"messageId"`
	ActivityType string          `json:"activityType"`
	Content      json.RawMessage `json:"content"`
	Replace      bool            `json:"replace"`
}
