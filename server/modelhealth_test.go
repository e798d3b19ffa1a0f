package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/servertest"
)

// keyed is a provider that takes one key.
func keyed(t *testing.T, key string) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if got := r.Header.Get("Authorization"); got != "Bearer "+key {
			w.WriteHeader(401)
			fmt.Fprint(w, `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"with %s\"},\"finish_reason\":null}]}\n\n", key)
		fmt.Fprint(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"x\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(web.Close)
	return web.URL
}

func TestModelHealth_APoolMemberComesBackWithItsNewKey(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Metrics = server.NewMetrics() })
	first, second := keyed(t, "right"), keyed(t, "spare")
	g.says(201, "", "POST", "/v1/config/providers", fmt.Sprintf(`{"id":"p1","adapter":"openai","api_key":"wrong","base_url":%q}`, first))
	g.says(201, "", "POST", "/v1/config/providers", fmt.Sprintf(`{"id":"p2","adapter":"openai","api_key":"spare","base_url":%q}`, second))
	g.says(201, `"circuit_breaker":{"cooldown_secs":3600,"failure_threshold":3}`, "POST", "/v1/config/models",
		`{"id":"one","provider_id":"p1","upstream_model":"x","input_token_price_per_million_usd":1,"output_token_price_per_million_usd":1,"circuit_breaker":{"failure_threshold":3,"cooldown_secs":3600}}`)
	g.says(400, "circuit_breaker.half_open_max", "POST", "/v1/config/models", `{"id":"bad","provider_id":"p1","upstream_model":"x","circuit_breaker":{"half_open_max":-1}}`)
	g.says(201, "", "POST", "/v1/config/models", `{"id":"two","provider_id":"p2","upstream_model":"x","input_token_price_per_million_usd":1,"output_token_price_per_million_usd":1}`)
	g.says(201, "", "POST", "/v1/config/model-pools", `{"id":"both","members":[{"model_id":"one"},{"model_id":"two","role":"failover_only"}],"routing":{"sticky_scope":"run"}}`)
	g.says(201, "", "POST", "/v1/config/agents", `{"id":"pooled","model_id":"both","system_prompt":""}`)
	g.says(200, `{"model_id":"one","provider_id":"p1","state":"closed","consecutive_failures":0,"health":"unknown"}`, "GET", "/v1/models/health", "")

	for range 2 {
		if got := g.run("pooled", "hi"); got != "with spare" {
			t.Fatalf("%q", got)
		}
	}
	g.says(200, `{"model_id":"one","provider_id":"p1","state":"quarantined","consecutive_failures":0,"last_error":"unauthorized","last_error_at":`, "GET", "/v1/models/health", "")
	g.says(200, `"code":"model_quarantined","severity":"warning","resource":{"namespace":"models","id":"one"}`, "GET", "/v1/config/diagnostics", "")
	_, metrics := g.ask("GET", "/metrics", "", admin...)
	for _, want := range []string{`awaken_model_state{model="one",state="quarantined"} 1`, `awaken_model_state{model="one",state="closed"} 0`, `awaken_model_state{model="two",state="closed"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if status, _ := g.ask("GET", "/v1/models/health", ""); status != 401 {
		t.Errorf("without a key: %d", status)
	}

	g.says(200, "", "PUT", "/v1/config/providers/p1", fmt.Sprintf(`{"id":"p1","adapter":"openai","api_key":"right","base_url":%q}`, first))
	if got := g.run("pooled", "hi"); got != "with right" {
		t.Errorf("with the new key: %q", got)
	}
	g.says(200, `{"model_id":"one","provider_id":"p1","state":"closed","consecutive_failures":0,"health":"`, "GET", "/v1/models/health", "")
	if got := g.says(200, "", "GET", "/v1/config/diagnostics", ""); strings.Contains(got, "model_quarantined") {
		t.Errorf("diagnostics: %s", got)
	}
}

// A test asks the named model with the provider's key: a public list of models proves nothing about either. Health is what happened last.
func TestProvider_TestAsksTheModelWithTheKey(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/models") { // for all
			fmt.Fprint(w, `{"object":"list","data":[{"id":"gpt","object":"model"}]}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Header.Get("Authorization") != "Bearer right":
			w.WriteHeader(401)
			fmt.Fprint(w, `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","code":"invalid_api_key"}}`)
		case !strings.Contains(string(body), `"gpt"`):
			w.WriteHeader(404)
			fmt.Fprint(w, `{"error":{"message":"The model does not exist.","code":"model_not_found"}}`)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"OK"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		}
	}))
	defer web.Close()
	g := newRig(t)
	const priced = `"input_token_price_per_million_usd":1,"output_token_price_per_million_usd":1`
	for id, key := range map[string]string{"good": "right", "bad": "wrong"} {
		g.says(201, "", "POST", "/v1/config/providers", fmt.Sprintf(`{"id":%q,"adapter":"openai","api_key":%q,"base_url":%q}`, id, key, web.URL))
	}
	test := func(path string, ok bool, model string) {
		t.Helper()
		if out := g.want(200, "POST", "/v1/providers/"+path, "", admin...); out["ok"] != ok || fmt.Sprint(out["model"]) != model {
			t.Errorf("%s: %v, want %v with model %s", path, out, ok, model)
		}
	}
	test("good/test", true, "gpt") // the first that is listed
	test("bad/test", false, "gpt")
	for model, provider := range map[string]string{"works": "good", "refused": "bad"} {
		g.says(201, "", "POST", "/v1/config/models", fmt.Sprintf(`{"id":%q,"provider_id":%q,"upstream_model":"gpt",%s}`, model, provider, priced))
		g.want(200, "PUT", "/v1/config/agents/on-"+model, fmt.Sprintf(`{"id":"on-%s","model_id":%q}`, model, model), admin...)
	}
	test("good/test?model=works", true, "gpt")
	test("good/test?model=gpt-9-does-not-exist", false, "gpt-9-does-not-exist")
	test("bad/test?model=refused", false, "gpt")

	health := func(id string) string {
		t.Helper()
		for _, m := range g.want(200, "GET", "/v1/models/health", "", admin...)["models"].([]any) {
			if m := m.(map[string]any); m["model_id"] == id {
				return fmt.Sprintf("%v %v %t %t", m["health"], m["last_error"], m["last_error_at"] != nil, m["last_success_at"] != nil)
			}
		}
		return "none"
	}
	for _, id := range []string{"works", "refused"} {
		if got := health(id); got != "unknown <nil> false false" {
			t.Errorf("%s before any request: %s", id, got)
		}
		g.ask("POST", "/v1/runs", runBody("on-"+id, g.id(), "hello"), append([]string{"Accept", "application/json"}, admin...)...)
	}
	if got := health("works"); got != "ok <nil> false true" {
		t.Errorf("a model that answered: %s", got)
	}
	if got := health("refused"); got != "failing unauthorized true false" {
		t.Errorf("a model that refuses its key: %s", got)
	}
}
