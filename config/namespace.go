package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/check"
)

// Known reports whether the namespace exists.
func (ns Namespace) Known() bool { return kinds[ns] != nil }

// overridable reports whether documents of the namespace can have overrides.
func (ns Namespace) overridable() bool { k := kinds[ns]; return k != nil && k.patch != nil }

// spec is a pointer to the struct that documents of a namespace are decoded into.
type spec interface{ Validate() error }

// kind describes a namespace.
type kind struct {
	what string // a document of the namespace, for error texts
	// least is a minimal document that contains every object whose fields have defaults.
	least string
	// hints maps obsolete field names to the current ones.
	hints map[string]string
	// update converts the obsolete form of a document, and drops fields that only responses
	// have. May be nil.
	update func(tree map[string]any) error
	// imply adds the defaults that clients are shown and that are not stored, and omit removes
	// them from what a client writes. Both may be nil.
	imply, omit func(tree map[string]any)
	// unseen is a secret field that clients see only as has_<field>. A write that omits it
	// keeps it. "" means none.
	unseen string
	// keep marks further secrets that a write keeps because it omits them; stored is the
	// masked document being replaced. May be nil.
	keep func(tree, stored map[string]any)
	// secret reports whether the strings at and below a path are secrets. Nil means none.
	secret func(path []string) bool
	// bound says what the secrets are bound to. The first entry that a secret's path matches counts.
	bound []bound
	// unbound returns why a sealed document cannot have a new secret, or "". May be nil.
	unbound func(tree map[string]any) string
	// show turns a masked document into its client form. May be nil.
	show func(tree map[string]any)
	// needs returns the documents that a document depends on. May be nil.
	needs func(tree map[string]any) []Key
	// patch describes the overrides. Nil means that there are none.
	patch *patchKind

	new   func() spec
	fill  func(spec)       // sets the defaults
	check func(spec) error // reports every mistake at once
}

// typed completes a kind with the struct type of its documents.
func typed[T any, P interface {
	*T
	spec
}](k kind, fill func(P), check func(P) error) *kind {
	k.new = func() spec { return P(new(T)) }
	k.fill = func(s spec) { fill(s.(P)) }
	k.check = func(s spec) error { return check(s.(P)) }
	return &k
}

