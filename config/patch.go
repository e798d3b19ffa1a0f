package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
)

// AgentPatch is what can be put over an agent. A field that is left out is the agent's.
// Null clears a field that the agent can be without (description, context_policy,
// reasoning_effort, endpoint and the four of the catalogue).
type AgentPatch struct {
	Description            *string                `json:"description,omitempty"`
	ModelID                *string                `json:"model_id,omitempty"`
	SystemPrompt           *string                `json:"system_prompt,omitempty"`
	MaxRounds              *int                   `json:"max_rounds,omitempty"`
	MaxContinuationRetries *int                   `json:"max_continuation_retries,omitempty"`
	StopConditions         []awaken.StopCondition `json:"stop_conditions,omitempty"`
	ContextPolicy          *awaken.ContextPolicy  `json:"context_policy,omitempty"`
	ReasoningEffort        *llm.Effort            `json:"reasoning_effort,omitempty"`
	PluginIDs              []string               `json:"plugin_ids,omitempty"`
	ActiveHookFilter       []string               `json:"active_hook_filter,omitempty"`
	// AllowedTools and AllowedToolPatterns: an agent whose patch clears both, or the only one
	// that it has, has no tools.
	AllowedTools         []string `json:"allowed_tools,omitempty"`
	AllowedToolPatterns  []string `json:"allowed_tool_patterns,omitempty"`
	ExcludedTools        []string `json:"excluded_tools,omitempty"`
	ExcludedToolPatterns []string `json:"excluded_tool_patterns,omitempty"`
	Delegates            []string `json:"delegates,omitempty"`
	// Sections are put over the agent's one by one; null removes one.
	Sections map[string]json.RawMessage `json:"sections,omitempty"`
	// Backend and Endpoint cannot be patched together. Each replaces the other of the agent.
	Backend  *awaken.Backend        `json:"backend,omitempty"`
	Endpoint *awaken.RemoteEndpoint `json:"endpoint,omitempty"`
}

// SkillPatch is what can be put over a skill. A field that is left out is the skill's. Null
// clears when_to_use, argument_hint and model_override.
type SkillPatch struct {
	Name           *string         `json:"name,omitempty"`
	Description    *string         `json:"description,omitempty"`
	InstructionsMD *string         `json:"instructions_md,omitempty"`
	AllowedTools   []string        `json:"allowed_tools,omitempty"`
	WhenToUse      *string         `json:"when_to_use,omitempty"`
	Arguments      []SkillArgument `json:"arguments,omitempty"`
	ArgumentHint   *string         `json:"argument_hint,omitempty"`
	UserInvocable  *bool           `json:"user_invocable,omitempty"`
	ModelInvocable *bool           `json:"model_invocable,omitempty"`
	ModelOverride  *string         `json:"model_override,omitempty"`
	Context        *string         `json:"context,omitempty"`
}

// ToolPatch is what can be put over a tool.
type ToolPatch struct {
	// Description is at most 4096 bytes long.
	Description *string `json:"description,omitempty"`
}

// patchKind says what can be overridden in a namespace.
type patchKind struct {
	new      func() any // a pointer to the struct
	nullable []string   // the fields that null clears
	least    string     // a document that says as little as it can, with an id that none has
}

var (
	agentPatch = &patchKind{func() any { return new(AgentPatch) }, []string{"description", "context_policy", "reasoning_effort", "endpoint",
		"allowed_tools", "allowed_tool_patterns", "excluded_tools", "excluded_tool_patterns"}, `{"id":"#"}`}
	skillPatch = &patchKind{func() any { return new(SkillPatch) }, []string{"when_to_use", "argument_hint", "model_override"},
		`{"id":"-","name":"a","description":"a","instructions_md":"a"}`}
	toolPatch = &patchKind{func() any { return new(ToolPatch) }, nil, `{"id":"#","name":"a","description":"a"}`}
)

