package openai

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// ResponseEncoder translates the entries of a run into the events of a response. A call of a tool of the
// agent is an mcp_call, which appears when it is over; one that waits for approval is an
// mcp_approval_request, and one that the client executes a function_call.
//
// Events are numbered from 0. Where another owner continues the run, the number jumps: the owner before
// may have sent events with the next numbers that were lost with it.
type ResponseEncoder struct {
	span
	frames *protocol.Frames
	err    error
	epoch  uint64 // of the response's latest entry
	next   int    // sequence number of the next event

	resp  response
	items int   // number of items so far, with void ones
	open  *item // the message or reasoning item in progress, or nil
}

// ownerJump is how far the sequence numbers jump, at least, where the owner of a run changes. No owner
// publishes as many events without a commit.
const ownerJump = 1_000_000

// NewResponseEncoder returns an encoder at the start of a run.
func NewResponseEncoder(opts Options) *ResponseEncoder {
	e := &ResponseEncoder{span: span{opts: opts}}
	e.resp = response{Object: "response", Status: "queued", Output: []*item{}, Truncation: "disabled"}
	e.resp.Store, e.resp.Background = opts.Keep != unstored, opts.Keep == ahead
	opts.Asked.repeat(&e.resp)
	return e
}

// Encode implements [protocol.Encoder].
func (e *ResponseEncoder) Encode(f *protocol.Frames, entry *awaken.Entry) error {
	if !e.enter(entry) {
		return nil
	}
	e.frames, e.err = f, nil
	if _, reset := entry.Event.(*awaken.StreamReset); !reset {
		if e.epoch != 0 && entry.Epoch != e.epoch {
			e.next = (e.next/ownerJump + 2) * ownerJump
		}
		e.epoch = entry.Epoch
	}
	e.event(entry)
	e.frames = nil
	return e.err
}

// End implements [protocol.Encoder].
func (e *ResponseEncoder) End(f *protocol.Frames, failure *protocol.Failure) {
	if failure == nil {
		return
	}
	d, next := detailOf(failure), e.next
	e.frames = f
	e.send("error", func(buf []byte) []byte {
		buf = appendjson.Text(buf, `,"code":`, failure.Code)
		return append(appendjson.Text(buf, `,"message":`, d.Message), `,"param":null`...)
	})
	e.frames, e.next = nil, next
}

func (e *ResponseEncoder) event(entry *awaken.Entry) {
	switch ev := entry.Event.(type) {
	case *awaken.RunStart:
		e.begin()
	case *awaken.StepStart:
		if e.restarts(ev) {
			e.void()
		}
	case *awaken.StepEnd:
		e.close("completed")
	case *awaken.StreamReset:
		if e.retracts(ev) {
			e.void()
		}
	case *awaken.TextDelta:
		e.last = append(e.last, ev.Delta...)
		if !e.opts.Structured && ev.Delta != "" {
			e.shown = entry.Seq
			e.say(ev.Delta)
		}
	case *awaken.ReasoningDelta:
		e.shown = entry.Seq
		e.think(ev.Delta)
	case *awaken.InferenceComplete:
		e.answered = true
		e.close("completed")
	case *awaken.ToolCallReady:
		e.answered = true
		e.close("completed")
	case *awaken.ToolCallDone:
		e.done(ev)
	case *awaken.ToolCallResumed:
		e.resumed(ev)
	case *awaken.RunFinish:
		e.end(ev)
	case *awaken.Error:
		e.fail("server_error", ev.Message)
	}
}

// send adds an event, unless the client has it. Fields appends its fields.
func (e *ResponseEncoder) send(kind string, fields func(buf []byte) []byte) {
	if buf := e.head(kind); buf != nil {
		e.frames.Close(append(fields(buf), '}'))
	}
}

// head begins an event. It is nil if the client has the event.
func (e *ResponseEncoder) head(kind string) []byte {
	n := e.next
	if e.next++; n < e.opts.Has {
		e.frames.Skip()
		return nil
	}
	buf := append(append(append(e.frames.OpenEvent(kind), `{"type":"`...), kind...), `","sequence_number":`...)
	return strconv.AppendInt(buf, int64(n), 10)
}

// value appends a field that encoding/json encodes.
func (e *ResponseEncoder) value(buf []byte, name string, v any) []byte {
	buf, err := appendjson.Value(buf, name, v)
	e.err = cmp.Or(e.err, err)
	return buf
}

// state sends an event with the whole response.
func (e *ResponseEncoder) state(kind string) {
	e.send(kind, func(buf []byte) []byte { return e.value(buf, `,"response":`, &e.resp) })
}

// begin sends the first events.
func (e *ResponseEncoder) begin() {
	if e.resp.ID != "" {
		return // another owner continues
	}
	e.identify()
	e.resp.Status = "in_progress"
	e.state("response.created")
	e.state("response.in_progress")
}

