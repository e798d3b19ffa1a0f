package acp

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// Encoder translates the entries of a session's runs into updates. What it returns depends on the
// entries alone.
//
// A client cannot take back what it has shown. If text turns out to be void, because a model or the owner
// of a run failed, a remark says that the answer begins again; calls that are void have failed.
type Encoder struct {
	opts EncoderOptions
	step string           // the id of the step's message
	said bool             // the step has text that the client has
	last []byte           // the text of the step, as far as an answer with a schema needs it
	call map[string]*call // by the id that the model gave; the latest with it
	cost float64
}

// EncoderOptions configures an encoder.
type EncoderOptions struct {
	Cwd    string  // of the session: paths of calls are relative to it
	Window int64   // tokens that fit into the model's context; 0 if unknown
	Cost   float64 // of the session before the first entry, in US dollars
}

// call is a call that the client knows.
type call struct {
	id        string // that the client knows
	name      string
	kind      string
	arguments json.RawMessage
	over      bool
	output    []byte // what it has written so far
	sent      int    // how much of output the client has
}

// NewEncoder returns an encoder at the start of a run.
func NewEncoder(opts EncoderOptions) *Encoder {
	return &Encoder{opts: opts, call: map[string]*call{}, cost: opts.Cost}
}

// Encode returns the updates of an entry.
func (e *Encoder) Encode(en *awaken.Entry) []*Update {
	switch ev := en.Event.(type) {
	case *awaken.StepStart:
		e.step, e.said, e.last = ev.MessageID, false, e.last[:0]
	case *awaken.TextDelta:
		e.said, e.last = true, append(e.last, ev.Delta...)
		return e.chunk("agent_message_chunk", ev.Delta)
	case *awaken.ReasoningDelta:
		return e.chunk("agent_thought_chunk", ev.Delta)
	case *awaken.ToolCallStart:
		return e.begin(ev.ID, ev.Name)
	case *awaken.ToolCallReady:
		return e.ready(ev)
	case *awaken.ToolCallStreamDelta:
		return e.streamed(ev)
	case *awaken.ToolCallDone:
		return e.done(ev)
	case *awaken.ToolCallResumed:
		return e.resumed(ev)
	case *awaken.ToolCallCancel:
		if c := e.call[ev.ID]; c != nil && !c.over {
			return e.end(c, "failed", textContent(ev.Reason), nil)
		}
	case *awaken.StreamReset:
		return e.void()
	case *awaken.ActivitySnapshot:
		return e.activity(ev)
	case *awaken.InferenceComplete:
		return e.usage(ev)
	case *awaken.RunFinish:
		return e.finish(ev)
	}
	return nil
}

func (e *Encoder) chunk(kind, text string) []*Update {
	if text == "" {
		return nil
	}
	return []*Update{{SessionUpdate: kind, Content: block{Type: "text", Text: text}, MessageID: e.step}}
}

// begin announces a call. Models reuse ids, so the client gets one with the step.
func (e *Encoder) begin(id, name string) []*Update {
	if name == awaken.FinalOutputTool {
		return nil
	}
	c := &call{id: e.step + "/" + id, name: name, kind: kindOf(name)}
	e.call[id] = c
	return []*Update{{SessionUpdate: "tool_call", CallID: c.id, Title: name, Kind: c.kind, Status: "pending"}}
}

func (e *Encoder) ready(ev *awaken.ToolCallReady) []*Update {
	var out []*Update
	c := e.call[ev.ID]
	if c == nil || c.over {
		if out = e.begin(ev.ID, ev.Name); out == nil {
			return nil
		}
		c = e.call[ev.ID]
	}
	out = append(out, e.describe(c, ev.Arguments, "in_progress"))
	if plan := planOf(c.name, ev.Arguments); plan != nil {
		out = append(out, &Update{SessionUpdate: "plan", Entries: plan})
	}
	return out
}

