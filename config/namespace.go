package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/awaken-go/awaken"
)

// Known reports whether there is such a namespace.
func (ns Namespace) Known() bool { return kinds[ns] != nil }

// Overridable reports whether documents of the namespace can have overrides.
func (ns Namespace) Overridable() bool { k := kinds[ns]; return k != nil && k.patch != nil }

// spec is a pointer to a [Spec].
type spec interface{ Validate() error }

// kind is what a namespace is about.
type kind struct {
	what string // one of them
	new  func() spec
	// least is a document that says as little as it can, but has every object whose fields
	// have defaults.
	least string
	// fill puts the defaults in.
	fill func(spec)
	// check reports every mistake at once.
	check func(spec) error
	// hints are the right names for those of earlier versions.
	hints map[string]string
	// update turns what earlier versions wrote, and what only answers have, into a
	// document of today. May be nil.
	update func(tree map[string]any) error
	// keep puts hidden in the places whose secret stays because the document as written
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
}

// kinds is the table of the namespaces.
var kinds = map[Namespace]*kind{
	Agents: {
		what: "agent", new: func() spec { return new(awaken.AgentSpec) },
		least: `{"id":"#","backend":{},"context_policy":{},"endpoint":{"base_url":"https://h"}}`,
		fill:  func(s spec) { fillAgent(s.(*awaken.AgentSpec)) }, check: func(s spec) error { return checkAgent(s.(*awaken.AgentSpec)) },
		hints:  map[string]string{"model": `"model_id"`, "provider": `"model_id", whose model names the provider`},
		update: updateAgent, secret: agentSecret, to: []string{"endpoint", "base_url"}, needs: agentNeeds, patch: agentPatch,
	},
	Models: {
		what: "model", new: func() spec { return new(awaken.ModelSpec) },
		least: `{"id":"#","provider_id":"p","upstream_model":"m"}`,
		fill:  func(spec) {}, check: spec.Validate,
		hints: map[string]string{"model": `"upstream_model"`, "provider": `"provider_id"`},
		needs: func(tree map[string]any) []Key { return []Key{{Providers, text(tree, "provider_id")}} },
	},
	Pools: {
		what: "model pool", new: func() spec { return new(awaken.ModelPoolSpec) },
		least: `{"id":"#","members":[{"model_id":"m"}]}`,
		fill:  func(s spec) { fillPool(s.(*awaken.ModelPoolSpec)) }, check: func(s spec) error { return checkPool(s.(*awaken.ModelPoolSpec)) },
		hints: map[string]string{"models": `"members"`},
		needs: poolNeeds,
	},
	Providers: {
		what: "provider", new: func() spec { return new(awaken.ProviderSpec) },
		least:  `{"id":"#","adapter":"a"}`,
		fill:   func(s spec) { fillProvider(s.(*awaken.ProviderSpec)) },
		check:  func(s spec) error { return checkProvider(s.(*awaken.ProviderSpec)) },
		update: func(tree map[string]any) error { delete(tree, "has_api_key"); return nil },
		keep:   func(tree, stored map[string]any) { keepAbsent(tree, stored, "api_key") },
		secret: func(p []string) bool {
			return p[0] == "api_key" || p[0] == "adapter_options" && (p[len(p)-1] == "headers" || secretName(p[len(p)-1]))
		},
		to: []string{"base_url"},
		show: func(tree map[string]any) {
			_, tree["has_api_key"] = tree["api_key"]
			delete(tree, "api_key")
		},
	},
	MCPServers: {
		what: "MCP server", new: func() spec { return new(MCPServerSpec) },
		least: `{"id":"#","transport":"stdio","command":"c","restart_policy":{}}`,
		fill:  func(s spec) { s.(*MCPServerSpec).fill() }, check: spec.Validate,
		update: func(tree map[string]any) error {
			delete(tree, "has_env")
			delete(tree, "env_keys")
			return nil
		},
		keep: keepEnv,
		secret: func(p []string) bool {
			return p[0] == "env" || p[0] == "config" && len(p) > 1 && (p[len(p)-1] == "headers" || secretName(p[len(p)-1]))
		},
		to:   []string{"url"},
		show: showEnv,
	},
	A2AServers: {
		what: "A2A server", new: func() spec { return new(A2AServerSpec) },
		least: `{"id":"#","base_url":"https://h"}`,
		fill:  func(s spec) { s.(*A2AServerSpec).fill() }, check: spec.Validate,
		update: func(tree map[string]any) error { delete(tree, "has_auth"); return nil },
		keep:   keepAuth,
		secret: func(p []string) bool {
			return isAuth(p) || p[0] == "options" && len(p) > 1 && (p[len(p)-1] == "headers" || secretName(p[len(p)-1]))
		},
		to: []string{"base_url"},
		show: func(tree map[string]any) {
			_, tree["has_auth"] = tree["auth"]
			delete(tree, "auth")
		},
	},
	Skills: {
		what: "skill", new: func() spec { return new(SkillSpec) },
		least: `{"id":"-","name":"n","description":"d","instructions_md":"i"}`,
		fill:  func(s spec) { s.(*SkillSpec).fill() }, check: spec.Validate,
		needs: skillNeeds, patch: skillPatch,
	},
	Tools: {
		what: "tool", new: func() spec { return new(ToolSpec) },
		least: `{"id":"#","name":"n","description":"d"}`,
		fill:  func(spec) {}, check: spec.Validate, patch: toolPatch,
	},
}

