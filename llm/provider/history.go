package provider

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// Rules describe which conversations a provider accepts, beyond what [History] always ensures.
type Rules struct {
	// Provider is the name in the adapter's opaque data. Opaque data of others is dropped.
	Provider string
	// Media reports whether the provider accepts a media block in a message of that role. Media
	// it does not accept is replaced by a description; media in a tool result moves to a user
	// message if it is accepted there. Nil means that no media is accepted.
	Media func(b *llm.Block, role llm.Role) bool
	// CallID converts the ids of tool calls; see [SafeID]. Nil keeps them.
	CallID func(string) string

	BareThinking bool // send thinking even without opaque data of the provider
	LateSystem   bool // system messages may follow others; if not, they become user messages in <system> tags
	Alternate    bool // user (or tool) and assistant messages alternate: adjacent ones are merged
	StartUser    bool // the first message must be the user's
	EndUser      bool // the last message must not be the assistant's
}

// Text that is sent in place of missing messages.
const (
	noAnswer  = "The call was interrupted. Its outcome is not known."
	startText = "(Earlier messages are left out.)"
	endText   = "Go on."
)

// History returns the instructions and messages of req in a form that a provider with these
// rules accepts, whatever happened to the conversation: a crash, a cancel, a truncation, a
// handoff, another model. It does not modify req.
//
// It guarantees about the messages:
//
//   - There is at least one.
//   - The roles are user, assistant and tool, and system if the rules allow it. Leading system
//     messages are in the system blocks, which are text.
//   - Every assistant message is directly followed by the results of its tool calls, one for
//     each, in order. A call without a result gets one that says so; results without a call and
//     retracted calls are dropped. Call ids are unique in the whole conversation.
//   - The arguments of calls are JSON objects. There are no tool_use and tool_result blocks.
//   - No text is blank and no message is empty, except tool results. Media appears only where
//     the rules allow it. Assistant messages end with text or calls, never with thinking.
//   - Opaque data is the provider's own.
//
// The same conversation always gives the same result, and the result of a longer one starts with
// that of its beginning, so that prompt caches work, except where a call had no result yet.
func History(req *llm.Request, r Rules) (system []llm.Block, msgs []*llm.Message) {
	h := history{rules: r, used: make(map[string]int), open: make(map[string][]*pending)}
	system = appendTexts(nil, req.System)
	list := h.flatten(req.Messages)
	for len(list) > 0 && list[0].Role == llm.System {
		system = appendTexts(system, list[0].Content)
		list = list[1:]
	}
	h.pair(list)
	h.out = make([]*llm.Message, 0, len(list)+2)
	for _, m := range list {
		h.add(m)
	}
	switch {
	case len(h.out) == 0:
		h.out = append(h.out, llm.UserText(endText))
	case r.StartUser && h.out[0].Role != llm.User:
		h.out = slices.Insert(h.out, 0, llm.UserText(startText))
	}
	if n := len(h.out); r.EndUser && n > 0 && h.out[n-1].Role == llm.Assistant {
		h.out = append(h.out, llm.UserText(endText))
	}
	return system, h.out
}

type history struct {
	rules Rules
	open  map[string][]*pending      // by id: the calls of one message without a result so far
	calls map[*llm.Message][]pending // by message
	used  map[string]int             // by id: how many calls wanted it
	out   []*llm.Message
}

// pending is a call and its result.
type pending struct {
	by     *llm.Message
	call   *llm.ToolCall
	answer *llm.Message // nil if there is none; an internal one retracts the call
}

