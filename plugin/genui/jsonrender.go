package genui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

// FormatJSONRender is the format of the surfaces that render_json_ui draws.
const FormatJSONRender = "json-render"

// JSONRender is a user interface of JSON Render.
type JSONRender struct {
	Spec    json.RawMessage // {"root", "elements", "state"?}
	Count   int             // of elements
	actions map[string][]string
}

// ParseJSONRender decodes and validates a user interface of JSON Render: a flat spec {"root", "elements"}, or
// a tree of elements whose children are elements, which is made flat. An error joins a *[Problem] for each
// mistake, whose positions are JSON pointers into the spec.
func ParseJSONRender(spec []byte, limits Limits) (*JSONRender, error) {
	var doc any
	if err := decodeLimited(spec, limits, &doc); err != nil {
		return nil, err
	}
	root, ok := doc.(map[string]any)
	if !ok {
		return nil, &Problem{"/", show(doc), `an object with root and elements, or an element with a type`}
	}
	if _, flat := root["elements"]; !flat && root["type"] != nil {
		root = flatten(root)
	}
	return checkSpec(root, limits)
}

// decodeLimited decodes JSON that is not too large and not nested too deep.
func decodeLimited(data []byte, limits Limits, doc *any) error {
	if len(data) > limits.Bytes {
		return &Problem{"/", fmt.Sprintf("has %d bytes", len(data)), fmt.Sprintf("at most %d", limits.Bytes)}
	}
	if err := json.Unmarshal(data, doc); err != nil {
		return &Problem{"/", "is no JSON: " + err.Error(), "an object"}
	}
	if deeper(*doc, jsonDepth) {
		return &Problem{"/", fmt.Sprintf("is nested more than %d levels deep", jsonDepth), "less"}
	}
	return nil
}

// flatten makes a flat spec of a tree of elements.
func flatten(root map[string]any) map[string]any {
	elements, n := map[string]any{}, 0
	var add func(e map[string]any, key string) string
	add = func(e map[string]any, key string) string {
		e = maps.Clone(e)
		delete(e, "state")
		elements[key] = e
		children, ok := e["children"].([]any)
		if !ok {
			return key
		}
		keys := make([]any, 0, len(children))
		for _, c := range children {
			child, ok := c.(map[string]any)
			if !ok {
				keys = append(keys, c) // reported by checkSpec, unless it is a key
				continue
			}
			n++
			keys = append(keys, add(child, fmt.Sprintf("e%d", n)))
		}
		e["children"] = keys
		return key
	}
	out := map[string]any{"root": add(root, "root"), "elements": elements}
	if state, ok := root["state"]; ok {
		out["state"] = state
	}
	return out
}

// checkSpec validates a flat spec.
func checkSpec(spec map[string]any, limits Limits) (*JSONRender, error) {
	var p problems
	p.only("", spec, "root", "elements", "state")
	root := p.text("", spec, "root", true)
	elements := p.object("", spec, "elements", true)
	p.object("", spec, "state", false)
	if len(elements) > limits.Components {
		p.add("/elements", fmt.Sprintf("at most %d elements", limits.Components), "has %d", len(elements))
	}
	if elements != nil && root != "" && elements[root] == nil {
		p.add("/root", "one of the elements: "+list(slices.Collect(maps.Keys(elements))), "is %q, which is no element", root)
	}
	made := &JSONRender{Count: len(elements), actions: map[string][]string{}}
	t := tree{children: map[string][]string{}, depths: map[string]int{}}
	for _, key := range slices.Sorted(maps.Keys(elements)) {
		at := below("/elements", key)
		e, ok := elements[key].(map[string]any)
		if !ok {
			p.add(at, "an element with type and props", "%s", show(elements[key]))
			continue
		}
		t.children[key] = p.element(at, e, elements)
		if names := p.bindings(below(at, "on"), e["on"]); len(names) > 0 {
			made.actions[key] = names
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.children)) {
		if depth := t.depth(key); depth < 0 {
			p.add(below("/elements", key), "elements that do not contain themselves", "element %q contains itself", key)
			break
		} else if depth > limits.Depth {
			p.add(below("/elements", key), fmt.Sprintf("at most %d levels", limits.Depth), "element %q has %d levels of elements", key, depth)
			break
		}
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	var err error
	made.Spec, err = json.Marshal(spec)
	return made, err
}

// element checks an element, gives it props and children if it has none, as renderers want, and returns the
// keys of its children.
func (p *problems) element(at string, e, elements map[string]any) (children []string) {
	p.only(at, e, "type", "props", "children", "slots", "visible", "on", "repeat", "watch")
	p.text(at, e, "type", true)
	p.object(at, e, "props", false)
	if e["props"] == nil {
		e["props"] = map[string]any{}
	}
	lists := map[string]any{below(at, "children"): e["children"]}
	if e["children"] == nil {
		e["children"] = []any{}
		lists = map[string]any{}
	}
	for name, v := range p.object(at, e, "slots", false) {
		lists[below(below(at, "slots"), name)] = v
	}
	for _, at := range slices.Sorted(maps.Keys(lists)) {
		keys, ok := lists[at].([]any)
		if !ok {
			p.add(at, "an array of keys of elements", "%s", show(lists[at]))
		}
		for i, k := range keys {
			key, ok := k.(string)
			switch {
			case !ok:
				p.add(below(at, i), "the key of an element", "%s", show(k))
			case elements[key] == nil:
				p.add(below(at, i), "the key of an element", "is %q, which is no element", key)
			default:
				children = append(children, key)
			}
		}
	}
	return children
}

// bindings checks what an element does on its events, and returns the names of the actions.
func (p *problems) bindings(at string, v any) (names []string) {
	if v == nil {
		return nil
	}
	events, ok := v.(map[string]any)
	if !ok {
		p.add(at, "an object with actions by event", "%s", show(v))
	}
	for _, event := range slices.Sorted(maps.Keys(events)) {
		all, ok := events[event].([]any)
		if !ok {
			all = []any{events[event]}
		}
		for i, b := range all {
			at := below(at, event)
			if ok {
				at = below(at, i)
			}
			binding, isObject := b.(map[string]any)
			if !isObject {
				p.add(at, `an object such as {"action": "submit", "params": {}}`, "%s", show(b))
				continue
			}
			if name := p.text(at, binding, "action", true); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
			p.object(at, binding, "params", false)
		}
	}
	return names
}

// Compiler builds a user interface of JSON Render from lines of JSON Patch operations, as they arrive.
// Parents that do not exist are made, as JSON Render does.
type Compiler struct {
	doc    map[string]any
	limits Limits
	lines  int
	bytes  int
	bad    problems
}

// NewCompiler returns a compiler of an empty user interface.
func NewCompiler(limits Limits) *Compiler {
	return &Compiler{doc: map[string]any{"root": "", "elements": map[string]any{}}, limits: limits}
}

// Line applies one line, and returns operations that bring {"root": "", "elements": {}} with the
// operations of earlier lines to the same document, by strict JSON Patch. Lines that are no operations, such
// as words and fences, change nothing.
func (c *Compiler) Line(line string) []awaken.PatchOp {
	c.lines++
	c.bytes += len(line) + 1
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "{") || c.bytes > c.limits.Bytes {
		return nil
	}
	at := fmt.Sprintf("%d:1", c.lines)
	var op awaken.PatchOp
	if err := json.Unmarshal([]byte(line), &op); err != nil {
		c.bad.add(at, `an operation such as {"op": "add", "path": "/root", "value": "card"}`, "is no JSON: %v", err)
		return nil
	}
	if err := c.apply(&op); err != nil {
		c.bad.list = append(c.bad.list, &Problem{at, err.Error(), "an operation that applies to what the lines before it made"})
		return nil
	}
	return c.shown(&op)
}

