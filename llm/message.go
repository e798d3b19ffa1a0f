package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/internal/strict"
)

// Role identifies the author of a message.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	// ToolRole marks the result of one tool call; Message.ToolCallID names the call.
	ToolRole Role = "tool"
)

// Visibility says who may see a message.
type Visibility string

// The visibilities.
const (
	// VisibleAll is the default: models and API consumers see the message.
	VisibleAll Visibility = "all"
	// Internal messages are visible to models but not to API consumers. An internal
	// message of role tool is different: it retracts the call it names, and no
	// model ever sees it.
	Internal Visibility = "internal"
)

// Message is one entry of a conversation. Messages are immutable once a model, a
// store or an event has received them; copy one to change it.
type Message struct {
	ID         string     `json:"id,omitempty"`
	Role       Role       `json:"role"`
	Content    []Block    `json:"content"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`   // assistant only
	ToolCallID string     `json:"tool_call_id,omitempty"` // tool only: the call this is the result of
	Visibility Visibility `json:"visibility,omitempty"`   // "" means all
	Metadata   *Metadata  `json:"metadata,omitempty"`
	Opaque     *Opaque    `json:"opaque,omitempty"` // e.g. a provider's response id
}

// ToolCall is a model's request to call a tool.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Opaque    *Opaque         `json:"opaque,omitempty"`
}

// Metadata says where a message came from.
type Metadata struct {
	RunID         string    `json:"run_id,omitempty"`
	StepIndex     *int      `json:"step_index,omitempty"` // 0-based
	SenderAgentID string    `json:"sender_agent_id,omitempty"`
	Compaction    *Interval `json:"compaction,omitempty"`  // this message summarises that interval
	Rewind        *Rewind   `json:"rewind,omitempty"`      // this message hides those records
	Interrupted   bool      `json:"interrupted,omitempty"` // cut short by a cancel or an error
	// Finish says why the model stopped, if the reply is not complete. It is empty for EndTurn and
	// ToolUse.
	Finish FinishReason `json:"finish_reason,omitempty"`
	// ClientRole is the role in which a client sent the message, if the model is shown it as data
	// of the user instead.
	ClientRole Role `json:"client_role,omitempty"`
	// Client is what the author's client keeps with the message and no model sees, in a form of its
	// protocol.
	Client json.RawMessage `json:"client,omitempty"`
	// Arrival says where a run took the message in, if it came while the run was active. Only the runtime sets it.
	Arrival *Arrival `json:"arrival,omitempty"`
}

// Arrival is a place in a run at which it read a message from its inbox.
type Arrival struct {
	Steps int          `json:"steps"`           // how many steps the run had completed
	Point ArrivalPoint `json:"point"`           // what it was doing
	After string       `json:"after,omitempty"` // the call of the step whose outcome came last before it, if any
	// Resumed says that this outcome was the final one of a call that had been suspended.
	Resumed bool `json:"resumed,omitempty"`
}

// append appends the field "arrival". Messages are encoded on the stacks of runs, which stay small without its frame.
//
//go:noinline
func (a *Arrival) append(buf []byte) []byte {
	buf = appendjson.Int(buf, `,"arrival":{"steps":`, a.Steps)
	buf = appendjson.Text(buf, `,"point":`, a.Point)
	buf = appendjson.TextIf(buf, `,"after":`, a.After)
	return append(appendjson.TrueIf(buf, `,"resumed":`, a.Resumed), '}')
}

// ArrivalPoint is what a run did when it read its inbox.
type ArrivalPoint string

const (
	DuringCalls ArrivalPoint = "calls" // it waited for calls of the step
	BehindStep  ArrivalPoint = "step"  // it was between two steps
	AtEnd       ArrivalPoint = "end"   // it was about to end or to wait, and continued instead
	AtOpening   ArrivalPoint = "open"  // it continued after a wait, or with another owner
)

// Interval is a closed range of log sequence numbers, counted from 1.
type Interval struct {
	FromSeq int `json:"from_seq"`
	ToSeq   int `json:"to_seq"`
}

// Rewind hides every earlier log record from FromSeq on.
type Rewind struct {
	FromSeq int `json:"from_seq"`
}

