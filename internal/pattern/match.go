package pattern

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken/internal/toolname"
)

// Call is a tool call to match against patterns. It caches what several patterns need, so it
// is not safe for concurrent use.
type Call struct {
	tool toolname.Tool
	args json.RawMessage

	primary *string
	values  []string // for MatchAny
}

// NewCall returns the call of a tool with JSON arguments.
func NewCall(tool toolname.Tool, args json.RawMessage) *Call {
	return &Call{tool: tool, args: args}
}

// Match reports whether the pattern matches the call, as one of a rule that permits calls.
func (p *Pattern) Match(c *Call) bool {
	return p.Permits(c.tool) && (p.primary == nil || p.primary.match(c.primaryText())) && p.matchFields(c)
}

// MatchNames is like Match, except that the pattern may match any name of the tool. It is for
// rules that neither permit nor restrict calls.
func (p *Pattern) MatchNames(c *Call) bool {
	return p.Restricts(c.tool) && (p.primary == nil || p.primary.match(c.primaryText())) && p.matchFields(c)
}

// MatchAny is like Match, except that the pattern may match any name of the tool, and that each
// value of the arguments, at any depth, is taken as the primary argument as well. Rules that
// restrict calls use it: a call must not escape one by having more arguments.
func (p *Pattern) MatchAny(c *Call) bool {
	if !p.Restricts(c.tool) || !p.matchFields(c) {
		return false
	}
	return p.primary == nil || p.primary.match(c.primaryText()) || slices.ContainsFunc(c.allValues(), p.primary.match)
}

func (p *Pattern) matchFields(c *Call) bool {
	for i := range p.fields {
		if !p.fields[i].Match(c.args) {
			return false
		}
	}
	return true
}

// Permits reports whether the pattern, as one of a rule that permits calls, can match a call of
// the tool.
func (p *Pattern) Permits(t toolname.Tool) bool {
	if name := p.Tool(); name != "" {
		return t.Named(name)
	}
	return t.Permitted(p.tool.match)
}

// Restricts reports whether the pattern, as one of a rule that restricts calls, can match a call
// of the tool: it matches one of the tool's names.
func (p *Pattern) Restricts(t toolname.Tool) bool { return t.Restricted(p.tool.match) }

// Match reports whether a value at the condition's path satisfies it. A document that is not
// valid JSON has no values.
func (c *Condition) Match(doc json.RawMessage) bool {
	return each(doc, c.path, func(leaf json.RawMessage) bool { return c.match(Text(leaf)) })
}

// primaryText returns the value of the only argument, or the JSON of all arguments.
func (c *Call) primaryText() string {
	if c.primary == nil {
		var fields map[string]json.RawMessage
		text := ""
		if json.Unmarshal(c.args, &fields) == nil && len(fields) == 1 {
			for _, v := range fields {
				text = Text(v)
			}
		} else {
			text = compact(c.args)
		}
		c.primary = &text
	}
	return *c.primary
}

// allValues returns the texts of the arguments, and of all strings, numbers and booleans
// within them.
func (c *Call) allValues() []string {
	var fields map[string]json.RawMessage
	if c.values != nil || json.Unmarshal(c.args, &fields) != nil {
		return c.values
	}
	c.values = []string{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		v := fields[name]
		c.values = append(c.values, Text(v))
		dec := json.NewDecoder(bytes.NewReader(v))
		dec.UseNumber()
		var nested any
		if dec.Decode(&nested) == nil {
			c.addLeaves(nested)
		}
	}
	return c.values
}

// addLeaves adds the values within a list or an object to c.values.
func (c *Call) addLeaves(v any) {
	var within []any
	switch v := v.(type) {
	case []any:
		within = v
	case map[string]any:
		within = slices.Collect(maps.Values(v))
	}
	for _, v := range within {
		switch v := v.(type) {
		case string:
			c.values = append(c.values, v)
		case json.Number:
			c.values = append(c.values, v.String())
		case bool:
			c.values = append(c.values, strconv.FormatBool(v))
		default:
			c.addLeaves(v)
		}
	}
}

// Text returns a JSON value as patterns see it: a string without its quotes, "" for null, and
// compact JSON otherwise.
func Text(v json.RawMessage) string {
	v = bytes.TrimSpace(v)
	switch {
	case len(v) == 0 || bytes.Equal(v, []byte("null")):
		return ""
	case v[0] == '"':
		var s string
		if json.Unmarshal(v, &s) == nil {
			return s
		}
	case v[0] != '{' && v[0] != '[':
		return string(v)
	}
	return compact(v)
}

func compact(v json.RawMessage) string {
	var buf bytes.Buffer
	if json.Compact(&buf, v) != nil {
		return string(v)
	}
	return buf.String()
}

// each calls fn with the values at path until fn returns true. It decodes level by level, and
// only as deep as the path goes.
func each(v json.RawMessage, path []step, fn func(json.RawMessage) bool) bool {
	if len(path) == 0 {
		return fn(v)
	}
	return slices.ContainsFunc(path[0].values(v), func(next json.RawMessage) bool { return each(next, path[1:], fn) })
}

// values returns the values in v that the step leads to.
func (s step) values(v json.RawMessage) []json.RawMessage {
	if s.list {
		var list []json.RawMessage
		if json.Unmarshal(v, &list) != nil || !s.any && s.index >= len(list) {
			return nil
		}
		if s.any {
			return list
		}
		return list[s.index : s.index+1]
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(v, &fields) != nil {
		return nil
	}
	names := []string{s.name}
	if s.any {
		names = slices.Sorted(maps.Keys(fields))
	}
	var out []json.RawMessage
	for _, name := range names {
		if next, ok := fields[name]; ok {
			out = append(out, next)
		}
	}
	return out
}

// Part is one condition of a pattern, evaluated for a call.
type Part struct {
	Name  string   // tool, argument, or the path of a field
	Wants string   // operator and value, such as ~ "npm *"
	Found []string // the values of the call
	OK    bool
}

// Explain evaluates every part of the pattern for a call.
func (p *Pattern) Explain(c *Call) []Part {
	parts := []Part{{"tool", p.tool.describe(), []string{c.tool.ID}, p.Restricts(c.tool)}}
	if p.primary != nil {
		text := c.primaryText()
		parts = append(parts, Part{"argument", p.primary.describe(), []string{text}, p.primary.match(text)})
	}
	for i := range p.fields {
		f := &p.fields[i]
		part := Part{Name: f.text, Wants: f.describe(), OK: f.Match(c.args)}
		each(c.args, f.path, func(leaf json.RawMessage) bool {
			part.Found = append(part.Found, Text(leaf))
			return false
		})
		parts = append(parts, part)
	}
	return parts
}

func (m *matcher) describe() string {
	return m.operator + " " + Quote(m.want)
}

// Quote quotes a value for use in a pattern.
func Quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
