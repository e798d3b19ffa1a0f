package awaken

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/money"
)

// Delegator is a tool whose calls are runs of their own, in the same store, or wait for
// one. Before a call begins, the ledger says which run that is; so whoever takes the call up
// after a crash finds the run, and decisions on what it asks find their way to it. While the
// run waits, the tool suspends the call with a [Ticket] that names it.
type Delegator interface {
	// ChildRun is the id of the run, or "". It is always the same for the same call.Key. A
	// run that is the call, and ends when the call is given up, has the [ChildID] of the key.
	ChildRun(call *ToolCall) string
}

// ChildID is an id for a run, and for its thread, that is made for the call with a key.
// The same key always gives the same id.
func ChildID(key string) string {
	h := sha256.Sum256([]byte("awaken child " + key))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80 // a UUID of version 8
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// childMark stands between the id of a child run and that of one of its tickets.
const childMark = ":"

// ChildTickets returns what a child run waits for, as tickets of its parent: a decision
// on one of them, taken by the parent, goes to the child.
func (child *Run) ChildTickets() []WaitingTicket {
	if child.Waiting == nil {
		return nil
	}
	var out []WaitingTicket
	for _, t := range child.Waiting.Tickets {
		t.TicketID = child.RunID + childMark + t.TicketID
		if t.RunID == "" {
			t.RunID, t.ThreadID, t.AgentID = child.RunID, child.ThreadID, child.AgentID
		}
		out = append(out, t)
	}
	return out
}

// ChildTarget returns the part of a decision's target that the call's child understands.
func (s *CallState) ChildTarget(target string) (string, bool) {
	if s.Child == "" {
		return "", false
	}
	if rest, ok := strings.CutPrefix(target, s.Child+childMark); ok {
		return rest, true
	}
	if s.Ticket != nil && s.CallID != target { // the id of the call that asks will do, if only one has it
		found := ""
		for _, t := range s.Ticket.Tickets {
			if t.ToolCallID == target && found != "" {
				return "", false
			} else if t.ToolCallID == target {
				found = strings.TrimPrefix(t.TicketID, s.Child+childMark)
			}
		}
		return found, found != ""
	}
	return "", false
}

// ChildReport tells a run how one of its children is: that it is done, or waits.
type ChildReport struct {
	RunID       string      `json:"run_id"`
	ThreadID    string      `json:"thread_id"`
	AgentID     string      `json:"agent_id"`
	Status      RunStatus   `json:"status"`
	Termination Termination `json:"termination,omitzero"`
	Response    string      `json:"response,omitempty"`
	Error       string      `json:"error,omitempty"`
	Task        bool        `json:"task,omitempty"` // it was started in the background
	Usage       llm.Usage   `json:"usage,omitzero"` // with its children's, as is the cost
	CostUSD     float64     `json:"cost_usd,omitempty"`
}

// Spend says what a run below has used, its own children included. It counts as what the
// children of this run have used.
func (c *ToolCall) Spend(u llm.Usage, usd float64) {
	c.made.Usage.Add(u)
	c.made.CostUSD += usd
}

// Total is what the run and its children have used and cost.
func (r *Run) Total() (llm.Usage, float64) {
	u := r.Usage
	u.Add(r.ChildUsage)
	return u, (money.Dollars(r.CostUSD) + money.Dollars(r.ChildCostUSD)).USD()
}
