package awaken

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Actor is the author of a decision, as far as the server that accepted it knows.
type Actor struct {
	KeyID string `json:"key_id,omitempty"`
	Label string `json:"label,omitempty"` // of the key
	User  string `json:"user,omitempty"`
}

// String returns the most telling of its names, or "".
func (a *Actor) String() string {
	switch {
	case a == nil:
		return ""
	case a.User != "":
		return "user " + a.User
	case a.Label != "":
		return "key " + a.Label
	case a.KeyID != "":
		return "key " + a.KeyID
	}
	return ""
}

// Decided is the record of an accepted decision. A store keeps one for each question, from the
// moment that the decision is accepted until the thread is deleted: the first one counts. It is
// also the error of a different decision that came later, which is an [ErrDecided]; use
// [errors.As] to learn what was decided.
type Decided struct {
	ID         string          `json:"id,omitempty"` // [Decision.ID]
	Action     DecisionAction  `json:"action"`
	Actor      *Actor          `json:"actor,omitempty"`
	At         int64           `json:"at" time:"ms"` // when it was accepted, Unix ms
	Reason     string          `json:"reason,omitempty"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	Result     json.RawMessage `json:"payload,omitempty"`
	Outcome    Outcome         `json:"outcome,omitempty"` // [Decision.Outcome]
	Remembered string          `json:"remembered,omitempty"`
	RequestID  string          `json:"request_id,omitempty"`

	// The question. TicketID is unique on the thread.
	TicketID   string `json:"ticket_id"`
	ToolCallID string `json:"tool_call_id"`
	ToolName   string `json:"tool_name"`
	RunID      string `json:"run_id"` // the run that asked
	ThreadID   string `json:"thread_id"`

	// Applied says whether the run acted on the decision; nil means that it has not read it yet.
	// Unapplied is the reason why it did not, such as the end of the run. Stores keep neither:
	// both follow from the run's ledger, see [Decided.AppliedTo].
	Applied   *bool  `json:"applied,omitempty"`
	Unapplied string `json:"unapplied_reason,omitempty"`
}

// AppliedTo returns a copy of the record that says whether the decision was applied, given the run
// that asked and its ledger. A settlement of a call that was over applies at once.
func (d *Decided) AppliedTo(run *Run, calls []*CallState) *Decided {
	out := *d
	settle := func(why string) *Decided {
		applied := why == ""
		out.Applied, out.Unapplied = &applied, why
		return &out
	}
	if d.Settles() {
		return settle("")
	}
	for _, s := range calls {
		if s.CallID != d.ToolCallID {
			continue
		}
		if e := s.on(d.TicketID); e != nil && e.UpdatedAt != d.At { // the runtime's own, after an expiry
			return settle("the question was closed: " + e.Reason)
		} else if e != nil {
			return settle(e.Unapplied)
		}
		if s.Status.Terminal() && run.Status != RunDone || s.SuspensionID() != d.TicketID {
			return settle("the question was withdrawn")
		}
	}
	if run.Status == RunDone {
		return settle("the run ended: " + run.Termination.String())
	}
	return &out
}

// on returns the decision on a question of the call, or nil.
func (s *CallState) on(ticketID string) *Decision {
	if s.Decision != nil && s.Decision.Target == ticketID {
		return s.Decision
	}
	for i := range s.Earlier {
		if s.Earlier[i].Target == ticketID {
			return &s.Earlier[i]
		}
	}
	return nil
}

// Error names the decision, its author and its time.
func (d *Decided) Error() string {
	what := "approved"
	switch {
	case d.Outcome != "":
		what = "settled as " + string(d.Outcome)
	case d.Action == ActionCancel:
		what = "rejected"
	}
	by := ""
	if name := d.Actor.String(); name != "" {
		by = " by " + name
	}
	return fmt.Sprintf("%v: %q was %s%s at %s", ErrDecided, d.TicketID, what, by, time.UnixMilli(d.At).UTC().Format(time.RFC3339))
}

// Is reports whether target is ErrDecided.
func (d *Decided) Is(target error) bool { return target == ErrDecided }

// Digest identifies what was decided: equal decisions have the same digest, whatever their authors.
func (d *Decided) Digest() string {
	return (&Decision{Action: d.Action, Arguments: d.Arguments, Result: d.Result, Outcome: d.Outcome}).Digest()
}

// Decided returns the record of a decision on the call.
func (s *CallState) Decided(threadID string, d *Decision) *Decided {
	return &Decided{
		ID:         d.ID,
		Action:     d.Action,
		Actor:      d.Actor,
		At:         d.UpdatedAt,
		Reason:     d.Reason,
		Arguments:  d.Arguments,
		Result:     d.Result,
		Outcome:    d.Outcome,
		Remembered: d.Remembered,
		RequestID:  d.RequestID,
		TicketID:   d.Target,
		ToolCallID: s.CallID,
		ToolName:   s.ToolName,
		RunID:      s.RunID,
		ThreadID:   threadID,
	}
}

// Digest identifies what the decision says: its action, its outcome and, of an approval, the arguments
// and the answer. Equal decisions have the same digest, whatever their ids, reasons and authors.
func (d *Decision) Digest() string {
	h := sha256.New()
	fmt.Fprintln(h, d.Action)
	if d.Outcome != "" {
		fmt.Fprintln(h, "outcome", d.Outcome, canonical(d.Result))
	}
	if d.Action == ActionResume {
		fmt.Fprintln(h, canonical(d.Arguments))
		fmt.Fprintln(h, canonical(d.Answer()))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Answer returns the result of the decision, or nil if it says no more than the action: it is
// null, or {"approved": true} with or without a reason, as clients that ask for yes or no send it.
func (d *Decision) Answer() json.RawMessage {
	var v any
	if len(d.Result) == 0 || json.Unmarshal(d.Result, &v) != nil || v == nil {
		return nil
	}
	if m, ok := v.(map[string]any); ok && m["approved"] == true {
		delete(m, "approved")
		delete(m, "reason")
		if len(m) == 0 {
			return nil
		}
	}
	return d.Result
}

// canonical returns a JSON text without what does not change its meaning. An empty one stays empty.
func canonical(data json.RawMessage) string {
	var v any
	if len(data) == 0 || json.Unmarshal(data, &v) != nil {
		return string(data)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(data)
	}
	return string(out)
}
