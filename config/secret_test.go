package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/awaken-go/awaken"
)

// open puts back what seal took out.
func open(t testing.TB, key Key, doc json.RawMessage, secrets map[string]awaken.Secret) string {
	t.Helper()
	out, err := unseal(key, doc, func(ref string) (awaken.Secret, error) {
		s, ok := secrets[ref]
		if !ok {
			return s, errors.New("there is none")
		}
		return s, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Every secret field, one document each. S0, S1, … are the secrets.
var secretPlaces = map[Key][]string{
	{Providers, "x"}: {
		`{"id":"x","adapter":"openai","api_key":"S0"}`,
		`{"id":"x","adapter":"openai","adapter_options":{"headers":{"X-Any":"S0","Authorization":"Bearer S1"}}}`,
		`{"id":"x","adapter":"openai","adapter_options":{"service_account":{"private_key":"S0"},"credentials":{"a":["S1",{"b":"S2"}]}}}`,
		`{"id":"x","adapter":"openai","adapter_options":{"credentials_kind":"bearer","key_file":"/etc/key"}}`,
	},
	{MCPServers, "x"}: {
		`{"id":"x","transport":"stdio","command":"c","env":{"A":"S0","B":"S1","C":""}}`,
		`{"id":"x","transport":"http","url":"https://h","config":{"auth":{"Bearer-Token":"S0"},"headers":{"any":"S1"},"list":[{"name":"a","password":"S2"},{"name":"b","password":"S3"}]}}`,
	},
	{A2AServers, "x"}: {
		`{"id":"x","base_url":"https://h","auth":{"type":"bearer","token":"S0"},"options":{"apiKey":"S1","deep":{"client_secret":"S2"}}}`,
	},
	{Agents, "x"}: {
		`{"id":"x","endpoint":{"base_url":"https://h","bearer_token":"S0"}}`,
		`{"id":"x","endpoint":{"base_url":"https://h","auth":{"type":"bearer","token":"S0"},"options":{"headers":{"a":"S1"},"x":{"API-KEY":"S2"}}}}`,
		`{"id":"x","backend":{"kind":"other","config":{"secret":"S0","deep":[{"token":"S1"}]}}}`,
		`{"id":"x","sections":{"tool":{"api_key":"S0","nested":{"credentials":{"user":"S1","n":5}}},"odd/~name":{"refresh_token":"S2"}}}`,
		`{"id":"x","sections":{"guardrails":{"secrets":{"patterns":["not a secret"],"action":"block"}},"n":{"max_tokens":5,"tokens":["no"],"has_secret":true}}}`,
	},
}

// No secret is in what is stored or shown, all of them are back when a document is opened,
// and a client can write back what it was shown.
func TestSecrets_AreTakenOutAndPutBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom(slices.SortedFunc(maps.Keys(secretPlaces), func(a, b Key) int { return strings.Compare(a.String(), b.String()) })).Draw(t, "key")
		doc := rapid.SampledFrom(secretPlaces[key]).Draw(t, "doc")
		var planted []string
		for i := 0; strings.Contains(doc, fmt.Sprintf("S%d", i)); i++ {
			s := fmt.Sprintf("planted-%d-%s", i, rapid.StringMatching(`[ -!#-RT-\[\]-~ä]{0,20}`).Draw(t, "secret"))
			doc = strings.ReplaceAll(doc, fmt.Sprintf("S%d", i), s)
			planted = append(planted, s)
		}
		s, err := seal(key, json.RawMessage(doc), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Secrets) != len(planted) {
			t.Fatalf("%s: %d secrets were taken out, want %d: %s", doc, len(s.Secrets), len(planted), s.Doc)
		}
		shown, err := redact(key.Namespace, s.Doc)
		if err != nil {
			t.Fatal(err)
		}
		never, err := redact(key.Namespace, json.RawMessage(doc))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{string(s.Doc), string(shown), string(never), fmt.Sprint(s.Secrets), fmt.Sprintf("%+v %#v", s, s)} {
			if strings.Contains(text, "planted") {
				t.Fatalf("a secret is in %s", text)
			}
		}
		if strings.Contains(string(shown), refName) {
			t.Fatalf("a reference is in %s", shown)
		}
		plain, err := unseal(key, s.Doc, func(ref string) (awaken.Secret, error) { return s.Secrets[ref], nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range planted {
			if !strings.Contains(string(plain), p) {
				t.Fatalf("%q is not in %s", p, plain)
			}
		}
		for _, written := range []json.RawMessage{shown, s.Doc} {
			again, err := seal(key, written, s.Doc)
			if err != nil {
				t.Fatalf("%s: %v", written, err)
			}
			if string(again.Doc) != string(s.Doc) || len(again.Secrets) > 0 {
				t.Fatalf("%s: got %s, %v, want %s", written, again.Doc, again.Secrets, s.Doc)
			}
		}
		empty, err := seal(key, json.RawMessage(least[key.Namespace]), s.Doc)
		if err != nil {
			t.Fatal(err)
		}
		if kept := secretsOf(empty.Doc); len(kept)+len(gone(s.Doc, empty.Doc)) != len(planted) {
			t.Fatalf("of %d secrets %v are left and %v gone", len(planted), kept, gone(s.Doc, empty.Doc))
		}
	})
}

// gone returns the references that are in before but not in after.
func gone(before, after json.RawMessage) []string {
	now := secretsOf(after)
	return slices.DeleteFunc(secretsOf(before), func(ref string) bool { return slices.Contains(now, ref) })
}

// least are minimal documents.
var least = map[Namespace]string{
	Agents: `{"id":"x"}`, Providers: `{"id":"x","adapter":"openai"}`, A2AServers: `{"id":"x","base_url":"https://h"}`,
	MCPServers: `{"id":"x","transport":"stdio","command":"c"}`, Models: `{"id":"x","provider_id":"p","upstream_model":"m"}`,
	Pools: `{"id":"x","members":[{"model_id":"m"}]}`, Skills: `{"id":"x","name":"n","description":"d","instructions_md":"i"}`,
	Tools: `{"id":"x","name":"n","description":"d"}`,
}

func TestSeal_KeepsAndClearsSecrets(t *testing.T) {
	const (
		provider = `{"id":"x","adapter":"openai","api_key":"old","adapter_options":{"headers":{"a":"h1"}}}`
		mcp      = `{"id":"x","transport":"stdio","command":"c","env":{"A":"1","B":"2"}}`
		a2a      = `{"id":"x","base_url":"https://h","auth":{"type":"bearer","token":"old"}}`
		agent    = `{"id":"x","endpoint":{"base_url":"https://h","auth":{"type":"bearer","token":"old"}}}`
		list     = `{"id":"x","sections":{"s":{"l":[{"n":1,"token":"a"},{"n":2,"token":"b"}],"t":{"tokens_secret":["a","b"]}}}}`
	)
	for _, tt := range []struct {
		name     string
		ns       Namespace
		old, doc string
		want     string // open, or a part of the error
		gone     int
	}{
		{"absent keeps", Providers, provider, `{"id":"x","adapter":"openai","timeout_secs":7,"adapter_options":{"headers":{"a":"***"}}}`, `{"adapter":"openai","adapter_options":{"headers":{"a":"h1"}},"api_key":"old","id":"x","timeout_secs":7}`, 0},
		{"stars keep", Providers, provider, `{"id":"x","adapter":"openai","api_key":"***"}`, `{"adapter":"openai","api_key":"old","id":"x","timeout_secs":300}`, 1},
		{"empty clears", Providers, provider, `{"id":"x","adapter":"openai","api_key":""}`, `{"adapter":"openai","id":"x","timeout_secs":300}`, 2},
		{"null clears", Providers, provider, `{"id":"x","adapter":"openai","api_key":null}`, `{"adapter":"openai","id":"x","timeout_secs":300}`, 2},
		{"new replaces", Providers, provider, `{"id":"x","adapter":"openai","api_key":"new"}`, `{"adapter":"openai","api_key":"new","id":"x","timeout_secs":300}`, 1},
		{"stars for nothing", Providers, `{"id":"x","adapter":"openai"}`, `{"id":"x","adapter":"openai","api_key":"***"}`, `api_key is "***", but no secret is stored there`, 0},
		{"stars elsewhere", Providers, provider, `{"id":"x","adapter":"openai","adapter_options":{"headers":{"b":"***"}}}`, `adapter_options.headers.b is "***", but no secret is stored there`, 0},
		{"its own reference", Providers, provider, `{"id":"x","adapter":"openai","api_key":{"$secret":"providers/x#/api_key"}}`, `{"adapter":"openai","api_key":"old","id":"x","timeout_secs":300}`, 1},
		{"another's reference", Providers, provider, `{"id":"x","adapter":"openai","api_key":{"$secret":"providers/y#/api_key"}}`, `api_key refers to a secret that is not stored there`, 0},
		{"its own in another place", Providers, provider, `{"id":"x","adapter":"openai","adapter_options":{"headers":{"a":{"$secret":"providers/x#/api_key"}}}}`, `adapter_options.headers.a refers to a secret`, 0},
		{"a reference in a new document", Providers, ``, `{"id":"x","adapter":"openai","api_key":{"$secret":"providers/x#/api_key"}}`, `api_key refers to a secret`, 0},
		{"a reference that is none", Providers, provider, `{"id":"x","adapter":"openai","adapter_options":{"o":{"$secret":"x","password":"p"}}}`, `adapter_options.o refers to a secret`, 0},
		{"a number", Providers, provider, `{"id":"x","adapter":"openai","adapter_options":{"password":1234}}`, `adapter_options.password is a JSON number, want a string, because it is stored as a secret`, 0},

		{"absent env", MCPServers, mcp, `{"id":"x","transport":"stdio","command":"c"}`, `{"command":"c","env":{"A":"1","B":"2"},"id":"x","timeout_secs":30,"transport":"stdio"}`, 0},
		{"null env", MCPServers, mcp, `{"id":"x","transport":"stdio","command":"d","env":null}`, `{"command":"d","id":"x","timeout_secs":30,"transport":"stdio"}`, 2},
		{"empty env", MCPServers, mcp, `{"id":"x","transport":"stdio","command":"d","env":{}}`, `{"command":"d","id":"x","timeout_secs":30,"transport":"stdio"}`, 2},
		{"some env", MCPServers, mcp, `{"id":"x","transport":"stdio","command":"c","env":{"A":"***","B":null,"C":"3"}}`, `{"command":"c","env":{"A":"1","C":"3"},"id":"x","timeout_secs":30,"transport":"stdio"}`, 1},

		{"absent auth", A2AServers, a2a, `{"id":"x","base_url":"https://H/i"}`, `{"auth":{"token":"old","type":"bearer"},"base_url":"https://H/i","id":"x","timeout_ms":10000}`, 0},
		{"absent token", A2AServers, a2a, `{"id":"x","base_url":"https://h/i","auth":{"type":"bearer"}}`, `{"auth":{"token":"old","type":"bearer"},"base_url":"https://h/i","id":"x","timeout_ms":10000}`, 0},
		{"absent auth and another server", A2AServers, a2a, `{"id":"x","base_url":"https://i"}`, `base_url has changed, and the secret in auth.token was given for its former value: write the secret again, or clear it with null`, 0},
		{"absent key and another server", Providers, provider, `{"id":"x","adapter":"openai","base_url":"https://i"}`, `base_url has changed, and the secret in api_key was given`, 0},
		{"stars and another server", Providers, provider, `{"id":"x","adapter":"openai","base_url":"https://i","api_key":"new","adapter_options":{"headers":{"a":"***"}}}`, `base_url has changed, and the secret in adapter_options.headers.a was given`, 0},
		{"a key for another server", Providers, provider, `{"id":"x","adapter":"openai","base_url":"https://i","api_key":"new"}`, `{"adapter":"openai","api_key":"new","base_url":"https://i","id":"x","timeout_secs":300}`, 1},
		{"no key for another server", Providers, provider, `{"id":"x","adapter":"openai","base_url":"https://i","api_key":null}`, `{"adapter":"openai","base_url":"https://i","id":"x","timeout_secs":300}`, 2},
		{"stars and another endpoint", Agents, agent, `{"id":"x","endpoint":{"base_url":"http://h","auth":{"type":"bearer","token":"***"}}}`, `endpoint.base_url has changed, and the secret in endpoint.auth.token was given`, 0},
		{"null auth", A2AServers, a2a, `{"id":"x","base_url":"https://i","auth":null}`, `{"base_url":"https://i","id":"x","timeout_ms":10000}`, 1},
		{"empty token", A2AServers, a2a, `{"id":"x","base_url":"https://i","auth":{"type":"bearer","token":""}}`, `auth.token is empty`, 0},

		{"agents show their places", Agents, agent, `{"id":"x"}`, `{"id":"x","max_continuation_retries":2,"max_rounds":16}`, 1},
		{"a list as it was", Agents, list, `{"id":"x","sections":{"s":{"l":[{"n":1,"token":"***"},{"n":2,"token":"c"}]}}}`, `{"id":"x","max_continuation_retries":2,"max_rounds":16,"sections":{"s":{"l":[{"n":1,"token":"a"},{"n":2,"token":"c"}]}}}`, 2},
		{"a list without its first entry", Agents, list, `{"id":"x","sections":{"s":{"l":[{"n":2,"token":"***"}]}}}`, `sections.s.l.0.token is "***" in a list that has changed`, 0},
		{"a list in another order", Agents, list, `{"id":"x","sections":{"s":{"l":[{"n":2,"token":"***"},{"n":1,"token":"***"}]}}}`, `sections.s.l.1.token is "***" in a list that has changed`, 0},
		{"a list of secrets without one", Agents, list, `{"id":"x","sections":{"s":{"t":{"tokens_secret":["***"]}}}}`, `is "***" in a list that has changed`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			key := Key{tt.ns, "x"}
			secrets := map[string]awaken.Secret{}
			var stored json.RawMessage
			if tt.old != "" {
				old := mustSeal(t, key, tt.old, "")
				maps.Copy(secrets, old.Secrets)
				stored = old.Doc
			}
			s, err := seal(key, json.RawMessage(tt.doc), stored)
			if !strings.HasPrefix(tt.want, "{") {
				if !errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error is %v, want %s", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(secrets, s.Secrets)
			left := gone(stored, s.Doc)
			for _, ref := range left {
				delete(secrets, ref)
			}
			if got := open(t, key, s.Doc, secrets); got != tt.want {
				t.Errorf("got\n%s, want\n%s", got, tt.want)
			}
			if len(left) != tt.gone {
				t.Errorf("gone are %v, want %d", left, tt.gone)
			}
		})
	}
}

func TestRedact(t *testing.T) {
	for _, tt := range []struct {
		ns        Namespace
		doc, want string
	}{
		{Providers, `{"id":"x","adapter":"openai","api_key":"k"}`, `{"adapter":"openai","has_api_key":true,"id":"x","timeout_secs":300}`},
		{Providers, `{"id":"x","adapter":"openai","adapter_options":{"headers":{"a":"k"},"key_file":"f"}}`, `{"adapter":"openai","adapter_options":{"headers":{"a":"***"},"key_file":"f"},"has_api_key":false,"id":"x","timeout_secs":300}`},
		{MCPServers, `{"id":"x","transport":"stdio","command":"c","env":{"B":"k","A":""},"config":{"password":"k"}}`, `{"command":"c","config":{"password":"***"},"env_keys":["A","B"],"has_env":true,"id":"x","timeout_secs":30,"transport":"stdio"}`},
		{MCPServers, `{"id":"x","transport":"stdio","command":"c"}`, `{"command":"c","env_keys":[],"has_env":false,"id":"x","timeout_secs":30,"transport":"stdio"}`},
		{A2AServers, `{"id":"x","base_url":"https://h","auth":{"type":"bearer","token":"k"}}`, `{"base_url":"https://h","has_auth":true,"id":"x","timeout_ms":10000}`},
		{A2AServers, `{"id":"x","base_url":"https://h"}`, `{"base_url":"https://h","has_auth":false,"id":"x","timeout_ms":10000}`},
		{Agents, `{"id":"x","endpoint":{"base_url":"https://h","auth":{"type":"bearer","token":"k"}}}`, `{"endpoint":{"auth":{"token":"***","type":"bearer"},"backend":"a2a","base_url":"https://h","timeout_ms":300000},"id":"x","max_continuation_retries":2,"max_rounds":16}`},
	} {
		got, err := redact(tt.ns, mustSeal(t, Key{tt.ns, "x"}, tt.doc, "").Doc)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got\n%s, %v, want\n%s", tt.doc, got, err, tt.want)
		}
	}
}

// A reference to another document's secret never resolves, however it got into a document.
func TestUnseal_RejectsForeignReferences(t *testing.T) {
	doc := json.RawMessage(`{"id":"x","sections":{"a":{"$secret":"providers/p#/api_key"}}}`)
	_, err := unseal(Key{Agents, "x"}, doc, func(string) (awaken.Secret, error) { return awaken.NewSecret("s"), nil })
	if err == nil || !strings.Contains(err.Error(), "sections.a refers to the secret of another document") {
		t.Error(err)
	}
	doc = json.RawMessage(`{"id":"x","api_key":{"$secret":"providers/x#/api_key"}}`)
	_, err = unseal(Key{Providers, "x"}, doc, func(string) (awaken.Secret, error) { return awaken.Secret{}, ErrNoKey })
	if !errors.Is(err, ErrNoKey) || !strings.Contains(err.Error(), "providers/x: the secret in api_key") {
		t.Error(err)
	}
}