// Finish returns the user interface.
func (c *Compiler) Finish() (*JSONRender, error) {
	if c.bytes > c.limits.Bytes {
		return nil, &Problem{"1:1", fmt.Sprintf("has %d bytes", c.bytes), fmt.Sprintf("at most %d", c.limits.Bytes)}
	}
	if err := c.bad.err(); err != nil {
		return nil, err
	}
	if deeper(c.doc, jsonDepth) {
		return nil, &Problem{"1:1", fmt.Sprintf("makes a document of more than %d levels", jsonDepth), "less"}
	}
	return checkSpec(c.doc, c.limits)
}

// CompileJSONRender makes a user interface of a text: lines of operations, or a spec.
func CompileJSONRender(text string, limits Limits) (*JSONRender, error) {
	trimmed := strings.TrimSpace(unfence(text))
	var whole map[string]json.RawMessage
	if json.Unmarshal([]byte(trimmed), &whole) == nil && whole["op"] == nil {
		return ParseJSONRender([]byte(trimmed), limits)
	}
	c := NewCompiler(limits)
	for line := range strings.Lines(text) {
		c.Line(line)
	}
	return c.Finish()
}

// unfence returns what is between the fences of a text in Markdown, or the text.
func unfence(text string) string {
	_, rest, ok := strings.Cut(text, "```")
	if !ok {
		return text
	}
	_, rest, _ = strings.Cut(rest, "\n")
	inner, _, _ := strings.Cut(rest, "```")
	return inner
}

// shown returns the strict operations that repeat what op has changed: whole elements, the root, the state.
func (c *Compiler) shown(op *awaken.PatchOp) (out []awaken.PatchOp) {
	seen := map[string]bool{}
	for _, path := range []string{op.Path, op.From} {
		tokens := pointer(path)
		if op.Op == "test" || len(tokens) == 0 || path == "" {
			continue
		}
		parent, holder := "", c.doc
		if tokens[0] == "elements" && len(tokens) > 1 {
			parent = "/elements"
			holder, _ = c.doc["elements"].(map[string]any)
			tokens = tokens[1:]
		}
		at := below(parent, tokens[0])
		if seen[at] {
			continue
		}
		seen[at] = true
		v, ok := holder[tokens[0]]
		if !ok {
			if op.Op == "remove" || path == op.From {
				out = append(out, awaken.PatchOp{Op: "remove", Path: at})
			}
			continue
		}
		value, err := json.Marshal(v)
		if err != nil {
			continue
		}
		out = append(out, awaken.PatchOp{Op: "add", Path: at, Value: value})
	}
	return out
}

// pointer returns the tokens of a JSON pointer.
func pointer(path string) []string {
	if path == "" {
		return nil
	}
	tokens := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens
}

// valueOf decodes the value of an operation.
func valueOf(op *awaken.PatchOp) (v any, err error) {
	if len(bytes.TrimSpace(op.Value)) == 0 {
		return nil, fmt.Errorf("%s of %s has no value", op.Op, op.Path)
	}
	err = json.Unmarshal(op.Value, &v)
	if err == nil && deeper(v, jsonDepth) {
		err = fmt.Errorf("value is nested more than %d levels deep", jsonDepth)
	}
	return v, err
}
