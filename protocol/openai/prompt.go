package openai

import (
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// prompt is what a client says in a request.
type prompt struct {
	messages []*llm.Message // the whole conversation
	answers  []answer       // those that follow the assistant's last message
	since    int            // index of the first message after the assistant's last one
}

// asked adds a message of the user or the client.
func (p *prompt) asked(m *llm.Message) { p.messages = append(p.messages, m) }

// said adds a message of the assistant.
func (p *prompt) said(m *llm.Message) {
	if len(m.Content) > 0 || len(m.ToolCalls) > 0 {
		p.messages = append(p.messages, m)
	}
	p.answers, p.since = nil, len(p.messages)
}

// called adds a call to the assistant's last message, or to a new one.
func (p *prompt) called(c llm.ToolCall) {
	if n := len(p.messages); n > 0 && p.since == n && p.messages[n-1].Role == llm.Assistant {
		p.messages[n-1].ToolCalls = append(p.messages[n-1].ToolCalls, c)
		return
	}
	p.said(&llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{c}})
}

// answer adds an answer to a call.
func (p *prompt) answer(a answer) {
	p.answers = append(p.answers, a)
	p.messages = append(p.messages, &llm.Message{Role: llm.ToolRole, ToolCallID: a.id, Content: []llm.Block{llm.Text(a.text)}})
}

// agree adds an answer to an approval request, which is no part of the conversation.
func (p *prompt) agree(a answer) { p.answers = append(p.answers, a) }

// history returns the conversation as input for a new run. Only a run itself makes calls, so those that
// were made elsewhere are told: what was called, and what it returned.
func (p *prompt) history() (out []*llm.Message) {
	results := map[string]string{}
	for _, m := range p.messages {
		if m.Role == llm.ToolRole {
			results[m.ToolCallID] = m.Text()
		}
	}
	for _, m := range p.messages {
		switch {
		case m.Role == llm.ToolRole:
			continue
		case len(m.ToolCalls) > 0:
			told := &llm.Message{Role: m.Role, Content: m.Content}
			for _, c := range m.ToolCalls {
				var b strings.Builder
				b.WriteString("(I called " + c.Name + " with " + textOfJSON(c.Arguments))
				if result, ok := results[c.ID]; ok {
					b.WriteString(", which returned: " + result)
				}
				told.Content = append(told.Content[:len(told.Content):len(told.Content)], llm.Text(b.String()+")"))
			}
			m = told
		}
		out = append(out, m)
	}
	return out
}

// beside returns what the user says along with the answers.
func (p *prompt) beside() (out []*llm.Message) {
	for _, m := range p.messages[p.since:] {
		if m.Role != llm.ToolRole {
			out = append(out, m)
		}
	}
	return out
}
