package a2a

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
)

// ticket is a question that a task waits for.
type ticket struct {
	TicketID       string          `json:"ticketId"`
	Kind           string          `json:"kind"` // approval or input
	Message        string          `json:"message,omitempty"`
	Action         string          `json:"action,omitempty"`
	ToolName       string          `json:"toolName,omitempty"`
	ToolCallID     string          `json:"toolCallId,omitempty"`
	Arguments      json.RawMessage `json:"arguments,omitempty"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty"`
	ExpiresAt      string          `json:"expiresAt,omitempty"`
	InDoubt        bool            `json:"inDoubt,omitempty"` // the call may have taken effect
}

// tickets is the data part of the message of a task that waits.
type tickets struct {
	Tickets []ticket `json:"tickets"`
}

// waitingState returns the state of a run that waits. One that waits for its own children, and asks
// nothing, is working.
func waitingState(w *awaken.Waiting) State {
	if w == nil {
		return InputRequired
	}
	if w.Reason == awaken.WaitBackgroundTasks && len(w.Tickets) == 0 {
		return Working
	}
	for i := range w.Tickets {
		if s := w.Tickets[i].Suspension; s != nil && asksForAuth(s.Action) {
			return AuthRequired
		}
	}
	return InputRequired
}

// asksForAuth reports whether the kind of a question is about credentials: auth, or with that as prefix, or that
// of a delegate that needs them.
func asksForAuth(action string) bool {
	return action == "auth" || strings.HasPrefix(action, "auth:") || strings.HasSuffix(action, ":auth_required")
}

// asksToRun reports whether a ticket asks whether a call may run: it runs only if the answer says so, whatever else the
// answer must have. [protocol.IsApproval] is about questions to which yes or no is enough.
func asksToRun(t *awaken.WaitingTicket) bool {
	return t.ResumeMode == awaken.ReplayToolCall || t.ResumeMode == ""
}

// questionMessage returns the message of a task that waits.
func questionMessage(w *awaken.Waiting, reason, contextID, taskID string) *Message {
	if w == nil {
		w = &awaken.Waiting{}
	}
	var list tickets
	var lines []string
	id := string(w.Reason)
	for i := range w.Tickets {
		t := &w.Tickets[i]
		q := ticket{
			TicketID:   t.TicketID,
			Kind:       "input",
			Message:    t.Reason,
			ToolName:   t.ToolName,
			ToolCallID: t.ToolCallID,
			Arguments:  t.Arguments,
			ExpiresAt:  timestamp(t.ExpiresAt),
			InDoubt:    t.InDoubt.Open(),
		}
		if asksToRun(t) {
			q.Kind = "approval"
		}
		if s := t.Suspension; s != nil {
			q.Action, q.Message = s.Action, cmp.Or(s.Message, q.Message)
			if raw := bytes.TrimSpace(s.ResponseSchema); len(raw) > 0 && raw[0] == '{' {
				q.ResponseSchema = s.ResponseSchema
			}
		}
		lines = append(lines, cmp.Or(q.Message, "Waiting for "+t.ToolName+"."))
		list.Tickets = append(list.Tickets, q)
		id = fmt.Sprintf("%s:%d", w.Tickets[0].TicketID, w.Tickets[0].UpdatedAt)
	}
	text := cmp.Or(strings.Join(lines, "\n"), w.Message, reason, "The task waits.")
	m := agentMessage(text, taskID+":"+cmp.Or(id, "waiting"), contextID, taskID)
	if len(list.Tickets) > 0 {
		data, err := json.Marshal(list)
		if err == nil {
			m.Parts = append(m.Parts, Part{Data: data, MediaType: "application/json"})
		}
	}
	return m
}

func agentMessage(text, id, contextID, taskID string) *Message {
	return &Message{MessageID: id, ContextID: contextID, TaskID: taskID, Role: roleAgent, Parts: []Part{textPart(text)}}
}

// statusOf returns the status that a run's record tells.
func statusOf(run *awaken.Run) Status {
	s := Status{State: stateOf(run), Timestamp: timestamp(run.UpdatedAt)}
	switch {
	case s.State.Interrupted():
		s.Message = questionMessage(run.Waiting, run.StatusReason, run.ThreadID, run.RunID)
	case run.Status == awaken.RunDone:
		s.Message = endMessage(run.Termination, run.ThreadID, run.RunID)
	}
	return s
}

// endMessage returns the message of a task that ended in another way than with its answer, or nil.
func endMessage(t awaken.Termination, contextID, taskID string) *Message {
	var text string
	switch t.Type {
	case awaken.Failed, awaken.Blocked:
		text = cmp.Or(t.Message, string(t.Type))
	case awaken.Stopped:
		text = t.String()
	default:
		return nil
	}
	return agentMessage(text, taskID+":end", contextID, taskID)
}