// fields are the names that a patch can have.
func (p *patchKind) fields() []string {
	t := reflect.TypeOf(p.new()).Elem()
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// clearName is the field of a patch that lists overrides to remove.
const clearName = "_clear"

// SealPatch merges a patch, as written, into the stored overrides of a document (sealed, or
// nil), checks the outcome and takes its secrets out. The errors are awaken.ErrInvalid.
//
//   - A field overrides, and null overrides with nothing. Null on a field that cannot be
//     nothing removes the override.
//   - "_clear": ["field", "sections.name"] removes overrides, before the rest is merged.
//   - sections are merged by name; null removes a section from the document.
//
// What is said of secrets is as in [Seal], for those that overrides hold.
func SealPatch(key Key, patch, stored json.RawMessage) (*Sealed, error) {
	if err := CheckID(key); err != nil {
		return nil, err
	}
	k := kinds[key.Namespace]
	if k.patch == nil {
		return nil, fmt.Errorf("%w: %s have none", ErrNotOverridable, key.Namespace)
	}
	s, err := k.sealPatch(key.String()+"#overrides", patch, stored)
	if err != nil {
		return nil, invalid(key, fmt.Errorf("overrides: %w", err))
	}
	return s, nil
}

func (k *kind) sealPatch(prefix string, patch, stored json.RawMessage) (*Sealed, error) {
	tree, err := parse(patch)
	if err != nil {
		return nil, err
	}
	before, err := parseOptional(stored)
	if err != nil {
		return nil, fmt.Errorf("what is stored: %w", err)
	}
	if err := hideReferences(tree, before); err != nil {
		return nil, err
	}
	merged, err := k.merge(k.mask(before), tree)
	if err != nil {
		return nil, err
	}
	if merged, err = k.checkPatch(merged); err != nil {
		return nil, err
	}
	s, err := k.takeOut(prefix, merged, before)
	if err == nil && len(merged) == 0 {
		s.Doc = nil
	}
	return s, err
}

// merge puts a patch, as written, into overrides.
func (k *kind) merge(overrides, patch map[string]any) (map[string]any, error) {
	if v, ok := patch[clearName]; ok {
		list, isList := v.([]any)
		names := texts(patch, clearName)
		if !isList || len(names) != len(list) {
			return nil, fmt.Errorf("%s is %s, want an array of names of fields", clearName, encode(v))
		}
		for _, name := range names {
			if err := k.clear(overrides, name); err != nil {
				return nil, err
			}
		}
		delete(patch, clearName)
	}
	if err := k.updatePatch(patch); err != nil {
		return nil, err
	}
	for name, v := range patch {
		sections, isObject := v.(map[string]any)
		switch {
		case name == "sections" && isObject:
			into, _ := overrides[name].(map[string]any)
			if into == nil {
				into = map[string]any{}
			}
			maps.Copy(into, sections)
			overrides[name] = into
		case v == nil && !slices.Contains(k.patch.nullable, name):
			delete(overrides, name)
		default:
			overrides[name] = v
		}
	}
	return overrides, nil
}

// clear removes one override.
func (k *kind) clear(overrides map[string]any, name string) error {
	if section, ok := strings.CutPrefix(name, "sections."); ok && slices.Contains(k.patch.fields(), "sections") {
		if sections, ok := overrides["sections"].(map[string]any); ok {
			if delete(sections, section); len(sections) == 0 {
				delete(overrides, "sections")
			}
		}
		return nil
	}
	if !slices.Contains(k.patch.fields(), name) {
		return fmt.Errorf("%s: %w", clearName, strict.Unknown(name, k.patch.fields()))
	}
	delete(overrides, name)
	return nil
}

// updatePatch takes names of earlier versions, and the short form of a local backend.
func (k *kind) updatePatch(patch map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		if hint, ok := k.hints[name]; ok {
			return fmt.Errorf("unknown field %q, did you mean %s?", name, hint)
		}
	}
	if k.update != nil {
		if err := k.update(patch); err != nil {
			return err
		}
	}
	if k != kinds[Agents] {
		return nil
	}
	if v, ok := patch["active_plugins"]; ok {
		if _, both := patch["active_hook_filter"]; both {
			return errors.New("active_hook_filter and its older name active_plugins are both set")
		}
		patch["active_hook_filter"] = v
		delete(patch, "active_plugins")
	}
	if _, ok := patch["backend"]; ok {
		if _, both := patch["endpoint"]; both {
			return errors.New("backend and endpoint cannot be patched together")
		}
	}
	b, _ := patch["backend"].(map[string]any)
	if kind, _ := b["kind"].(string); b != nil && (kind == "" || kind == "awaken") {
		config, _ := b["config"].(map[string]any)
		for _, name := range []string{"model_id", "system_prompt", "max_rounds"} {
			v, ok := config[name]
			if other, both := patch[name]; ok && both && !reflect.DeepEqual(v, other) {
				return fmt.Errorf("%s is %s but backend.config.%s is %s", name, encode(other), name, encode(v))
			}
			if ok {
				patch[name] = v
				delete(config, name)
			}
		}
	}
	return nil
}