// kinds is the table of namespaces.
var kinds = map[Namespace]*kind{
	Agents: typed(kind{
		what:   "agent",
		least:  `{"id":"#","backend":{},"context_policy":{},"endpoint":{"base_url":"https://h"}}`,
		hints:  map[string]string{"model": `"model_id"`, "provider": `"model_id", whose model names the provider`},
		update: updateAgent, imply: implyAgent, omit: omitAgent, secret: agentSecret, unbound: needsAddress, needs: agentNeeds, patch: agentPatch,
		bound: []bound{
			{"endpoint/auth/client_secret", []string{"endpoint/auth/token_url", "endpoint/base_url", "endpoint/backend",
				"endpoint/options/" + serverOption}},
			{"endpoint", []string{"endpoint/base_url", "endpoint/backend", "endpoint/options/" + serverOption}},
			{"backend/config", []string{"backend/kind", "backend/config"}},
			{"sections/*", []string{"sections/*"}},
		},
	}, fillAgent, checkAgent),
	Models: typed(kind{
		what:  "model",
		least: `{"id":"#","provider_id":"p","upstream_model":"m"}`,
		hints: map[string]string{"model": `"upstream_model"`, "provider": `"provider_id"`},
		needs: func(tree map[string]any) []Key { return []Key{{Providers, text(tree, "provider_id")}} },
	}, func(*awaken.ModelSpec) {}, (*awaken.ModelSpec).Validate),
	Pools: typed(kind{
		what:  "model pool",
		least: `{"id":"#","members":[{"model_id":"m"}]}`,
		hints: map[string]string{"models": `"members"`},
		needs: poolNeeds,
	}, fillPool, checkPool),
	Providers: typed(kind{
		what:   "provider",
		least:  `{"id":"#","adapter":"a"}`,
		unseen: "api_key",
		secret: func(p []string) bool { return p[0] == "api_key" || p[0] == "adapter_options" && sensitive(p) },
		bound:  []bound{{"api_key", []string{"base_url", "adapter"}}, {"adapter_options", []string{"base_url", "adapter"}}},
	}, fillProvider, checkProvider),
	MCPServers: typed(kind{
		what:   "MCP server",
		least:  `{"id":"#","transport":"stdio","command":"c","restart_policy":{}}`,
		update: func(tree map[string]any) error { delete(tree, "env_keys"); return nil },
		unseen: "env",
		keep:   dropNullEnv,
		secret: func(p []string) bool {
			return p[0] == "env" || p[0] == "config" && sensitive(p) || p[0] == "auth" && p[len(p)-1] == "client_secret"
		},
		bound: []bound{
			{"env", []string{"url", "command", "args"}}, {"config", []string{"url", "command", "args"}},
			{"auth/client_secret", []string{"url", "auth/issuer"}},
		},
		unbound: needsIssuer,
		show:    showEnv,
	}, (*MCPServerSpec).fill, (*MCPServerSpec).Validate),
	A2AServers: typed(kind{
		what:   "A2A server",
		least:  `{"id":"#","base_url":"https://h"}`,
		unseen: "auth",
		keep:   keepToken,
		secret: func(p []string) bool { return isAuth(p) || p[0] == "options" && sensitive(p) },
		bound: []bound{
			{"auth/client_secret", []string{"auth/token_url", "base_url"}},
			{"auth", []string{"base_url"}}, {"options", []string{"base_url"}},
		},
	}, (*A2AServerSpec).fill, (*A2AServerSpec).Validate),
	Skills: typed(kind{
		what:  "skill",
		least: `{"id":"-","name":"n","description":"d","instructions_md":"i"}`,
		needs: skillNeeds, patch: skillPatch,
	}, (*SkillSpec).fill, (*SkillSpec).Validate),
	Tools: typed(kind{
		what:  "tool",
		least: `{"id":"#","name":"n","description":"d"}`,
		patch: toolPatch,
	}, func(*ToolSpec) {}, (*ToolSpec).Validate),
}

// kind returns the description of a namespace, or awaken.ErrNotFound.
func (ns Namespace) kind() (*kind, error) {
	if k := kinds[ns]; k != nil {
		return k, nil
	}
	return nil, fmt.Errorf("namespace %q: %w", ns, awaken.ErrNotFound)
}

