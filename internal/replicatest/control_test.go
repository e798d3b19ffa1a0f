package replicatest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// say posts a run and returns its result.
func (p *programs) say(key, agent, thread, text string) string {
	p.Helper()
	return p.want(200, "", "POST", "/v1/runs", key, fmt.Sprintf(`{"agent_id":%q,"thread_id":%q,"stream":false,"messages":[{"role":"user","content":%q}]}`, agent, thread, text))
}

// A draft that one replica stores is shown and validated by another and published by a third, and the next run
// uses it, whichever replica starts it. So it is with a change, and with a deletion.
func TestPrograms_WhatOneReplicaPublishesTheNextRunOfAnyUses(t *testing.T) {
	p := startPrograms(t)
	tries := 0
	p.eventually("acquainted: a replica that has just started is not waited for before the others have heard of it", func() bool {
		tries++
		ok := true
		for i := range 3 {
			id := fmt.Sprintf("first-%d-%d", tries, i)
			p.at(i).want(200, "", "PUT", "/v1/config/agents/"+id, adminToken, fmt.Sprintf(`{"id":%q,"model_id":"default"}`, id))
			for j := range 3 {
				status, _ := p.at(j).ask("POST", "/v1/runs", "", fmt.Sprintf(`{"agent_id":%q,"stream":false,"messages":[{"role":"user","content":"hello"}]}`, id))
				ok = ok && status == 200
			}
		}
		return ok
	})
	for i := range testenv.Times(4, 200) {
		one, two, three, id := p.at(i), p.at(i+1), p.at(i+2), fmt.Sprint("poet-", i)
		plain := fmt.Sprintf(`{"id":%q,"model_id":"default","system_prompt":"Be brief."}`, id)
		scenario := fmt.Sprintf(`{"id":%q,"model_id":"default","system_prompt":"You are the %s."}`, id, llmtest.ScenarioMarker)
		run := fmt.Sprintf(`{"agent_id":%q,"stream":false,"messages":[{"role":"user","content":"scenario:text"}]}`, id)
		path := "/v1/config/agents/" + id

		one.want(200, "", "PUT", path+"?publish=false", adminToken, plain)
		two.want(200, id, "GET", path, adminToken, "")
		three.want(200, id, "GET", "/v1/registry/drafts", adminToken, "")
		two.want(200, "", "POST", "/v1/config/agents/validate", adminToken, plain)
		two.want(400, "system_promt", "POST", "/v1/config/agents/validate", adminToken, strings.Replace(plain, "system_prompt", "system_promt", 1))
		three.want(400, "agent_not_found", "POST", "/v1/runs", "", run)
		publish := fmt.Sprintf(`{"records":[{"namespace":"agents","id":%q}]}`, id)
		three.want(200, "", "POST", "/v1/registry/publish", adminToken, publish)
		one.want(200, "Scripted response to: scenario:text", "POST", "/v1/runs", "", run)
		two.want(200, "Scripted response to: scenario:text", "POST", "/v1/runs", "", run)

		two.want(200, "", "PUT", path+"?publish=false", adminToken, scenario, "If-Match", `"1"`)
		three.want(412, "", "PUT", path, adminToken, plain, "If-Match", `"1"`)
		one.want(200, "Scripted response to: scenario:text", "POST", "/v1/runs", "", run) // a draft changes no run
		one.want(200, "", "POST", "/v1/registry/publish", adminToken, publish)
		two.want(200, "This is a short text", "POST", "/v1/runs", "", run)
		three.want(200, "This is a short text", "POST", "/v1/runs", "", run)

		two.want(204, "", "DELETE", path, adminToken, "")
		three.want(400, "agent_not_found", "POST", "/v1/runs", "", run)
		one.want(400, "agent_not_found", "POST", "/v1/runs", "", run)
	}
}

