// Package guard looks at what passes the borders of a run: messages that come in,
// answers that go out, results of tools. A guard lets a text pass, rewrites it, blocks
// it, or puts it to a person.
//
// The plugin "guardrails" has two guards that are configured, not programmed: one that
// takes secrets out, and rules about size and wording.
//
//	cfg.Plugins = append(cfg.Plugins, guard.Rails())
//
//	"guardrails": {
//	  "secrets": {"on": ["input", "output", "tool_result"]},
//	  "rules": [
//	    {"on": ["input"], "max_bytes": 20000, "action": "block", "reason": "too long"},
//	    {"on": ["tool_result"], "pattern": "(?i)ignore (all )?previous instructions", "action": "suspend"}
//	  ]
//	}
//
// A guard of your own is a type with one method:
//
//	type calm struct{}
//
//	func (calm) Check(_ context.Context, t guard.Text) (guard.Verdict, error) {
//		return guard.Rewrite(strings.ReplaceAll(t.Text, "!", ".")), nil
//	}
//
//	cfg.Plugins = append(cfg.Plugins, guard.New("calm", calm{}, awaken.OutputBorder))
//
// Guards of one border are asked in the order of the agent's plugin_ids, each with what
// the one before has left. An agent with a guard on its output does not stream: an answer
// is shown when all of it has passed. A blocked text is dropped, and the run ends as
// blocked.
//
// A text that is put to a person makes the run wait. Approved, it passes; the text of a
// message can be edited ([awaken.Decision].Arguments, {"text": …}). Rejected, a message is
// blocked, and of a result the model is told that it was withheld.
package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Guard checks texts. Implementations are safe for concurrent use and keep nothing of
// what they saw: the same text may be checked again.
type Guard interface {
	Check(ctx context.Context, t Text) (Verdict, error)
}

// Text is a text that passes a border.
type Text struct {
	Border awaken.Border
	Tool   string // whose result it is
	Text   string
}

// Verdict is what a guard thinks of a text. The zero Verdict lets it pass.
type Verdict struct {
	kind kind
	text string // instead, or why
}

type kind uint8

const (
	pass kind = iota
	rewrite
	block
	suspend
)

// Pass lets the text pass.
func Pass() Verdict { return Verdict{} }

// Rewrite lets another text pass in its place.
func Rewrite(text string) Verdict { return Verdict{rewrite, text} }

// Block drops the text and ends the run.
func Block(reason string) Verdict { return Verdict{block, reason} }

// Suspend puts what was to pass to a person, for whom the run waits.
func Suspend(reason string) Verdict { return Verdict{suspend, reason} }

// New returns a plugin of the given name that lets g check what passes these borders.
func New(name string, g Guard, borders ...awaken.Border) awaken.Plugin {
	return plugin{name, g, borders}
}

type plugin struct {
	name    string
	guard   Guard
	borders []awaken.Border
}

func (p plugin) Name() string { return p.name }

func (p plugin) Register(r *awaken.Registrar) error {
	for _, b := range p.borders {
		r.Guard(b, func(ctx context.Context, h *awaken.HookCall, passage *awaken.Passage) (awaken.Verdict, error) {
			c := checker{ctx: ctx, guard: p.guard, name: p.name, text: Text{Border: b}}
			if b == awaken.ResultBorder {
				c.text.Tool = h.Tool.Tool
				return c.result(h, passage)
			}
			if m := passage.Message; m.Role == llm.User || m.Role == llm.Assistant {
				passage.Message = c.message(m)
			}
			return c.verdict(map[awaken.Border]string{awaken.InputBorder: "May the agent see this message?", awaken.OutputBorder: "May this answer be shown?"}[b],
				passage.Message.ID, map[string]string{})
		})
	}
	return nil
}

// checker puts the texts of one passage to a guard.
type checker struct {
	ctx   context.Context
	guard Guard
	name  string
	text  Text

	last Verdict // the first that was to suspend, or one to block
	err  error
	seen string // the text that it was about
}

