package agui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/clientdata"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/state/builtin"
)

// input is the body of a run request, RunAgentInput. Unknown fields are ignored, because
// clients may be older or newer than this server.
type input struct {
	ThreadID        string          `json:"threadId,omitempty"` // "" creates a thread
	RunID           string          `json:"runId,omitempty"`    // the client's name for the run; a repeated id means the same run
	ParentRunID     string          `json:"parentRunId,omitempty"`
	ProtocolVersion string          `json:"protocolVersion,omitempty"` // "" means older than 1.0
	AgentID         string          `json:"agentId,omitempty"`         // for routes without an agent in the path
	Messages        []message       `json:"messages,omitempty"`        // the whole conversation, or only the new messages
	Tools           []tool          `json:"tools,omitempty"`           // tools that the client executes
	Context         json.RawMessage `json:"context,omitempty"`         // shown to the model during the run
	State           json.RawMessage `json:"state,omitempty"`           // shared with the agent
	ForwardedProps  json.RawMessage `json:"forwardedProps,omitempty"`  // for tools and plugins
	Resume          []answer        `json:"resume,omitempty"`          // answers to interrupts
}

// message is an AG-UI message.
type message struct {
	ID         string          `json:"id,omitempty"`
	Role       string          `json:"role"` // user, assistant, system, developer, tool, reasoning, activity
	Content    json.RawMessage `json:"content,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	ToolCalls  []toolCall      `json:"toolCalls,omitempty"` // assistant messages only
	Error      string          `json:"error,omitempty"`     // tool messages only
}

// toolCall is a call in an assistant message. Its other fields are ignored.
type toolCall struct {
	ID string `json:"id"`
}

// calls reports whether the message makes the call.
func (m *message) calls(id string) bool {
	return slices.Contains(m.ToolCalls, toolCall{id})
}

// part is one part of a user message.
type part struct {
	Type     string          `json:"type"` // text, image, audio, video, document, binary
	Text     *string         `json:"text,omitempty"`
	Source   *source         `json:"source,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`

	// Binary parts, which clients older than 1.0 send.
	MimeType string `json:"mimeType,omitempty"`
	URL      string `json:"url,omitempty"`
	Data     string `json:"data,omitempty"`
	Filename string `json:"filename,omitempty"`
}

// source locates the bytes of a part.
type source struct {
	Type     string `json:"type"` // data or url
	Value    string `json:"value"`
	MimeType string `json:"mimeType,omitempty"`
}

// tool is a tool that the client executes.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // a JSON Schema
}

// answer is a person's answer to an interrupt.
type answer struct {
	InterruptID string          `json:"interruptId"`
	Status      string          `json:"status"` // resolved or cancelled
	Payload     json.RawMessage `json:"payload,omitempty"`
}

// UnmarshalJSON ignores unknown fields.
func (in *input) UnmarshalJSON(data []byte) error {
	type plain input
	return strict.UnmarshalKnown(data, (*plain)(in))
}

// current reports whether the client speaks version 1.0 or later.
func (in *input) current() bool { return in.ProtocolVersion != "" }

// check validates what the types cannot express.
func (in *input) check() error {
	for _, f := range [...]struct{ name, id string }{{"threadId", in.ThreadID}, {"runId", in.RunID}, {"parentRunId", in.ParentRunID}, {"agentId", in.AgentID}} {
		if err := protocol.CheckID(f.name, f.id); err != nil {
			return err
		}
	}
	for i, m := range in.Messages {
		if err := protocol.CheckID(fmt.Sprintf("messages[%d].id", i), m.ID); err != nil {
			return err
		}
		switch m.Role {
		case "user", "assistant", "system", "developer", "reasoning", "activity":
		case "tool":
			if m.ToolCallID == "" {
				return protocol.InvalidBody("messages[%d].toolCallId is missing: a tool message answers a call", i)
			}
		default:
			return protocol.BadRequest("messages[%d].role is %.80q, want user, assistant, system, developer, tool, reasoning or activity", i, m.Role)
		}
	}
	for i, a := range in.Resume {
		if a.InterruptID == "" {
			return protocol.InvalidBody("resume[%d].interruptId is missing", i)
		}
		if a.Status != "resolved" && a.Status != "cancelled" {
			return protocol.BadRequest("resume[%d].status is %.80q, want resolved or cancelled", i, a.Status)
		}
	}
	return nil
}