// A key that one replica makes works on all, sees on all what its tenant has, and works on none after it was revoked.
func TestPrograms_AKeyWorksOnEveryReplicaUntilItIsRevoked(t *testing.T) {
	p := startPrograms(t, "AWAKEN_SERVER_REQUIRE_KEY=true", "AWAKEN_LIMITS_WRONG_KEYS=100000")
	foreign, _ := p.newKey("other")
	for i := range testenv.Times(3, 100) {
		thread := fmt.Sprint("t", i)
		key, id := p.at(i).newKey("acme")
		for j := range 3 {
			p.at(i+j+1).say(key, "default", fmt.Sprint(thread, "-", j), "hello")
		}
		for j := range 3 {
			p.at(i+j).want(200, "hello", "GET", fmt.Sprint("/v1/threads/", thread, "-", j, "/messages"), key, "")
			p.at(i+j).want(404, "", "GET", fmt.Sprint("/v1/threads/", thread, "-", j, "/messages"), foreign, "")
		}
		follows := p.at(i+1).request(t.Context(), "GET", "/v1/threads/"+thread+"-0/events/stream", key, "")
		p.at(i+2).want(204, "", "DELETE", "/v1/keys/"+id, adminToken, "")
		p.at(i+2).want(401, "", "GET", "/v1/threads", key, "") // at once
		revoked := time.Now()
		for j := range 2 {
			p.eventually("refused by every replica", func() bool { status, _ := p.at(i+j).ask("GET", "/v1/threads", key, ""); return status == 401 })
		}
		if took := time.Since(revoked); took > 10*time.Second { // five, and what a busy machine needs
			t.Errorf("a revoked key worked for %s", took)
		}
		end := time.AfterFunc(patience, func() { follows.Body.Close() })
		if _, err := io.ReadAll(follows.Body); err != nil || !end.Stop() {
			t.Errorf("the stream of a revoked key does not end: %v", err)
		}
		follows.Body.Close()
		for range 6 {
			p.want(401, "", "GET", "/v1/threads", key, "")
		}
	}
}

// What runs spend on some replicas is missing on the others, and a limit that one raises lets the run of another continue.
func TestPrograms_ABudgetIsSpentByTheReplicasTogether(t *testing.T) {
	p := startPrograms(t, "AWAKEN_BUDGET_ENABLED=true")
	p.want(200, "", "PUT", "/v1/config/models/priced", adminToken,
		`{"id":"priced","provider_id":"default","upstream_model":"x","max_output_tokens":256,"input_token_price_per_million_usd":0,"output_token_price_per_million_usd":10000}`)
	p.want(200, "", "PUT", "/v1/config/agents/spender", adminToken, `{"id":"spender","model_id":"priced"}`)
	for i := range testenv.Times(2, 20) {
		tenant := fmt.Sprint("tenant-", i)
		key, _ := p.newKey(tenant)
		// A run reserves 2.56 for the longest answer and spends 0.2 for its 20 tokens.
		p.at(i).want(200, "", "PUT", "/v1/budget?tenant="+tenant, adminToken, `{"limit_usd":2.9}`)
		for j := range 2 {
			if text := p.at(i+j).say(key, "spender", fmt.Sprint("t", j), "hello"); !strings.Contains(text, `"status":"done"`) {
				t.Fatalf("run %d: %s", j, text)
			}
		}
		text := p.at(i+2).say(key, "spender", "t2", "hello")
		if !strings.Contains(text, "budget_exhausted") {
			t.Fatalf("a run beyond the budget: %s", text)
		}
		for j := range 3 {
			p.at(j).want(200, `"spent_usd":0.4,`, "GET", "/v1/budget", key, "")
		}
		run := p.field(text, "run_id")
		p.at(i).want(200, "", "PUT", "/v1/budget?tenant="+tenant, adminToken, `{"limit_usd":4}`)
		p.at(i+1).want(202, "", "POST", "/v1/runs/"+run+"/continue", key, "")
		p.eventually("continued", func() bool {
			_, text := p.ask("GET", "/v1/runs/"+run, key, "")
			return strings.Contains(text, `"status":"done"`)
		})
		p.want(200, `"spent_usd":0.6`, "GET", "/v1/budget", key, "")
	}
}

