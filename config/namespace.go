package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/awaken-go/awaken"
)

// Known reports whether there is such a namespace.
func (ns Namespace) Known() bool { return kinds[ns] != nil }

// overridable reports whether documents of the namespace can have overrides.
func (ns Namespace) overridable() bool { k := kinds[ns]; return k != nil && k.patch != nil }

// spec is a pointer to the struct that documents of a namespace are decoded into.
type spec interface{ Validate() error }

// kind is what a namespace is about.
type kind struct {
	what string // one of them
	// least is a document that says as little as it can, but has every object whose fields
	// have defaults.
	least string
	// hints are the right names for those of earlier versions.
	hints map[string]string
	// update turns what earlier versions wrote, and what only answers have, into a
	// document of today. May be nil.
	update func(tree map[string]any) error
	// unseen is a secret field that clients see only as has_<field>. It stays if it is left
	// out. "" means that there is none.
	unseen string
	// keep puts hidden in further places whose secret stays because the document as written
	// says nothing about it; stored is the masked document that it replaces. May be nil.
	keep func(tree, stored map[string]any)
	// secret reports whether the texts at and below a place are secrets. Nil means none.
	secret func(path []string) bool
	// to is the place of the address that secrets are sent to: all of them, or if it is in an
	// object those of that object. Nil means none.
	to []string
	// show turns a masked document into what clients see. May be nil.
	show func(tree map[string]any)
	// needs returns the documents that one depends on. May be nil.
	needs func(tree map[string]any) []Key
	// patch says what can be overridden. Nil means nothing.
	patch *patchKind

	new   func() spec
	fill  func(spec)       // puts the defaults in
	check func(spec) error // reports every mistake at once
}

// typed completes a kind with the struct of its documents.
func typed[T any, P interface {
	*T
	spec
}](k kind, fill func(P), check func(P) error) *kind {
	k.new = func() spec { return P(new(T)) }
	k.fill = func(s spec) { fill(s.(P)) }
	k.check = func(s spec) error { return check(s.(P)) }
	return &k
}

