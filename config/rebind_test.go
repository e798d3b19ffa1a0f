package config_test

import (
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/store/memory"
)

// No way of writing a document, and no return to an older one, gives a secret to another adapter or program.
func TestBound_NoWayAround(t *testing.T) {
	r := newRig(t, nil, nil)
	r.mcp.Server("files", "", "read")
	r.basics()
	r.put("mcp-servers/files", `"transport":"stdio","command":"evil"`)
	r.put("mcp-servers/files", `"transport":"stdio","command":"serve","env":{"TOKEN":"mcp-env-secret"}`)
	r.put("providers/p", `"adapter":"evil","api_key":"theirs"`)
	old := r.live()
	r.put("providers/p", `"adapter":"x","api_key":"sk-precious"`)
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "adapter has changed, and the secret in api_key was given for its former value") {
			t.Errorf("%s: %v", what, err)
		}
	}
	k := key("providers/p")
	for _, fields := range []string{`"adapter":"evil"`, `"adapter":"evil","api_key":"***"`} {
		_, err := r.Put(t.Context(), k, doc(k, fields), false, config.Condition{}, me)
		refused("a write", err)
		_, err = r.Put(t.Context(), k, doc(k, fields), true, config.Condition{}, me)
		refused("a draft", err)
		_, err = r.Apply(t.Context(), documents("providers/p "+fields), false, false, me)
		refused("an import", err)
		_, err = r.Validate(t.Context(), k, doc(k, fields))
		refused("a validation", err)
	}

	// The version with the other adapter is made live again: it does not get the key.
	if _, err := r.Versions().Rollback(t.Context(), old, me); err != nil {
		t.Fatal(err)
	}
	r.made()
	if answer, _ := r.ask(awaken.RunRequest{}); strings.Contains(answer, "sk-precious") {
		t.Errorf("after the rollback the adapter has the key: %s", answer)
	}
	for _, made := range r.made() {
		if strings.Contains(made, "sk-precious") {
			t.Errorf("the provider was made with %q", made)
		}
	}
	// Nor does a program that an earlier document named.
	list, err := r.Audit().List(t.Context(), config.AuditQuery{Resource: "mcp-servers/files"})
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	if _, err := r.Drafts().Restore(t.Context(), key("mcp-servers/files"), list[len(list)-1].ID, config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Drafts().Publish(t.Context(), nil, nil, "", me); err != nil {
		t.Fatal(err)
	}
	envs, _ := r.connections()
	for _, env := range envs {
		if strings.HasPrefix(env, "evil") && strings.Contains(env, "secret") {
			t.Errorf("the program got the secret: %s", env)
		}
	}
}

// unbind stores the secrets as an older program did, which bound them to addresses only, and opens the manager again.
func (r *rig) unbind(store config.Store) {
	r.t.Helper()
	all, err := store.Secrets(r.t.Context())
	if err != nil || len(all) == 0 {
		r.t.Fatal(all, err)
	}
	head, err := store.Head(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	c := &config.Change{Head: &head, SetHead: &config.Head{Live: head.Live, Canary: head.Canary}}
	for ref, s := range all {
		s.Bound = ""
		c.Secrets = append(c.Secrets, config.SecretChange{Ref: ref, Secret: &s})
	}
	if err := store.Apply(r.t.Context(), c); err != nil {
		r.t.Fatal(err)
	}
	r.Close()
	r.open()
}

// Secrets of an older program work as before, and are bound with the next write.
func TestBound_SecretsOfAnOlderProgram(t *testing.T) {
	store := memory.NewDB().Config()
	r := newRig(t, store, nil)
	r.basics()
	r.put("providers/p", `"adapter":"evil","api_key":"theirs"`)
	old := r.live()
	r.put("providers/p", `"adapter":"x","api_key":"sk-precious"`)
	r.unbind(store)
	r.wantAnswer("[sk-precious]one up 2 tools", "5")
	if _, err := r.Versions().Rollback(t.Context(), old, me); err != nil {
		t.Fatal(err)
	}
	if answer, _ := r.ask(awaken.RunRequest{}); strings.Contains(answer, "sk-precious") {
		t.Errorf("after the rollback the adapter has the key: %s", answer)
	}
}

// A key that is written again for another adapter counts for that, also if an older program has stored it.
func TestBound_AKeyWrittenAgain(t *testing.T) {
	store := memory.NewDB().Config()
	r := newRig(t, store, nil)
	r.basics()
	r.unbind(store)
	r.put("providers/p", `"adapter":"y","api_key":"sk-first-secret"`)
	r.wantAnswer("[sk-first-secret]one up 2 tools", "4")
}

// An agent that names an A2A server, but an address of its own, does not take the server's credentials there.
func TestBound_CredentialsOfAServerStayThere(t *testing.T) {
	seen := map[string]*awaken.RemoteEndpoint{}
	r := newRig(t, nil, func(o *config.Options) {
		o.Code.Backends = map[string]registry.RemoteBackend{"a2a": resolver{seen: seen}}
	})
	r.put("a2a-servers/far", `"base_url":"https://far.example/a","auth":{"type":"bearer","token":"leak"},"options":{"headers":{"A":"leak"}}`)
	r.put("agents/near", `"endpoint":{"base_url":"https://far.example/b","options":{"a2a_server_id":"far"}}`)
	r.put("agents/evil", `"endpoint":{"base_url":"https://evil.example","options":{"a2a_server_id":"far"}}`)
	if e := seen["near"]; e == nil || e.Auth == nil || e.Auth.Token.Expose() != "leak" {
		t.Errorf("the agent on the server has %+v", e)
	}
	if e := seen["evil"]; e == nil || e.Auth != nil || strings.Contains(string(e.Options["headers"]), "leak") {
		t.Errorf("the agent elsewhere has %+v", e)
	}
	// Its own secret needs an address of its own: the server's document could be moved.
	k := key("agents/own")
	_, err := r.Put(t.Context(), k, doc(k, `"endpoint":{"auth":{"type":"bearer","token":"t"},"options":{"a2a_server_id":"far"}}`), false, config.Condition{}, me)
	wantErr(t, err, awaken.ErrInvalid, "endpoint.base_url is empty, but the endpoint has secrets")
}

// The client secret of an MCP server needs an issuer. One that is stored without is kept until it changes.
func TestBound_AClientSecretNeedsAnIssuer(t *testing.T) {
	r := newRig(t, nil, nil)
	k := key("mcp-servers/s")
	const server = `"transport":"http","url":"https://mcp.example","auth":{"type":"oauth","client_id":"c","client_secret":"%"`
	_, err := r.Put(t.Context(), k, doc(k, server+"}"), false, config.Condition{}, me)
	wantErr(t, err, awaken.ErrInvalid, "auth.issuer is empty, but auth.client_secret is set: want the URL of the authorization server that it is for")
	r.put("mcp-servers/s", server+`,"issuer":"https://idp.example"}`)
	r.put("mcp-servers/t", `"transport":"http","url":"https://mcp.example","auth":{"type":"oauth","client_id":"c"}`)
}
