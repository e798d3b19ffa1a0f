package config

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/llm"
)

// Schema returns the JSON Schema of a namespace's documents as clients write them, or nil
// if there is no such namespace. It is derived from the Go struct, with the struct's
// comments as descriptions.
func Schema(ns Namespace) json.RawMessage { return schemas()[ns] }

var schemas = sync.OnceValue(func() map[Namespace]json.RawMessage {
	out := map[Namespace]json.RawMessage{}
	for ns, k := range kinds {
		out[ns] = k.schema()
	}
	return out
})

// fieldDocs holds the comments of structs and fields, by struct name or struct.field. A test
// generates the file.
//
//go:embed fields.json
var fieldsJSON []byte

var fieldDocs = sync.OnceValue(func() map[string]string {
	var m map[string]string
	if err := json.Unmarshal(fieldsJSON, &m); err != nil {
		panic(fmt.Sprintf("config: fields.json: %v", err))
	}
	return m
})

// special holds the schemas of types whose JSON differs from their Go type.
var special = map[reflect.Type]string{
	reflect.TypeFor[awaken.Secret](): `{"type":"string"}`,
	reflect.TypeFor[llm.Effort](): `{"oneOf":[{"enum":["none","low","medium","high","max"]},
		{"type":"object","properties":{"budget":{"type":"integer","minimum":1}},"required":["budget"],"additionalProperties":false}]}`,
	reflect.TypeFor[awaken.StopCondition](): `{"oneOf":[` + strings.Join([]string{
		stopCondition("max_rounds", "rounds", `{"type":"integer","minimum":0}`),
		stopCondition("timeout", "seconds", `{"type":"integer","minimum":0,"maximum":86400}`),
		stopCondition("token_budget", "max_total", `{"type":"integer","minimum":0,"maximum":100000000}`),
		stopCondition("cost_budget", "max_usd", `{"type":"number","minimum":0}`),
		stopCondition("consecutive_errors", "max", `{"type":"integer","minimum":0}`),
		stopCondition("stop_on_tool", "tool_name", `{"type":"string"}`),
		stopCondition("content_match", "pattern", `{"type":"string","maxLength":1024}`),
		stopCondition("loop_detection", "window", `{"type":"integer","minimum":0,"maximum":64}`),
	}, ",") + `]}`,
}

func stopCondition(name, field, value string) string {
	return fmt.Sprintf(`{"type":"object","properties":{"type":{"const":%q},%q:%s},"required":["type",%q],"additionalProperties":false}`, name, field, value, field)
}

// enums lists the values of fields that allow only some.
var enums = map[string][]any{
	"AgentSpec.tool_execution_mode": {"sequential", "parallel_batch_approval", "parallel_streaming"},
	"ContextPolicy.compaction_mode": {"keep_recent_raw_suffix", "compact_to_safe_frontier"},
	"RemoteAuth.type":               {"bearer"},
	"ModelCapabilities.reasoning":   {"none", "budget", "levels"},
	"PoolMember.role":               {"member", "failover_only"},
	"PoolRouting.home":              {"deterministic", "round_robin", "first_healthy"},
	"PoolRouting.sticky_scope":      {"thread", "run"},
	"MCPServerSpec.transport":       {"stdio", "http", "sse"},
	"SkillSpec.context":             {"inline", "fork"},
}

