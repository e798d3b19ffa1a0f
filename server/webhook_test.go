package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/automate/trigger"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/automate/webhook/deliver"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
	"github.com/awaken-go/awaken/server/automation"
	"github.com/awaken-go/awaken/server/servertest"
)

// openWebhooks adds webhooks and triggers to a server. They work when the test says so.
func (g *rig) openWebhooks(cfg *servertest.Config) {
	g.t.Helper()
	if cfg.Runs.Changes == nil {
		return
	}
	sealer, err := oauth.NewSealer(make([]byte, 32))
	if err != nil {
		g.t.Fatal(err)
	}
	cfg.Automation.Triggers = &automation.TriggerConfig{Store: contestedTriggers{new(trigger.Memory)}, Sealer: sealer}
	endpoints := g.endpoints
	if endpoints == nil {
		endpoints = contestedEndpoints{new(webhook.MemoryEndpoints)}
		g.endpoints = endpoints
	}
	router, err := deliver.NewRouter(deliver.RouterConfig{Endpoints: endpoints, Hooks: g.hooks, Changes: cfg.Runs.Changes, Sealer: sealer, Poll: 10 * time.Millisecond})
	if err != nil {
		g.t.Fatal(err)
	}
	sender, err := deliver.New(deliver.Config{Store: g.hooks, Mailbox: g.box, Endpoints: router, Kinds: map[string]deliver.Kind{deliver.RunKind: deliver.RunEvents}, Poll: 10 * time.Millisecond, Retry: time.Millisecond,
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		g.t.Fatal(err)
	}
	router.Use(sender)
	cfg.Automation.Webhooks = &automation.WebhookConfig{Router: router, Endpoints: endpoints}
	g.router = router
}

// webhook makes a webhook and returns its id. Its receiver cannot be reached.
func (g *rig) webhook() string {
	g.t.Helper()
	return g.want(201, "POST", "/v1/webhooks", `{"url":"https://127.0.0.1:1/told"}`, admin...)["id"].(string)
}

// receiver is the receiver of a webhook.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	status int // 0 means 204
	got    []deliver.RunEvent
	ids    []string
	signed []string // signatures
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var ev deliver.RunEvent
		if err == nil {
			err = json.Unmarshal(body, &ev)
		}
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.status != 0 {
			w.WriteHeader(r.status)
			return
		}
		r.got, r.ids, r.signed = append(r.got, ev), append(r.ids, req.Header.Get("Webhook-Id")), append(r.signed, req.Header.Get("Webhook-Signature"))
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(r.Close)
	return r
}

// told returns the events that it accepted.
func (r *receiver) told() (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.got {
		out = append(out, string(e.Type))
	}
	return out
}

func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// deliverAll lets webhooks work until the test ends.
func (g *rig) deliverAll() {
	ctx := g.t.Context()
	var wg sync.WaitGroup
	wg.Go(func() { g.router.Work(ctx) })
	wg.Go(func() { g.router.Sender().Work(ctx) })
	g.t.Cleanup(wg.Wait)
}