// appendTexts appends the texts of blocks, without opaque data.
func appendTexts(to, blocks []llm.Block) []llm.Block {
	for i := range blocks {
		if b := &blocks[i]; b.Type == llm.TextBlock && !blank(b.Text) {
			to = append(to, llm.Text(b.Text))
		}
	}
	return to
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// flatten returns the messages with calls and results in fields and messages instead of blocks.
func (h *history) flatten(msgs llm.Messages) []*llm.Message {
	out := make([]*llm.Message, 0, msgs.Len())
	for _, m := range msgs.All() {
		if m == nil {
			continue
		}
		if !slices.ContainsFunc(m.Content, func(b llm.Block) bool { return b.Type == llm.ToolUseBlock || b.Type == llm.ToolResultBlock }) {
			out = append(out, m)
			continue
		}
		own := *m
		own.Content = nil
		own.ToolCalls = slices.Clone(m.ToolCalls)
		for _, b := range m.Content {
			switch {
			case b.Type == llm.ToolUseBlock && b.Tool != nil:
				if m.Role == llm.Assistant && !slices.ContainsFunc(m.ToolCalls, func(c llm.ToolCall) bool { return c.ID == b.Tool.ID }) {
					own.ToolCalls = append(own.ToolCalls, llm.ToolCall{ID: b.Tool.ID, Name: b.Tool.Name, Arguments: b.Tool.Input, Opaque: b.Opaque})
				}
			case b.Type == llm.ToolResultBlock && b.Tool != nil:
				if m.Role == llm.ToolRole && (b.Tool.ID == m.ToolCallID || b.Tool.ID == "") {
					own.Content = append(own.Content, b.Tool.Content...)
				} else if m.Role != llm.Assistant {
					out = append(out, &llm.Message{Role: llm.ToolRole, ToolCallID: b.Tool.ID, Content: b.Tool.Content})
				}
			case b.Type != llm.ToolUseBlock && b.Type != llm.ToolResultBlock:
				own.Content = append(own.Content, b)
			}
		}
		out = append(out, &own)
	}
	return out
}

// pair finds the result of each call: the first one after it with its id.
func (h *history) pair(list []*llm.Message) {
	h.calls = make(map[*llm.Message][]pending)
	for _, m := range list {
		switch m.Role {
		case llm.Assistant:
			if len(m.ToolCalls) == 0 || h.calls[m] != nil {
				continue
			}
			calls := make([]pending, len(m.ToolCalls))
			for i := range m.ToolCalls {
				id := m.ToolCalls[i].ID
				calls[i].by, calls[i].call = m, &m.ToolCalls[i]
				if o := h.open[id]; len(o) > 0 && o[0].by != m {
					h.open[id] = nil // its result can no longer come
				}
				h.open[id] = append(h.open[id], &calls[i])
			}
			h.calls[m] = calls
		case llm.ToolRole:
			if o := h.open[m.ToolCallID]; len(o) > 0 {
				h.open[m.ToolCallID] = o[1:]
				o[0].answer = m
			}
		}
	}
}

// add adds the next message of the conversation.
func (h *history) add(m *llm.Message) {
	switch m.Role {
	case llm.System:
		out := &llm.Message{Role: llm.System, Content: appendTexts(nil, m.Content)}
		switch {
		case len(out.Content) == 0:
		case h.rules.LateSystem:
			h.push(out)
		default:
			h.push(llm.UserText("<system>\n" + out.Text() + "\n</system>"))
		}
	case llm.User:
		if blocks := h.content(m, nil); len(blocks) > 0 {
			h.push(h.with(m, blocks, nil))
		}
	case llm.Assistant:
		h.assistant(m)
	}
}

// assistant adds an assistant message and the results of its calls.
func (h *history) assistant(m *llm.Message) {
	var calls []llm.ToolCall
	var answers []*llm.Message
	for i := range h.calls[m] {
		p := &h.calls[m][i]
		if p.answer != nil && p.answer.IsInternal() {
			continue
		}
		c := *p.call
		c.ID, c.Arguments, c.Opaque = h.id(c.ID), object(c.Arguments), h.own(c.Opaque)
		calls = append(calls, c)
		if p.answer == nil {
			answers = append(answers, &llm.Message{Role: llm.ToolRole, ToolCallID: c.ID, Content: []llm.Block{llm.Text(noAnswer)}})
			continue
		}
		a := *p.answer
		a.ToolCallID = c.ID
		answers = append(answers, &a)
	}
	delete(h.calls, m) // a repeated message has its calls only once
	blocks := h.content(m, nil)
	if len(calls) == 0 {
		for len(blocks) > 0 && blocks[len(blocks)-1].Type == llm.ThinkingBlock {
			blocks = blocks[:len(blocks)-1]
		}
		if len(blocks) == 0 {
			return
		}
	}
	h.push(h.with(m, blocks, calls))
	var media []llm.Block
	for _, a := range answers {
		h.out = append(h.out, h.with(a, h.content(a, &media), nil))
	}
	if len(media) > 0 {
		h.push(&llm.Message{Role: llm.User, Content: media})
	}
}

// with returns a message like m with other content and calls, and only fields that models see.
func (h *history) with(m *llm.Message, blocks []llm.Block, calls []llm.ToolCall) *llm.Message {
	return &llm.Message{Role: m.Role, Content: blocks, ToolCalls: calls, ToolCallID: m.ToolCallID, Opaque: h.own(m.Opaque)}
}

// push adds a message, or merges it into the one before.
func (h *history) push(m *llm.Message) {
	if n := len(h.out); h.rules.Alternate && n > 0 {
		last := h.out[n-1]
		if last.Role == m.Role && len(last.ToolCalls) == 0 && m.Role != llm.ToolRole {
			joined := *last
			joined.Content = slices.Concat(last.Content, m.Content)
			joined.ToolCalls, joined.Opaque = m.ToolCalls, nil
			h.out[n-1] = &joined
			return
		}
	}
	h.out = append(h.out, m)
}

// content returns the blocks of m that can be sent. Media that a tool result cannot contain is
// appended to media.
func (h *history) content(m *llm.Message, media *[]llm.Block) []llm.Block {
	blocks := m.Content
	if h.fine(m) {
		return blocks
	}
	out := make([]llm.Block, 0, len(blocks))
	for i := range blocks {
		b := blocks[i]
		own := h.own(b.Opaque)
		switch b.Type {
		case llm.TextBlock:
			if blank(b.Text) {
				continue
			}
		case llm.ThinkingBlock:
			bare := h.rules.BareThinking && !blank(b.Text) && b.Opaque == own
			if m.Role != llm.Assistant || own == nil && !bare {
				continue
			}
		case llm.ImageBlock, llm.AudioBlock, llm.VideoBlock, llm.DocumentBlock:
			switch {
			case b.Source == nil:
				continue
			case b.Source.Type == "blob": // the runtime could not read it
				b = llm.Text(describe(&b))
			case h.takes(&b, m.Role):
			case media != nil && h.takes(&b, llm.User):
				*media = append(*media, llm.Text(fmt.Sprintf("The %s that call %s returned:", b.Type, m.ToolCallID)), llm.Block{Type: b.Type, Source: b.Source, Title: b.Title})
				b = llm.Text(fmt.Sprintf("(The %s is in the next message.)", b.Type))
			default:
				b = llm.Text(describe(&b))
			}
		default:
			continue
		}
		b.Opaque = own
		out = append(out, b)
	}
	return out
}

// fine reports whether the content can be sent unchanged, as that of most messages can.
func (h *history) fine(m *llm.Message) bool {
	for i := range m.Content {
		if b := &m.Content[i]; b.Type != llm.TextBlock || b.Opaque != nil || blank(b.Text) {
			return false
		}
	}
	return true
}

func (h *history) takes(b *llm.Block, role llm.Role) bool {
	return h.rules.Media != nil && h.rules.Media(b, role)
}

// describe returns the text that replaces media that cannot be sent.
func describe(b *llm.Block) string {
	name := cmp.Or(b.Title, b.Source.URL, b.Source.MediaType)
	return fmt.Sprintf("(There is a %s here that this model cannot be shown: %s)", b.Type, name)
}

func (h *history) own(o *llm.Opaque) *llm.Opaque {
	if o == nil || o.Provider != h.rules.Provider {
		return nil
	}
	return o
}

// id returns the unique id to send for a call.
func (h *history) id(id string) string {
	safe := h.rules.CallID
	if safe == nil {
		safe = func(s string) string { return s }
	}
	if id == "" {
		id = "call"
	}
	out := safe(id)
	for first := out; h.used[out] > 0; {
		h.used[first]++
		out = safe(fmt.Sprintf("%s_%d", id, h.used[first]))
	}
	h.used[out] = 1
	return out
}

// object returns arguments as a JSON object.
func object(args json.RawMessage) json.RawMessage {
	trimmed := bytes.TrimSpace(args)
	switch {
	case len(trimmed) == 0, !json.Valid(trimmed), string(trimmed) == "null":
		return json.RawMessage("{}")
	case trimmed[0] != '{':
		return json.RawMessage(`{"value":` + string(trimmed) + `}`)
	}
	return trimmed
}
