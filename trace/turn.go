package trace

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm"
)

// Turn is the answer of a model in one step. If a new owner restarted the step, it is the last answer.
type Turn struct {
	Step      int    // from 0
	MessageID string // of the answer
	Model     string // that answered, in the provider's words; "" if none did
	Member    string // of a pool, that answered

	Reasoning string
	Text      string
	ToolCalls []llm.ToolCall
	// Finish says why the model stopped. It is "" if the answer broke off or did not come from a model.
	Finish llm.FinishReason
	// Answered reports whether the model finished its answer.
	Answered bool
	// Request holds the digests of the request, or nil.
	Request *llm.RequestDigest
	// Error says why the model did not answer. ErrorKind is the kind of the error if it came from the model.
	Error     string
	ErrorKind llm.Kind

	Usage      *llm.Usage // nil if the model reported none
	CostUSD    float64
	DurationMS int64
	// Times in Unix ms, 0 if unknown.
	StartedAt    int64
	FirstTokenAt int64
	EndedAt      int64

	// Streams are the streamed responses, one for each request. All but the last broke off or were withdrawn. The last one ends with a
	// finish if the model answered.
	Streams []Stream
}

// Stream is the streamed response to one request.
type Stream struct {
	Deltas []llm.Delta
	// Lost says why the next stream replaces or continues this one; "" in the last stream.
	Lost string
	// Withdrawn reports that the stream was discarded.
	Withdrawn bool
	// Kind is the kind of the error that discarded the stream. Without an error, Cut says why it was cut off; see [awaken.ToolCallCancel].
	Kind llm.Kind
	Cut  string
}

// turns reads the turns of a recording from its events and messages.
func turns(rec *Recording) []Turn {
	t := turnReader{rec: rec}
	for i := range rec.Events {
		t.event(&rec.Events[i])
	}
	t.end()
	return t.out
}

type turnReader struct {
	rec  *Recording
	out  []Turn
	open bool   // the last turn has no end yet
	anew bool   // the turn was begun again, and no other answer has come yet
	hid  string // the call that stands for an answer that a guard holds
	none bool   // no model is asked in it: it holds a message of the user
	text strings.Builder
	mind strings.Builder
}

// current returns the turn that the model is taking, or nil.
func (t *turnReader) current() *Turn {
	if !t.open {
		return nil
	}
	return &t.out[len(t.out)-1]
}

func (t *turnReader) event(e *awaken.Entry) {
	switch e.Event.(type) {
	case *awaken.TextDelta, *awaken.ReasoningDelta, *awaken.ReasoningEncryptedValue, *awaken.ToolCallStart, *awaken.InferenceComplete:
		t.again(e)
	}
	switch ev := e.Event.(type) {
	case *awaken.StepStart:
		t.begin(e, ev.MessageID)
	case *awaken.TextDelta:
		t.text.WriteString(ev.Delta)
		t.say(e, llm.Delta{Kind: llm.TextDelta, Text: ev.Delta})
	case *awaken.ReasoningDelta:
		t.mind.WriteString(ev.Delta)
		t.say(e, llm.Delta{Kind: llm.ReasoningDelta, Text: ev.Delta})
	case *awaken.ReasoningEncryptedValue:
		if s := t.current(); s != nil {
			t.say(e, llm.Delta{Kind: llm.OpaqueDelta, Opaque: t.opaque(s.MessageID, ev.EncryptedValue)})
		}
	case *awaken.ToolCallStart:
		if t.held(ev.ID) != nil {
			return
		}
		d := llm.Delta{Kind: llm.ToolCallStart, ID: ev.ID, Name: ev.Name}
		if c := t.call(ev.ID); c != nil {
			d.Opaque = c.Opaque
		}
		t.say(e, d)
	case *awaken.ToolCallDelta:
		if t.held(ev.ID) != nil {
			return
		}
		t.say(e, llm.Delta{Kind: llm.ToolCallDelta, ID: ev.ID, Text: ev.ArgsDelta})
	case *awaken.ToolCallReady:
		if s, c := t.current(), t.held(ev.ID); s != nil && c != nil {
			t.hold(c)
		} else if s != nil {
			c := llm.ToolCall{ID: ev.ID, Name: ev.Name, Arguments: ev.Arguments}
			if said := t.call(ev.ID); said != nil {
				c.Opaque = said.Opaque
			}
			s.ToolCalls = append(s.ToolCalls, c)
		}
	case *awaken.StreamReset:
		t.lose(Stream{Lost: ev.Reason, Withdrawn: true, Kind: ev.Kind})
	case *awaken.ToolCallCancel:
		if s := t.current(); s != nil && len(s.ToolCalls) == 0 && ev.Cut != "" {
			t.lose(Stream{Lost: ev.Reason, Cut: ev.Cut})
		}
	case *awaken.InferenceComplete:
		t.complete(e, ev)
	case *awaken.StateSnapshot:
		t.unveil(ev)
	case *awaken.StepEnd, *awaken.RunFinish:
		t.end()
	}
}

