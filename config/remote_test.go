package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/store/memory"
)

// resolver keeps the endpoints of the agents that it is asked for.
type resolver struct {
	remote
	seen map[string]*awaken.RemoteEndpoint
}

func (r resolver) Agent(spec *awaken.AgentSpec) (registry.RemoteAgent, error) {
	r.seen[spec.ID] = spec.Endpoint
	return remote{}, nil
}

func TestA2AServers_HoldWhatTheirAgentsLeaveOut(t *testing.T) {
	seen := map[string]*awaken.RemoteEndpoint{}
	r := newRig(t, memory.NewDB().Config(), func(o *config.Options) {
		o.Code.Backends = map[string]registry.RemoteBackend{"a2a": resolver{seen: seen}}
	})
	write := func(name, fields string) error {
		k := key(name)
		_, err := r.Put(t.Context(), k, doc(k, fields), false, config.Condition{}, me)
		return err
	}
	must := func(name, fields string) {
		t.Helper()
		if err := write(name, fields); err != nil {
			t.Fatal(err)
		}
	}
	must("a2a-servers/far", `"base_url":"https://far.example/v1/a2a","auth":{"type":"bearer","token":"one"},"target":"main","timeout_ms":7000,"options":{"poll_interval_ms":5,"headers":{"X-Team":"blue"}}`)
	must("agents/own", `"endpoint":{"target":"other","options":{"a2a_server_id":"far","poll_interval_ms":9}}`)
	e := seen["own"]
	if e == nil || e.BaseURL != "https://far.example/v1/a2a" || e.Target != "other" || e.Auth == nil || e.Auth.Token.Expose() != "one" || e.TimeoutMS != 300_000 ||
		string(e.Options["poll_interval_ms"]) != "9" || string(e.Options["card_timeout_ms"]) != "7000" || !strings.Contains(string(e.Options["headers"]), "blue") {
		t.Fatalf("the endpoint is %+v", e)
	}
	if e = seen["far/main"]; e == nil || e.Target != "main" || e.Auth.Token.Expose() != "one" {
		t.Fatalf("the target of the server is %+v", e)
	}
	must("providers/p", `"adapter":"x"`)
	must("models/m", `"provider_id":"p","upstream_model":"u"`)
	must("agents/boss", `"model_id":"m","delegates":["far/third","own"]`)
	if e = seen["far/third"]; e == nil || e.Target != "third" {
		t.Fatalf("a delegate on the server is %+v", e)
	}
	if err := write("agents/lost", `"model_id":"m","delegates":["nowhere/x"]`); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a delegate on a server that does not exist: %v", err)
	}

	// A change of the server reaches its agents.
	clear(seen)
	must("a2a-servers/far", `"base_url":"https://far.example/v2","auth":{"type":"bearer","token":"two"},"target":"main"`)
	for _, id := range []string{"own", "far/main", "far/third"} {
		if e := seen[id]; e == nil || e.BaseURL != "https://far.example/v2" || e.Auth.Token.Expose() != "two" {
			t.Errorf("%s is %+v", id, e)
		}
	}
	if err := r.Delete(t.Context(), key("a2a-servers/far"), false, config.Condition{}, me); err == nil {
		t.Error("a server was deleted that agents need")
	}
}

func TestSecrets_AClientSecretDoesNotFollowItsTokenURL(t *testing.T) {
	r := newRig(t, memory.NewDB().Config(), func(o *config.Options) { o.Code.Backends = map[string]registry.RemoteBackend{"a2a": remote{}} })
	const server = `"base_url":"https://far.example","auth":{"type":"oauth2_client_credentials","token_url":"https://%/token","client_id":"me"`
	k := key("a2a-servers/far")
	put := func(host, more string) error {
		_, err := r.Put(t.Context(), k, doc(k, strings.ReplaceAll(server, "%", host)+more+"}"), false, config.Condition{}, me)
		return err
	}
	if err := put("good.example", `,"client_secret":"shh"`); err != nil {
		t.Fatal(err)
	}
	if err := put("good.example", ""); err != nil {
		t.Errorf("the same token_url: %v", err)
	}
	if err := put("evil.example", ""); err == nil || !strings.Contains(err.Error(), "token_url has changed") {
		t.Errorf("another token_url: %v", err)
	}
	if err := put("evil.example", `,"client_secret":"new"`); err != nil {
		t.Errorf("another token_url with its secret: %v", err)
	}
	view, err := r.Get(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(view)
	if err != nil || strings.Contains(string(data), "shh") || strings.Contains(string(data), `"new"`) {
		t.Errorf("got %s, %v", data, err)
	}
}