// The rate of a key holds for all replicas together, although each has only some of its requests.
func TestPrograms_TheRateOfAKeyHoldsForTheReplicasTogether(t *testing.T) {
	const burst = 40
	p := startPrograms(t, "AWAKEN_LIMITS_KEY_RATE=1", fmt.Sprint("AWAKEN_LIMITS_KEY_BURST=", burst))
	key, _ := p.newKey("acme")
	began, passed := time.Now(), 0
	for range 3 * burst {
		switch status, text := p.ask("GET", "/v1/threads", key, ""); status {
		case 200:
			passed++
		case 429:
		default:
			t.Fatalf("%d %s", status, text)
		}
	}
	// A replica may keep an eighth of the burst for a second and then lose it.
	if most := burst + int(time.Since(began).Seconds()); passed > most || passed < burst/2 {
		t.Errorf("%d of %d requests passed in %s, want at most %d and not much less", passed, 3*burst, time.Since(began), most)
	}
}

// upstream is a model provider that counts the requests of each tenant.
type upstream struct {
	*httptest.Server
	mu     sync.Mutex
	counts map[string]int // by the first word of the user's message
}

func newUpstream(t *testing.T) *upstream {
	u := &upstream{counts: map[string]int{}}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		for _, tenant := range []string{"acme", "other"} {
			if strings.Contains(string(data), "from "+tenant) {
				u.counts[tenant]++
			}
		}
		u.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		for _, line := range []string{`{"choices":[{"index":0,"delta":{"role":"assistant","content":"ok"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`} {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", line)
		}
	}))
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) count(tenant string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.counts[tenant]
}

// The rate limit of a provider for each tenant holds for all replicas together, and any of them shows it.
func TestPrograms_ARateLimitOfATenantHoldsForTheReplicasTogether(t *testing.T) {
	u := newUpstream(t)
	p := startPrograms(t, "AWAKEN_OUTBOUND_ALLOW=127.0.0.0/8", "AWAKEN_SECRETS_KEY="+strings.Repeat("42", 32))
	const perMinute = 6
	p.want(200, "", "PUT", "/v1/config/providers/counted", adminToken,
		fmt.Sprintf(`{"id":"counted","adapter":"openai","base_url":%q,"api_key":"k","rate_limits":{"per_tenant":{"requests_per_minute":%d},"learn":false}}`, u.URL+"/v1", perMinute))
	p.want(200, "", "PUT", "/v1/config/models/counted", adminToken, `{"id":"counted","provider_id":"counted","upstream_model":"m"}`)
	p.want(200, "", "PUT", "/v1/config/agents/counted", adminToken, `{"id":"counted","model_id":"counted"}`)
	began := time.Now()
	keys := map[string]string{}
	for _, tenant := range []string{"acme", "other"} {
		keys[tenant], _ = p.newKey(tenant)
		for i := range 3 * perMinute {
			accepted := p.request(t.Context(), "POST", "/v1/runs", keys[tenant], fmt.Sprintf(`{"agent_id":"counted","thread_id":"t%d","messages":[{"role":"user","content":"from %s"}]}`, i, tenant))
			accepted.Body.Close()
			if accepted.StatusCode != 200 {
				t.Fatal(accepted.Status)
			}
		}
	}
	p.eventually("used", func() bool { return u.count("acme") >= perMinute && u.count("other") >= perMinute })
	for j := range 3 {
		p.at(j).want(200, fmt.Sprintf(`"tenant":"acme","requests":{"per_minute":%d,"source":"configured","used_share":`, perMinute), "GET", "/v1/providers/limits", adminToken, "")
	}
	time.Sleep(2 * time.Second) // for requests that exceed the limit to be sent
	for tenant, key := range keys {
		n, most := u.count(tenant), perMinute+int(time.Since(began).Minutes()*perMinute)
		if n > most {
			t.Errorf("the provider has %d requests of %s after %s, want at most %d", n, tenant, time.Since(began), most)
		}
		for i := range 3 * perMinute {
			if status, text := p.ask("POST", fmt.Sprintf("/v1/threads/t%d/interrupt", i), key, ""); status != 202 && status != 404 {
				t.Errorf("interrupt: %d %s", status, text)
			}
		}
	}
}