func (e *ResponseEncoder) identify() {
	e.resp.ID, e.resp.CreatedAt, e.resp.Model, e.resp.Conversation.ID = e.responseID(), e.created, e.model(), e.info.ThreadID
	if e.opts.Previous != "" {
		e.resp.PreviousID = &e.opts.Previous
	} else if e.number > 1 {
		how := kept
		if e.opts.Keep == unstored {
			how = unstored
		}
		e.resp.PreviousID = new(responseID(e.info.RunID, e.number-1, how))
	}
}

// add begins an item.
func (e *ResponseEncoder) add(it *item) *item {
	it.index, it.step = e.items, e.step
	e.items++
	e.resp.Output = append(e.resp.Output, it)
	e.about("response.output_item.added", it, true)
	return it
}

// about sends an event about an item: the item itself, or what its text or arguments are.
func (e *ResponseEncoder) about(kind string, it *item, whole bool, fields ...func(buf []byte) []byte) {
	e.send(kind, func(buf []byte) []byte {
		buf = appendjson.Int(buf, `,"output_index":`, int64(it.index))
		if whole {
			return e.value(buf, `,"item":`, it)
		}
		buf = appendjson.Text(buf, `,"item_id":`, it.ID)
		for _, f := range fields {
			buf = f(buf)
		}
		return buf
	})
}

// text returns the fields of an event about a text.
func text(where, name, s string) func(buf []byte) []byte {
	return func(buf []byte) []byte { return appendjson.Text(append(buf, where...), name, s) }
}

const (
	inContent = `,"content_index":0,"logprobs":[]`
	inSummary = `,"summary_index":0`
)

// say adds text to the message in progress.
func (e *ResponseEncoder) say(delta string) {
	if e.open == nil || e.open.Type != "message" {
		e.close("completed")
		e.open = e.add(&item{Type: "message", ID: e.itemID("msg_"), Status: "in_progress", Role: "assistant", Content: []itemPart{}})
		e.part("response.content_part.added", `,"content_index":0`, textPart(""))
	}
	e.piece("response.output_text.delta", inContent, delta)
}

// think adds to the reasoning in progress.
func (e *ResponseEncoder) think(delta string) {
	if e.open == nil || e.open.Type != "reasoning" {
		e.close("completed")
		e.open = e.add(&item{Type: "reasoning", ID: e.itemID("rs_"), Status: "in_progress", Summary: []itemPart{}})
		e.part("response.reasoning_summary_part.added", inSummary, itemPart{Type: "summary_text"})
	}
	e.piece("response.reasoning_summary_text.delta", inSummary, delta)
}

// piece adds a piece of text to the item in progress.
func (e *ResponseEncoder) piece(kind, where, delta string) {
	e.open.text = append(e.open.text, delta...)
	if buf := e.head(kind); buf != nil {
		buf = appendjson.Int(buf, `,"output_index":`, int64(e.open.index))
		buf = append(appendjson.Text(buf, `,"item_id":`, e.open.ID), where...)
		e.frames.Close(append(appendjson.Text(buf, `,"delta":`, delta), '}'))
	}
}

// part sends an event about the part of the item in progress.
func (e *ResponseEncoder) part(kind, where string, p itemPart) {
	e.about(kind, e.open, false, func(buf []byte) []byte { return e.value(append(buf, where...), `,"part":`, p) })
}

// itemID returns the id of a new item. Items of one step share its message.
func (e *ResponseEncoder) itemID(prefix string) string {
	id := prefix + cmp.Or(e.step, e.info.RunID)
	if slices.ContainsFunc(e.resp.Output, func(it *item) bool { return it.ID == id }) {
		id += "." + strconv.Itoa(e.items)
	}
	return id
}

// close ends the item in progress.
func (e *ResponseEncoder) close(status string) {
	it := e.open
	if it == nil {
		return
	}
	said := string(it.text)
	it.text, it.Status = nil, status
	if it.Type == "message" {
		it.Content = []itemPart{textPart(said)}
		e.about("response.output_text.done", it, false, text(inContent, `,"text":`, said))
		e.part("response.content_part.done", `,"content_index":0`, it.Content[0])
	} else {
		it.Summary = []itemPart{{Type: "summary_text", Text: said}}
		e.about("response.reasoning_summary_text.done", it, false, text(inSummary, `,"text":`, said))
		e.part("response.reasoning_summary_part.done", inSummary, it.Summary[0])
	}
	e.open = nil
	e.about("response.output_item.done", it, true)
}

// void retracts what the step has said. Clients cannot remove items, so the one in progress ends as
// incomplete, and the response in the last event has none of them.
func (e *ResponseEncoder) void() {
	e.close("incomplete")
	e.shown, e.last = 0, e.last[:0]
	e.resp.Output = slices.DeleteFunc(e.resp.Output, func(it *item) bool {
		return it.step == e.step && (it.Type == "message" || it.Type == "reasoning")
	})
}

// done shows a call of one of the agent's tools.
func (e *ResponseEncoder) done(ev *awaken.ToolCallDone) {
	c := e.calls[ev.ID]
	if c == nil || ev.Result == nil || ev.Outcome == awaken.CallSuspended || ev.Result.Status == awaken.ToolPending || c.name == awaken.FinalOutputTool {
		return
	}
	if len(ev.Arguments) > 0 {
		c.arguments = textOfJSON(ev.Arguments)
	}
	e.called(ev.ID, c, ev.Result.Status == awaken.ToolError, outputOf(ev.Result))
}