// begin begins a turn, or takes the last one anew.
func (t *turnReader) begin(e *awaken.Entry, messageID string) {
	t.end()
	n := len(t.out)
	step := n
	if n > 0 {
		step = t.out[n-1].Step + 1
		if t.out[n-1].MessageID == messageID { // what counts is the answer before, unless there is another
			t.open, t.anew = true, true
			return
		}
	}
	for i := max(0, step-1); i <= step+1; i++ { // a step that is not counted has no number
		if ids.Of(t.rec.Run.RunID, i) == messageID {
			step = i
		}
	}
	t.out = append(t.out, Turn{Step: step, MessageID: messageID, StartedAt: e.Time, Streams: []Stream{{}}})
	t.open, t.anew, t.none, t.hid = true, false, false, ""
	t.text.Reset()
	t.mind.Reset()
}

// again forgets the answer of a turn that has another.
func (t *turnReader) again(e *awaken.Entry) {
	if s := t.current(); s != nil && t.anew && t.hid == "" {
		*s = Turn{Step: s.Step, MessageID: s.MessageID, StartedAt: e.Time, Streams: []Stream{{}}}
		t.anew = false
		t.text.Reset()
		t.mind.Reset()
	}
}

// say adds a delta to the turn.
func (t *turnReader) say(e *awaken.Entry, d llm.Delta) {
	s := t.current()
	if s == nil {
		return
	}
	if s.FirstTokenAt == 0 {
		s.FirstTokenAt = e.Time
	}
	last := &s.Streams[len(s.Streams)-1]
	last.Deltas = append(last.Deltas, d)
}

// lose ends a stream that another replaces or continues.
func (t *turnReader) lose(end Stream) {
	s := t.current()
	if s == nil {
		return
	}
	last := &s.Streams[len(s.Streams)-1]
	if last.Lost != "" || len(last.Deltas) == 0 && !end.Withdrawn {
		return // several calls of one stream
	}
	end.Deltas = last.Deltas
	if *last = end; end.Withdrawn {
		t.text.Reset()
		t.mind.Reset()
	}
	s.Streams = append(s.Streams, Stream{})
}

// complete ends the model's answer. If a guard had to see the answer before it was streamed, the answer is taken from the message.
func (t *turnReader) complete(e *awaken.Entry, ev *awaken.InferenceComplete) {
	s := t.current()
	if s == nil {
		return
	}
	s.Model, s.Usage, s.CostUSD, s.DurationMS, s.Finish, s.EndedAt = ev.Model, ev.Usage, ev.CostUSD, ev.DurationMS, ev.FinishReason, e.Time
	s.Answered, s.Request = ev.FinishReason != "", ev.Request
	if ev.Composition != nil {
		s.Member = ev.Composition.Member
	}
	if t.hid != "" {
		return // a guard held it until now
	}
	m := t.message(s.MessageID)
	last := &s.Streams[len(s.Streams)-1]
	if m != nil && len(last.Deltas) == 0 && len(s.Streams) == 1 {
		t.speak(s, m)
	}
	if m != nil && m.Opaque != nil {
		last.Deltas = append(last.Deltas, llm.Delta{Kind: llm.ResponseDelta, Opaque: m.Opaque})
	}
	if ev.Usage != nil {
		last.Deltas = append(last.Deltas, llm.Delta{Kind: llm.UsageDelta, Usage: ev.Usage})
	}
	if ev.FinishReason != "" {
		last.Deltas = append(last.Deltas, llm.Delta{Kind: llm.FinishDelta, Finish: ev.FinishReason})
	}
}

// speak adds a message to the turn as if it had been streamed.
func (t *turnReader) speak(s *Turn, m *llm.Message) {
	last := &s.Streams[len(s.Streams)-1]
	for _, b := range m.Content {
		switch {
		case b.Type == llm.ThinkingBlock && b.Opaque != nil:
			last.Deltas = append(last.Deltas, llm.Delta{Kind: llm.ReasoningDelta, Text: b.Text}, llm.Delta{Kind: llm.OpaqueDelta, Opaque: b.Opaque})
			t.mind.WriteString(b.Text)
		case b.Type == llm.ThinkingBlock:
			last.Deltas = append(last.Deltas, llm.Delta{Kind: llm.ReasoningDelta, Text: b.Text})
			t.mind.WriteString(b.Text)
		case b.Type == llm.TextBlock:
			last.Deltas = append(last.Deltas, llm.Delta{Kind: llm.TextDelta, Text: b.Text})
			t.text.WriteString(b.Text)
		}
	}
	for _, c := range m.ToolCalls {
		last.Deltas = append(last.Deltas, llm.Delta{Kind: llm.ToolCallStart, ID: c.ID, Name: c.Name, Opaque: c.Opaque}, llm.Delta{Kind: llm.ToolCallDelta, ID: c.ID, Text: string(c.Arguments)})
	}
}

