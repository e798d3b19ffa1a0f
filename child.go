package awaken

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
)

// Delegator is a tool whose calls start child runs in the same store, or wait for one. The
// ledger records the id of the child before the call begins, so that after a crash the next
// owner finds the child, and decisions on its tickets reach it. While the child waits, the
// tool suspends the call with a [Ticket] that names the child.
type Delegator interface {
	// ChildRun returns the id of the child run, or "" if the call has none. The id depends
	// only on call.Key. If it is [ChildID] of the key, the child belongs to the call: the
	// runtime cancels it when it abandons the call.
	ChildRun(call *ToolCall) string
}

// ChildID returns the id of the run, and of its thread, that the call with that key starts.
// It is a UUID derived from the key.
func ChildID(key string) string {
	h := sha256.Sum256([]byte("awaken child " + key))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80 // a UUID of version 8
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// childMark separates the id of a child run from the id of one of its tickets.
const childMark = ":"

// ChildTickets returns the tickets that a child run waits for, as tickets of its parent. The
// parent forwards a decision on one of them to the child.
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

// ChildTarget translates the target of a decision for the call's child. It reports false if
// the decision is not for the child.
func (s *CallState) ChildTarget(target string) (string, bool) {
	if s.Child == "" {
		return "", false
	}
	if rest, ok := strings.CutPrefix(target, s.Child+childMark); ok {
		return rest, true
	}
	if s.Ticket != nil && s.CallID != target { // the id of a call of the child is accepted if it is unambiguous
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

// ChildReport tells a run that one of its children is done or waits.
type ChildReport struct {
	RunID       string      `json:"run_id"`
	ThreadID    string      `json:"thread_id"`
	AgentID     string      `json:"agent_id"`
	Status      RunStatus   `json:"status"`
	Termination Termination `json:"termination,omitzero"`
	Response    string      `json:"response,omitempty"`
	Error       string      `json:"error,omitempty"`
	Task        bool        `json:"task,omitempty"`                 // started in the background
	FinishedAt  int64       `json:"finished_at,omitempty" time:"s"` // Unix seconds; 0 if it waits
	Usage       llm.Usage   `json:"usage,omitzero"`                 // including its children; so is the cost
	CostUSD     float64     `json:"cost_usd,omitempty"`
	Taint       *Taint      `json:"taint,omitempty"`          // of the child
	InDoubt     int         `json:"calls_in_doubt,omitempty"` // of the child; see [Run]
}

// Outlives reports whether the report matters to the thread even if the run that started the child
// has ended: a background task is done.
func (r *ChildReport) Outlives() bool { return r != nil && r.Task && r.Status == RunDone }

// Spend adds the usage and the cost of a child run, including its own children, to the
// child usage of this run.
func (c *ToolCall) Spend(u llm.Usage, usd float64) {
	if c.rec.Usage == nil { // most calls have no child
		c.rec.Usage = new(llm.Usage)
	}
	c.rec.Usage.Add(u)
	c.rec.CostUSD += usd
}

// Total returns the usage and the cost, in US dollars, of the run and its children.
func (r *Run) Total() (llm.Usage, float64) {
	u := r.Usage
	u.Add(r.ChildUsage)
	return u, (money.Dollars(r.CostUSD) + money.Dollars(r.ChildCostUSD)).USD()
}