// resumed shows a call that was approved or refused.
func (e *ResponseEncoder) resumed(ev *awaken.ToolCallResumed) {
	if c := e.calls[ev.TargetID]; c != nil && !c.client {
		e.called(ev.TargetID, c, ev.Outcome != awaken.CallSucceeded, plain(ev.Result))
	}
}

// called adds a call that is over.
func (e *ResponseEncoder) called(id string, c *call, failed bool, output string) {
	e.close("completed")
	it := e.add(&item{Type: "mcp_call", ID: e.itemID("mcp_" + id + "."), Status: "in_progress", ServerLabel: serverLabel, Name: c.name, Arguments: new(""), RequestID: c.approval})
	e.about("response.mcp_call.in_progress", it, false)
	arguments := cmp.Or(c.arguments, "{}")
	e.about("response.mcp_call_arguments.delta", it, false, text("", `,"delta":`, arguments))
	e.about("response.mcp_call_arguments.done", it, false, text("", `,"arguments":`, arguments))
	it.Status, it.Arguments = "completed", &arguments
	if failed {
		it.Status, it.Error = "failed", &output
	} else {
		it.Output = &output
	}
	e.about("response.mcp_call."+it.Status, it, false)
	e.about("response.output_item.done", it, true)
}

// serverLabel is the name of the server whose tools the agent calls.
const serverLabel = "awaken"

// question asks the client about a call.
func (e *ResponseEncoder) question(runID string, q *query) {
	arguments := argumentsOf(q.ticket.Arguments)
	if q.approval {
		it := e.add(&item{Type: "mcp_approval_request", ID: callID(approvalPrefix, runID, q.ticket.TicketID), ServerLabel: serverLabel, Name: q.ticket.ToolName, Arguments: &arguments})
		e.about("response.output_item.done", it, true)
		return
	}
	it := e.add(&item{Type: "function_call", ID: e.itemID("fc_" + q.ticket.TicketID + "."), Status: "in_progress", CallID: callID(callPrefix, runID, q.ticket.TicketID), Name: q.ticket.ToolName, Arguments: new("")})
	e.about("response.function_call_arguments.delta", it, false, text("", `,"delta":`, arguments))
	e.about("response.function_call_arguments.done", it, false, text(string(appendjson.Text(nil, `,"name":`, it.Name)), `,"arguments":`, arguments))
	it.Status, it.Arguments = "completed", &arguments
	e.about("response.output_item.done", it, true)
}

func (e *ResponseEncoder) fail(code, message string) {
	if e.over {
		return
	}
	e.begin()
	e.close("incomplete")
	e.over, e.resp.Status, e.resp.Error = true, "failed", &responseError{code, cmp.Or(message, "the run failed")}
	e.state("response.failed")
}

// end sends the last events of the response.
func (e *ResponseEncoder) end(ev *awaken.RunFinish) {
	e.begin()
	used := e.usage(ev.Result)
	e.resp.Usage = newResponseUsage(&used)
	if f := unfinished(ev); f != nil {
		code := "server_error"
		if f.Status == 429 {
			code = "rate_limit_exceeded"
		}
		e.fail(code, f.Message)
		return
	}
	switch ev.Termination.Type {
	case awaken.Failed:
		e.fail("server_error", ev.Termination.Message)
		return
	case awaken.Cancelled:
		e.close("incomplete")
		e.over, e.resp.Status = true, "cancelled"
		e.state("response.incomplete")
		return
	case awaken.Blocked:
		e.close("incomplete")
		e.over, e.resp.Status, e.resp.IncompleteDetails = true, "incomplete", &incomplete{"content_filter"}
		e.state("response.incomplete")
		return
	case awaken.Suspended:
		for _, q := range e.ask(ev) {
			e.close("completed")
			e.question(ev.RunID, &q)
		}
	default:
		if text := e.answer(ev.Result); text != "" {
			e.close("completed")
			e.say(text)
		}
	}
	e.close("completed")
	e.over, e.resp.Status = true, "completed"
	if ev.Result != nil && ev.Result.FinishReason == llm.MaxTokens && ev.Termination.Type != awaken.Suspended {
		e.resp.Status, e.resp.IncompleteDetails = "incomplete", &incomplete{"max_output_tokens"}
	}
	e.state("response." + e.resp.Status)
}

// response returns what was encoded so far.
func (e *ResponseEncoder) response(run *awaken.Run) *response {
	if e.resp.ID == "" { // nothing yet
		e.info, e.created, e.number = *run.Info(), run.CreatedAt/1000, max(e.number, 1)
		e.identify()
	}
	out := e.resp
	if e.open != nil { // of an answer in progress
		it := *e.open
		if said := string(it.text); it.Type == "message" {
			it.Content = []itemPart{textPart(said)}
		} else {
			it.Summary = []itemPart{{Type: "summary_text", Text: said}}
		}
		out.Output = slices.Clone(out.Output)
		out.Output[len(out.Output)-1] = &it
	}
	return &out
}