// end ends the turn.
func (t *turnReader) end() {
	s := t.current()
	if s == nil {
		return
	}
	t.open = false
	if t.none && !s.Answered {
		t.out = t.out[:len(t.out)-1]
		return
	}
	if n := len(s.Streams); n > 1 && !s.Answered && len(s.Streams[n-1].Deltas) == 0 {
		s.Streams = s.Streams[:n-1] // the model was not asked again
	}
	s.Text, s.Reasoning = t.text.String(), t.mind.String()
	if run := t.rec.Run; !s.Answered && run.Status == awaken.RunDone && run.Termination.Type == awaken.Failed {
		s.Error = cmp.Or(run.Termination.Cause(), run.Termination.Message)
		if d := run.Termination.Details; d != nil {
			s.ErrorKind = d.Kind
		}
	}
}

// held returns the record of a message that a guard holds, or nil if the call is another.
func (t *turnReader) held(callID string) *awaken.CallState {
	if !strings.HasPrefix(callID, awaken.HeldCallPrefix) {
		return nil
	}
	for _, c := range t.rec.Calls {
		if c.CallID == callID && c.IsHeld() {
			return c
		}
	}
	return nil
}

// hold takes the model's answer from a message that a guard holds: such an answer is not streamed before the guard has seen it.
func (t *turnReader) hold(c *awaken.CallState) {
	if c.Message == nil || c.Message.Point != awaken.OutputPoint {
		t.none = true
		return
	}
	t.hid = c.CallID
}

// unveil reads an answer that a guard holds from a snapshot of the state.
func (t *turnReader) unveil(ev *awaken.StateSnapshot) {
	s := t.current()
	if s == nil || t.hid == "" || len(s.Streams[len(s.Streams)-1].Deltas) > 0 {
		return
	}
	c := CallIn(ev, t.hid)
	if c == nil || c.Message == nil || len(c.Message.Messages) == 0 {
		return
	}
	t.speak(s, c.Message.Messages[0])
	last := &s.Streams[len(s.Streams)-1]
	if u := c.Message.Usage; u != (llm.Usage{}) {
		last.Deltas = append(last.Deltas, llm.Delta{Kind: llm.UsageDelta, Usage: &u})
	}
	last.Deltas = append(last.Deltas, llm.Delta{Kind: llm.FinishDelta, Finish: c.Message.Finish})
	s.Answered, s.Finish = true, c.Message.Finish
}

// CallIn returns the record of a call in a snapshot of the state, or nil.
func CallIn(ev *awaken.StateSnapshot, callID string) *awaken.CallState { return callsIn(ev)[callID] }

// HeldIn returns the calls in a snapshot of the state that represent messages which guards hold, in the order in which they were held.
func HeldIn(ev *awaken.StateSnapshot) (out []*awaken.CallState) {
	for _, c := range callsIn(ev) {
		if c.Message != nil {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *awaken.CallState) int { return cmp.Or(a.Step-b.Step, b.Index-a.Index) })
	return out
}

// callsIn returns the calls in a snapshot of the state, by id.
func callsIn(ev *awaken.StateSnapshot) map[string]*awaken.CallState {
	data, err := awaken.AppendEvent(nil, ev)
	if err != nil {
		return nil
	}
	var shown struct {
		Snapshot struct {
			Extensions struct {
				States struct {
					Calls map[string]*awaken.CallState `json:"calls"`
				} `json:"__runtime.tool_call_states"`
			} `json:"extensions"`
		} `json:"snapshot"`
	}
	if json.Unmarshal(data, &shown) != nil {
		return nil
	}
	return shown.Snapshot.Extensions.States.Calls
}

// message returns the message with that id, or nil.
func (t *turnReader) message(id string) *llm.Message {
	for _, r := range slices.Backward(t.rec.Messages) {
		if r.Message.ID == id && r.Message.Role == llm.Assistant {
			return r.Message
		}
	}
	return nil
}

// call returns the call of a message with that id, or nil.
func (t *turnReader) call(id string) *llm.ToolCall {
	for _, r := range slices.Backward(t.rec.Messages) {
		for i := range r.Message.ToolCalls {
			if r.Message.ToolCalls[i].ID == id {
				return &r.Message.ToolCalls[i]
			}
		}
	}
	return nil
}

// opaque returns the encrypted reasoning that the message keeps.
func (t *turnReader) opaque(messageID, value string) *llm.Opaque {
	if m := t.message(messageID); m != nil {
		for _, b := range m.Content {
			if o := b.Opaque; o != nil && (o.Signature == value || o.Signature == "" && string(o.Data) == value) {
				return o
			}
		}
	}
	return &llm.Opaque{Signature: value}
}