// CheckID reports what is wrong with the id of a document.
func CheckID(key Key) error {
	ns, id := key.Namespace, key.ID
	if !ns.Known() {
		return fmt.Errorf("%w: namespace %q", awaken.ErrNotFound, ns)
	}
	bad := func(want string) error {
		return fmt.Errorf("%w: id of %s is %q, want %s", awaken.ErrInvalid, ns, id, want)
	}
	switch {
	case strings.TrimSpace(id) == "":
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
	if s.MaxRounds == 0 {
		s.MaxRounds = 16
	}
	if s.MaxContinuationRetries == nil {
		s.MaxContinuationRetries = new(2)
	}
	if e := s.Endpoint; e != nil {
		if e.Backend == "" {
			e.Backend = "a2a"
		}
		if e.TimeoutMS == 0 {
			e.TimeoutMS = 300_000
		}
	}
	if b := s.Backend; b != nil {
		if b.Kind == "" {
			b.Kind = "awaken"
		}
		if b.Version == 0 {
			b.Version = 1
		}
		if b.Kind == "awaken" {
			b.Config = nil // the fields have it
		}
	}
}

func checkAgent(s *awaken.AgentSpec) error {
	var m mistakes
	if err := s.Validate(); err != nil {
		m = append(m, err)
	}
	if s.Endpoint != nil && s.Backend != nil && s.Backend.Kind != "awaken" {
		m.add("endpoint and backend are both set, want one of them")
	}
	if e := s.Endpoint; e != nil {
		m.url("endpoint.base_url", e.BaseURL)
		m.auth("endpoint.auth", e.Auth)
		if e.TimeoutMS < 0 {
			m.add("endpoint.timeout_ms is %d, want more than 0", e.TimeoutMS)
		}
	}
	for name, list := range map[string][]string{"plugin_ids": s.PluginIDs, "active_hook_filter": s.ActiveHookFilter, "delegates": s.Delegates,
		"allowed_tools": s.AllowedTools, "excluded_tools": s.ExcludedTools} {
		if slices.ContainsFunc(list, func(id string) bool { return strings.TrimSpace(id) == "" }) {
			m.add("%s has an empty id", name)
		}
	}
	if slices.Contains(s.Delegates, s.ID) {
		m.add("delegates has the agent itself")
	}
	if raw := s.Sections["retry"]; len(raw) > 0 {
		var v any
		if json.Unmarshal(raw, &v) == nil && v == nil {
			m.add(`sections["retry"] is null, want an object`)
		}
	}
	return m.join()
}

// updateAgent takes the names that endpoints had in earlier versions.
func updateAgent(tree map[string]any) error {
	e, _ := tree["endpoint"].(map[string]any)
	var old, new []string
	for name := range e {
		switch name {
		case "bearer_token", "agent_id", "poll_interval_ms":
			old = append(old, name)
		case "backend", "auth", "target", "options":
			new = append(new, name)
		}
	}
	if len(old) == 0 {
		return nil
	}
	slices.Sort(old)
	slices.Sort(new)
	if len(new) > 0 {
		return fmt.Errorf("endpoint has %s of an earlier version beside %s: use auth, target and options", strings.Join(old, ", "), strings.Join(new, ", "))
	}
	if v, ok := e["bearer_token"]; ok && v != nil {
		e["auth"] = map[string]any{"type": "bearer", "token": v}
	}
	if v, ok := e["agent_id"]; ok && v != nil {
		e["target"] = v
	}
	if v, ok := e["poll_interval_ms"]; ok && v != nil {
		e["options"] = map[string]any{"poll_interval_ms": v}
	}
	for _, name := range old {
		delete(e, name)
	}
	return nil
}

func agentSecret(p []string) bool {
	last := p[len(p)-1]
	switch p[0] {
	case "endpoint":
		return isAuth(p[1:]) || len(p) > 1 && (last == "headers" || secretName(last))
	case "backend":
		return len(p) > 2 && p[1] == "config" && (last == "headers" || secretName(last))
	case "sections":
		return len(p) > 2 && secretName(last) && strings.Join(p, "/") != "sections/guardrails/secrets"
	}
	return false
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

// Needs returns the documents that a sealed one depends on. An agent's model_id names a
// model or a pool: both are returned.
func Needs(ns Namespace, doc json.RawMessage) []Key {
	k := kinds[ns]
	if k == nil || k.needs == nil {
		return nil
	}
	tree, err := parse(doc)
	if err != nil {
		return nil
	}
	return k.needs(tree)
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
		if p.Members[i].Role == "" {
			p.Members[i].Role = "member"
		}
	}
	if p.Routing.Home == "" {
		p.Routing.Home = "deterministic"
	}
	if p.Routing.StickyScope == "" {
		p.Routing.StickyScope = "thread"
	}
	for _, on := range []**bool{&p.Switch.OnCircuitOpen, &p.Switch.OnQuota, &p.Switch.OnPermanent} {
		if *on == nil {
			*on = new(true)
		}
	}
}

func checkPool(p *awaken.ModelPoolSpec) error {
	var m mistakes
	if err := p.Validate(); err != nil {
		m = append(m, err)
	}
	for name, n := range map[string]*int{"quota_retry_after_threshold_secs": p.Switch.QuotaRetryAfterThresholdSecs, "max_switches_per_session": p.Switch.MaxSwitchesPerSession} {
		if n != nil && *n < 0 {
			m.add("switch.%s is %d, want 0 or more", name, *n)
		}
	}
	return m.join()
}

func fillProvider(p *awaken.ProviderSpec) {
	if p.TimeoutSecs == 0 {
		p.TimeoutSecs = 300
	}
}

func checkProvider(p *awaken.ProviderSpec) error {
	var m mistakes
	if err := p.Validate(); err != nil {
		m = append(m, err)
	}
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
		if p.Adapter != "vertex" {
			m.add("adapter_options.credentials_kind is service_account_json, which only the adapter vertex takes, not %q", p.Adapter)
		}
		var account map[string]any
		if key := p.APIKey.Expose(); key != "" && key != hidden && json.Unmarshal([]byte(key), &account) != nil {
			m.add("api_key is ***, want the JSON of a service account, because adapter_options.credentials_kind says so")
		}
	}
	return m.join()
}
