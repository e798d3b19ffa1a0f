//go:build unix

package stalltest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/rigtest"
)

// program is a running server.
type program struct {
	*rigtest.Program
	*weather
}

type object = map[string]any

// documents returns what the program is made of: an agent for each row and each failure.
func documents(tb testing.TB, w *weather) map[string][]any {
	var providers []any
	for id, how := range map[string]failure{
		"thirds":  refuse(http.StatusInternalServerError),
		"limited": refuse(http.StatusTooManyRequests, "Retry-After", strconv.Itoa(int(pause()/time.Second))),
		"hangs":   hang, "shopping": nil, "fine": nil,
	} {
		server := httptest.NewServer(&provider{w, id, how})
		tb.Cleanup(func() { server.CloseClientConnections(); server.Close() })
		providers = append(providers, object{"id": id, "adapter": "compatible", "base_url": server.URL + "/v1", "api_key": "key"})
	}
	model := func(id, provider string) object {
		return object{"id": id, "provider_id": provider, "upstream_model": id}
	}
	agent := func(id string, more ...string) object {
		a := object{"id": id, "model_id": id}
		if len(more) > 0 {
			a["plugin_ids"] = more
		}
		return a
	}
	hangs := agent("hangs")
	// So that requests that hang are sent again within the window.
	hangs["sections"] = object{"retry": object{"max_retries": 2, "stream_idle_timeout_secs": 1}}
	return map[string][]any{
		"providers": providers,
		"models": {model("thirds", "thirds"), model("limited", "limited"), model("unlimited", "limited"), model("hangs", "hangs"),
			model("shopping", "shopping"), model("homely", "shopping"), model("fine", "fine")},
		"model-pools": {object{"id": "pool", "members": []any{object{"model_id": "limited"}, object{"model_id": "unlimited"}}}},
		"mcp-servers": {object{"id": "shop", "transport": "http", "url": shop(tb, w)}},
		"agents": {agent("thirds"), agent("limited"), agent("unlimited"), agent("pool"), hangs,
			agent("shopping", "mcp"), agent("homely"), agent("fine")},
	}
}

const adminKey = "the-key-of-the-operator"

// start starts the program with SQLite, and providers of its own.
func start(tb testing.TB) *program {
	tb.Helper()
	settings := []string{"AWAKEN_ADMIN_API_BEARER_TOKEN=" + adminKey, "AWAKEN_OUTBOUND_ALLOW=127.0.0.0/8", "AWAKEN_SECRETS_KEY=" + strings.Repeat("01", 32)}
	p := &program{rigtest.Serve(tb, settings, "--log-level", "error"), newWeather()}
	p.Key, p.HTTP = adminKey, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	tb.Cleanup(p.HTTP.CloseIdleConnections)
	p.configure(tb, documents(tb, p.weather))
	return p
}

// configure writes documents.
func (p *program) configure(tb testing.TB, all map[string][]any) {
	tb.Helper()
	for _, namespace := range []string{"providers", "models", "model-pools", "mcp-servers", "agents"} {
		for _, doc := range all[namespace] {
			data, err := json.Marshal(doc)
			if err != nil {
				tb.Fatal(err)
			}
			if err := p.Ask(tb.Context(), http.MethodPost, "/v1/config/"+namespace, string(data), nil); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

// forget makes the program forget the limits that it has learnt.
func (p *program) forget(ctx context.Context) error {
	return p.Ask(ctx, http.MethodDelete, "/v1/providers/limits?provider_id=limited", "", nil)
}

// run runs an agent with a prompt on a thread of its own, and returns what the run streamed.
func (p *program) run(ctx context.Context, agent, prompt string) (string, error) {
	a, err := p.Send(ctx, http.MethodPost, "/v1/runs", rigtest.RunBody(agent, "", prompt))
	if err != nil {
		return "", err
	}
	return a.Text, a.Want(http.StatusOK)
}