// kinds is the table of the namespaces.
var kinds = map[Namespace]*kind{
	Agents: typed(kind{
		what:   "agent",
		least:  `{"id":"#","backend":{},"context_policy":{},"endpoint":{"base_url":"https://h"}}`,
		hints:  map[string]string{"model": `"model_id"`, "provider": `"model_id", whose model names the provider`},
		update: updateAgent, secret: agentSecret, to: []string{"endpoint", "base_url"}, needs: agentNeeds, patch: agentPatch,
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
		to:     []string{"base_url"},
	}, fillProvider, checkProvider),
	MCPServers: typed(kind{
		what:   "MCP server",
		least:  `{"id":"#","transport":"stdio","command":"c","restart_policy":{}}`,
		update: func(tree map[string]any) error { delete(tree, "env_keys"); return nil },
		unseen: "env",
		keep:   dropNullEnv,
		secret: func(p []string) bool { return p[0] == "env" || p[0] == "config" && sensitive(p) },
		to:     []string{"url"},
		show:   showEnv,
	}, (*MCPServerSpec).fill, (*MCPServerSpec).Validate),
	A2AServers: typed(kind{
		what:   "A2A server",
		least:  `{"id":"#","base_url":"https://h"}`,
		unseen: "auth",
		keep:   keepToken,
		secret: func(p []string) bool { return isAuth(p) || p[0] == "options" && sensitive(p) },
		to:     []string{"base_url"},
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

// kind returns what a namespace is about; awaken.ErrNotFound if there is no such namespace.
func (ns Namespace) kind() (*kind, error) {
	if k := kinds[ns]; k != nil {
		return k, nil
	}
	return nil, fmt.Errorf("namespace %q: %w", ns, awaken.ErrNotFound)
}

// CheckID reports what is wrong with the id of a document.
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
		return bad("another one: routes have that name")
	case strings.ContainsFunc(id, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return bad("no blanks and control characters")
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
type mistakes []error

func (m *mistakes) add(format string, args ...any) { *m = append(*m, fmt.Errorf(format, args...)) }

// when adds a mistake if it was made.
func (m *mistakes) when(made bool, format string, args ...any) {
	if made {
		m.add(format, args...)
	}
}

// id checks that there is one.
func (m *mistakes) id(id string) { m.when(blank(id), "id is empty") }

func (m mistakes) join() error { return errors.Join(m...) }

// url checks an address. The user and password of one would be shown to everybody.
func (m *mistakes) url(field, value string) {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		if err == nil && u.User != nil || strings.Contains(value, "@") {
			value = "***"
		}
		m.add("%s is %q, want a URL that begins with http:// or https://", field, value)
	case u.User != nil:
		m.add("%s has a user or password in it, which would be shown: leave it out", field)
	}
}

// auth checks how a server is told who calls.
func (m *mistakes) auth(field string, a *awaken.RemoteAuth) {
	switch {
	case a == nil:
	case a.Type != "bearer":
		m.add("%s.type is %q, want bearer", field, a.Type)
	case a.Token.IsZero():
		m.add("%s.token is empty", field)
	}
}

func fillAgent(s *awaken.AgentSpec) {
	s.MaxRounds = cmp.Or(s.MaxRounds, 16)
	s.MaxContinuationRetries = cmp.Or(s.MaxContinuationRetries, new(2))
	if e := s.Endpoint; e != nil {
		e.Backend, e.TimeoutMS = cmp.Or(e.Backend, "a2a"), cmp.Or(e.TimeoutMS, 300_000)
	}
	if b := s.Backend; b != nil {
		b.Kind, b.Version = cmp.Or(b.Kind, "awaken"), cmp.Or(b.Version, 1)
		if b.Kind == "awaken" {
			b.Config = nil // the fields have it
		}
	}
}

func checkAgent(s *awaken.AgentSpec) error {
	m := mistakes{s.Validate()}
	m.when(s.Endpoint != nil && s.Backend != nil && s.Backend.Kind != "awaken", "endpoint and backend are both set, want one of them")
	if e := s.Endpoint; e != nil {
		m.url("endpoint.base_url", e.BaseURL)
		m.auth("endpoint.auth", e.Auth)
		m.when(e.TimeoutMS < 0, "endpoint.timeout_ms is %d, want more than 0", e.TimeoutMS)
	}
	for name, list := range map[string][]string{"plugin_ids": s.PluginIDs, "active_hook_filter": s.ActiveHookFilter, "delegates": s.Delegates,
		"allowed_tools": s.AllowedTools, "excluded_tools": s.ExcludedTools} {
		m.when(slices.ContainsFunc(list, blank), "%s has an empty id", name)
	}
	m.when(slices.Contains(s.Delegates, s.ID), "delegates has the agent itself")
	m.when(string(bytes.TrimSpace(s.Sections["retry"])) == "null", `sections["retry"] is null, want an object`)
	return m.join()
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// updateAgent takes the names that endpoints had in earlier versions.
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
		return fmt.Errorf("endpoint has %s of an earlier version beside %s: use auth, target and options", strings.Join(old, ", "), strings.Join(new, ", "))
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
	return nil
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

// sensitive reports whether the texts below a place are secrets by its name alone.
func sensitive(p []string) bool {
	last := p[len(p)-1]
	return last == "headers" || secretName(last)
}

// isAuth is true for all of auth but its type.
func isAuth(p []string) bool { return len(p) > 1 && p[0] == "auth" && p[1] != "type" }

// secretName reports whether a field of that name holds a secret.
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
	for _, id := range texts(tree, "delegates") {
		keys = append(keys, Key{Agents, id})
		if server, _, ok := strings.Cut(id, "/"); ok {
			keys = append(keys, Key{A2AServers, server})
		}
	}
	return keys
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
	m := mistakes{p.Validate()}
	for name, n := range map[string]*int{"quota_retry_after_threshold_secs": p.Switch.QuotaRetryAfterThresholdSecs, "max_switches_per_session": p.Switch.MaxSwitchesPerSession} {
		if n != nil && *n < 0 {
			m.add("switch.%s is %d, want 0 or more", name, *n)
		}
	}
	return m.join()
}

func fillProvider(p *awaken.ProviderSpec) { p.TimeoutSecs = cmp.Or(p.TimeoutSecs, 300) }

func checkProvider(p *awaken.ProviderSpec) error {
	m := mistakes{p.Validate()}
	if p.BaseURL != "" {
		m.url("base_url", p.BaseURL)
	}
	option := func(name string, to any, want string, ok func() bool) {
		raw, there := p.AdapterOptions[name]
		if there && (json.Unmarshal(raw, to) != nil || ok != nil && !ok()) {
			if name == "headers" {
				raw = json.RawMessage("***")
			}
			m.add("adapter_options.%s is %s, want %s", name, raw, want)
		}
	}
	oneOf := func(s *string, words ...string) func() bool { return func() bool { return slices.Contains(words, *s) } }
	var headers map[string]string
	var scopes []string
	var env bool
	var credentials, discovery, discoveryAuth string
	option("headers", &headers, "an object of texts", nil)
	option("scopes", &scopes, "an array of texts", nil)
	option("allow_env_credentials", &env, "true or false", nil)
	option("credentials_kind", &credentials, "bearer or service_account_json", oneOf(&credentials, "bearer", "service_account_json"))
	option("model_discovery_schema", &discovery, "openai, openai-compatible, openrouter, gemini or google", oneOf(&discovery, "openai", "openai-compatible", "openrouter", "gemini", "google"))
	option("model_discovery_auth", &discoveryAuth, "bearer, x-goog-api-key or none", oneOf(&discoveryAuth, "bearer", "x-goog-api-key", "none"))
	if credentials == "service_account_json" {
		m.when(p.Adapter != "vertex", "adapter_options.credentials_kind is service_account_json, which only the adapter vertex takes, not %q", p.Adapter)
		var account map[string]any
		key := p.APIKey.Expose()
		m.when(key != "" && key != hidden && json.Unmarshal([]byte(key), &account) != nil,
			"api_key is ***, want the JSON of a service account, because adapter_options.credentials_kind says so")
	}
	return m.join()
}
