package agui

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
)

// interrupt is a question to a person that a run waits for.
type interrupt struct {
	ID             string          `json:"id"`
	Reason         string          `json:"reason"` // tool_call asks for approval, input_required for an answer
	Message        string          `json:"message,omitempty"`
	ToolCallID     string          `json:"toolCallId,omitempty"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty"` // schema of the payload
	ExpiresAt      string          `json:"expiresAt,omitempty"`
	Metadata       map[string]any  `json:"metadata,omitempty"`
}

// approvalFields are the properties of the answer to a tool_call interrupt.
const approvalFields = `{"approved":{"type":"boolean"},"reason":{"type":"string"},"editedArgs":{"type":"object"}}`

// approvalSchema is the JSON Schema of that answer.
const approvalSchema = `{"type":"object","properties":` + approvalFields + `,"required":["approved"]}`

// approvalWith returns the schema of an approval that must also satisfy the question's own
// schema. The properties of both are merged, because pages build forms from them.
func approvalWith(own json.RawMessage) json.RawMessage {
	var out, fields map[string]json.RawMessage
	var question struct {
		Properties json.RawMessage
		Required   []string
	}
	if json.Unmarshal(own, &out) != nil || json.Unmarshal(own, &question) != nil || json.Unmarshal([]byte(approvalFields), &fields) != nil {
		return json.RawMessage(approvalSchema)
	}
	approved := fields["approved"]
	if question.Properties != nil && json.Unmarshal(question.Properties, &fields) != nil {
		return json.RawMessage(approvalSchema)
	}
	fields["approved"] = approved
	if !slices.Contains(question.Required, "approved") {
		question.Required = append(question.Required, "approved")
	}
	out["type"] = json.RawMessage(`"object"`)
	out["properties"], _ = json.Marshal(fields) // valid JSON already
	out["required"], _ = json.Marshal(question.Required)
	data, _ := json.Marshal(out)
	return data
}

// questions splits what a run waits for into interrupts for people and calls that the client
// executes.
func questions(w *awaken.Waiting) (interrupts []interrupt, calls []string) {
	if w == nil {
		return nil, nil
	}
	for i := range w.Tickets {
		t := &w.Tickets[i]
		if isClientCall(t) {
			calls = append(calls, t.ToolCallID)
			continue
		}
		in := interrupt{ID: t.TicketID, Reason: "tool_call", Message: t.Reason, ToolCallID: t.ToolCallID, ResponseSchema: json.RawMessage(approvalSchema),
			Metadata: map[string]any{"toolName": t.ToolName, "arguments": t.Arguments}}
		if t.ResumeMode == awaken.UseDecisionAsToolResult || t.ResumeMode == awaken.PassDecisionToTool {
			in.Reason, in.ResponseSchema = "input_required", nil
		}
		if s := t.Suspension; s != nil {
			if s.Message != "" {
				in.Message = s.Message
			}
			switch {
			case !isObject(s.ResponseSchema):
			case in.Reason == "tool_call":
				in.ResponseSchema = approvalWith(s.ResponseSchema)
			default:
				in.ResponseSchema = s.ResponseSchema
			}
			if s.Action != "" {
				in.Metadata["action"] = s.Action
			}
		}
		if t.ExpiresAt > 0 {
			in.ExpiresAt = time.UnixMilli(t.ExpiresAt).UTC().Format(time.RFC3339Nano)
		}
		interrupts = append(interrupts, in)
	}
	return interrupts, calls
}

// isClientCall reports whether a ticket stands for a call that the client executes itself.
func isClientCall(t *awaken.WaitingTicket) bool {
	return t.ResumeMode == awaken.UseDecisionAsToolResult && t.Suspension != nil && t.Suspension.Action == "tool:"+t.ToolName && len(t.Suspension.ResponseSchema) == 0
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{'
}
