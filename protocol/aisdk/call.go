package aisdk

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
)

// openCall is a call that has been shown and has no outcome.
type openCall struct {
	above   string // the call that waits for the run which asks, or ""
	name    string
	asked   bool   // its approval was asked for
	output  string // the end of what the tool has said so far
	started string // the step it was asked for in
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

// inputError says that a call will not be made.
func (e *Encoder) inputError(id, name, reason string) {
	if e.open[id] == nil {
		return // it was never shown, or is over
	}
	delete(e.open, id)
	e.call("tool-input-error", id).Text(`,"toolName":`, name).Text(`,"input":null,"errorText":`, reason).Close()
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
	e.call("tool-output-available", ev.ID).Text(`,"output":`, c.output).Add(`,"preliminary":true`).Close()
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
	if c.asked = t.Child == "" && isApproval(t.ResumeMode, &t.Suspension); c.asked {
		e.out.Object("tool-approval-request").Text(`,"approvalId":`, t.Suspension.ID).Text(`,"toolCallId":`, e.calls.wire(ev.ID)).Close()
	}
	e.data("suspension", t.Suspension.ID, false, newSuspension(t, e.calls.wire(ev.ID)))
	if t.Child != "" {
		e.askBelow(ev.ID, t.Tickets)
	}
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

func (e *Encoder) callResumed(ev *awaken.ToolCallResumed) {
	c := e.open[ev.TargetID]
	if c == nil {
		return
	}
	delete(e.open, ev.TargetID)
	e.askBelow(ev.TargetID, nil)
	switch {
	case ev.Outcome == awaken.CallCancelled && c.asked:
		e.call("tool-output-denied", ev.TargetID).Close()
	case ev.Outcome == awaken.CallCancelled || ev.Outcome == awaken.CallFailed || !c.asked && isError(ev.Result):
		e.outputError(ev.TargetID, errorText(ev.Result))
	default:
		e.output(ev.TargetID, ev.Result)
	}
}

func (e *Encoder) output(id string, data json.RawMessage) {
	e.call("tool-output-available", id).JSON(`,"output":`, orNull(data)).Close()
}

func (e *Encoder) outputError(id, message string) {
	e.call("tool-output-error", id).Text(`,"errorText":`, cmp.Or(message, "tool execution error")).Close()
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
