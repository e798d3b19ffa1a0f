// Package guard inspects the texts that enter and leave a run: input messages, answers and
// tool results. A guard lets a text pass, rewrites it, blocks it, or suspends the run until a
// person decides.
//
// The plugin "guardrails" has two guards that need no code: one that removes secrets, and
// rules about size and wording.
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
// A custom guard is a type with one method:
//
//	type calm struct{}
//
//	func (calm) Check(_ context.Context, t guard.Text) (guard.Verdict, error) {
//		return guard.Rewrite(strings.ReplaceAll(t.Text, "!", ".")), nil
//	}
//
//	cfg.Plugins = append(cfg.Plugins, guard.New("calm", calm{}, awaken.OutputPoint))
//
// Guards run in the order of the agent's plugin_ids; each receives the text that the previous
// one returned. An agent with a guard on its output does not stream: an answer is shown once
// all of it has passed. A blocked text is dropped, and the run ends as blocked.
//
// A suspended text parks the run. If a person approves it, it passes; the text of a message
// can be edited ([awaken.Decision].Arguments, {"text": …}). If it is rejected, a message is
// blocked, and the model is told that a result was withheld.
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

// Guard checks texts. Implementations must be safe for concurrent use and stateless, because
// the same text may be checked again.
type Guard interface {
	Check(ctx context.Context, t Text) (Verdict, error)
}

// Text is a text to check.
type Text struct {
	Point awaken.GuardPoint
	Tool  string // the tool, for results
	Text  string
}

// Verdict is the decision of a guard. The zero Verdict lets the text pass.
type Verdict struct {
	kind kind
	text string // the replacement, or the reason
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

// Rewrite replaces the text.
func Rewrite(text string) Verdict { return Verdict{rewrite, text} }

// Block drops the text and ends the run as blocked.
func Block(reason string) Verdict { return Verdict{block, reason} }

// Suspend parks the run until a person decides about the text.
func Suspend(reason string) Verdict { return Verdict{suspend, reason} }

// New returns a plugin of the given name that runs g at these points.
func New(name string, g Guard, borders ...awaken.GuardPoint) awaken.Plugin {
	return plugin{name, g, borders}
}

type plugin struct {
	name    string
	guard   Guard
	borders []awaken.GuardPoint
}

func (p plugin) Name() string { return p.name }

func (p plugin) Register(r *awaken.Registrar) error {
	for _, b := range p.borders {
		r.Guard(b, func(ctx context.Context, h *awaken.HookCall, passage *awaken.Passage) (awaken.Verdict, error) {
			c := checker{ctx: ctx, guard: p.guard, name: p.name, text: Text{Point: b}}
			if b == awaken.ResultPoint {
				c.text.Tool = h.Tool.Tool
				return c.result(h, passage)
			}
			if m := passage.Message; m.Role == llm.User || m.Role == llm.Assistant {
				passage.Message = c.message(m)
			}
			return c.verdict(map[awaken.GuardPoint]string{awaken.InputPoint: "May the agent see this message?", awaken.OutputPoint: "May this answer be shown?"}[b],
				passage.Message.ID, map[string]string{})
		})
	}
	return nil
}

// checker runs a guard on the texts of one passage.
type checker struct {
	ctx   context.Context
	guard Guard
	name  string
	text  Text

	last Verdict // a block, or else the first suspend
	err  error
	seen string // the text that last is about
}

// check returns the text, rewritten if the guard says so.
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

// message returns the message with its texts checked. Tool calls are left alone, except for
// the final output: permissions cover their arguments.
func (c *checker) message(m *llm.Message) *llm.Message {
	content, changed := c.blocks(m.Content)
	next := *m
	next.Content = content
	for i, call := range m.ToolCalls { // its arguments are the answer
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

// blocks returns the blocks with their texts checked, and whether any changed.
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
			next[i].Opaque = nil // the signature is for the original text
		}
	}
	return next, changed
}

// result checks the texts of a tool result: its message, the strings in its data, and its text
// blocks.
func (c *checker) result(h *awaken.HookCall, p *awaken.Passage) (awaken.Verdict, error) {
	res := *p.Result
	res.Message = c.check(res.Message)
	res.Data, _ = c.data(res.Data)
	res.Content, _ = c.blocks(res.Content)
	p.Result = &res
	return c.verdict(fmt.Sprintf("May the agent see this result of '%s'?", h.Tool.Tool), h.Tool.ID, map[string]string{"tool_name": h.Tool.Tool})
}

// data checks the strings in a JSON value, and reports whether any changed.
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

// verdict returns the verdict on the whole passage. A suspension asks question about the
// message or call with that id, and shows the person the given parameters.
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