// describe says what a call does, now that its arguments are known.
func (e *Encoder) describe(c *call, arguments json.RawMessage, status string) *Update {
	c.arguments = arguments
	args := argumentsOf(arguments, e.opts.Cwd)
	u := &Update{SessionUpdate: "tool_call_update", CallID: c.id, Title: args.title(c.name, e.opts.Cwd), Kind: c.kind, Status: status, Locations: args.locations(), RawInput: rawOf(arguments)}
	if d := args.diff(c.kind); d != nil {
		u.Content = d
	}
	return u
}

// Output that a call streams is shown when it has grown by a quarter, so that the client gets no more than
// a few times its length. Only the end of a long output is shown.
const maxOutput = 16 << 10

func (e *Encoder) streamed(ev *awaken.ToolCallStreamDelta) []*Update {
	c := e.call[ev.ID]
	if c == nil || c.over {
		return nil
	}
	c.output = append(c.output, ev.Delta...)
	if n := len(c.output); n > 2*maxOutput {
		c.output = append(c.output[:0], c.output[n-maxOutput:]...)
		c.sent = 0
	}
	if len(c.output) < c.sent+c.sent/4 {
		return nil
	}
	c.sent = len(c.output)
	return []*Update{{SessionUpdate: "tool_call_update", CallID: c.id, Status: "in_progress", Content: textContent(strings.ToValidUTF8(string(c.output), ""))}}
}

func (e *Encoder) done(ev *awaken.ToolCallDone) []*Update {
	c := e.call[ev.ID]
	if c == nil || c.over || ev.Result == nil {
		return nil
	}
	var out []*Update
	if len(ev.Arguments) > 0 {
		out = append(out, e.describe(c, ev.Arguments, ""))
	}
	if ev.Outcome == awaken.CallSuspended || ev.Result.Status == awaken.ToolPending {
		return append(out, &Update{SessionUpdate: "tool_call_update", CallID: c.id, Status: "pending"})
	}
	status := "completed"
	if ev.Result.Status == awaken.ToolError {
		status = "failed"
	}
	content := e.withDiff(c, status, contentOf(ev.Result))
	return append(out, e.end(c, status, content, rawOf(ev.Result.Data))...)
}

// resumed shows the result of a call that was suspended.
func (e *Encoder) resumed(ev *awaken.ToolCallResumed) []*Update {
	c := e.call[ev.TargetID]
	if c == nil || c.over {
		return nil
	}
	status := "completed"
	if ev.Outcome != awaken.CallSucceeded && ev.Outcome != "" {
		status = "failed"
	}
	return e.end(c, status, e.withDiff(c, status, textContent(protocol.TextOf(ev.Result))), rawOf(ev.Result))
}

// withDiff puts the change that a call has made before its result.
func (e *Encoder) withDiff(c *call, status string, content []callContent) []callContent {
	args := argumentsOf(c.arguments, e.opts.Cwd)
	if d := args.diff(c.kind); d != nil && status == "completed" {
		return append(d, content...)
	}
	return content
}

func (e *Encoder) end(c *call, status string, content []callContent, output json.RawMessage) []*Update {
	c.over, c.output = true, nil
	u := &Update{SessionUpdate: "tool_call_update", CallID: c.id, Status: status, RawOutput: output}
	if len(content) > 0 {
		u.Content = content
	}
	return []*Update{u}
}

// void retracts what the step has said and called.
func (e *Encoder) void() (out []*Update) {
	if e.said {
		out = e.chunk("agent_message_chunk", "\n\n[The answer was interrupted and begins again.]\n\n")
	}
	e.said, e.last = false, e.last[:0]
	for _, id := range sortedKeys(e.call) {
		if c := e.call[id]; !c.over && strings.HasPrefix(c.id, e.step+"/") {
			out = append(out, e.end(c, "failed", textContent("interrupted"), nil)...)
			delete(e.call, id)
		}
	}
	return out
}