// check returns what becomes of a text.
func (c *checker) check(text string) string {
	if text == "" || c.err != nil || c.last.kind == block {
		return text
	}
	c.text.Text = text
	v, err := c.guard.Check(c.ctx, c.text)
	switch {
	case err != nil:
		c.err = fmt.Errorf("guard %q: %w", c.name, err)
	case v.kind == rewrite:
		return v.text
	case v.kind == block, v.kind == suspend && c.last.kind == pass:
		c.last, c.seen = v, text
	}
	return text
}

// message returns the message with what became of its texts. Calls of tools are left as
// they are: their arguments belong to the tool's own rules.
func (c *checker) message(m *llm.Message) *llm.Message {
	content, changed := c.blocks(m.Content)
	next := *m
	next.Content = content
	for i, call := range m.ToolCalls { // what is said by this tool is the answer
		if call.Name != awaken.FinalOutputTool {
			continue
		}
		if args, other := c.data(call.Arguments); other {
			next.ToolCalls = slices.Clone(next.ToolCalls)
			next.ToolCalls[i].Arguments, changed = args, true
		}
	}
	if !changed {
		return m
	}
	return &next
}

// blocks returns what became of the texts of blocks, and whether that is something else.
func (c *checker) blocks(blocks []llm.Block) (next []llm.Block, changed bool) {
	next = blocks
	for i, b := range blocks {
		if b.Type != llm.TextBlock && b.Type != llm.ThinkingBlock {
			continue
		}
		text := c.check(b.Text)
		if text == b.Text {
			continue
		}
		if !changed {
			next, changed = slices.Clone(blocks), true
		}
		next[i].Text = text
		if b.Type == llm.ThinkingBlock {
			next[i].Opaque = nil // it vouches for another text
		}
	}
	return next, changed
}

// result checks the texts of a tool's result: its message, the strings in its data, its
// blocks of text.
func (c *checker) result(h *awaken.HookCall, p *awaken.Passage) (awaken.Verdict, error) {
	res := *p.Result
	res.Message = c.check(res.Message)
	res.Data, _ = c.data(res.Data)
	res.Content, _ = c.blocks(res.Content)
	p.Result = &res
	return c.verdict(fmt.Sprintf("May the agent see this result of '%s'?", h.Tool.Tool), h.Tool.ID, map[string]string{"tool_name": h.Tool.Tool})
}

// data checks the strings inside a JSON value.
func (c *checker) data(raw json.RawMessage) (json.RawMessage, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if !bytes.Contains(raw, []byte(`"`)) || dec.Decode(&v) != nil {
		return raw, false
	}
	changed := false
	v = c.walk(v, &changed)
	if !changed {
		return raw, false
	}
	data, err := json.Marshal(v)
	if err != nil {
		c.err = err
		return raw, false
	}
	return data, true
}

func (c *checker) walk(v any, changed *bool) any {
	switch v := v.(type) {
	case string:
		text := c.check(v)
		*changed = *changed || text != v
		return text
	case []any:
		for i := range v {
			v[i] = c.walk(v[i], changed)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			v[k] = c.walk(v[k], changed)
		}
	}
	return v
}

// verdict is the guard's for the whole passage. A person is asked the question about what
// has that id, and shown what is in shown.
func (c *checker) verdict(question, id string, shown map[string]string) (awaken.Verdict, error) {
	switch {
	case c.err != nil:
		return awaken.Verdict{}, c.err
	case c.last.kind == block:
		return awaken.Block(c.last.text), nil
	case c.last.kind == suspend:
		shown["guard"], shown["text"] = c.name, c.seen
		parameters, err := json.Marshal(shown)
		return awaken.SuspendCall(awaken.Ticket{Suspension: awaken.Suspension{ID: "guard_" + c.name + "_" + id, Action: "guard:" + c.name,
			Message: question + " " + c.last.text, Parameters: parameters}}), err
	}
	return awaken.Allow(), nil
}
