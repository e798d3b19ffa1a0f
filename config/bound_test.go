package config

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
)

// secretFields returns the paths of a type that hold secrets by their type, or may by their names: objects of any fields. The
// latter have a secret in them.
func secretFields(t reflect.Type, path []string, seen []reflect.Type) (out [][]string) {
	path = slices.Clip(path)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[awaken.Secret]():
		return [][]string{path}
	case t.Kind() == reflect.Map && t.Elem() == reflect.TypeFor[json.RawMessage]():
		return [][]string{append(path, "api_key"), append(path, "deep", "0", "client_secret")}
	case t.Kind() == reflect.Map, t.Kind() == reflect.Slice:
		return secretFields(t.Elem(), append(path, "0"), seen)
	case t.Kind() != reflect.Struct || slices.Contains(seen, t):
		return nil
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" {
			out = append(out, secretFields(f.Type, append(path, name), append(seen, t))...)
		}
	}
	return out
}

// Every field of every document that holds a secret says what the secret is bound to.
func TestBound_EverySecretFieldIs(t *testing.T) {
	count := 0
	for ns, k := range kinds {
		for _, path := range secretFields(reflect.TypeOf(k.new()), nil, nil) {
			if !k.holdsSecrets(path) {
				continue // no secret is stored there: it is refused, or not meant as one
			}
			count++
			if len(k.rule(path)) == 0 {
				t.Errorf("%s: %s is bound to nothing", ns, place(path))
			}
		}
		for _, b := range k.bound {
			for _, to := range append(b.to, b.at) {
				if strings.Contains(to, " ") || strings.HasPrefix(to, "/") {
					t.Errorf("%s: %q is not a path", ns, to)
				}
			}
		}
	}
	if count < 15 {
		t.Errorf("%d fields were found, want at least 15, of providers, MCP and A2A servers and agents", count)
	}
}

