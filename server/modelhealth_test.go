package server_test

import (
	"fmt"
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
	g.says(200, `{"model_id":"one","provider_id":"p1","state":"closed","consecutive_failures":0}`, "GET", "/v1/models/health", "")

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
	g.says(200, `{"model_id":"one","provider_id":"p1","state":"closed","consecutive_failures":0}`, "GET", "/v1/models/health", "")
	if got := g.says(200, "", "GET", "/v1/config/diagnostics", ""); strings.Contains(got, "model_quarantined") {
		t.Errorf("diagnostics: %s", got)
	}
}
