package aisdk

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
)

// Encoder translates the entries of a run into chunks of the UI message stream, version v1. It
// uses only fields that every ai package since 6.0.1 accepts. The zero Encoder is at the start
// of a run.
type Encoder struct {
	out protocol.Writer
	seq uint64 // seq of the current entry

	info    awaken.RunInfo
	message string         // id of the UI message, which is that of the run's first assistant message
	begun   bool           // the start chunk was sent
	ended   bool           // the run has finished or parked since; if it starts again, so does the message
	early   []awaken.Event // events before the message's id is known

	step      string // id of the latest step's message
	inStep    bool   // the step is open
	parts     int    // number of text and reasoning parts so far
	shown     uint64 // seq of the entry that showed the step's latest part, or 0
	answered  bool   // the step's answer is complete
	text      string // id of the open text part, or ""
	reasoning string // id of the open reasoning part, or ""
	calls     callIDs
	open      map[string]*openCall // calls without an outcome, by the model's id
}

// Encode implements [protocol.Encoder].
func (e *Encoder) Encode(f *protocol.Frames, entry *awaken.Entry) error {
	e.out.Begin(f)
	e.seq = entry.Seq
	e.event(entry.Event)
	return e.out.End()
}

// End ends the response with an error, if there is one, and [DONE].
func (e *Encoder) End(f *protocol.Frames, failure *protocol.Failure) {
	if failure != nil {
		e.out.Begin(f)
		e.out.Object("error").Text(`,"errorText":`, failure.Message).Close()
	}
	f.Data([]byte("[DONE]"))
}

// event adds the chunks of an event. Events that precede the first message id are kept back
// until it is known, because the start chunk comes first and carries it.
func (e *Encoder) event(ev awaken.Event) {
	switch ev := ev.(type) {
	case *awaken.RunStart:
		if e.info.RunID != "" && e.info.RunID != ev.RunID { // a stream of the whole thread
			*e = Encoder{out: e.out, seq: e.seq}
		}
		e.info = awaken.RunInfo{ThreadID: ev.ThreadID, RunID: ev.RunID}
		if ev.Identity != nil {
			e.info = *ev.Identity
		}
		e.begun, e.ended = e.begun && !e.ended, false // without an end, another owner continues
		if !e.begun && e.message != "" {
			e.begin()
		}
		return
	case *awaken.StepStart:
		if e.message == "" {
			e.message = ev.MessageID
		}
	case *awaken.RunFinish:
		if e.info.RunID == "" { // cancelled while queued
			e.info = awaken.RunInfo{ThreadID: ev.ThreadID, RunID: ev.RunID}
		}
	case *awaken.Error:
	default:
		if !e.begun {
			e.early = append(e.early, ev)
			return
		}
	}
	if !e.begun {
		e.begin()
	}
	e.chunks(ev)
}

// begin adds the start chunk, and the chunks of events that were kept back.
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
	early := e.early
	e.early = nil
	for _, ev := range early {
		e.chunks(ev)
	}
}

func (e *Encoder) chunks(ev awaken.Event) {
	switch ev := ev.(type) {
	case *awaken.StepStart:
		e.startStep(ev.MessageID)
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
		e.answered = true
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
		e.answered = true
		e.inference(ev)
	case *awaken.RunFinish:
		e.ended = true
		e.finish(ev)
	case *awaken.Error:
		e.ended = true
		e.failed(ev.Message)
	}
}

// call begins a chunk about a call.
func (e *Encoder) call(kind, id string) protocol.Object {
	return e.out.Object(kind).Text(`,"toolCallId":`, e.calls.wire(id))
}

// data adds a data part. A later part with the same name and id replaces it. A transient part
// is not stored with the message.
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

// part starts a text or reasoning part, and returns its id.
func (e *Encoder) part(kind string) string {
	e.parts++
	id := strconv.Itoa(e.parts) // unique within the message
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

// startStep opens a step. A new owner continues the step of the one before it, or begins it again.
func (e *Encoder) startStep(message string) {
	if e.step == message && e.step != "" {
		if !e.answered {
			e.reset(&awaken.StreamReset{Reason: "the step was begun again"})
		}
		if e.inStep {
			return
		}
	}
	e.endStep()
	e.step, e.inStep, e.shown, e.answered = message, true, 0, false
	e.out.Object("start-step").Close()
}

// endStep closes the open parts and the step.
func (e *Encoder) endStep() {
	e.endText()
	e.endReasoning()
	if e.inStep {
		e.out.Object("finish-step").Close()
		e.inStep = false
	}
}

// reset retracts the output of the step. Clients cannot remove parts, so a data part declares
// everything since the start of the step void. If the step goes on, it starts anew for the client, which
// would otherwise put a call with the ID of a void one into the void part.
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
	for _, id := range slices.Clone(e.calls.order) {
		if c := e.open[id]; c != nil && c.started == e.step {
			e.inputError(id, c.name, "the answer was retracted: "+ev.Reason)
			e.calls.forget(id)
		}
	}
	e.data("stream-reset", "", false, map[string]string{"reason": ev.Reason})
	if e.inStep && ev.Cursor == "" { // else the next owner starts the step
		e.out.Object("finish-step").Close()
		e.out.Object("start-step").Close()
	}
}

// activity shows an activity. Sources and files become parts of their own as well.
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
