package config

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
)

func TestSealPatch_Merges(t *testing.T) {
	for _, tt := range []struct {
		name        string
		ns          Namespace
		old, patch  string
		want, wrong string
	}{
		{"first", Agents, ``, `{"system_prompt":"a","max_rounds":3}`, `{"max_rounds":3,"system_prompt":"a"}`, ``},
		{"another", Agents, `{"max_rounds":3}`, `{"system_prompt":"a"}`, `{"max_rounds":3,"system_prompt":"a"}`, ``},
		{"again", Agents, `{"max_rounds":3}`, `{"max_rounds":4}`, `{"max_rounds":4}`, ``},
		{"null removes an override", Agents, `{"max_rounds":3,"model_id":"m"}`, `{"max_rounds":null}`, `{"model_id":"m"}`, ``},
		{"the last", Agents, `{"max_rounds":3}`, `{"max_rounds":null}`, ``, ``},
		{"null overrides", Agents, ``, `{"description":null,"context_policy":null,"reasoning_effort":null,"endpoint":null,"allowed_tools":null,"allowed_tool_patterns":null,"excluded_tools":null,"excluded_tool_patterns":null}`,
			`{"allowed_tool_patterns":null,"allowed_tools":null,"context_policy":null,"description":null,"endpoint":null,"excluded_tool_patterns":null,"excluded_tools":null,"reasoning_effort":null}`, ``},
		{"clear", Agents, `{"max_rounds":3,"stop_conditions":[],"model_id":"m"}`, `{"_clear":["max_rounds","stop_conditions"]}`, `{"model_id":"m"}`, ``},
		{"clear and set", Agents, `{"sections":{"a":{"x":1}}}`, `{"_clear":["sections"],"sections":{"b":{"y":1}}}`, `{"sections":{"b":{"y":1}}}`, ``},
		{"clear what is not there", Agents, ``, `{"_clear":["max_rounds"]}`, ``, ``},
		{"clear a section", Agents, `{"sections":{"a":null,"b":{"y":1}}}`, `{"_clear":["sections.a"]}`, `{"sections":{"b":{"y":1}}}`, ``},
		{"clear the last section", Agents, `{"sections":{"a":null}}`, `{"_clear":["sections.a"]}`, ``, ``},
		{"sections by name", Agents, `{"sections":{"a":{"x":1,"y":2},"b":{}}}`, `{"sections":{"a":{"x":3},"c":null}}`, `{"sections":{"a":{"x":3},"b":{},"c":null}}`, ``},
		{"empty lists", Agents, ``, `{"plugin_ids":[],"delegates":[],"allowed_tools":[]}`, `{"allowed_tools":[],"delegates":[],"plugin_ids":[]}`, ``},
		{"defaults of what is set", Agents, ``, `{"context_policy":{"max_context_tokens":50000}}`, `{"context_policy":{"compaction_mode":"keep_recent_raw_suffix","compaction_raw_suffix_messages":2,"enable_prompt_cache":true,"max_context_tokens":50000,"max_output_tokens":16384,"min_recent_messages":10}}`, ``},
		{"local backend", Agents, ``, `{"backend":{"kind":"awaken","config":{"model_id":"m"}}}`, `{"backend":{"kind":"awaken","version":1},"model_id":"m"}`, ``},
		{"older name", Agents, ``, `{"active_plugins":["p"]}`, `{"active_hook_filter":["p"]}`, ``},

		{"unknown", Agents, ``, `{"sytem_prompt":"a"}`, ``, `overrides: unknown field "sytem_prompt", did you mean "system_prompt"?`},
		{"id", Agents, ``, `{"id":"a"}`, ``, `unknown field "id"`},
		{"older field", Agents, ``, `{"model":"a"}`, ``, `unknown field "model", did you mean "model_id"?`},
		{"unknown clear", Agents, ``, `{"_clear":["max_round"]}`, ``, `_clear: unknown field "max_round", did you mean "max_rounds"?`},
		{"wrong clear", Agents, ``, `{"_clear":"max_rounds"}`, ``, `_clear is "max_rounds", want an array of field names`},
		{"wrong type", Agents, ``, `{"max_rounds":"a"}`, ``, `field "max_rounds" is a JSON string, want a whole number`},
		{"wrong value", Agents, ``, `{"max_rounds":-1}`, ``, `max_rounds is -1, want 0 or more`},
		{"wrong pattern", Agents, ``, `{"allowed_tool_patterns":["\\"]}`, ``, `allowed_tool_patterns[0]`},
		{"together", Agents, ``, `{"backend":{"kind":"x"},"endpoint":{"base_url":"https://h"}}`, ``, `backend and endpoint are both set; patch only one of them`},
		{"one after the other", Agents, `{"endpoint":null}`, `{"backend":{"kind":"x"}}`, ``, `backend and endpoint would both be overridden`},
		{"backend contradicts", Agents, ``, `{"max_rounds":1,"backend":{"kind":"awaken","config":{"max_rounds":2}}}`, ``, `max_rounds is 1, but backend.config.max_rounds is 2`},
		{"backend contradicts no limit", Agents, ``, `{"max_rounds":0,"backend":{"kind":"awaken","config":{"max_rounds":2}}}`, ``, `max_rounds is 0, but backend.config.max_rounds is 2`},
		{"stars", Agents, ``, `{"sections":{"a":{"password":"***"}}}`, ``, `sections.a.password is "***", but no secret is stored there`},
		{"not an object", Agents, ``, `[]`, ``, `found a JSON array, want an object`},

		{"tool", Tools, ``, `{"description":"d"}`, `{"description":"d"}`, ``},
		{"long tool", Tools, ``, `{"description":"` + strings.Repeat("ä", 2049) + `"}`, ``, `description is 4098 bytes long, want at most 4096`},
		{"long enough tool", Tools, ``, `{"description":"` + strings.Repeat("ä", 2048) + `"}`, `{"description":"` + strings.Repeat("ä", 2048) + `"}`, ``},
		{"tool name", Tools, ``, `{"name":"d"}`, ``, `unknown field "name"`},
		{"skill", Skills, `{"name":"n"}`, `{"description":"d","when_to_use":null,"name":null}`, `{"description":"d","when_to_use":null}`, ``},
		{"skill id", Skills, ``, `{"id":"d"}`, ``, `unknown field "id"`},
		{"skill value", Skills, ``, `{"context":"x"}`, ``, `context is "x", want inline or fork`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := sealPatch(Key{tt.ns, "x"}, json.RawMessage(tt.patch), json.RawMessage(tt.old))
			if tt.wrong != "" {
				if !errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), tt.wrong) {
					t.Errorf("error is %v, want %s", err, tt.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(s.Doc) != tt.want {
				t.Errorf("got\n%s, want\n%s", s.Doc, tt.want)
			}
			r := Record{Spec: json.RawMessage(least[tt.ns]), Meta: Meta{UserOverrides: s.Doc}}
			if err := r.validate(Key{tt.ns, "x"}); err != nil {
				t.Error(err)
			}
		})
	}
	for _, ns := range []Namespace{Models, Pools, Providers, MCPServers, A2AServers} {
		if _, err := sealPatch(Key{ns, "x"}, json.RawMessage(`{}`), nil); !errors.Is(err, ErrNotOverridable) {
			t.Errorf("%s: %v", ns, err)
		}
	}
}