// A write that keeps a secret while what it is bound to changes is refused with the field; one that gives it again is not.
func TestBound_AKeptSecretDoesNotFollow(t *testing.T) {
	const (
		stdio  = `{"id":"x","transport":"stdio","command":"good","args":["-a"],"env":{"A":"S"}}`
		oauth  = `{"id":"x","transport":"http","url":"https://h","auth":{"type":"oauth","client_id":"c","client_secret":"S","issuer":"https://idp.example"}}`
		header = `{"id":"x","transport":"http","url":"https://h/a","config":{"headers":{"A":"S"}}}`
		client = `{"id":"x","base_url":"https://h","auth":{"type":"oauth2_client_credentials","token_url":"https://t/x","client_id":"c","client_secret":"S"}}`
	)
	for _, tt := range []struct {
		ns       Namespace
		old, doc string
		want     string // the field that has changed; "" accepts the document
	}{
		{Providers, `{"id":"x","adapter":"openai","api_key":"S"}`, `{"id":"x","adapter":"anthropic"}`, "adapter"},
		{Providers, `{"id":"x","adapter":"openai","api_key":"S"}`, `{"id":"x","adapter":"anthropic","api_key":"***"}`, "adapter"},
		{Providers, `{"id":"x","adapter":"openai","api_key":"S"}`, `{"id":"x","adapter":"openai","base_url":"https://evil.example"}`, "base_url"},
		{Providers, `{"id":"x","adapter":"openai","base_url":"https://h/v1","api_key":"S"}`, `{"id":"x","adapter":"openai","base_url":"https://h/v2"}`, ""},
		{Providers, `{"id":"x","adapter":"openai","adapter_options":{"headers":{"A":"S"}}}`, `{"id":"x","adapter":"gemini","adapter_options":{"headers":{"A":"***"}}}`, "adapter"},
		{MCPServers, stdio, `{"id":"x","transport":"stdio","command":"evil","args":["-a"]}`, "command"},
		{MCPServers, stdio, `{"id":"x","transport":"stdio","command":"good","args":["-a","-v"]}`, "args"},
		{MCPServers, stdio, `{"id":"x","transport":"stdio","command":"good","env":{"A":"***"}}`, "args"},
		{MCPServers, stdio, `{"id":"x","transport":"http","url":"https://evil.example","env":{"A":"***"}}`, "args"},
		{MCPServers, stdio, `{"id":"x","transport":"stdio","command":"good","args":["-a"],"timeout_secs":7}`, ""},
		{MCPServers, header, `{"id":"x","transport":"http","url":"https://i/a","config":{"headers":{"A":"***"}}}`, "url"},
		{MCPServers, header, `{"id":"x","transport":"http","url":"http://h/a","config":{"headers":{"A":"***"}}}`, "url"},
		{MCPServers, header, `{"id":"x","transport":"http","url":"https://h/b","config":{"headers":{"A":"***"},"max_result_bytes":5}}`, ""},
		{MCPServers, oauth, strings.Replace(strings.Replace(oauth, `"S"`, `"***"`, 1), "idp.example", "evil.example", 1), "auth.issuer"},
		{MCPServers, oauth, strings.Replace(strings.Replace(oauth, `"S"`, `"***"`, 1), `,"issuer":"https://idp.example"`, "", 1), "auth.issuer"},
		{MCPServers, oauth, strings.Replace(strings.Replace(oauth, `"S"`, `"***"`, 1), "https://h", "https://i", 1), "url"},
		{MCPServers, oauth, strings.Replace(strings.Replace(oauth, `"S"`, `"***"`, 1), `"type"`, `"scopes":["s"],"type"`, 1), ""},
		{A2AServers, client, strings.Replace(strings.Replace(client, `"S"`, `"***"`, 1), "https://h", "https://i", 1), "base_url"},
		{A2AServers, client, strings.Replace(strings.Replace(client, `"S"`, `"***"`, 1), "https://t", "https://u", 1), "auth.token_url"},
		{A2AServers, `{"id":"x","base_url":"https://h","options":{"headers":{"A":"S"}}}`, `{"id":"x","base_url":"https://i","options":{"headers":{"A":"***"}}}`, "base_url"},
		{Agents, `{"id":"x","endpoint":{"base_url":"https://h","auth":{"type":"bearer","token":"S"}}}`,
			`{"id":"x","endpoint":{"backend":"other","base_url":"https://h","auth":{"type":"bearer","token":"***"}}}`, "endpoint.backend"},
		{Agents, `{"id":"x","endpoint":{"base_url":"https://h","auth":{"type":"bearer","token":"S"}}}`,
			`{"id":"x","endpoint":{"auth":{"type":"bearer","token":"***"},"options":{"a2a_server_id":"evil"}}}`, "endpoint.base_url"},
		{Agents, `{"id":"x","backend":{"kind":"one","config":{"host":"h","token":"S","n":1}}}`, `{"id":"x","backend":{"kind":"two","config":{"host":"h","token":"***"}}}`, "backend.kind"},
		{Agents, `{"id":"x","backend":{"kind":"one","config":{"host":"h","token":"S","n":1}}}`, `{"id":"x","backend":{"kind":"one","config":{"host":"i","token":"***"}}}`, "backend.config.host"},
		{Agents, `{"id":"x","backend":{"kind":"one","config":{"host":"h","token":"S","n":1}}}`, `{"id":"x","backend":{"kind":"one","config":{"host":"h","token":"***","n":2}}}`, ""},
		{Agents, `{"id":"x","sections":{"s":{"to":"https://h/a","password":"S"}}}`, `{"id":"x","sections":{"s":{"to":"https://i/a","password":"***"}}}`, "sections.s.to"},
		{Agents, `{"id":"x","sections":{"s":{"to":"https://h/a","password":"S"}}}`, `{"id":"x","sections":{"s":{"to":"https://h/b","password":"***"},"t":{"url":"u"}}}`, ""},
	} {
		key := Key{tt.ns, "x"}
		stored := mustSeal(t, key, tt.old, "")
		if len(stored.Secrets) != 1 {
			t.Fatalf("%s has %d secrets, want 1", tt.old, len(stored.Secrets))
		}
		_, err := seal(key, json.RawMessage(tt.doc), stored.Doc)
		switch {
		case tt.want == "":
			if err != nil {
				t.Errorf("%s: %v", tt.doc, err)
			}
			continue
		case !errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), ": "+tt.want+" has changed, and the secret in "):
			t.Errorf("%s: error is %v, want one about %s", tt.doc, err, tt.want)
		case strings.Contains(err.Error(), `"S"`):
			t.Errorf("%s: error is %v", tt.doc, err)
		}
	}
}
