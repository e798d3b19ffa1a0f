package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCapabilities_ShowWhatModelsAcceptAndHowThatIsKnown(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"temperature"`) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			fmt.Fprint(w, `{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","type":"invalid_request_error","param":"temperature","code":"unsupported_parameter"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer web.Close()
	g := newRig(t)
	g.says(201, "", "POST", "/v1/config/providers", fmt.Sprintf(`{"id":"real","adapter":"openai","api_key":"k-1234","base_url":%q}`, web.URL))
	g.says(201, "", "POST", "/v1/config/models", `{"id":"mine","provider_id":"real","upstream_model":"gpt-4o","capabilities":{"seed":false},"input_token_price_per_million_usd":1,"output_token_price_per_million_usd":1}`)
	g.says(201, "", "POST", "/v1/config/agents", `{"id":"real-agent","model_id":"mine"}`)
	g.says(200, `"effective_capabilities":{"reasoning":"none","seed":false},"capability_sources":{"reasoning":"known","seed":"configured"}`, "GET", "/v1/capabilities", "")
	out := g.want(200, "POST", "/v1/runs", `{"agent_id":"real-agent","stream":false,"messages":[{"role":"user","content":"hi"}],"overrides":{"temperature":0.5}}`, "Accept", "application/json")
	if out["response"] != "ok" {
		t.Fatalf("%v", out)
	}
	g.says(200, `"effective_capabilities":{"reasoning":"none","temperature":false,"seed":false},"capability_sources":{"reasoning":"known","seed":"configured","temperature":"learned"}`, "GET", "/v1/capabilities", "")
	g.says(200, `"code":"model_parameter_rejected","severity":"warning","resource":{"namespace":"models","id":"mine"},"message":"provider \"real\" rejected temperature:`, "GET", "/v1/config/diagnostics", "")
	_, metrics := g.ask("GET", "/metrics", "", admin...)
	for _, parameter := range []string{"reasoning_effort", "temperature", "seed"} {
		if want := fmt.Sprintf(`awaken_model_parameter_omitted{model="mine",parameter=%q} 1`, parameter); !strings.Contains(metrics, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}