// checkPatch checks open overrides, and returns them with the defaults of what they set.
func (k *kind) checkPatch(patch map[string]any) (map[string]any, error) {
	if _, ok := patch["backend"]; ok {
		if _, both := patch["endpoint"]; both {
			return nil, errors.New(`backend and endpoint would both be overridden: clear one of them with "_clear"`)
		}
	}
	if err := strict.Unmarshal(encode(patch), k.patch.new()); err != nil {
		return nil, err
	}
	for name, v := range patch {
		if v == nil && !slices.Contains(k.patch.nullable, name) {
			delete(patch, name) // as if it were not there
		}
	}
	if d, _ := patch["description"].(string); k == kinds[Tools] && len(d) > maxToolDescription {
		return nil, fmt.Errorf("description is %d bytes long, want at most %d", len(d), maxToolDescription)
	}
	least, _ := parse([]byte(k.patch.least))
	whole, err := k.normalise(k.patch.over(least, patch))
	if err != nil {
		return nil, err
	}
	for name, v := range patch {
		if now, ok := whole[name]; ok && v != nil && name != "sections" {
			patch[name] = now
		}
	}
	return patch, nil
}

// over puts overrides over a document. Both are open, or both are sealed.
func (p *patchKind) over(base, patch map[string]any) map[string]any {
	doc := clone(base).(map[string]any)
	_, literals := base["allowed_tools"]
	_, patterns := base["allowed_tool_patterns"]
	for name, v := range patch {
		switch sections, _ := v.(map[string]any); {
		case name == "sections":
			into, _ := doc[name].(map[string]any)
			if into == nil {
				into = map[string]any{}
			}
			for section, v := range sections {
				if v == nil {
					delete(into, section)
				} else {
					into[section] = clone(v)
				}
			}
			if doc[name] = into; len(into) == 0 {
				delete(doc, name)
			}
		case v == nil && name == "allowed_tool_patterns", v == nil && name == "allowed_tools" && (literals || patterns):
			doc[name] = []any{} // not absent, which would allow every tool
		case v == nil:
			delete(doc, name)
		default:
			doc[name] = clone(v)
			if name == "endpoint" {
				delete(doc, "backend")
			}
			if name == "backend" {
				delete(doc, "endpoint")
			}
		}
	}
	return doc
}

// Effective returns a sealed document with sealed overrides put over it. They may be nil.
func Effective(key Key, doc, overrides json.RawMessage) (json.RawMessage, error) {
	patch, err := parseOptional(overrides)
	if err != nil {
		return nil, invalid(key, fmt.Errorf("overrides: %w", err))
	}
	if len(patch) == 0 {
		return doc, nil
	}
	k := kinds[key.Namespace]
	if k == nil || k.patch == nil {
		return nil, fmt.Errorf("%w: %s have none", ErrNotOverridable, key.Namespace)
	}
	tree, err := parse(doc)
	if err != nil {
		return nil, invalid(key, err)
	}
	return encode(k.patch.over(tree, patch)), nil
}