func sortedKeys(m map[string]*call) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// activity shows a plan, and the progress of a call.
func (e *Encoder) activity(ev *awaken.ActivitySnapshot) []*Update {
	switch ev.ActivityType {
	case "plan":
		if plan := entriesOf(ev.Content); plan != nil {
			return []*Update{{SessionUpdate: "plan", Entries: plan}}
		}
	case awaken.ProgressActivity:
		var p awaken.Progress
		if json.Unmarshal(ev.Content, &p) != nil || p.Message == "" {
			return nil
		}
		if c := e.call[p.CallID]; c != nil && !c.over {
			return []*Update{{SessionUpdate: "tool_call_update", CallID: c.id, Status: "in_progress", Content: textContent(p.Message)}}
		}
	}
	return nil
}

func (e *Encoder) usage(ev *awaken.InferenceComplete) []*Update {
	e.cost += ev.CostUSD
	if ev.Usage == nil || e.opts.Window == 0 {
		return nil
	}
	used := ev.Usage.PromptTokens + ev.Usage.CompletionTokens
	u := &Update{SessionUpdate: "usage_update", Used: &used, Size: &e.opts.Window}
	if e.cost > 0 {
		u.Cost = &cost{e.cost, "USD"}
	}
	return []*Update{u}
}

// finish shows what the client did not get otherwise: calls that ended with the run, an answer that was
// not streamed, and why the run was blocked.
func (e *Encoder) finish(ev *awaken.RunFinish) (out []*Update) {
	if ev.Termination.Type == awaken.Suspended {
		return nil
	}
	for _, id := range sortedKeys(e.call) {
		if c := e.call[id]; !c.over {
			out = append(out, e.end(c, "failed", textContent("the run ended"), nil)...)
		}
	}
	if r := ev.Result; r != nil && len(r.StructuredOutput) > 0 && strings.TrimSpace(string(e.last)) != strings.TrimSpace(r.Response) {
		out = append(out, e.chunk("agent_message_chunk", r.Response)...)
	}
	if ev.Termination.Type == awaken.Blocked {
		out = append(out, e.chunk("agent_message_chunk", "[Blocked: "+cmp.Or(ev.Termination.Message, "by a rule")+"]")...)
	}
	clear(e.call)
	return out
}

// known returns the call that a ticket is about, or nil if the client does not know it: it is that of
// another agent, or a message that a guard holds.
func (e *Encoder) known(t *awaken.WaitingTicket) *call {
	if t.RunID != "" {
		return nil
	}
	return e.call[t.ToolCallID]
}

// stopReason says why a prompt is answered whose run has ended.
func stopReason(ev *awaken.RunFinish) StopReason {
	switch ev.Termination.Type {
	case awaken.Cancelled:
		return Cancelled
	case awaken.Blocked:
		return Refusal
	case awaken.Stopped:
		switch ev.Termination.Code {
		case "max_rounds":
			return MaxTurnRequests
		case "token_budget":
			return MaxTokens
		}
	default:
		if ev.Result != nil && ev.Result.FinishReason == llm.MaxTokens && ev.Termination.Type != awaken.Suspended {
			return MaxTokens
		}
	}
	return EndTurn
}

// textContent returns a text as the content of a call.
func textContent(text string) []callContent {
	if text == "" {
		return nil
	}
	return []callContent{{Type: "content", Content: &block{Type: "text", Text: text}}}
}

// contentOf returns what a result shows.
func contentOf(r *awaken.ToolResult) (out []callContent) {
	if len(r.Content) == 0 {
		return textContent(r.Plain())
	}
	for i := range r.Content {
		if b := shown(&r.Content[i]); b != nil {
			out = append(out, callContent{Type: "content", Content: b})
		}
	}
	return out
}

// rawOf returns JSON as a field that is left out if there is none.
func rawOf(raw json.RawMessage) json.RawMessage {
	if isNull(raw) || !json.Valid(raw) {
		return nil
	}
	return raw
}
