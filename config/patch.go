package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/internal/strict"
)

// patchKind describes the overrides of a namespace.
type patchKind struct {
	fields   []string // allowed in a patch
	nullable []string // fields that null clears
	least    string   // a minimal document with an id that no document has
}

var (
	// A patch that clears allowed_tools and allowed_tool_patterns, or the only one of them
	// that the agent has, leaves the agent without tools. backend and endpoint cannot be
	// patched together; each replaces the other.
	agentPatch = &patchKind{
		fields: []string{"description", "model_id", "system_prompt", "max_rounds", "max_continuation_retries", "stop_conditions", "context_policy", "reasoning_effort", "tool_execution_mode",
			"plugin_ids", "active_hook_filter", "allowed_tools", "allowed_tool_patterns", "excluded_tools", "excluded_tool_patterns", "output_schema", "max_output_repairs", "budget", "trust_clients",
			"delegates", "sections", "backend", "endpoint"},
		nullable: []string{"description", "context_policy", "reasoning_effort", "output_schema", "budget", "endpoint",
			"allowed_tools", "allowed_tool_patterns", "excluded_tools", "excluded_tool_patterns"},
		least: `{"id":"#"}`,
	}
	skillPatch = &patchKind{
		fields: []string{"name", "description", "instructions_md", "allowed_tools", "when_to_use", "arguments", "argument_hint", "user_invocable", "model_invocable",
			"model_override", "context"},
		nullable: []string{"when_to_use", "argument_hint", "model_override"},
		least:    `{"id":"-","name":"a","description":"a","instructions_md":"a"}`,
	}
	toolPatch = &patchKind{fields: []string{"description"}, least: `{"id":"#","name":"a","description":"a"}`}
)

// clearName is the field of a patch that lists the overrides to remove.
const clearName = "_clear"

// sealPatch merges a patch, as written, into the stored overrides of a document (sealed, or
// nil), validates the result and takes its secrets out. Errors are awaken.ErrInvalid.
//
//   - A field overrides the document's. Null clears a nullable field; on any other field,
//     it removes the override.
//   - "_clear": ["field", "sections.name"] removes overrides before the rest is merged.
//   - sections are merged by name; null removes a section from the document.
//
// The rules of [seal] for secrets apply to those in the overrides.
func sealPatch(key Key, patch, stored json.RawMessage) (*sealed, error) {
	if err := CheckID(key); err != nil {
		return nil, err
	}
	k := kinds[key.Namespace]
	if k.patch == nil {
		return nil, fmt.Errorf("%w: documents of namespace %s have no overrides", ErrNotOverridable, key.Namespace)
	}
	s, err := k.sealPatch(key.String()+"#overrides", patch, stored)
	if err != nil {
		return nil, invalid(key, fmt.Errorf("overrides: %w", err))
	}
	return s, nil
}

