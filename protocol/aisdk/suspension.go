package aisdk

import (
	"cmp"
	"encoding/json"

	"github.com/awaken-go/awaken"
)

// suspension is the part of a question that an approval request cannot express.
type suspension struct {
	ToolCallID     string            `json:"toolCallId"`
	Action         string            `json:"action,omitempty"`
	Message        string            `json:"message,omitempty"`
	Parameters     json.RawMessage   `json:"parameters,omitempty"`
	ResponseSchema json.RawMessage   `json:"responseSchema,omitempty"`
	ResumeMode     awaken.ResumeMode `json:"resumeMode"`
	ExpiresAt      int64             `json:"expiresAt,omitempty"` // Unix time in milliseconds
}

func newSuspension(t *awaken.Ticket, wireID string) suspension {
	s := suspension{ToolCallID: wireID, Action: t.Suspension.Action, Message: t.Suspension.Message, Parameters: t.Suspension.Parameters,
		ResponseSchema: t.Suspension.ResponseSchema, ResumeMode: t.ResumeMode, ExpiresAt: t.ExpiresAt}
	s.ResumeMode = cmp.Or(s.ResumeMode, awaken.ReplayToolCall)
	return s
}

// ticketBelow converts a question of a child run to a ticket of this run.
func ticketBelow(t *awaken.WaitingTicket) *awaken.Ticket {
	own := &awaken.Ticket{ResumeMode: t.ResumeMode, ExpiresAt: t.ExpiresAt}
	if t.Suspension != nil {
		own.Suspension = *t.Suspension
	}
	own.Suspension.ID = t.TicketID
	return own
}