// tools returns the tools that the client executes.
func (in *input) tools() ([]awaken.ToolSpec, error) {
	var out []awaken.ToolSpec
	names := map[string]bool{}
	for i, t := range in.Tools {
		if strings.TrimSpace(t.Name) == "" || !protocol.ValidID(t.Name) {
			return nil, protocol.BadRequest("tools[%d].name is %.80q, want a tool name", i, t.Name)
		}
		if names[t.Name] {
			return nil, protocol.BadRequest("tools[%d].name is %.80q, which another tool has", i, t.Name)
		}
		names[t.Name] = true
		spec := awaken.ToolSpec{ID: t.Name, Name: t.Name, Description: t.Description, Parameters: t.Parameters}
		spec.Description = cmp.Or(spec.Description, "A tool of the client")
		if isEmpty(spec.Parameters) {
			spec.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		if !isObject(spec.Parameters) {
			return nil, protocol.BadRequest("tools[%d].parameters is not an object, want a JSON Schema", i)
		}
		out = append(out, spec)
	}
	return out, nil
}

// context returns what the model is shown about the client: its context and the shared state.
func (in *input) context() ([]awaken.ContextMessage, error) {
	shown := given(map[string]json.RawMessage{"context": in.Context, "state": in.State})
	if c := bytes.TrimSpace(shown["context"]); len(c) > 0 && c[0] != '[' && c[0] != '{' {
		return nil, protocol.InvalidBody(`field "context" is not valid, want an array or an object`)
	}
	if len(shown) == 0 {
		return nil, nil
	}
	data, err := json.Marshal(shown)
	if err != nil {
		return nil, err
	}
	m := builtin.SystemContext("client", clientdata.Context(data))
	m.Persistent = true
	return []awaken.ContextMessage{m}, nil
}

// seed returns the state that the run starts with. Empty values are left out.
func (in *input) seed() map[string]json.RawMessage {
	return given(map[string]json.RawMessage{builtin.ClientState.Name(): in.State, builtin.ClientProps.Name(): in.ForwardedProps})
}

// action returns what the user did in an interface that the agent has drawn, as CopilotKit sends it:
// forwardedProps.a2uiAction. It is nil if there is none.
func (in *input) action() (*protocol.UIAction, error) {
	var props struct {
		Action json.RawMessage `json:"a2uiAction"`
	}
	if json.Unmarshal(in.ForwardedProps, &props) != nil || isEmpty(props.Action) { // properties may be any value
		return nil, nil
	}
	return protocol.ParseUIAction(actionField, props.Action)
}

// actionField names the action in errors.
const actionField = "forwardedProps.a2uiAction"

// given removes the empty values.
func given(values map[string]json.RawMessage) map[string]json.RawMessage {
	maps.DeleteFunc(values, func(_ string, v json.RawMessage) bool { return isEmpty(v) })
	return values
}

// isEmpty reports whether a JSON value carries no information.
func isEmpty(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "{}", "[]":
		return true
	}
	return false
}

// messages returns the messages from index from on that the run receives. Tool, reasoning and
// activity messages are left out, because the thread has its own record of them. Assistant
// messages are accepted only on a new thread.
func (in *input) messages(from int, isNew bool) ([]*llm.Message, error) {
	var out []*llm.Message
	var media protocol.Media
	for i := from; i < len(in.Messages); i++ {
		m := &in.Messages[i]
		role := llm.Role(m.Role)
		switch m.Role {
		case "developer":
			role = llm.System
		case "assistant":
			if !isNew {
				continue
			}
		case "tool", "reasoning", "activity":
			continue
		}
		content, err := m.content(fmt.Sprintf("messages[%d]", i), &media)
		if err != nil {
			return nil, err
		}
		if len(content) == 0 && role == llm.Assistant {
			continue
		}
		if len(content) == 0 {
			return nil, protocol.BadRequest("messages[%d].content is empty", i)
		}
		out = append(out, &llm.Message{ID: m.ID, Role: role, Content: content})
	}
	return out, nil
}

