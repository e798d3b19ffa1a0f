package config

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
)

// mustSeal seals a document that must be valid.
func mustSeal(t *testing.T, key Key, doc, stored string) *sealed {
	t.Helper()
	s, err := seal(key, json.RawMessage(doc), json.RawMessage(stored))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSeal_Normalises(t *testing.T) {
	for _, tt := range []struct {
		ns        Namespace
		doc, want string
	}{
		{Providers, `{"id":"x","adapter":"openai","base_url":"","adapter_options":null}`, `{"adapter":"openai","id":"x","timeout_secs":300}`},
		{Providers, `{"id":"x","adapter":"openai","has_api_key":false}`, `{"adapter":"openai","id":"x","timeout_secs":300}`},
		{Models, `{"provider_id":"p","id":"x","upstream_model":"m"}`, `{"id":"x","provider_id":"p","upstream_model":"m"}`},
		{Pools, `{"id":"x","members":[{"model_id":"m"}]}`, `{"id":"x","members":[{"model_id":"m","role":"member"}],"routing":{"home":"deterministic","sticky_scope":"thread"},"switch":{"on_circuit_open":true,"on_permanent":true,"on_quota":true}}`},
		{MCPServers, `{"id":"x","transport":"stdio","command":"c","restart_policy":{"enabled":true}}`, `{"command":"c","id":"x","restart_policy":{"backoff_multiplier":2,"delay_ms":1000,"enabled":true,"max_delay_ms":30000},"timeout_secs":30,"transport":"stdio"}`},
		{A2AServers, `{"id":"x","base_url":"https://h"}`, `{"base_url":"https://h","id":"x","timeout_ms":10000}`},
		{Skills, `{"id":"x","name":"n","description":"d","instructions_md":"i"}`, `{"context":"inline","description":"d","id":"x","instructions_md":"i","model_invocable":true,"name":"n","user_invocable":true}`},
		{Tools, `{"id":"x","name":"n","description":"d","parameters_schema":{"type":"object"}}`, `{"description":"d","id":"x","name":"n","parameters_schema":{"type":"object"}}`},
		{Agents, `{"id":"x","model_id":"m"}`, `{"id":"x","max_continuation_retries":2,"max_rounds":16,"model_id":"m"}`},
		{Agents, `{"id":"x","allowed_tools":null,"sections":{"a":{"b":1.50,"big":12345678901234567890}}}`, `{"allowed_tools":[],"id":"x","max_continuation_retries":2,"max_rounds":16,"sections":{"a":{"b":1.50,"big":12345678901234567890}}}`},
		{Agents, `{"id":"x","backend":{"kind":"awaken","config":{"model_id":"m","max_rounds":3}}}`, `{"id":"x","max_continuation_retries":2,"max_rounds":3,"model_id":"m"}`},
		{Agents, `{"id":"x","backend":{"kind":"awaken","version":2}}`, `{"backend":{"kind":"awaken","version":2},"id":"x","max_continuation_retries":2,"max_rounds":16}`},
		{Agents, `{"id":"x","updated_at":5,"allowed_tool_patterns":["*"]}`, `{"id":"x","max_continuation_retries":2,"max_rounds":16}`},
		{Agents, `{"id":"x","allowed_tools":[],"allowed_tool_patterns":["*"]}`, `{"allowed_tool_patterns":["*"],"allowed_tools":[],"id":"x","max_continuation_retries":2,"max_rounds":16}`},
		{Agents, `{"id":"x","active_plugins":["p"]}`, `{"active_hook_filter":["p"],"id":"x","max_continuation_retries":2,"max_rounds":16}`},
		{Agents, `{"id":"x","endpoint":{"base_url":"https://h","bearer_token":"","agent_id":"r","poll_interval_ms":5}}`, ``},
		{Agents, `{"id":"x","endpoint":{"base_url":"https://h","agent_id":"r","poll_interval_ms":5}}`, `{"endpoint":{"backend":"a2a","base_url":"https://h","options":{"poll_interval_ms":5},"target":"r","timeout_ms":300000},"id":"x","max_continuation_retries":2,"max_rounds":16}`},
	} {
		s, err := seal(Key{tt.ns, "x"}, json.RawMessage(tt.doc), nil)
		if tt.want == "" {
			if !errors.Is(err, awaken.ErrInvalid) {
				t.Errorf("%s: error is %v", tt.doc, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.doc, err)
			continue
		}
		if string(s.Doc) != tt.want {
			t.Errorf("%s: got\n%s, want\n%s", tt.doc, s.Doc, tt.want)
		}
		again, err := seal(Key{tt.ns, "x"}, s.Doc, s.Doc)
		if err != nil || string(again.Doc) != tt.want {
			t.Errorf("%s: again it is %v, %v", tt.doc, again, err)
		}
	}
}

func TestSeal_ReportsMistakes(t *testing.T) {
	for _, tt := range []struct {
		ns        Namespace
		doc, want string
	}{
		{Agents, `{"id":"x","sytem_prompt":"a"}`, `agents/x: unknown field "sytem_prompt", did you mean "system_prompt"?`},
		{Agents, `{"id":"x","model":"m"}`, `unknown field "model", did you mean "model_id"?`},
		{Agents, `{"id":"x","provider":"m"}`, `unknown field "provider", did you mean "model_id", whose model names the provider?`},
		{Agents, `{"id":"x","context_policy":{"max_contxt_tokens":1}}`, `context_policy: unknown field "max_contxt_tokens", did you mean "max_context_tokens"?`},
		{Agents, `{"id":"x","endpoint":{"base_url":"https://h","agent_id":"r","auth":{"type":"bearer"}}}`, `endpoint mixes the old names agent_id with auth`},
		{Agents, `{"id":"x","endpoint":{"base_url":"ftp://h"}}`, `endpoint.base_url is "ftp://h", want a URL`},
		{Agents, `{"id":"x","endpoint":{"base_url":"https://h","auth":{"type":"basic","token":"t"}}}`, `endpoint.auth.type is "basic", want bearer`},
		{Agents, `{"id":"x","endpoint":{"base_url":"https://h"},"backend":{"kind":"other"}}`, `endpoint and backend are both set`},
		{Agents, `{"id":"x","delegates":["x"]}`, `delegates lists the agent itself`},
		{Agents, `{"id":"x","allowed_tool_patterns":["a\\"]}`, `allowed_tool_patterns[0]`},
		{Agents, `{"id":"y"}`, `id is "y", want "x"`},
		{Agents, `{}`, `missing 'id' field in body`},
		{Agents, `{"id":" "}`, `missing 'id' field in body`},
		{Agents, `[]`, `found a JSON array, want an object`},
		{Agents, `{"id":"x","id":"x"}`, `field "id" appears twice`},
		{Agents, `{"id":7}`, `field "id" is a JSON number, want a string`},
		{Models, `{"id":"x","provider":"p","upstream_model":"m"}`, `unknown field "provider", did you mean "provider_id"?`},
		{Models, `{"id":"x","provider_id":"p","model":"m"}`, `unknown field "model", did you mean "upstream_model"?`},
		{Models, `{"id":"x","provider_id":"","upstream_model":""}`, `provider_id is empty`},
		{Pools, `{"id":"x","members":[{"model":"m"}]}`, `unknown field "model", did you mean "model_id"?`},
		{Pools, `{"id":"x","members":[{"model_id":"m"}],"switch":{"max_switches_per_session":-1}}`, `switch.max_switches_per_session is -1`},
		{Providers, `{"id":"x","adapter":" "}`, `adapter is empty`},
		{Providers, `{"id":"x","adapter":"openai","base_url":"https://u:p@h"}`, `base_url contains a user or password`},
		{Providers, `{"id":"x","adapter":"openai","adapter_options":{"credentials_kind":"service_account_json"}}`, `which only the adapter vertex takes, not "openai"`},
		{Providers, `{"id":"x","adapter":"vertex","api_key":"k","adapter_options":{"credentials_kind":"service_account_json"}}`, `api_key is ***, want the JSON of a service account`},
		{Providers, `{"id":"x","adapter":"openai","adapter_options":{"credentials_kind":"none"}}`, `adapter_options.credentials_kind is "none", want bearer or service_account_json`},
		{Providers, `{"id":"x","adapter":"openai","adapter_options":{"headers":{"a":1}}}`, `adapter_options.headers is ***, want an object of texts`},
		{MCPServers, `{"id":"x","transport":"ftp"}`, `transport is "ftp", want stdio, http or sse`},
		{MCPServers, `{"id":"x","transport":"sse"}`, `url is empty, but transport sse needs it`},
		{MCPServers, `{"id":"x","transport":"stdio"}`, `command is empty, but transport stdio needs it`},
		{MCPServers, `{"id":"x","transport":"http"}`, `url is empty, but transport http needs it`},
		{MCPServers, `{"id":"x","transport":"http","url":"https://h","comand":"c"}`, `unknown field "comand", did you mean "command"?`},
		{A2AServers, `{"id":"x","base_url":"h"}`, `base_url is "h", want a URL`},
		{A2AServers, `{"id":"x","base_url":"https://h","timeout_ms":30001}`, `timeout_ms is 30001, want 1 to 30000`},
		{A2AServers, `{"id":"x","base_url":"https://h","auth":{"type":"bearer"}}`, `auth.token is empty`},
		{Skills, `{"id":"x","name":"n","description":"d","instructions_md":"i","paths":["p"]}`, `paths has 1 entries, want none`},
		{Skills, `{"id":"x","name":"n","description":"d","instructions_md":"i","context":"thread"}`, `context is "thread", want inline or fork`},
	} {
		_, err := seal(Key{tt.ns, "x"}, json.RawMessage(tt.doc), nil)
		if !errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want %s", tt.doc, err, tt.want)
		}
	}
}

func TestCheckID(t *testing.T) {
	for key, ok := range map[Key]bool{
		{Agents, "a"}: true, {Agents, "gpt-4.1:mini"}: true, {Agents, "ä"}: true, {Skills, "a-1"}: true, {MCPServers, "a_b-C"}: true, {MCPServers, "a"}: true,
		{Agents, ""}: false, {Agents, " "}: false, {Agents, "a b"}: false, {Agents, "a/b"}: false, {Agents, "meta"}: false, {Agents, "$schema"}: false,
		{Agents, ".."}: false, {Agents, "a\n"}: false, {Agents, strings.Repeat("a", 129)}: false, {Agents, "a#b"}: false,
		{Skills, "A"}: false, {Skills, strings.Repeat("a", 65)}: false, {MCPServers, "a__b"}: false, {MCPServers, "a_"}: false, {MCPServers, "a.b"}: false,
		{"others", "a"}: false,
	} {
		if err := CheckID(key); (err == nil) != ok {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestNeeds(t *testing.T) {
	for _, tt := range []struct {
		ns   Namespace
		doc  string
		want []Key
	}{
		{Models, `{"provider_id":"p"}`, []Key{{Providers, "p"}}},
		{Pools, `{"members":[{"model_id":"a"},{"model_id":"b"}]}`, []Key{{Models, "a"}, {Models, "b"}}},
		{Agents, `{"model_id":"m","delegates":["a","s/b"]}`, []Key{{Models, "m"}, {Pools, "m"}, {Agents, "a"}, {Agents, "s/b"}, {A2AServers, "s"}}},
		{Agents, `{"model_id":"m","endpoint":{"options":{"a2a_server_id":"s"}}}`, []Key{{A2AServers, "s"}}},
		{Agents, `{"model_id":"m","backend":{"kind":"other"}}`, nil},
		{Skills, `{"allowed_tools":["Read","mcp__s__t","mcp__s__u"]}`, []Key{{MCPServers, "s"}}},
		{Providers, `{}`, nil},
	} {
		if got := newDocument(Key{tt.ns, "x"}, json.RawMessage(tt.doc), 1).needs; !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.doc, got, tt.want)
		}
	}
}