func TestWebhooks_TellWhatHappens(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.deliverAll()
	all, few, other := newReceiver(t), newReceiver(t), newReceiver(t)
	made := g.want(201, "POST", "/v1/webhooks", fmt.Sprintf(`{"id":"all","url":%q}`, all.URL), admin...)
	if !strings.HasPrefix(made["secret"].(string), "whsec_") {
		t.Errorf("%v", made)
	}
	g.want(201, "POST", "/v1/webhooks", fmt.Sprintf(`{"url":%q,"events":["run.finished"]}`, few.URL), admin...)
	g.want(201, "POST", "/v1/webhooks", fmt.Sprintf(`{"url":%q,"agents":["helper"]}`, other.URL), admin...)
	_, run, ticket := g.waits(admin...)
	g.eventually("the run waits", func() bool { return len(all.told()) == 2 })
	g.want(202, "POST", "/v1/runs/"+run+"/decision", fmt.Sprintf(`{"toolCallId":%q,"action":"cancel"}`, ticket), admin...)
	g.eventually("it was told", func() bool { return len(all.told()) == 4 && len(few.told()) == 1 })
	if diff := cmp.Diff([]string{"run.started", "run.waiting", "run.resumed", "run.finished"}, all.told()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(other.told()) > 0 {
		t.Errorf("an endpoint for another agent was told %v", other.told())
	}
	last := all.got[3]
	if last.Data.RunID != run || last.Data.Termination == nil || last.Data.Status != "done" || last.Data.AgentID != "default" || all.got[1].Data.Waiting == nil {
		t.Errorf("%+v", last)
	}
	if _, text := g.ask("GET", "/v1/webhooks/all", "", admin...); strings.Contains(text, "whsec_") || strings.Contains(text, "secret") {
		t.Errorf("the secret is shown again: %s", text)
	}

	// It can be told again, and its messages have the ids that they had.
	delivered := func() (out []any) {
		for _, d := range g.want(200, "GET", "/v1/webhooks/all/deliveries", "", admin...)["items"].([]any) {
			out = append(out, d.(map[string]any)["run_id"], d.(map[string]any)["url"], d.(map[string]any)["delivered"], d.(map[string]any)["ended"])
		}
		return out
	}
	done := []any{run, all.URL, 4.0, "delivered"}
	g.eventually("the log says so", func() bool { return cmp.Equal(done, delivered()) })
	g.want(202, "POST", "/v1/webhooks/all/redeliver", fmt.Sprintf(`{"run_id":%q,"from":4}`, run), admin...)
	g.eventually("it was told again", func() bool { return len(all.told()) == 5 })
	g.eventually("the log says so", func() bool { return cmp.Equal(done, delivered()) })
	if all.ids[4] != all.ids[3] || all.told()[4] != "run.finished" {
		t.Errorf("%v, %v", all.ids, all.told())
	}
	g.says(400, "message is 9; want 1 to 5", "POST", "/v1/webhooks/all/redeliver", fmt.Sprintf(`{"run_id":%q,"from":9}`, run), admin...)
	g.want(404, "POST", "/v1/webhooks/all/redeliver", `{"run_id":"none"}`, admin...)
}

func TestWebhooks_AreChecked(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for body, want := range map[string]string{
		`{"url":"ftp://example.com"}`:                             "want https",
		`{"url":"https://example.com:99999/x"}`:                   "url has the port 99999, want 1 to 65535",
		`{"url":"https://10.0.0.1/x"}`:                            "which is not on the public internet",
		`{"url":"https://user:pass@example.com/x"}`:               "url contains credentials",
		`{"url":"https://example.com","events":["run.exploded"]}`: "want run.started, run.waiting, run.resumed or run.finished",
		`{"url":""}`: "want one such as https://example.com/notify",
	} {
		g.says(400, want, "POST", "/v1/webhooks", body, admin...)
	}
	g.want(201, "POST", "/v1/webhooks", `{"id":"x","url":"https://example.com/x"}`, admin...)
	g.says(409, "there is an endpoint with the id", "POST", "/v1/webhooks", `{"id":"x","url":"https://example.com/x"}`, admin...)
	g.want(200, "PUT", "/v1/webhooks/x", `{"url":"https://example.com/y","paused":true}`, admin...)
	g.says(409, "its revision is 2, not 1", "PUT", "/v1/webhooks/x", `{"expected_revision":1,"url":"https://example.com/z"}`, admin...)
	if w := g.want(200, "PUT", "/v1/webhooks/x", `{"expected_revision":2,"url":"https://example.com/z"}`, admin...); w["revision"] != 3.0 || w["url"] != "https://example.com/z" {
		t.Errorf("%v", w)
	}
	g.want(204, "DELETE", "/v1/webhooks/x", "", admin...)
	g.want(404, "GET", "/v1/webhooks/x", "", admin...)
	g.want(404, "PUT", "/v1/webhooks/x", `{"url":"https://example.com/y"}`, admin...)
	g.want(404, "POST", "/v1/webhooks/x/test", "", admin...)
}

func TestWebhooks_SecretsAndTests(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	r := newReceiver(t)
	g.want(201, "POST", "/v1/webhooks", fmt.Sprintf(`{"id":"x","url":%q}`, r.URL), admin...)
	if a := g.want(200, "POST", "/v1/webhooks/x/test", "", admin...); a["status"] != 204.0 || a["error"] != nil {
		t.Errorf("%v", a)
	}
	second := g.want(200, "POST", "/v1/webhooks/x/rotate", "", admin...)["secret"]
	g.want(200, "POST", "/v1/webhooks/x/test", "", admin...)
	if n := len(strings.Fields(r.signed[0])); n != 1 {
		t.Errorf("the first message has %d signatures", n)
	}
	if n := len(strings.Fields(r.signed[1])); n != 2 || second == "" {
		t.Errorf("after a rotation a message has %d signatures, want 2", n)
	}
	r.answer(500)
	if a := g.want(200, "POST", "/v1/webhooks/x/test", "", admin...); a["error"] != "status 500" {
		t.Errorf("%v", a)
	}
}

// A webhook with the id of one that was deleted is another one: what was to be told to that one is dropped.
func TestWebhooks_OneWithTheIDOfADeletedOneIsAnother(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.deliverAll()
	first, second := newReceiver(t), newReceiver(t)
	first.answer(500)
	g.want(201, "POST", "/v1/webhooks", fmt.Sprintf(`{"id":"x","url":%q}`, first.URL), admin...)
	_, old := g.done(admin...)
	hooks := func(run string) []*webhook.Hook {
		out, err := g.hooks.Hooks(t.Context(), webhook.Query{RunID: run})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	g.eventually("it has failed", func() bool { h := hooks(old); return len(h) == 1 && h[0].Failures > 0 })
	g.want(204, "DELETE", "/v1/webhooks/x", "", admin...)
	g.want(201, "POST", "/v1/webhooks", fmt.Sprintf(`{"id":"x","url":%q}`, second.URL), admin...)
	g.eventually("what was not told is dropped", func() bool { return strings.Contains(hooks(old)[0].Ended, "was deleted") })
	_, run := g.done(admin...)
	g.eventually("the other one is told", func() bool { return len(second.told()) == 2 })
	for _, e := range second.got {
		if e.Data.RunID != run {
			t.Errorf("it was told of run %s", e.Data.RunID)
		}
	}
	if log := g.want(200, "GET", "/v1/webhooks/x/deliveries", "", admin...)["items"].([]any); len(log) != 1 {
		t.Errorf("deliveries %v", log)
	}
}

func TestWebhooks_WhatHappensWhileOneIsPausedIsNotToldLater(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.deliverAll()
	r := newReceiver(t)
	g.want(201, "POST", "/v1/webhooks", fmt.Sprintf(`{"id":"x","url":%q}`, r.URL), admin...)
	g.want(200, "PUT", "/v1/webhooks/x", fmt.Sprintf(`{"url":%q,"paused":true}`, r.URL), admin...)
	g.done(admin...)
	g.want(200, "PUT", "/v1/webhooks/x", fmt.Sprintf(`{"url":%q}`, r.URL), admin...)
	_, run := g.done(admin...)
	g.eventually("it is told", func() bool { return len(r.told()) >= 2 })
	for _, e := range r.got {
		if e.Data.RunID != run {
			t.Errorf("it was told of run %s, which was over before", e.Data.RunID)
		}
	}
}

func TestWebhooks_AReceiverThatWantsNoMoreIsPaused(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.deliverAll()
	r := newReceiver(t)
	r.answer(http.StatusGone)
	g.want(201, "POST", "/v1/webhooks", fmt.Sprintf(`{"id":"x","url":%q}`, r.URL), admin...)
	g.done(admin...)
	g.eventually("it is paused", func() bool {
		w := g.want(200, "GET", "/v1/webhooks/x", "", admin...)
		return w["paused"] == true && strings.Contains(fmt.Sprint(w["paused_reason"]), "410")
	})
	r.answer(0)
	// That it was paused is a change, which a client that did not see it cannot undo; what was told before it is not.
	g.says(409, "its revision is 2, not 1", "PUT", "/v1/webhooks/x", fmt.Sprintf(`{"url":%q,"expected_revision":1}`, r.URL), admin...)
	g.want(200, "PUT", "/v1/webhooks/x", fmt.Sprintf(`{"url":%q,"expected_revision":2}`, r.URL), admin...)
	_, run := g.done(admin...)
	g.eventually("it is told again", func() bool { return len(r.told()) >= 2 })
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.got {
		if e.Data.RunID != run {
			t.Errorf("it was told of run %s", e.Data.RunID)
		}
	}
}
