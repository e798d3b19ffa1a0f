package aisdk

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
)

// openCall is a call that was shown and has no outcome.
type openCall struct {
	above   string // for a question of a child run: the call that waits for that run
	name    string
	asked   bool   // approval was requested
	page    bool   // the page makes the call: its answer is the output
	output  string // tail of the tool's output so far
	started string // id of the step that makes it
}

func (e *Encoder) callStart(ev *awaken.ToolCallStart) {
	e.endText()
	e.endReasoning()
	e.shown = e.seq
	if e.open == nil {
		e.open = map[string]*openCall{}
	}
	e.open[ev.ID] = &openCall{name: ev.Name, started: e.step}
	e.calls.begin(ev.ID)
	e.call("tool-input-start", ev.ID).Text(`,"toolName":`, ev.Name).Close()
}

func (e *Encoder) callReady(ev *awaken.ToolCallReady) {
	if e.open[ev.ID] == nil {
		e.callStart(&awaken.ToolCallStart{ID: ev.ID, Name: ev.Name})
	}
	e.call("tool-input-available", ev.ID).Text(`,"toolName":`, ev.Name).JSON(`,"input":`, orNull(ev.Arguments)).Close()
}

// inputError reports that a call will not be made.
func (e *Encoder) inputError(id, name, reason string) {
	if e.open[id] == nil {
		return // never shown, or already over
	}
	delete(e.open, id)
	e.call("tool-input-error", id).Text(`,"toolName":`, name).Text(`,"input":null,"errorText":`, reason).Close()
}

// maxOutput bounds the preliminary output of a running tool, in bytes.
const maxOutput = 8 << 10

// callOutput shows the output so far. Each chunk replaces the one before, so a long output is
// cut to its tail.
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
	e.call("tool-output-available", ev.ID).Text(`,"output":`, c.output).Add(`,"preliminary":true`).Close()
}

func (e *Encoder) callDone(ev *awaken.ToolCallDone) {
	c := e.open[ev.ID]
	if c == nil || ev.Result == nil {
		return // never shown
	}
	switch {
	case ev.Outcome == awaken.CallSuspended || ev.Result.Status == awaken.ToolPending:
		e.callSuspended(ev, c)
		return
	case ev.Result.Status == awaken.ToolError:
		e.outputError(ev.ID, c, ev.Result.Message)
	default:
		e.output(ev.ID, c, resultData(ev.Result))
		e.files(ev.Result.Content)
	}
	delete(e.open, ev.ID)
}

// callSuspended requests an approval, if the call waits for one. In all other cases the client
// answers with the call's output.
func (e *Encoder) callSuspended(ev *awaken.ToolCallDone, c *openCall) {
	t := ev.Result.Suspension
	if t == nil {
		return
	}
	if c.asked = t.Child == "" && protocol.IsApproval(t.ResumeMode, &t.Suspension); c.asked {
		e.out.Object("tool-approval-request").Text(`,"approvalId":`, t.Suspension.ID).Text(`,"toolCallId":`, e.calls.wire(ev.ID)).Close()
	}
	c.page = t.ResumeMode == awaken.UseDecisionAsToolResult
	e.data("suspension", t.Suspension.ID, false, newSuspension(t, e.calls.wire(ev.ID)))
	if t.Child != "" {
		e.askBelow(ev.ID, t.Tickets)
	}
}

// askBelow shows the questions of a child run: each as a call of its own, with the ticket's
// id. Questions that are no longer open get an output.
func (e *Encoder) askBelow(callID string, tickets []awaken.WaitingTicket) {
	for _, id := range slices.Sorted(maps.Keys(e.open)) {
		c := e.open[id]
		if c.above == callID && !slices.ContainsFunc(tickets, func(t awaken.WaitingTicket) bool { return t.TicketID == id }) {
			delete(e.open, id)
			e.output(id, c, json.RawMessage(`"decided"`))
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

func (e *Encoder) callResumed(ev *awaken.ToolCallResumed) {
	c := e.open[ev.TargetID]
	if c == nil {
		return
	}
	delete(e.open, ev.TargetID)
	e.askBelow(ev.TargetID, nil)
	switch {
	case ev.Outcome == awaken.CallCancelled && c.asked && ev.Doubt == nil: // "denied" says that it was not made
		e.call("tool-output-denied", ev.TargetID).Close()
	case ev.Outcome == awaken.CallCancelled || ev.Outcome == awaken.CallFailed || !c.asked && isError(ev.Result):
		e.outputError(ev.TargetID, c, errorText(ev.Result))
	default:
		e.output(ev.TargetID, c, ev.Result)
	}
}

// output ends a call with its output.
func (e *Encoder) output(id string, c *openCall, data json.RawMessage) {
	c.by(e.call("tool-output-available", id).JSON(`,"output":`, orNull(data))).Close()
}

// outputError ends a call with an error.
func (e *Encoder) outputError(id string, c *openCall, message string) {
	c.by(e.call("tool-output-error", id).Text(`,"errorText":`, cmp.Or(message, "tool execution error"))).Close()
}

// by marks a final output, unless the page made the call. A page does not send marked outputs
// to the server.
func (c *openCall) by(chunk protocol.Object) protocol.Object {
	if c.page {
		return chunk
	}
	return chunk.Add(`,"providerExecuted":true`)
}

// callIDs makes call ids unique within a message: a model may reuse an id in a later step, but
// a client has one call per id.
type callIDs struct {
	times map[string]int
	order []string // ids in order of first use
}

// begin starts a call, and returns its id on the wire.
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

// forget takes back the latest call with an id, which is void and not in the history.
func (c *callIDs) forget(id string) {
	if c.times[id]--; c.times[id] == 0 {
		c.order = slices.DeleteFunc(c.order, func(other string) bool { return other == id })
	}
}

// wire returns the wire id of the latest call with an id.
func (c *callIDs) wire(id string) string {
	if n := c.times[id]; n > 1 {
		return id + "~" + strconv.Itoa(n)
	}
	return id
}