// Every field of a patch can be cleared, and is a field of the document.
func TestSealPatch_ClearsEveryField(t *testing.T) {
	for ns, k := range kinds {
		if k.patch == nil {
			continue
		}
		known := fieldNames(k.new())
		for _, name := range k.patch.fields {
			if _, err := sealPatch(Key{ns, "x"}, encode(map[string]any{"_clear": []any{name}}), nil); err != nil {
				t.Error(err)
			}
			if !known[name] {
				t.Errorf("%s: a patch has %s, a document has not", ns, name)
			}
		}
	}
}

func TestEffective(t *testing.T) {
	for _, tt := range []struct {
		name              string
		base, patch, want string
	}{
		{"inherits", `{"id":"x","system_prompt":"a"}`, ``, `{"id":"x","system_prompt":"a"}`},
		{"overrides", `{"id":"x","system_prompt":"a","max_rounds":2}`, `{"system_prompt":"b"}`, `{"id":"x","max_rounds":2,"system_prompt":"b"}`},
		{"clears", `{"id":"x","description":"d","endpoint":{"base_url":"u"},"reasoning_effort":"low"}`, `{"description":null,"endpoint":null,"reasoning_effort":null}`, `{"id":"x"}`},
		{"sections", `{"id":"x","sections":{"a":{"x":1,"y":1},"b":{},"c":{}}}`, `{"sections":{"a":{"x":2},"b":null,"d":{}}}`, `{"id":"x","sections":{"a":{"x":2},"c":{},"d":{}}}`},
		{"the only section", `{"id":"x","sections":{"a":{}}}`, `{"sections":{"a":null}}`, `{"id":"x"}`},
		{"endpoint for backend", `{"id":"x","backend":{"kind":"k"}}`, `{"endpoint":{"base_url":"u"}}`, `{"endpoint":{"base_url":"u"},"id":"x"}`},
		{"backend for endpoint", `{"id":"x","endpoint":{"base_url":"u"}}`, `{"backend":{"kind":"k"}}`, `{"backend":{"kind":"k"},"id":"x"}`},
		{"a list replaces", `{"id":"x","plugin_ids":["a"]}`, `{"plugin_ids":[]}`, `{"id":"x","plugin_ids":[]}`},

		{"both cleared denies", `{"id":"x"}`, `{"allowed_tools":null,"allowed_tool_patterns":null}`, `{"allowed_tool_patterns":[],"id":"x"}`},
		{"both of the agent's cleared", `{"id":"x","allowed_tools":["a"],"allowed_tool_patterns":["b"]}`, `{"allowed_tools":null,"allowed_tool_patterns":null}`, `{"allowed_tool_patterns":[],"allowed_tools":[],"id":"x"}`},
		{"the only one cleared", `{"id":"x","allowed_tools":["a"]}`, `{"allowed_tools":null}`, `{"allowed_tools":[],"id":"x"}`},
		{"the pattern for all cleared", `{"id":"x"}`, `{"allowed_tool_patterns":null}`, `{"allowed_tool_patterns":[],"id":"x"}`},
		{"what was not there cleared", `{"id":"x"}`, `{"allowed_tools":null}`, `{"id":"x"}`},
		{"all again", `{"id":"x","allowed_tools":["a"]}`, `{"allowed_tool_patterns":["*"]}`, `{"allowed_tool_patterns":["*"],"allowed_tools":["a"],"id":"x"}`},
		{"excluded cleared", `{"id":"x","excluded_tools":["a"]}`, `{"excluded_tools":null}`, `{"id":"x"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Record{Spec: json.RawMessage(tt.base), Meta: Meta{UserOverrides: json.RawMessage(tt.patch)}}
			got, err := r.effective(Key{Agents, "x"})
			if err != nil || string(got) != tt.want {
				t.Errorf("got\n%s, %v, want\n%s", got, err, tt.want)
			}
			if string(r.Spec) != tt.base {
				t.Error("the document has changed")
			}
		})
	}
}

// Overrides have their own secrets beside those of the document.
func TestSealPatch_Secrets(t *testing.T) {
	key := Key{Agents, "x"}
	const endpoint = `"endpoint":{"base_url":"https://h","auth":{"type":"bearer","token":"`
	base := mustSeal(t, key, `{"id":"x",`+endpoint+`one"}},"sections":{"a":{"password":"two"}}}`, "")
	s, err := sealPatch(key, json.RawMessage(`{`+endpoint+`three"}},"sections":{"b":{"password":"four"}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	secrets := maps.Clone(base.Secrets)
	maps.Copy(secrets, s.Secrets)
	if len(secrets) != 4 || strings.Contains(string(s.Doc), "three") {
		t.Fatalf("%d secrets, %s", len(secrets), s.Doc)
	}
	r := Record{Spec: base.Doc, Meta: Meta{UserOverrides: s.Doc}}
	if err := r.validate(key); err != nil {
		t.Error(err)
	}
	doc, err := r.effective(key)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := decode(key, json.RawMessage(open(t, key, doc, secrets)))
	if err != nil {
		t.Fatal(err)
	}
	spec := decoded.(*awaken.AgentSpec)
	if got := spec.Endpoint.Auth.Token.Expose() + string(spec.Sections["a"]) + string(spec.Sections["b"]); got != `three{"password":"two"}{"password":"four"}` {
		t.Error(got)
	}
	shown, err := redactPatch(Agents, s.Doc)
	if err != nil || strings.Contains(string(shown), refName) || !strings.Contains(string(shown), `"password":"***"`) {
		t.Errorf("%s, %v", shown, err)
	}

	again, err := sealPatch(key, json.RawMessage(`{"max_rounds":4,"_clear":["sections.b"],`+endpoint+`***"}}}`), s.Doc)
	if err != nil || len(again.Secrets) != 0 || !slices.Equal(gone(s.Doc, again.Doc), []string{"agents/x#overrides/sections/b/password"}) {
		t.Errorf("%+v, %v", again, err)
	}
	_, err = sealPatch(key, json.RawMessage(`{"sections":{"b":{"password":{"$secret":"agents/x#/sections/a/password"}}}}`), s.Doc)
	if err == nil || !strings.Contains(err.Error(), "sections.b.password refers to a secret that is not stored there") {
		t.Error(err)
	}
}
