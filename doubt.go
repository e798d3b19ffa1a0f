package awaken

import (
	"encoding/json"
	"strings"
)

// Whether a call took effect is a value. It is known by the call's result; or the call is known not
// to have been made, because no process began it; or it is in doubt since a process began it. Only
// the tool's own answer, its [Prober] or a person's settlement ends a doubt. Refusing to make the
// call again, cancelling, expiring, superseding, rewinding and forking keep it.

// Outcome says whether a call took effect.
type Outcome string

const (
	OutcomeOpen    Outcome = ""         // the call is not over
	OutcomeMade    Outcome = "made"     // its tool has answered, or a probe or a person has found its effect
	OutcomeNotMade Outcome = "not_made" // it never began or was not continued, or a probe or a person says so
	OutcomeInDoubt Outcome = "in_doubt" // it began, and whether it took effect is not known
)

// Doubt says since when, and why, it is not known whether a call took effect. It is part of the
// call's record in the ledger, also after it is settled. It is immutable. A nil Doubt is none.
type Doubt struct {
	Since    int64       `json:"since" time:"ms"`    // Unix ms of the intent, or of what else Origin names
	Origin   DoubtOrigin `json:"origin"`             // why it is not known
	Step     string      `json:"step,omitempty"`     // the recorded step of the call that is in doubt; see [Step]
	RunID    string      `json:"run_id,omitempty"`   // the child run whose call is in doubt
	Attempts int         `json:"attempts,omitempty"` // how often the call had begun, if more than once
	Settled  *Settlement `json:"settled,omitempty"`  // nil while it is in doubt
}

// DoubtOrigin says where a doubt comes from.
type DoubtOrigin string

const (
	DoubtIntent   DoubtOrigin = "intent"   // its intent is committed, and the process was lost or gave it up before it had a result
	DoubtTool     DoubtOrigin = "tool"     // the tool says that it does not know
	DoubtChild    DoubtOrigin = "child"    // a call of the call's child run, or of a remote agent, is in doubt
	DoubtRestored DoubtOrigin = "restored" // the record is from a backup that was restored: later attempts are not in it
)

// Settlement ends a doubt.
type Settlement struct {
	Outcome Outcome         `json:"outcome"`          // OutcomeMade or OutcomeNotMade
	By      string          `json:"by"`               // person, probe, or tool: it was called again, and its answer counts for all attempts
	At      int64           `json:"at" time:"ms"`     // Unix ms
	Actor   *Actor          `json:"actor,omitempty"`  // the person, if known
	Reason  string          `json:"reason,omitempty"` // of the person
	Result  json.RawMessage `json:"result,omitempty"` // of the call, as the person gave it
}

// Open reports whether there is a doubt that is not settled.
func (d *Doubt) Open() bool { return d != nil && d.Settled == nil }

// Settle returns the doubt with its settlement.
func (d *Doubt) Settle(s Settlement) *Doubt {
	out := *d
	out.Settled = &s
	return &out
}

// Outcome returns whether the call took effect, as far as its record says. A call that its tool has
// suspended has not taken effect yet: once its question is answered, it is called again.
func (s *CallState) Outcome() Outcome {
	switch {
	case s.Doubt.Open():
		return OutcomeInDoubt
	case s.Doubt != nil:
		return s.Doubt.Settled.Outcome
	case !s.Status.Terminal():
		return OutcomeOpen
	case s.HeldResult != nil, s.StartedAt != 0 && s.Status != CallCancelled:
		return OutcomeMade
	}
	return OutcomeNotMade
}

// Begun reports whether a process may have begun the call, so that no text may say that it was not
// made.
func (s *CallState) Begun() bool { return s.StartedAt != 0 || s.HeldResult != nil || s.Doubt.Open() }

// settlementPrefix begins the ids of questions about doubts of calls that are over.
const settlementPrefix = "settle_"

// SettlementID returns the id of the question whether a call that is over took effect. The record of
// its decision settles the doubt; see [CallState.ApplySettlement].
func SettlementID(callID string) string { return settlementPrefix + callID }

// Settles reports whether the record settles a call that was over.
func (d *Decided) Settles() bool {
	return d != nil && d.Outcome != "" && strings.HasPrefix(d.TicketID, settlementPrefix) && d.TicketID == SettlementID(d.ToolCallID)
}

// Settlement returns what a decision with an outcome says about a doubt.
func (d *Decision) Settlement() Settlement {
	return Settlement{Outcome: d.Outcome, By: "person", At: d.UpdatedAt, Actor: d.Actor, Reason: d.Reason, Result: d.Result}
}

// ApplySettlement returns the record of the call with the settlement that was decided after the call
// was over, or s if it has no open doubt. Stores that read the ledger call it for each record of a
// decision that Settles.
func (s *CallState) ApplySettlement(d *Decided) *CallState {
	if !s.Doubt.Open() || !d.Settles() || d.ToolCallID != s.CallID {
		return s
	}
	out := *s
	out.Doubt = s.Doubt.Settle(Settlement{Outcome: d.Outcome, By: "person", At: d.At, Actor: d.Actor, Reason: d.Reason, Result: d.Result})
	return &out
}

// inDoubtKey is the key of a result's metadata that says that it is in doubt.
const inDoubtKey = "in_doubt"

// InDoubtResult returns the result of a call in doubt: it is unknown whether the call took effect.
func InDoubtResult(message string) *ToolResult {
	r := ErrorResult("in_doubt", message)
	r.MarkInDoubt()
	return r
}

// MarkInDoubt says that it is not known whether the call with this result took effect.
func (r *ToolResult) MarkInDoubt() {
	meta := map[string]any{inDoubtKey: true}
	for k, v := range r.Metadata {
		meta[k] = v
	}
	meta[inDoubtKey] = true
	r.Metadata = meta
}

// InDoubt reports whether the result says that it is not known whether the call took effect.
func (r *ToolResult) InDoubt() bool { return r != nil && r.Metadata[inDoubtKey] == true }