// CheckID returns an awaken.ErrInvalid if a document's ID is invalid, and awaken.ErrNotFound if the namespace is unknown.
func CheckID(key Key) error {
	ns, id := key.Namespace, key.ID
	if _, err := ns.kind(); err != nil {
		return err
	}
	bad := func(want string) error {
		return fmt.Errorf("%w: id of %s is %q, want %s", awaken.ErrInvalid, ns, id, want)
	}
	switch {
	case blank(id):
		return fmt.Errorf("%w: missing 'id' field in body", awaken.ErrInvalid)
	case len(id) > 128:
		return bad("at most 128 bytes")
	case id == "." || id == ".." || slices.Contains([]string{"meta", "validate", "$schema"}, id):
		return bad("another id: this one is reserved for a route")
	case strings.ContainsFunc(id, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return bad("no spaces or control characters")
	case strings.ContainsAny(id, "/\\#?%"):
		return bad(`none of / \ # ? %`)
	case ns == Skills && !skillID.MatchString(id):
		return bad("1 to 64 lower-case letters, digits and -")
	case ns == MCPServers && (!serverID.MatchString(id) || strings.Contains(id, "__")):
		return bad("1 to 64 letters, digits, - and _, without __, because tools are called mcp__<id>__<tool>")
	}
	return nil
}

var (
	skillID  = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
	serverID = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_-]{0,62}[A-Za-z0-9])?$`)
)

// mistakes collects what is wrong with a spec.
type mistakes struct{ check.Problems }

// url reports a bad URL. Credentials in it are a mistake, because clients could read them.
func (m *mistakes) url(field, value string) {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		if err == nil && u.User != nil || strings.ContainsAny(value, "@?") {
			value = "***"
		}
		m.Add("%s is %q, want a URL that begins with http:// or https://", field, value)
	case u.User != nil:
		m.Add("%s contains a user or password, which clients could read: remove it", field)
	default:
		for name := range u.Query() {
			if secretName(name) || strings.EqualFold(name, "key") || strings.EqualFold(name, "sig") {
				m.Add("%s contains the parameter %q, a secret that clients could read: remove it, and set the field for secrets", field, name)
			}
		}
	}
}

// auth reports bad credentials for a remote server.
func (m *mistakes) auth(field string, a *awaken.RemoteAuth) {
	if all, ok := a.Validate().(interface{ Unwrap() []error }); ok {
		for _, err := range all.Unwrap() {
			m.Add("%s.%w", field, err)
		}
	}
	if a != nil && a.TokenURL != "" {
		m.url(field+".token_url", a.TokenURL)
	}
}

func fillAgent(s *awaken.AgentSpec) {
	s.MaxRounds = cmp.Or(s.MaxRounds, new(16))
	s.MaxContinuationRetries = cmp.Or(s.MaxContinuationRetries, new(2))
	if e := s.Endpoint; e != nil {
		e.Backend, e.TimeoutMS = cmp.Or(e.Backend, "a2a"), cmp.Or(e.TimeoutMS, 300_000)
	}
	if b := s.Backend; b != nil {
		b.Kind, b.Version = cmp.Or(b.Kind, "awaken"), cmp.Or(b.Version, 1)
		if b.Kind == "awaken" {
			b.Config = nil // the agent's own fields have it
		}
	}
}

func checkAgent(s *awaken.AgentSpec) error {
	var m mistakes
	m.Include(s.Validate())
	m.When(s.Endpoint != nil && s.Backend != nil && s.Backend.Kind != "awaken", "endpoint and backend are both set, want only one of them")
	if e := s.Endpoint; e != nil {
		if e.BaseURL != "" || len(e.Options[serverOption]) == 0 { // the server's
			m.url("endpoint.base_url", e.BaseURL)
		}
		m.auth("endpoint.auth", e.Auth)
		m.When(e.TimeoutMS < 0, "endpoint.timeout_ms is %d, want more than 0", e.TimeoutMS)
	}
	for name, list := range map[string][]string{"plugin_ids": s.PluginIDs, "active_hook_filter": s.ActiveHookFilter, "delegates": s.Delegates,
		"allowed_tools": s.AllowedTools, "excluded_tools": s.ExcludedTools} {
		m.When(slices.ContainsFunc(list, blank), "%s has an empty id", name)
	}
	m.When(slices.Contains(s.Delegates, s.ID), "delegates lists the agent itself")
	m.When(string(bytes.TrimSpace(s.Sections["retry"])) == "null", `sections["retry"] is null, want an object`)
	return m.Err()
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// updateAgent renames the obsolete fields of an endpoint, and moves those of a local backend.
func updateAgent(tree map[string]any) error {
	e, _ := tree["endpoint"].(map[string]any)
	var old, new []string
	for _, name := range slices.Sorted(maps.Keys(e)) {
		switch name {
		case "bearer_token", "agent_id", "poll_interval_ms":
			old = append(old, name)
		case "backend", "auth", "target", "options":
			new = append(new, name)
		}
	}
	if len(old) > 0 && len(new) > 0 {
		return fmt.Errorf("endpoint mixes the old names %s with %s: use auth, target and options", strings.Join(old, ", "), strings.Join(new, ", "))
	}
	if v := e["bearer_token"]; v != nil {
		e["auth"] = map[string]any{"type": "bearer", "token": v}
	}
	if v := e["agent_id"]; v != nil {
		e["target"] = v
	}
	if v := e["poll_interval_ms"]; v != nil {
		e["options"] = map[string]any{"poll_interval_ms": v}
	}
	for _, name := range old {
		delete(e, name)
	}
	return ownFields(tree)
}

// ownFields moves the settings of a local backend to the fields of the agent.
func ownFields(tree map[string]any) error {
	b, _ := tree["backend"].(map[string]any)
	if kind := text(b, "kind"); b == nil || kind != "" && kind != "awaken" {
		return nil
	}
	config, _ := b["config"].(map[string]any)
	for _, name := range []string{"model_id", "system_prompt", "max_rounds"} {
		v, ok := config[name]
		if other, both := tree[name]; ok && both && !reflect.DeepEqual(v, other) {
			return fmt.Errorf("%s is %s, but backend.config.%s is %s; set only one of them", name, encode(other), name, encode(v))
		}
		if ok {
			tree[name] = v
			delete(config, name)
		}
	}
	return nil
}

// isLocal reports whether a backend is the default, the local one.
func isLocal(v any) bool {
	b, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for name, v := range b {
		config, _ := v.(map[string]any)
		if v != nil && !(name == "kind" && (v == "" || v == "awaken") || name == "version" && (v == json.Number("1") || v == json.Number("0")) || name == "config" && config != nil && len(config) == 0) {
			return false
		}
	}
	return true
}

// isEveryTool reports whether tool patterns are the default, every tool.
func isEveryTool(v any) bool { return reflect.DeepEqual(v, []any{"*"}) }

func implyAgent(tree map[string]any) {
	if tree["allowed_tools"] == nil && tree["allowed_tool_patterns"] == nil {
		tree["allowed_tool_patterns"] = []any{"*"}
	}
	if tree["backend"] == nil && tree["endpoint"] == nil {
		tree["backend"] = map[string]any{"kind": "awaken", "version": json.Number("1"), "config": map[string]any{}}
	}
}

func omitAgent(tree map[string]any) {
	if _, ok := tree["allowed_tools"]; !ok && isEveryTool(tree["allowed_tool_patterns"]) {
		delete(tree, "allowed_tool_patterns")
	}
	if isLocal(tree["backend"]) {
		delete(tree, "backend")
	}
}

func agentSecret(p []string) bool {
	switch p[0] {
	case "endpoint":
		return isAuth(p[1:]) || sensitive(p)
	case "backend":
		return len(p) > 1 && p[1] == "config" && sensitive(p)
	case "sections":
		return len(p) > 2 && secretName(p[len(p)-1]) && strings.Join(p, "/") != "sections/guardrails/secrets"
	}
	return false
}

// sensitive reports whether a field's name says that the strings below it are secrets.
func sensitive(p []string) bool {
	last := p[len(p)-1]
	return last == "headers" || secretName(last)
}

// isAuth reports whether a path leads to a secret inside auth.
func isAuth(p []string) bool {
	return len(p) > 1 && p[0] == "auth" && !slices.Contains([]string{"type", "header", "token_url", "client_id", "scopes"}, p[1])
}

// secretName reports whether a field's name says that it holds a secret.
func secretName(name string) bool {
	n := strings.ReplaceAll(strings.ToLower(name), "-", "_")
	switch n {
	case "credentials_kind", "allow_env_credentials", "key_file":
		return false
	}
	return strings.HasSuffix(n, "token") || slices.ContainsFunc(
		[]string{"api_key", "apikey", "authorization", "bearer", "credential", "private_key", "privatekey", "password", "passwd", "secret"},
		func(word string) bool { return strings.Contains(n, word) })
}

func agentNeeds(tree map[string]any) []Key {
	var keys []Key
	if e, ok := tree["endpoint"].(map[string]any); ok {
		o, _ := e["options"].(map[string]any)
		if id := text(o, "a2a_server_id"); id != "" {
			keys = append(keys, Key{A2AServers, id})
		}
	} else if b, ok := tree["backend"].(map[string]any); !ok || text(b, "kind") == "awaken" {
		if id := text(tree, "model_id"); id != "" {
			keys = append(keys, Key{Models, id}, Key{Pools, id})
		}
	}
	for _, id := range handoffs(tree) {
		keys = append(keys, Key{Agents, id})
	}
	for _, id := range texts(tree, "delegates") {
		keys = append(keys, Key{Agents, id})
		if server, _, ok := strings.Cut(id, "/"); ok {
			keys = append(keys, Key{A2AServers, server})
		}
	}
	return keys
}

// handoffs returns the agents that an agent hands threads to, if it loads the plugin for it.
func handoffs(tree map[string]any) []string {
	const plugin = "agent_handoff"
	if !slices.Contains(texts(tree, "plugin_ids"), plugin) {
		return nil
	}
	sections, _ := tree["sections"].(map[string]any)
	section, _ := sections[plugin].(map[string]any)
	return texts(section, "agents")
}

func poolNeeds(tree map[string]any) []Key {
	var keys []Key
	members, _ := tree["members"].([]any)
	for _, m := range members {
		m, _ := m.(map[string]any)
		keys = append(keys, Key{Models, text(m, "model_id")})
	}
	return keys
}

func skillNeeds(tree map[string]any) []Key {
	var keys []Key
	for _, tool := range texts(tree, "allowed_tools") {
		if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
			server, _, _ := strings.Cut(rest, "__")
			if k := (Key{MCPServers, server}); !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

func text(tree map[string]any, name string) string { s, _ := tree[name].(string); return s }

func texts(tree map[string]any, name string) []string {
	list, _ := tree[name].([]any)
	var out []string
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func fillPool(p *awaken.ModelPoolSpec) {
	for i := range p.Members {
		p.Members[i].Role = cmp.Or(p.Members[i].Role, "member")
	}
	p.Routing.Home = cmp.Or(p.Routing.Home, "deterministic")
	p.Routing.StickyScope = cmp.Or(p.Routing.StickyScope, "thread")
	for _, on := range []**bool{&p.Switch.OnCircuitOpen, &p.Switch.OnQuota, &p.Switch.OnPermanent} {
		*on = cmp.Or(*on, new(true))
	}
}

func checkPool(p *awaken.ModelPoolSpec) error {
	var m mistakes
	m.Include(p.Validate())
	for name, n := range map[string]*int{"quota_retry_after_threshold_secs": p.Switch.QuotaRetryAfterThresholdSecs, "max_switches_per_session": p.Switch.MaxSwitchesPerSession} {
		if n != nil && *n < 0 {
			m.Add("switch.%s is %d, want 0 or more", name, *n)
		}
	}
	return m.Err()
}

func fillProvider(p *awaken.ProviderSpec) { p.TimeoutSecs = cmp.Or(p.TimeoutSecs, 300) }

func checkProvider(p *awaken.ProviderSpec) error {
	var m mistakes
	m.Include(p.Validate())
	if p.BaseURL != "" {
		m.url("base_url", p.BaseURL)
	}
	option := func(name string, to any, want string) {
		raw, there := p.AdapterOptions[name]
		wrong := there && json.Unmarshal(raw, to) != nil
		if name == "headers" {
			raw = json.RawMessage(hidden)
		}
		m.When(wrong, "adapter_options.%s is %s, want %s", name, raw, want)
	}
	word := func(name string, words ...string) (s string) {
		raw, there := p.AdapterOptions[name]
		wrong := there && (json.Unmarshal(raw, &s) != nil || !slices.Contains(words, s))
		last := len(words) - 1
		m.When(wrong, "adapter_options.%s is %s, want %s or %s", name, raw, strings.Join(words[:last], ", "), words[last])
		return s
	}
	option("headers", new(map[string]string), "an object of texts")
	option("scopes", new([]string), "an array of texts")
	option("allow_env_credentials", new(bool), "true or false")
	word("model_discovery_schema", "openai", "openai-compatible", "openrouter", "gemini", "google")
	word("model_discovery_auth", "bearer", "x-goog-api-key", "none")
	credentials := word("credentials_kind", "bearer", "service_account_json")
	if credentials == "service_account_json" {
		m.When(p.Adapter != "vertex", "adapter_options.credentials_kind is service_account_json, which only the adapter vertex takes, not %q", p.Adapter)
		var account map[string]any
		key := p.APIKey.Expose()
		m.When(key != "" && key != hidden && json.Unmarshal([]byte(key), &account) != nil,
			"api_key is ***, want the JSON of a service account, because adapter_options.credentials_kind says so")
	}
	return m.Err()
}
