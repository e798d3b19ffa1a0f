package llmtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// Expect lists what a turn expects of its request. A zero field expects nothing. If an
// expectation is not met, the stream yields an *llm.Error of kind InvalidRequest that names
// the field, the expectation and what was found.
//
// A message's text is its text blocks and those inside its tool results. Internal messages of
// role user are not written by users: the last user message is one of them only if there are
// no others.
type Expect struct {
	Model    string `json:"model,omitempty"`
	System   string `json:"system,omitempty"`    // in the system prompt
	LastUser string `json:"last_user,omitempty"` // in the last user message
	Last     string `json:"last,omitempty"`      // in the last message
	Messages int    `json:"messages,omitempty"`  // their number

	Contains    []string `json:"contains,omitempty"`     // each in some message
	NotContains []string `json:"not_contains,omitempty"` // in no message

	Tools   []string `json:"tools,omitempty"`    // all of these are offered, possibly among others
	NoTools []string `json:"no_tools,omitempty"` // none of these is offered

	MaxTokens   int      `json:"max_tokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
}

// check returns an error for the first expectation that req does not meet.
func (e *Expect) check(req *llm.Request) error {
	if e == nil {
		return nil
	}
	if e.Model != "" && req.Model != e.Model {
		return unmet("model", e.Model, req.Model)
	}
	if sys := systemText(req); !strings.Contains(sys, e.System) {
		return unmet("system", e.System, sys)
	}
	if _, m := lastUser(req); !strings.Contains(text(m), e.LastUser) {
		return unmet("last_user", e.LastUser, text(m))
	}
	if m := req.Messages.Last(); !strings.Contains(text(m), e.Last) {
		return unmet("last", e.Last, text(m))
	}
	if n := req.Messages.Len(); e.Messages != 0 && n != e.Messages {
		return invalid("expect messages: want %d, found %d", e.Messages, n)
	}
	if err := e.checkTexts(req); err != nil {
		return err
	}
	tools := toolNames(req)
	for _, name := range e.Tools {
		if !slices.Contains(tools, name) {
			return invalid("expect tools: want %q, found %q", name, tools)
		}
	}
	for _, name := range e.NoTools {
		if slices.Contains(tools, name) {
			return invalid("expect no_tools: want no %q, found %q", name, tools)
		}
	}
	if n := req.MaxTokens; e.MaxTokens != 0 && (n == nil || *n != e.MaxTokens) {
		return invalid("expect max_tokens: want %d, found %s", e.MaxTokens, show(n))
	}
	if f := req.Temperature; e.Temperature != nil && (f == nil || *f != *e.Temperature) {
		return invalid("expect temperature: want %v, found %s", *e.Temperature, show(f))
	}
	return nil
}

func (e *Expect) checkTexts(req *llm.Request) error {
	if len(e.Contains) == 0 && len(e.NotContains) == 0 {
		return nil
	}
	texts := make([]string, 0, req.Messages.Len())
	for _, m := range req.Messages.All() {
		texts = append(texts, text(m))
	}
	has := func(want string) int {
		return slices.IndexFunc(texts, func(s string) bool { return strings.Contains(s, want) })
	}
	for _, want := range e.Contains {
		if has(want) < 0 {
			return unmet("contains", want, strings.Join(texts, "\n"))
		}
	}
	for _, bad := range e.NotContains {
		if i := has(bad); i >= 0 {
			return invalid("expect not_contains: want no %q, found %q in message %d", bad, clip(texts[i]), i)
		}
	}
	return nil
}

func unmet(field, want, found string) *llm.Error {
	return invalid("expect %s: want %q, found %q", field, want, clip(found))
}

// clip shortens a text for an error message.
func clip(s string) string {
	const most = 1000
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func show[T any](v *T) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprint(*v)
}

// lastUser returns the last message of role user and its index, or -1 and nil.
// Internal messages, which hooks add, count only if there are no others.
func lastUser(req *llm.Request) (int, *llm.Message) {
	at, found := -1, (*llm.Message)(nil)
	for i, m := range req.Messages.Backward() {
		if m.Role != llm.User {
			continue
		}
		if !m.IsInternal() {
			return i, m
		}
		if found == nil {
			at, found = i, m
		}
	}
	return at, found
}

// text returns the text of m, or "" if m is nil.
func text(m *llm.Message) string {
	if m == nil {
		return ""
	}
	if len(m.Content) == 1 && m.Content[0].Type == llm.TextBlock {
		return m.Content[0].Text
	}
	var sb strings.Builder
	writeText(&sb, m.Content)
	return sb.String()
}

func writeText(sb *strings.Builder, blocks []llm.Block) {
	for _, b := range blocks {
		switch {
		case b.Type == llm.TextBlock:
			sb.WriteString(b.Text)
		case b.Type == llm.ToolResultBlock && b.Tool != nil:
			writeText(sb, b.Tool.Content)
		}
	}
}

// systemText returns the system prompt: the system blocks and the system messages.
func systemText(req *llm.Request) string {
	var sb strings.Builder
	writeText(&sb, req.System)
	for _, m := range req.Messages.All() {
		if m.Role == llm.System {
			if sb.Len() > 0 {
				sb.WriteByte('\n')
			}
			sb.WriteString(text(m))
		}
	}
	return sb.String()
}

func toolNames(req *llm.Request) []string {
	names := make([]string, len(req.Tools))
	for i := range req.Tools {
		names[i] = req.Tools[i].Name
	}
	return names
}
