package aisdk

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// chatRequest is the body that DefaultChatTransport posts. Unknown fields are ignored, because
// pages add their own. A page may send only its last message.
type chatRequest struct {
	ID             string                    `json:"id,omitempty"` // chat id, which is the thread id
	ThreadID       string                    `json:"threadId,omitempty"`
	ThreadIDSnake  string                    `json:"thread_id,omitempty"`
	AgentID        string                    `json:"agentId,omitempty"`
	AgentIDSnake   string                    `json:"agent_id,omitempty"`
	Messages       []uiMessage               `json:"messages,omitempty"`
	Message        *uiMessage                `json:"message,omitempty"` // alternative to messages: only the last one
	Trigger        string                    `json:"trigger,omitempty"` // submit-message or regenerate-message
	MessageID      string                    `json:"messageId,omitempty"`
	State          json.RawMessage           `json:"state,omitempty"` // state of the page, shown to the model
	FrontendTools  []frontendTool            `json:"frontendTools,omitempty"`
	FrontendToolsS []frontendTool            `json:"frontend_tools,omitempty"`
	Overrides      *awaken.InferenceOverride `json:"overrides,omitempty"`
	Agent          json.RawMessage           `json:"agent,omitempty"` // previews only: the whole agent
	// Calls, of previews only, says what becomes of tool calls: {"tools": mode, "fixtures": […]}, as in POST /v1/runs/{run_id}/fork. By default, calls that are not
	// read-only wait for approval.
	Calls json.RawMessage `json:"calls,omitempty"`
}

// frontendTool is a tool that the page executes.
type frontendTool struct {
	ID          string          `json:"id,omitempty"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`  // a JSON Schema
	InputSchema json.RawMessage `json:"inputSchema,omitempty"` // alternative name of parameters
}

// uiMessage is a message as the client sends it.
type uiMessage struct {
	ID       string          `json:"id,omitempty"`
	Role     string          `json:"role"`
	Metadata json.RawMessage `json:"metadata,omitempty"` // of user messages: kept, and returned with the history
	Parts    []uiPart        `json:"parts,omitempty"`
	Content  json.RawMessage `json:"content,omitempty"` // alternative to parts: a string, or parts
}

// uiPart is one part of a message. It has the fields that matter here, of all types of parts.
type uiPart struct {
	Type             string          `json:"type"`
	Text             string          `json:"text,omitempty"`
	MediaType        string          `json:"mediaType,omitempty"`
	URL              string          `json:"url,omitempty"`
	Filename         string          `json:"filename,omitempty"`
	ID               string          `json:"id,omitempty"`   // of a data part
	Data             json.RawMessage `json:"data,omitempty"` // of a data part
	ToolCallID       string          `json:"toolCallId,omitempty"`
	State            string          `json:"state,omitempty"`
	Input            json.RawMessage `json:"input,omitempty"`
	Output           json.RawMessage `json:"output,omitempty"`
	ErrorText        string          `json:"errorText,omitempty"`
	ProviderExecuted bool            `json:"providerExecuted,omitempty"`
	Approval         *uiApproval     `json:"approval,omitempty"`
}

