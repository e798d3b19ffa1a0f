package runs

import (
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
)

// decisionBody is a decision on a waiting tool call.
type decisionBody struct {
	ToolCallID      string          `json:"tool_call_id,omitempty"` // or the id of the suspension
	ToolCallIDCamel string          `json:"toolCallId,omitempty"`
	Action          string          `json:"action,omitempty"` // resume or cancel; may be left out with outcome
	Payload         json.RawMessage `json:"payload,omitempty"`
	DecisionID      string          `json:"decision_id,omitempty"` // makes retries safe: a repeated decision counts once
	Reason          string          `json:"reason,omitempty"`
	Arguments       json.RawMessage `json:"arguments,omitempty"` // replace the call's own
	// Outcome settles a call in doubt: made, with payload as its result, or not_made. With action resume, a call that was not made is
	// made again.
	Outcome string `json:"outcome,omitempty"`
}

// decision returns the decision on target or, if that is "", on the call that the body names.
func (body *decisionBody) decision(target string) (awaken.Decision, error) {
	if target == "" {
		var err error
		if target, err = protocol.Either("tool_call_id", body.ToolCallID, body.ToolCallIDCamel); err != nil {
			return awaken.Decision{}, err
		}
		if target == "" {
			return awaken.Decision{}, protocol.BadRequest("tool_call_id is missing")
		}
	}
	if o := awaken.Outcome(body.Outcome); o != "" && o != awaken.OutcomeMade && o != awaken.OutcomeNotMade {
		return awaken.Decision{}, protocol.BadRequest("outcome is %q, want made or not_made", body.Outcome)
	}
	d := awaken.Decision{Target: target, ID: body.DecisionID, Action: awaken.DecisionAction(body.Action), Result: body.Payload,
		Reason: body.Reason, Arguments: body.Arguments, Outcome: awaken.Outcome(body.Outcome)}
	if d.Complete(); d.Action != awaken.ActionResume && d.Action != awaken.ActionCancel {
		return awaken.Decision{}, protocol.BadRequest("action is %q, want resume or cancel", body.Action)
	}
	return d, nil
}

// decide delivers a decision to a run or to the open run of a thread, whichever id names. It is on
// the ticket or, if that is "", on the call that the body names, which errors call what.
func (h *approvals) decide(req *server.Request, id, ticket, what string, body *decisionBody) (target string, err error) {
	d, err := body.decision(ticket)
	if err != nil {
		return "", err
	}
	if err := server.CheckDecision(&d); err != nil {
		return "", err
	}
	ds := []awaken.Decision{d}
	if err := server.Vet(req, false, id, ds); err != nil {
		return "", err
	}
	r, err := req.Tenant().Decide(req.Context(), id, ds...)
	if err != nil {
		return "", explainMissing(err, what, id+" "+d.Target)
	}
	h.log.Add(req, r.Decided)
	return d.Target, nil
}