// Opaque is data that only the provider it came from understands: thinking
// signatures, encrypted reasoning, item ids. It is stored with the block, call or
// message it belongs to and sent back to the same provider, never to another.
type Opaque struct {
	Provider  string          `json:"provider"`
	Signature string          `json:"signature,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
}

// UserText returns a user message of one text block.
func UserText(text string) *Message { return NewText(User, text) }

// NewText returns a message of one text block.
func NewText(role Role, text string) *Message {
	return &Message{Role: role, Content: []Block{Text(text)}}
}

// Text returns the message's text blocks joined without a separator.
func (m *Message) Text() string {
	if len(m.Content) == 1 && m.Content[0].Type == TextBlock {
		return m.Content[0].Text
	}
	var sb strings.Builder
	for _, b := range m.Content {
		if b.Type == TextBlock {
			sb.WriteString(b.Text)
		}
	}
	return sb.String()
}

// HasBlobs reports whether the message refers to a stored file.
func (m *Message) HasBlobs() bool {
	for i := range m.Content {
		b := &m.Content[i]
		if b.Source != nil && b.Source.Type == "blob" || b.Tool != nil && !yieldBlobs(b.Tool.Content, func(*Source) bool { return false }) {
			return true
		}
	}
	return false
}

// Blobs yields the sources of the stored files that the message refers to.
func (m *Message) Blobs() iter.Seq[*Source] {
	return func(yield func(*Source) bool) { yieldBlobs(m.Content, yield) }
}

func yieldBlobs(blocks []Block, yield func(*Source) bool) bool {
	for i := range blocks {
		b := &blocks[i]
		if b.Source != nil && b.Source.Type == "blob" && !yield(b.Source) {
			return false
		}
		if b.Tool != nil && !yieldBlobs(b.Tool.Content, yield) {
			return false
		}
	}
	return true
}

// IsInternal reports whether the message is hidden from API consumers.
func (m *Message) IsInternal() bool { return m.Visibility == Internal }

// HasCall reports whether the message has the tool call with that id.
func (m *Message) HasCall(id string) bool {
	return slices.ContainsFunc(m.ToolCalls, func(c ToolCall) bool { return c.ID == id })
}

// WithCalls returns a copy of m with other tool calls.
func (m *Message) WithCalls(calls []ToolCall) *Message {
	c := *m
	c.ToolCalls = calls
	if len(calls) == 0 {
		c.ToolCalls = nil
	}
	return &c
}

// Unanswered returns the calls without a result in msgs, of the last message that has calls.
func Unanswered(msgs []*Message) []ToolCall {
	i := len(msgs)
	for i > 0 && len(msgs[i-1].ToolCalls) == 0 {
		i--
	}
	if i == 0 {
		return nil
	}
	var open []ToolCall
	for _, c := range msgs[i-1].ToolCalls {
		if !slices.ContainsFunc(msgs[i:], func(m *Message) bool { return m.Role == ToolRole && m.ToolCallID == c.ID }) {
			open = append(open, c)
		}
	}
	return open
}

// IsSummary reports whether the message summarises a part of the conversation.
func (m *Message) IsSummary() bool { return m.Metadata != nil && m.Metadata.Compaction != nil }

// Empty reports whether the message has no content and no tool calls.
func (m *Message) Empty() bool {
	if len(m.ToolCalls) > 0 {
		return false
	}
	for _, b := range m.Content {
		if (b.Type != TextBlock && b.Type != ThinkingBlock) || b.Text != "" || b.Opaque != nil {
			return false
		}
	}
	return true
}

// MarshalJSON writes empty content as [] and omits the default visibility.
func (m Message) MarshalJSON() ([]byte, error) { return m.AppendJSON(make([]byte, 0, 256)) }

// AppendJSON appends the message's JSON, as MarshalJSON returns it, to buf. On an
// error it returns buf unchanged.
func (m *Message) AppendJSON(buf []byte) ([]byte, error) {
	start := len(buf)
	out, err := m.appendFields(buf)
	if err != nil {
		return buf, err
	}
	return appendjson.Close(out, start), nil
}

func (m *Message) appendFields(buf []byte) (_ []byte, err error) {
	buf = appendjson.TextIf(buf, `,"id":`, m.ID)
	buf = appendjson.Text(buf, `,"role":`, m.Role)
	if buf, err = appendjson.List(buf, `,"content":`, m.Content, (*Block).AppendJSON); err != nil {
		return nil, err
	}
	if len(m.ToolCalls) > 0 {
		if buf, err = appendjson.List(buf, `,"tool_calls":`, m.ToolCalls, (*ToolCall).AppendJSON); err != nil {
			return nil, err
		}
	}
	buf = appendjson.TextIf(buf, `,"tool_call_id":`, m.ToolCallID)
	if m.Visibility != VisibleAll {
		buf = appendjson.TextIf(buf, `,"visibility":`, m.Visibility)
	}
	if m.Metadata != nil {
		if buf, err = m.Metadata.append(append(buf, `,"metadata":`...)); err != nil {
			return nil, err
		}
	}
	return m.Opaque.appendField(buf)
}

func (d *Metadata) append(buf []byte) (_ []byte, err error) {
	start := len(buf)
	buf = appendjson.TextIf(buf, `,"run_id":`, d.RunID)
	if d.StepIndex != nil {
		buf = appendjson.Int(buf, `,"step_index":`, *d.StepIndex)
	}
	buf = appendjson.TextIf(buf, `,"sender_agent_id":`, d.SenderAgentID)
	if d.Compaction != nil {
		buf = d.Compaction.AppendJSON(append(buf, `,"compaction":`...))
	}
	if d.Rewind != nil {
		buf = append(appendjson.Int(buf, `,"rewind":{"from_seq":`, d.Rewind.FromSeq), '}')
	}
	buf = appendjson.TrueIf(buf, `,"interrupted":`, d.Interrupted)
	buf = appendjson.TextIf(buf, `,"finish_reason":`, d.Finish)
	buf = appendjson.TextIf(buf, `,"client_role":`, d.ClientRole)
	if buf, err = appendjson.RawIf(buf, `,"client":`, d.Client); err != nil {
		return nil, err
	}
	if d.Arrival != nil {
		buf = d.Arrival.append(buf)
	}
	return appendjson.Close(buf, start), nil
}

// AppendJSON appends the interval's JSON to buf.
func (v Interval) AppendJSON(buf []byte) []byte {
	buf = appendjson.Int(buf, `{"from_seq":`, v.FromSeq)
	return append(appendjson.Int(buf, `,"to_seq":`, v.ToSeq), '}')
}

// appendField appends a field "opaque", unless o is nil.
func (o *Opaque) appendField(buf []byte) ([]byte, error) {
	if o == nil {
		return buf, nil
	}
	buf = appendjson.Text(append(buf, `,"opaque":`...), `{"provider":`, o.Provider)
	buf = appendjson.TextIf(buf, `,"signature":`, o.Signature)
	buf, err := appendjson.RawIf(buf, `,"data":`, o.Data)
	return append(buf, '}'), err
}

// UnmarshalJSON reads a message. It rejects unknown fields, roles and visibilities
// by name. A string as content is shorthand for one text block.
func (m *Message) UnmarshalJSON(data []byte) error {
	type plain Message
	var p struct {
		plain
		Content json.RawMessage `json:"content"`
	}
	if err := strict.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("message: %w", err)
	}
	*m = Message(p.plain)
	err := m.normalize(p.Content)
	switch {
	case err == nil:
		return nil
	case m.ID == "":
		return fmt.Errorf("message: %w", err)
	}
	return fmt.Errorf("message %q: %w", m.ID, err)
}

// normalize decodes the content, validates the message and gives equal messages one
// representation.
func (m *Message) normalize(content json.RawMessage) (err error) {
	if m.Content, err = decodeContent(content); err != nil {
		return fmt.Errorf("content: %w", err)
	}
	if len(m.ToolCalls) == 0 {
		m.ToolCalls = nil
	}
	switch m.Role {
	case System, User, Assistant, ToolRole:
	case "":
		return errors.New("role is missing, want system, user, assistant or tool")
	default:
		return fmt.Errorf("role is %q, want system, user, assistant or tool", m.Role)
	}
	switch m.Visibility {
	case "", Internal:
	case VisibleAll:
		m.Visibility = ""
	default:
		return fmt.Errorf("visibility is %q, want all or internal", m.Visibility)
	}
	return nil
}

// UnmarshalJSON reads a call and rejects unknown fields. Null arguments are the same
// as none.
func (c *ToolCall) UnmarshalJSON(data []byte) error {
	type plain ToolCall
	if err := strict.Into((*plain)(c), "tool call", data); err != nil {
		return err
	}
	c.Arguments = orNil(c.Arguments)
	return nil
}

// MarshalJSON writes absent arguments as null.
func (c ToolCall) MarshalJSON() ([]byte, error) { return c.AppendJSON(make([]byte, 0, 128)) }

// AppendJSON appends the call's JSON, as MarshalJSON returns it, to buf. On an error
// it returns buf unchanged.
func (c *ToolCall) AppendJSON(buf []byte) ([]byte, error) {
	out := appendjson.Text(buf, `{"id":`, c.ID)
	out = appendjson.Text(out, `,"name":`, c.Name)
	out, err := appendjson.Raw(out, `,"arguments":`, orNull(c.Arguments))
	if err == nil {
		out, err = c.Opaque.appendField(out)
	}
	if err != nil {
		return buf, err
	}
	return append(out, '}'), nil
}

// orNull returns raw, or nil if it is empty: nil is written as null.
func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	return raw
}

// orNil returns raw, or nil for a JSON null.
func orNil(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

func decodeContent(raw json.RawMessage) ([]Block, error) {
	if raw = orNil(bytes.TrimSpace(raw)); len(raw) == 0 {
		return nil, nil
	}
	if raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
		return []Block{Text(text)}, nil
	}
	var blocks []Block
	if err := json.Unmarshal(raw, &blocks); err != nil {
		if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, fmt.Errorf("found a JSON %s, want a string or an array of blocks", te.Value)
		}
		return nil, err
	}
	if len(blocks) == 0 {
		return nil, nil
	}
	return blocks, nil
}