type uiApproval struct {
	ID       string `json:"id,omitempty"`
	Approved *bool  `json:"approved,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// UnmarshalJSON ignores unknown fields: pages add their own.
func (r *chatRequest) UnmarshalJSON(data []byte) error {
	type plain chatRequest
	return strict.UnmarshalKnown(data, (*plain)(r))
}

// check normalises the request to one list of messages, and validates everything that needs no
// store.
func (r *chatRequest) check() error {
	switch {
	case r.Message != nil && len(r.Messages) > 0:
		return protocol.BadRequest("message and messages are both set, want one of them")
	case r.Message != nil:
		r.Messages = []uiMessage{*r.Message}
	}
	switch r.Trigger {
	case "", "submit-message", "regenerate-message":
	default:
		return protocol.BadRequest("trigger is %q, want submit-message or regenerate-message", r.Trigger)
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role != "user" && m.Role != "assistant" && m.Role != "system" {
			return protocol.BadRequest("messages[%d].role is %q, want user, assistant or system", i, m.Role)
		}
		if err := protocol.CheckID(fmt.Sprintf("messages[%d].id", i), m.ID); err != nil {
			return err
		}
		if len(m.Parts) > 0 || len(m.Content) == 0 {
			continue
		}
		if m.Content[0] == '"' {
			m.Parts = []uiPart{{Type: "text"}}
			if err := json.Unmarshal(m.Content, &m.Parts[0].Text); err != nil {
				return protocol.InvalidBody("messages[%d].content: %v", i, err)
			}
		} else if err := strict.UnmarshalKnown(m.Content, &m.Parts); err != nil {
			return protocol.InvalidBody("messages[%d].content: %v", i, err)
		}
	}
	return nil
}

// tools returns the tools that the page executes.
func (r *chatRequest) tools() ([]awaken.ToolSpec, error) {
	var out []awaken.ToolSpec
	for i, t := range append(r.FrontendTools, r.FrontendToolsS...) {
		spec := awaken.ToolSpec{ID: t.ID, Name: t.Name, Description: t.Description, Parameters: t.Parameters}
		spec.ID = cmp.Or(spec.ID, t.Name)
		if spec.ID == "" {
			return nil, protocol.BadRequest("frontendTools[%d].name is empty", i)
		}
		spec.Description = cmp.Or(spec.Description, "Frontend tool")
		if absent(spec.Parameters) {
			spec.Parameters = t.InputSchema
		}
		if absent(spec.Parameters) {
			spec.Parameters = json.RawMessage(`{"type":"object"}`)
		}
		out = append(out, spec)
	}
	return out, nil
}

// llmMessage converts the message at index i of the request. It returns nil if the message has
// nothing for the model.
func (m *uiMessage) llmMessage(i int, media *protocol.Media) (*llm.Message, error) {
	out := &llm.Message{ID: m.ID, Role: llm.Role(m.Role)}
	var page pageOnly
	if out.Role != llm.Assistant && !absent(m.Metadata) {
		page.Metadata = m.Metadata
	}
	for j := range m.Parts {
		switch p := &m.Parts[j]; {
		case p.Type == actionPart && out.Role == llm.User:
			page.Parts = append(page.Parts, pagePart{len(out.Content) + len(page.Parts), dataPart{p.Type, p.ID, orNull(p.Data)}})
			a, err := protocol.ParseUIAction(fmt.Sprintf("messages[%d].parts[%d].data", i, j), p.Data)
			if err != nil {
				return nil, err
			}
			text, err := a.Text()
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, llm.Text(text))
		case strings.HasPrefix(p.Type, "data-") && out.Role != llm.Assistant:
			page.Parts = append(page.Parts, pagePart{len(out.Content) + len(page.Parts), dataPart{p.Type, p.ID, orNull(p.Data)}})
		case p.Type == "text" && p.Text != "":
			out.Content = append(out.Content, llm.Text(p.Text))
		case p.Type == "file" && out.Role == llm.User:
			block, err := media.URL(fmt.Sprintf("messages[%d].parts[%d]", i, j), p.MediaType, p.URL, p.Filename)
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, block)
		case p.Type == "":
			return nil, protocol.InvalidBody("messages[%d].parts[%d].type is missing", i, j)
		}
	}
	if len(out.Content) == 0 {
		if out.Role == llm.Assistant {
			return nil, nil
		}
		return nil, protocol.BadRequest("messages[%d].parts has no text and no file, want one of them, or an action", i)
	}
	return out, page.keep(out)
}

// actionPart is the type of a data part that says what the user did in an interface that the agent has
// drawn. Unlike other data parts, the model sees it.
const actionPart = "data-ui-action"

// checkActions reports an action of the message at index i that the thread's surfaces do not offer.
func (m *uiMessage) checkActions(ctx context.Context, t *mailbox.Tenant, threadID string, i int) error {
	for j := range m.Parts {
		if m.Parts[j].Type != actionPart || m.Role != "user" {
			continue
		}
		field := fmt.Sprintf("messages[%d].parts[%d].data", i, j)
		a, err := protocol.ParseUIAction(field, m.Parts[j].Data)
		if err != nil {
			return err
		}
		if err := a.Check(ctx, t, threadID, field); err != nil {
			return err
		}
	}
	return nil
}

// decisions returns what the client decided about waiting calls. Models reuse call ids, so a
// part counts only if it follows the last user message and is not known to belong to an
// earlier call: one of another run, or an earlier one of this run. The last part about a call
// wins; one without a decision revokes those before it.
func (r *chatRequest) decisions(waiting *awaken.Waiting, asked *protocol.CallHistory) []awaken.Decision {
	return r.decided(waiting, asked, func(*uiPart, *awaken.WaitingTicket) bool { return true })
}

// repeats reports whether the request repeats decisions on calls, which the calls have taken in or
// which were accepted, as records say. It returns the record of one that the request contradicts, or
// nil. Only what a person said counts: a part may also show the call's outcome.
func (r *chatRequest) repeats(threadID string, calls []*awaken.CallState, records []*awaken.Decided, asked *protocol.CallHistory) (repeats bool, contradicted *awaken.Decided) {
	var w awaken.Waiting
	said, results := map[string]*awaken.Decided{}, map[string]*awaken.ToolResult{} // by ticket
	ask := func(t awaken.WaitingTicket, rec *awaken.Decided) {
		for _, o := range records {
			if strings.HasSuffix(":"+t.RunID+":"+t.TicketID, ":"+o.RunID+":"+o.TicketID) {
				rec = o
			}
		}
		if said[t.TicketID] = rec; rec != nil {
			w.Tickets = append(w.Tickets, t)
		}
	}
	for _, s := range calls {
		switch {
		case s.Ticket == nil:
		case s.Ticket.Child != "":
			for _, t := range s.Ticket.Tickets {
				ask(t, nil)
			}
		default:
			var rec *awaken.Decided
			if s.Decision != nil {
				rec = s.Decided(threadID, s.Decision)
			}
			ask(awaken.WaitingTicket{TicketID: s.SuspensionID(), ToolCallID: s.CallID, ToolName: s.ToolName, Arguments: s.Ticket.Pending.Arguments,
				ResumeMode: s.ResumeMode, Suspension: &s.Ticket.Suspension, RunID: s.RunID}, rec)
			results[s.SuspensionID()] = s.Result
		}
	}
	for _, d := range r.decided(&w, asked, func(p *uiPart, t *awaken.WaitingTicket) bool {
		return p.State == "approval-responded" || p.State == "output-available" && t.ResumeMode == awaken.UseDecisionAsToolResult
	}) {
		rec, result := said[d.Target], results[d.Target]
		if d.Digest() != rec.Digest() && (result == nil || d.Action == awaken.ActionCancel || !sameJSON(orNull(d.Result), result.Data)) {
			return false, rec
		}
		repeats = true
	}
	return repeats, nil
}

// decided is decisions with the parts that counts accepts.
func (r *chatRequest) decided(waiting *awaken.Waiting, asked *protocol.CallHistory, counts func(p *uiPart, t *awaken.WaitingTicket) bool) []awaken.Decision {
	said := map[string]awaken.Decision{}
	for i := range r.Messages {
		switch r.Messages[i].Role {
		case "user":
			clear(said)
			continue
		case "system":
			continue
		}
		if asked.Elsewhere(r.Messages[i].ID) {
			continue
		}
		for j := range r.Messages[i].Parts {
			p := &r.Messages[i].Parts[j]
			if !strings.HasPrefix(p.Type, "tool-") && p.Type != "dynamic-tool" || p.ProviderExecuted {
				continue
			}
			t := p.ticket(waiting)
			if t == nil || p.occurrence(t) < asked.Times(t.ToolCallID) {
				continue
			}
			if d, ok := p.decision(t); ok && counts(p, t) {
				said[t.TicketID] = d
			} else {
				delete(said, t.TicketID)
			}
		}
	}
	var out []awaken.Decision
	for _, t := range waiting.Tickets {
		if d, ok := said[t.TicketID]; ok {
			out = append(out, d)
		}
	}
	return out
}

// ticket returns the ticket that the part refers to, or nil.
func (p *uiPart) ticket(waiting *awaken.Waiting) *awaken.WaitingTicket {
	callID, _, _ := strings.Cut(p.ToolCallID, "~")
	for i := range waiting.Tickets {
		t := &waiting.Tickets[i]
		if p.Approval != nil && p.Approval.ID == t.TicketID || p.ToolCallID == t.ToolCallID || p.ToolCallID == t.TicketID ||
			p.ToolCallID != callID && (callID == t.ToolCallID || callID == t.TicketID) {
			return t
		}
	}
	return nil
}

// occurrence returns which call of its id the part refers to, counted from 1. Retracted calls count
// too, so it can exceed the number of stored calls.
func (p *uiPart) occurrence(t *awaken.WaitingTicket) int {
	number, ok := strings.CutPrefix(p.ToolCallID, t.ToolCallID+"~")
	if n, err := strconv.Atoi(number); ok && err == nil {
		return n
	}
	return 1
}

// decision returns what the part decides about its call, if anything. An error never approves
// the call, and an output does not answer a yes-or-no question.
func (p *uiPart) decision(t *awaken.WaitingTicket) (awaken.Decision, bool) {
	switch p.State {
	case "output-available":
		if protocol.IsApproval(t.ResumeMode, t.Suspension) {
			return awaken.Decision{}, false
		}
		return t.Answer(orNull(p.Output)), true
	case "output-error":
		if t.ResumeMode != awaken.UseDecisionAsToolResult {
			return t.Reject(p.ErrorText), true
		}
		result, _ := json.Marshal(map[string]string{"error": p.ErrorText})
		return t.Answer(result), true
	case "output-denied":
		return t.Reject(reasonOf(p.Approval)), true
	case "approval-responded":
		if p.Approval == nil || p.Approval.Approved == nil {
			return awaken.Decision{}, false
		}
		if !*p.Approval.Approved {
			return t.Reject(reasonOf(p.Approval)), true
		}
		yes := approved{true, p.Approval.Reason}
		if !protocol.Fits(t.Suspension, yes.result()) {
			yes.Reason = "" // the response schema has no reason
		}
		d := t.Approve()
		d.Result = yes.result()
		if !absent(p.Input) && !sameJSON(p.Input, t.Arguments) {
			d.Arguments = p.Input // edited by a person
		}
		return d, true
	}
	return awaken.Decision{}, false
}

// approved is the result of an approval, as the tool receives it.
type approved struct {
	Approved bool   `json:"approved"`
	Reason   string `json:"reason,omitempty"`
}

func (a approved) result() json.RawMessage {
	data, _ := json.Marshal(a) // cannot fail
	return data
}

func reasonOf(a *uiApproval) string {
	if a == nil {
		return ""
	}
	return a.Reason
}

// absent reports whether a value is missing or null.
func absent(data json.RawMessage) bool { return len(data) == 0 || string(data) == "null" }

// sameJSON reports whether two JSON texts are equal to a client, whose numbers are floats.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(orNull(b), &y) == nil && reflect.DeepEqual(x, y)
}
