package aisdk

import (
	"encoding/json"
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/protocol"
)

// Encoder turns the entries of a run into chunks of the UI message stream, version v1, with
// the fields that all versions of the ai package since 6.0.1 take. The zero Encoder has
// seen nothing.
type Encoder struct {
	writer
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
			*e = Encoder{writer: writer{frames: e.frames}}
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

// part begins a text or a reasoning, and returns its id.
func (e *Encoder) part(kind string) string {
	e.parts++
	id := strconv.Itoa(e.parts) // it has to differ from others of the message only
	e.of(kind, id)
	return id
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