func (k *kind) sealPatch(prefix string, patch, stored json.RawMessage) (*sealed, error) {
	tree, before, err := parseWritten(patch, stored)
	if err != nil {
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

// merge merges a patch, as written, into overrides.
func (k *kind) merge(overrides, patch map[string]any) (map[string]any, error) {
	if v, ok := patch[clearName]; ok {
		list, isList := v.([]any)
		names := texts(patch, clearName)
		if !isList || len(names) != len(list) {
			return nil, fmt.Errorf("%s is %s, want an array of field names", clearName, encode(v))
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
	if section, ok := strings.CutPrefix(name, "sections."); ok && slices.Contains(k.patch.fields, "sections") {
		if sections, ok := overrides["sections"].(map[string]any); ok {
			if delete(sections, section); len(sections) == 0 {
				delete(overrides, "sections")
			}
		}
		return nil
	}
	if !slices.Contains(k.patch.fields, name) {
		return fmt.Errorf("%s: %w", clearName, strict.Unknown(name, k.patch.fields))
	}
	delete(overrides, name)
	return nil
}

// updatePatch converts obsolete names.
func (k *kind) updatePatch(patch map[string]any) error {
	if err := k.checkHints(patch); err != nil {
		return err
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
			return errors.New("active_hook_filter and its older name active_plugins are both set; use active_hook_filter")
		}
		patch["active_hook_filter"] = v
		delete(patch, "active_plugins")
	}
	if _, ok := patch["backend"]; ok {
		if _, both := patch["endpoint"]; both {
			return errors.New("backend and endpoint are both set; patch only one of them")
		}
	}
	return nil
}

// checkPatch validates open overrides and returns them with defaults filled in.
func (k *kind) checkPatch(patch map[string]any) (map[string]any, error) {
	if _, ok := patch["backend"]; ok {
		if _, both := patch["endpoint"]; both {
			return nil, errors.New(`backend and endpoint would both be overridden: clear one of them with "_clear"`)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		switch {
		case !slices.Contains(k.patch.fields, name):
			return nil, strict.Unknown(name, k.patch.fields)
		case patch[name] == nil && !slices.Contains(k.patch.nullable, name):
			delete(patch, name) // null means absent here
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

// needed returns the overrides without those that change nothing about a document, or nil if
// none is left. Both are sealed.
func (p *patchKind) needed(base, overrides json.RawMessage) (json.RawMessage, error) {
	if len(overrides) == 0 {
		return nil, nil
	}
	tree, err := parse(base)
	if err != nil {
		return nil, err
	}
	patch, err := parse(overrides)
	if err != nil {
		return nil, err
	}
	if p.differing(tree, patch); len(patch) == 0 {
		return nil, nil
	}
	return encode(patch), nil
}

// differing removes the overrides that change nothing about a document, so that they do not
// hide later changes of it. Both are sealed.
func (p *patchKind) differing(base, patch map[string]any) {
	_, literals := base["allowed_tools"]
	_, patterns := base["allowed_tool_patterns"]
	everyTool := !literals && !patterns && patch["allowed_tools"] == nil
	for name, v := range patch {
		old, ok := base[name]
		switch sections, isObject := v.(map[string]any); {
		case name == "sections" && isObject:
			before, _ := old.(map[string]any)
			for section, v := range sections {
				if was, ok := before[section]; ok && reflect.DeepEqual(was, v) || !ok && v == nil {
					delete(sections, section)
				}
			}
			if len(sections) == 0 {
				delete(patch, name)
			}
		case ok && reflect.DeepEqual(old, v),
			!ok && v == nil && name != "allowed_tool_patterns",
			everyTool && name == "allowed_tool_patterns" && isEveryTool(v),
			name == "backend" && isLocal(v) && base["endpoint"] == nil && (!ok || isLocal(old)):
			delete(patch, name)
		}
	}
}

// over applies overrides to a document. Both are open, or both are sealed.
func (p *patchKind) over(base, patch map[string]any) map[string]any {
	doc := clone(base).(map[string]any)
	_, literals := base["allowed_tools"]
	_, patterns := base["allowed_tool_patterns"]
	for name, v := range patch {
		switch sections, isObject := v.(map[string]any); {
		case name == "sections" && isObject:
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
			doc[name] = []any{} // absent would allow every tool
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

// effective returns the document of a record with its overrides applied, sealed.
func (r *Record) effective(key Key) (json.RawMessage, error) {
	patch, err := parseOptional(r.Meta.UserOverrides)
	if err != nil {
		return nil, invalid(key, fmt.Errorf("overrides: %w", err))
	}
	if len(patch) == 0 {
		return r.Spec, nil
	}
	k := kinds[key.Namespace]
	if k == nil || k.patch == nil {
		return nil, fmt.Errorf("%w: documents of namespace %s have no overrides", ErrNotOverridable, key.Namespace)
	}
	tree, err := parse(r.Spec)
	if err != nil {
		return nil, invalid(key, err)
	}
	return encode(k.patch.over(tree, patch)), nil
}

// validate validates the document and the overrides of a record. Both are sealed.
func (r *Record) validate(key Key) error {
	if err := CheckID(key); err != nil {
		return err
	}
	k := kinds[key.Namespace]
	tree, err := parse(r.Spec)
	if err != nil {
		return invalid(key, err)
	}
	if id := text(tree, "id"); id != key.ID {
		return invalid(key, fmt.Errorf("id is %q, want %q", id, key.ID))
	}
	if _, err := k.read(k.mask(tree)); err != nil {
		return invalid(key, err)
	}
	patch, err := parseOptional(r.Meta.UserOverrides)
	if err != nil {
		return invalid(key, fmt.Errorf("overrides: %w", err))
	}
	if len(patch) == 0 {
		return nil
	}
	if k.patch == nil {
		return fmt.Errorf("%w: documents of namespace %s have no overrides", ErrNotOverridable, key.Namespace)
	}
	if _, err := k.checkPatch(k.mask(patch)); err != nil {
		return invalid(key, fmt.Errorf("overrides: %w", err))
	}
	if _, err := k.read(k.mask(k.patch.over(tree, patch))); err != nil {
		return invalid(key, fmt.Errorf("after its overrides are applied: %w", err))
	}
	return nil
}