func (k *kind) schema() json.RawMessage {
	t := reflect.TypeOf(k.new()).Elem()
	raw, err := schema.ForWith(t, special)
	k.must(err)
	tree, err := parse(raw)
	k.must(err)
	describe(t, tree, k.defaults())
	k.describeShown(tree["properties"].(map[string]any))
	tree["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	tree["title"] = t.Name()
	return encode(tree)
}

// describeShown adds the fields that only the server sets. A client may write back what it read.
func (k *kind) describeShown(properties map[string]any) {
	properties["updated_at"] = map[string]any{"type": "integer", "readOnly": true, "description": "time of the latest change, in Unix milliseconds; in lists"}
	if k.unseen != "" {
		properties["has_"+k.unseen] = map[string]any{"type": "boolean", "readOnly": true, "description": "whether " + k.unseen + " is set"}
	}
	if k == kinds[MCPServers] {
		properties["env_keys"] = map[string]any{"type": []any{"null", "array"}, "items": map[string]any{"type": "string"}, "readOnly": true, "description": "the names in env"}
	}
}

// defaults returns the fields that a document has without being given.
func (k *kind) defaults() map[string]any {
	least, err := parse([]byte(k.least))
	k.must(err)
	whole, err := k.normalise(least)
	k.must(err)
	return without(whole, least).(map[string]any)
}

// must panics if the table of namespaces is wrong.
func (k *kind) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("config: %s: %v", k.what, err))
	}
}

// without removes from v the scalar values that other also has.
func without(v, other any) any {
	m, isObject := v.(map[string]any)
	list, isList := v.([]any)
	switch {
	case isObject:
		o, _ := other.(map[string]any)
		for name, e := range m {
			switch e.(type) {
			case map[string]any, []any:
				m[name] = without(e, o[name])
			default:
				if _, ok := o[name]; ok {
					delete(m, name)
				}
			}
		}
	case isList:
		o, _ := other.([]any)
		for i := range list {
			if i < len(o) {
				list[i] = without(list[i], o[i])
			}
		}
	}
	return v
}

// describe adds to an object's schema what its Go type does not say.
func describe(t reflect.Type, s, defaults map[string]any) {
	if text := fieldDocs()[t.Name()]; text != "" {
		s["description"] = text
	}
	need, _ := s["required"].([]any)
	need = slices.DeleteFunc(need, func(name any) bool {
		_, list := defaults[name.(string)].([]any) // defaults of the entries, not of the list
		return defaults[name.(string)] != nil && !list
	})
	if s["required"] = need; len(need) == 0 {
		delete(s, "required")
	}
	properties, _ := s["properties"].(map[string]any)
	for name, f := range jsonFields(t) {
		p, _ := properties[name].(map[string]any)
		if p == nil {
			p = map[string]any{} // any value
			properties[name] = p
		}
		def := defaults[name]
		elem := f.typ
		for elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
		}
		items, list := p, elem.Kind() == reflect.Slice && elem != reflect.TypeFor[json.RawMessage]()
		if list {
			elem = elem.Elem()
			items, _ = p["items"].(map[string]any)
			if l, ok := def.([]any); ok && len(l) > 0 {
				def = l[0]
			}
		}
		if _, ok := special[elem]; !ok && elem.Kind() == reflect.Struct {
			d, _ := def.(map[string]any)
			describe(elem, items, d)
			delete(items, "description")
			def = nil
		}
		if one, ok := p["oneOf"].([]any); ok && f.typ.Kind() == reflect.Pointer {
			delete(p, "type")
			p["oneOf"] = append(one, map[string]any{"type": "null"})
		}
		if e := enums[f.owner+"."+name]; e != nil {
			p["enum"] = e
			if !slices.Contains(need, any(name)) {
				p["enum"] = append(slices.Clone(e), nil)
			}
		}
		if text := fieldDocs()[f.owner+"."+name]; text != "" {
			p["description"] = text
		}
		if def != nil && !list {
			p["default"] = def
		}
		if typ, ok := p["type"].(string); ok && !slices.Contains(need, any(name)) {
			p["type"] = []any{"null", typ} // null means absent
		}
	}
}

// jsonField is a field of a struct. owner is the struct that declares it.
type jsonField struct {
	owner string
	typ   reflect.Type
}

// jsonFields returns the fields of a struct, including those of embedded structs, by their
// JSON names.
func jsonFields(t reflect.Type) map[string]jsonField {
	out := map[string]jsonField{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		owner := t
		if n := len(f.Index); n > 1 {
			owner = t.FieldByIndex(f.Index[:n-1]).Type
		}
		out[name] = jsonField{owner.Name(), f.Type}
	}
	return out
}