// content returns the content of a message: a string, or parts. Field names the message in
// errors.
func (m *message) content(field string, media *protocol.Media) ([]llm.Block, error) {
	raw := bytes.TrimSpace(m.Content)
	switch {
	case isEmpty(raw):
		return nil, nil
	case raw[0] == '"':
		var s string
		if err := strict.UnmarshalKnown(raw, &s); err != nil {
			return nil, protocol.InvalidBody("%s.content: %v", field, err)
		}
		if s == "" {
			return nil, nil
		}
		return []llm.Block{llm.Text(s)}, nil
	case raw[0] != '[':
		return nil, protocol.InvalidBody("%s.content is not valid, want a string or an array of parts", field)
	}
	var parts []part
	if err := strict.UnmarshalKnown(raw, &parts); err != nil {
		return nil, protocol.InvalidBody("%s.content: %v", field, err)
	}
	out := make([]llm.Block, 0, len(parts))
	for i := range parts {
		b, err := parts[i].block(fmt.Sprintf("%s.content[%d]", field, i), media)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// block converts a part to a block.
func (p *part) block(field string, media *protocol.Media) (llm.Block, error) {
	switch p.Type {
	case "text":
		if p.Text == nil {
			return llm.Block{}, protocol.InvalidBody("%s.text is missing", field)
		}
		return llm.Text(*p.Text), nil
	case "binary":
		switch {
		case p.Data != "":
			return media.Base64(field, p.MimeType, p.Data, p.Filename)
		case p.URL != "":
			return media.URL(field, p.MimeType, p.URL, p.Filename)
		}
		return llm.Block{}, protocol.BadRequest("%s has no data and no url, want one of them", field)
	case "image", "audio", "video", "document":
		if p.Source == nil {
			return llm.Block{}, protocol.InvalidBody("%s.source is missing", field)
		}
		var about struct {
			Filename string `json:"filename"`
		}
		_ = json.Unmarshal(p.Metadata, &about) // metadata is free-form
		kind := p.Source.MimeType
		if kind == "" && !strings.HasPrefix(p.Source.Value, "data:") {
			kind = map[string]string{"image": "image/*", "audio": "audio/*", "video": "video/*", "document": "application/pdf"}[p.Type]
		}
		switch p.Source.Type {
		case "data":
			return media.Base64(field+".source", kind, p.Source.Value, about.Filename)
		case "url":
			return media.URL(field+".source", kind, p.Source.Value, about.Filename)
		}
		return llm.Block{}, protocol.BadRequest("%s.source.type is %.80q, want data or url", field, p.Source.Type)
	}
	return llm.Block{}, protocol.BadRequest("%s.type is %.80q, want text, image, audio, video, document or binary", field, p.Type)
}

// decisions returns the client's decisions on the calls that a run waits for: first its
// answers to interrupts, then tool messages, which answer calls that the client executes. W
// may be nil. Question returns the ticket that an answer refers to, or nil.
func (in *input) decisions(w *awaken.Waiting, asked *protocol.CallHistory, question func(id string) (*awaken.WaitingTicket, error)) ([]awaken.Decision, error) {
	var out []awaken.Decision
	done := map[string]bool{} // answered calls
	for i, a := range in.Resume {
		t, err := question(a.InterruptID)
		if err != nil {
			return nil, err
		}
		if t != nil {
			done[t.ToolCallID] = true
		}
		d, err := a.decision(t)
		if err != nil && t == nil {
			return nil, protocol.NotFound("interrupt", fmt.Sprintf("%.80s", a.InterruptID))
		}
		if err != nil {
			return nil, protocol.BadRequest("resume[%d].payload%v", i, err)
		}
		d.ID = in.decisionID(d.Target)
		out = append(out, d)
	}
	if w == nil {
		return out, nil
	}
	for i := range w.Tickets {
		t := &w.Tickets[i]
		if done[t.ToolCallID] || !isClientCall(t) {
			continue
		}
		if j := in.resultOf(t.ToolCallID, asked); j >= 0 {
			result, err := in.Messages[j].result(fmt.Sprintf("messages[%d]", j))
			if err != nil {
				return nil, err
			}
			out = append(out, awaken.Decision{Target: t.TicketID, ID: in.decisionID(t.TicketID), Action: awaken.ActionResume, Result: result})
		}
	}
	return out, nil
}

// resultOf returns the index of the message that carries the result of a waiting call, or -1.
// Models reuse call ids, and the client may not know of the call yet. So a result counts only
// if it follows the last message that makes the call, that message is not an earlier call of
// the same id, and no stored user message comes after the result.
func (in *input) resultOf(callID string, asked *protocol.CallHistory) int {
	result := -1
	for i := len(in.Messages) - 1; i >= 0; i-- {
		switch m := &in.Messages[i]; {
		case m.Role == "tool" && m.ToolCallID == callID && result < 0:
			result = i
		case m.Role == "assistant" && m.calls(callID):
			if asked.Earlier(m.ID, callID) {
				return -1
			}
			return result
		case m.Role == "user" && result < 0 && asked.Stored(m.ID):
			return -1
		}
	}
	return result
}

// decisionID returns the same id for a decision that is sent again with the same run.
func (in *input) decisionID(target string) string {
	if in.RunID == "" {
		return ""
	}
	return in.RunID + ":" + target
}

// ticket returns the ticket with this id or call id, or nil.
func ticket(w *awaken.Waiting, id string) *awaken.WaitingTicket {
	if w == nil {
		return nil
	}
	for i := range w.Tickets {
		if t := &w.Tickets[i]; t.TicketID == id || t.ToolCallID == id {
			return t
		}
	}
	return nil
}

// decision converts an answer to a decision on its ticket. A call is only made if the answer
// approves it explicitly, also if the ticket is nil and the question unknown. Errors start
// with the path below the payload.
func (a *answer) decision(t *awaken.WaitingTicket) (awaken.Decision, error) {
	d := awaken.Decision{Target: a.InterruptID, Action: awaken.ActionResume}
	if a.Status == "cancelled" {
		d.Action, d.Reason = awaken.ActionCancel, "the question was dismissed"
		return d, nil
	}
	if string(bytes.TrimSpace(a.Payload)) == "null" {
		a.Payload = nil
	}
	if t != nil && t.ResumeMode != awaken.ReplayToolCall && t.ResumeMode != "" {
		d.Result = a.Payload
		return d, nil
	}
	if len(a.Payload) == 0 {
		return d, errors.New(` is missing, want an object with "approved": true or false`)
	}
	if !isObject(a.Payload) {
		return d, fmt.Errorf(` is %.80s, want an object with "approved": true or false`, a.Payload)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(a.Payload, &fields); err != nil {
		return d, fmt.Errorf(": %w", err)
	}
	switch approved := string(fields["approved"]); approved {
	case "true":
	case "false":
		d.Action = awaken.ActionCancel
		_ = json.Unmarshal(fields["reason"], &d.Reason) // ignored unless it is a string
		return d, nil
	case "":
		return d, errors.New(".approved is missing, want true or false")
	default:
		return d, fmt.Errorf(".approved is %.80s, want true or false", approved)
	}
	d.Result = a.Payload
	if args, ok := fields["editedArgs"]; ok && string(args) != "null" {
		if !isObject(args) {
			return d, fmt.Errorf(".editedArgs is %.80s, want an object", args)
		}
		d.Arguments = args
		delete(fields, "editedArgs")
		rest, err := json.Marshal(fields)
		if err != nil {
			return d, fmt.Errorf(": %w", err)
		}
		d.Result = rest
	}
	return d, nil
}

// result returns the result that a tool message reports. A string that holds JSON is returned
// as that JSON.
func (m *message) result(field string) (json.RawMessage, error) {
	if m.Error != "" {
		return json.Marshal(map[string]string{"error": m.Error})
	}
	raw := bytes.TrimSpace(m.Content)
	if len(raw) == 0 {
		return json.RawMessage(`""`), nil
	}
	if raw[0] != '"' {
		content, err := m.content(field, &protocol.Media{})
		if err != nil {
			return nil, err
		}
		return json.Marshal((&llm.Message{Content: content}).Text())
	}
	var s string
	if err := strict.UnmarshalKnown(raw, &s); err != nil {
		return nil, protocol.InvalidBody("%s.content: %v", field, err)
	}
	if text := strings.TrimSpace(s); text != "" && json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	return raw, nil
}
