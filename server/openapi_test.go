package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/schedule"
	"github.com/awaken-go/awaken/automate/trigger"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/automate/webhook/deliver"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/eval/live"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/figures"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace/rollup"
)

// openAPI is the document that the server serves, and which parts of it the test has seen.
type openAPI struct {
	t        *testing.T
	doc      map[string]any
	compiler *jsonschema.Compiler

	mu   sync.Mutex
	seen map[string]bool // "GET /path 200"
}

func readDocument(t *testing.T, g *rig) *openAPI {
	t.Helper()
	status, body := g.ask("GET", "/openapi.json", "")
	if status != 200 {
		t.Fatalf("GET /openapi.json: %d %s", status, body)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	d := &openAPI{t: t, doc: v.(map[string]any), compiler: jsonschema.NewCompiler(), seen: map[string]bool{}}
	// Clients must not mind a new field. This test does: each has to be described.
	for _, s := range d.doc["components"].(map[string]any)["schemas"].(map[string]any) {
		s := s.(map[string]any)
		if _, ok := s["properties"]; ok && s["additionalProperties"] == nil {
			s["additionalProperties"] = false
		}
	}
	if err := d.compiler.AddResource("mem:openapi", v); err != nil {
		t.Fatal(err)
	}
	return d
}

// operations calls fn with every operation of the document, in order.
func (d *openAPI) operations(fn func(method, path string, op map[string]any)) {
	paths := d.doc["paths"].(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) { // so that a failure can be repeated
		methods := paths[path].(map[string]any)
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			fn(strings.ToUpper(method), path, methods[method].(map[string]any))
		}
	}
}

func pointer(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(s)
}

// check validates a response against the document.
func (d *openAPI) check(method, path string, resp *http.Response, body []byte) {
	d.t.Helper()
	at := fmt.Sprintf("/paths/%s/%s/responses/%d", pointer(path), strings.ToLower(method), resp.StatusCode)
	op := d.doc["paths"].(map[string]any)[path].(map[string]any)[strings.ToLower(method)].(map[string]any)
	described, ok := op["responses"].(map[string]any)[fmt.Sprint(resp.StatusCode)].(map[string]any)
	if !ok {
		d.t.Errorf("%s %s: status %d is not in the document: %s", method, path, resp.StatusCode, body)
		return
	}
	d.mu.Lock()
	d.seen[fmt.Sprintf("%s %s %d", method, path, resp.StatusCode)] = true
	d.mu.Unlock()
	if described["headers"] != nil && resp.Header.Get("Retry-After") == "" {
		d.t.Errorf("%s %s: %d has no Retry-After", method, path, resp.StatusCode)
	}
	content, _ := described["content"].(map[string]any)
	if len(content) == 0 {
		if len(body) > 0 {
			d.t.Errorf("%s %s: %d has a body, the document has none: %s", method, path, resp.StatusCode, body)
		}
		return
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if content["*/*"] != nil { // a file
		return
	}
	if content[kind] == nil {
		d.t.Errorf("%s %s: %d is of type %q, which is not in the document", method, path, resp.StatusCode, kind)
		return
	}
	at += "/content/" + pointer(kind)
	switch kind {
	case "application/json":
		d.validate(place(at, content[kind], "schema"), body)
	case "text/event-stream":
		frames := readFrames(d.t, bytes.NewReader(body), nil)
		if len(frames) == 0 {
			d.t.Errorf("%s %s: the stream is empty", method, path)
		}
		for _, f := range frames {
			d.validate(place(at, content[kind], "x-data"), []byte(f.data))
		}
	}
}

// place returns where the schema of a content is: the component, if it only refers to one. The compiler copies all that it
// knows for each new place, and a hundred components are at a thousand.
func place(at string, content any, field string) string {
	s, _ := content.(map[string]any)[field].(map[string]any)
	if to, ok := s["$ref"].(string); ok && len(s) == 1 {
		return strings.TrimPrefix(to, "#")
	}
	return at + "/" + field
}

func (d *openAPI) validate(at string, data []byte) {
	d.t.Helper()
	d.mu.Lock()
	s, err := d.compiler.Compile("mem:openapi#" + at)
	d.mu.Unlock()
	if err != nil {
		d.t.Errorf("%s: %v", at, err)
		return
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		d.t.Errorf("%s: %v in %s", at, err, data)
		return
	}
	if err := s.Validate(v); err != nil {
		d.t.Errorf("%s: %v\nin %s", at, err, data)
	}
}

// ask sends a request for an operation and validates the response against the document. A stream is
// read until it ends or sends run_finish.
func (d *openAPI) ask(g *rig, op, path, body string, headers ...string) int {
	d.t.Helper()
	method, template, _ := strings.Cut(op, " ")
	resp := g.do(method, path, body, headers...)
	defer resp.Body.Close()
	var data []byte
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		frames := readFrames(d.t, resp.Body, func(f frame) bool { return strings.Contains(f.data, `"run_finish"`) })
		for _, f := range frames {
			data = fmt.Appendf(data, "id: %s\ndata: %s\n\n", f.id, f.data)
		}
	} else {
		var err error
		if data, err = io.ReadAll(resp.Body); err != nil {
			d.t.Fatal(err)
		}
	}
	d.check(method, template, resp, data)
	return resp.StatusCode
}

// The resources that requests are about. Each call makes new ones.

func (g *rig) eventually(what string, ok func() bool) {
	g.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			g.t.Fatalf("%s did not happen", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

var admin = []string{"Authorization", "Bearer " + adminKey}

func (g *rig) id() string { return fmt.Sprint("t", g.made.Add(1)) }

// done makes a thread with a run that is over.
func (g *rig) done(headers ...string) (thread, run string) {
	g.t.Helper()
	thread = g.id()
	out := g.want(200, "POST", "/v1/runs", runBody("default", thread, "hello"), append([]string{"Accept", "application/json"}, headers...)...)
	return thread, out["run_id"].(string)
}

// waits makes a thread with a run that waits for a decision.
func (g *rig) waits(headers ...string) (thread, run, ticket string) {
	g.t.Helper()
	thread = g.id()
	out := g.want(200, "POST", "/v1/runs", runBody("default", thread, `RUN_TOOL ask {"path":"a"}`), append([]string{"Accept", "application/json"}, headers...)...)
	w := out["waiting"].(map[string]any)["tickets"].([]any)[0].(map[string]any)
	return thread, out["run_id"].(string), w["ticket_id"].(string)
}

// poor makes a run that waits for budget.
func (g *rig) poor(headers ...string) (run string) {
	g.t.Helper()
	body := strings.Replace(runBody("default", g.id(), "hello"), "{", `{"budget":{"run_usd":0},`, 1)
	out := g.want(200, "POST", "/v1/runs", body, append([]string{"Accept", "application/json"}, headers...)...)
	if reason := out["waiting"].(map[string]any)["reason"]; reason != "budget_exhausted" {
		g.t.Fatalf("the run waits for %v", reason)
	}
	return out["run_id"].(string)
}

// runs makes a thread with a run that stays in progress until it is cancelled.
func (g *rig) runs(headers ...string) (thread, run string) {
	g.t.Helper()
	thread = g.id()
	resp := g.do("POST", "/v1/runs", runBody("default", thread, "RUN_TOOL wait {}"), headers...)
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		g.t.Fatalf("POST /v1/runs: %s", resp.Status)
	}
	readFrames(g.t, resp.Body, is("tool_call_ready"))
	return thread, resp.Header.Get("X-Run-Id")
}

// queue adds input to a thread that waits for its run.
func (g *rig) queue(thread string, headers ...string) (pending, revision string) {
	g.t.Helper()
	g.want(201, "POST", "/v1/threads/"+thread+"/mailbox", `{"payload":{"text":"later"}}`, headers...)
	list := g.want(200, "GET", "/v1/threads/"+thread+"/pending", "", headers...)
	items := list["items"].([]any)
	return items[len(items)-1].(map[string]any)["pending_id"].(string), list["revision"].(string)
}

// dead makes a dead letter.
func (g *rig) dead(tenant string) (dispatch string) {
	g.t.Helper()
	tn := g.box.Tenant(tenant)
	r, err := tn.Submit(g.t.Context(), mailbox.Submission{Request: awaken.RunRequest{AgentID: "missing", ThreadID: g.id(), Messages: []*llm.Message{llm.UserText("x")}}})
	if err != nil {
		g.t.Fatal(err)
	}
	g.eventually("a dead letter", func() bool {
		d, err := tn.Store.Dispatch(g.t.Context(), r.DispatchID)
		return err == nil && d.Status == mailbox.DeadLetter
	})
	return r.DispatchID
}

// ends returns when a run is over.
func (g *rig) ends(run string, headers ...string) {
	g.t.Helper()
	g.eventually("the end of run "+run, func() bool { return g.want(200, "GET", "/v1/runs/"+run, "", headers...)["status"] == "done" })
}

// request is a request that succeeds.
type request struct {
	path, body string
	headers    []string
}

// successes has requests that succeed, for every operation.
var successes = map[string]func(g *rig, as []string) request{
	"GET /health":                 plainly("/health", ""),
	"GET /health/live":            plainly("/health/live", ""),
	"GET /metrics":                plainly("/metrics", ""),
	"GET /openapi.json":           plainly("/openapi.json", ""),
	"GET /v1/system/info":         plainly("/v1/system/info", ""),
	"GET /v1/system/settings":     plainly("/v1/system/settings", ""),
	"GET /v1/system/replicas":     plainly("/v1/system/replicas", ""),
	"GET /v1/tenants":             plainly("/v1/tenants", ""),
	"GET /v1/system/modules":      plainly("/v1/system/modules", ""),
	"GET /v1/models/health":       plainly("/v1/models/health", ""),
	"GET /v1/runs":                plainly("/v1/runs", ""),
	"GET /v1/runs/summary":        plainly("/v1/runs/summary", ""),
	"GET /v1/providers/limits":    plainly("/v1/providers/limits?limit=2", ""),
	"DELETE /v1/providers/limits": plainly("/v1/providers/limits?provider_id=p", ""),
	"GET /v1/session": func(g *rig, _ []string) request {
		key := g.want(201, "POST", "/v1/keys", `{"kind":"read"}`, admin...)["secret"].(string)
		return request{path: "/v1/session", headers: []string{"Authorization", "Bearer " + key}}
	},
	"POST /v1/session": func(*rig, []string) request { return request{path: "/v1/session", headers: admin} },
	"DELETE /v1/session": func(g *rig, _ []string) request {
		return request{path: "/v1/session", headers: g.asPage(g.signIn(admin...))}
	},
	"GET /v1/threads":         plainly("/v1/threads?limit=1", ""),
	"GET /v1/keys":            plainly("/v1/keys", ""),
	"POST /v1/keys":           plainly("/v1/keys", `{"kind":"read","label":"x"}`),
	"POST /v1/threads":        plainly("/v1/threads", `{"title":"x","resource_id":"r"}`),
	"DELETE /v1/dead-letters": plainly("/v1/dead-letters", ""),
	"GET /v1/threads/summaries": func(g *rig, as []string) request {
		g.done(as...)
		return request{path: "/v1/threads/summaries"}
	},
	"GET /v1/schedules":                       plainly("/v1/schedules?limit=2", ""),
	"POST /v1/schedules":                      plainly("/v1/schedules", `{"cron":"@daily","run":{"agent_id":"default","messages":[{"role":"user","content":"hello"}]}}`),
	"POST /v1/schedules/preview":              plainly("/v1/schedules/preview", `{"cron":"@daily"}`),
	"GET /v1/schedules/{schedule_id}":         ofSchedule("", ""),
	"PUT /v1/schedules/{schedule_id}":         ofSchedule("", `{"cron":"@weekly","run":{"agent_id":"default","messages":[{"role":"user","content":"hello"}]}}`),
	"DELETE /v1/schedules/{schedule_id}":      ofSchedule("", ""),
	"POST /v1/schedules/{schedule_id}/pause":  ofSchedule("/pause", ""),
	"POST /v1/schedules/{schedule_id}/resume": ofSchedule("/resume", ""),
	"POST /v1/schedules/{schedule_id}/run":    ofSchedule("/run", ""),
	"GET /v1/schedules/{schedule_id}/firings": ofSchedule("/firings", ""),
	"GET /v1/triggers":                        plainly("/v1/triggers?limit=2", ""),
	"POST /v1/triggers":                       plainly("/v1/triggers", `{"run":{"agent_id":"default","messages":[{"role":"user","content":"hello"}]}}`),
	"GET /v1/triggers/{trigger_id}":           ofTrigger("", ""),
	"PUT /v1/triggers/{trigger_id}":           ofTrigger("", `{"run":{"agent_id":"default","messages":[{"role":"user","content":"hello"}]},"paused":true}`),
	"DELETE /v1/triggers/{trigger_id}":        ofTrigger("", ""),
	"POST /v1/triggers/{trigger_id}/rotate":   ofTrigger("/rotate", `{}`),
	"POST /v1/triggers/{trigger_id}/url":      ofTrigger("/url", `{"expires_at":"2100-01-01T00:00:00Z"}`),
	"POST /v1/triggers/{trigger_id}/run":      ofTrigger("/run", `{"payload":"x"}`),
	"GET /v1/triggers/{trigger_id}/firings":   ofTrigger("/firings", ""),
	"POST /v1/triggers/{trigger_id}/fire": func(g *rig, _ []string) request {
		_, path := g.trigger("")
		return request{path: path, body: `{"a":1}`}
	},
	"GET /v1/webhooks":                         plainly("/v1/webhooks?limit=2", ""),
	"POST /v1/webhooks":                        plainly("/v1/webhooks", `{"url":"https://example.com/told","events":["run.finished"]}`),
	"GET /v1/webhooks/{webhook_id}":            ofWebhook("", ""),
	"PUT /v1/webhooks/{webhook_id}":            ofWebhook("", `{"url":"https://example.com/told","paused":true}`),
	"DELETE /v1/webhooks/{webhook_id}":         ofWebhook("", ""),
	"POST /v1/webhooks/{webhook_id}/rotate":    ofWebhook("/rotate", ""),
	"POST /v1/webhooks/{webhook_id}/test":      ofWebhook("/test", ""),
	"GET /v1/webhooks/{webhook_id}/deliveries": ofWebhook("/deliveries", ""),
	"POST /v1/webhooks/{webhook_id}/redeliver": func(g *rig, as []string) request {
		id := g.webhook()
		_, run := g.done(as...)
		e, err := g.endpoints.Get(g.t.Context(), "", id)
		if err != nil {
			g.t.Fatal(err)
		}
		if ok, err := g.hooks.SwapHook(g.t.Context(), &webhook.Hook{RunID: run, ID: deliver.HookID(e), State: webhook.State{Kind: deliver.RunKind, Endpoint: id}}); !ok || err != nil {
			g.t.Fatal(ok, err)
		}
		return request{path: "/v1/webhooks/" + id + "/redeliver", body: fmt.Sprintf(`{"run_id":%q}`, run)}
	},
	"GET /v1/blobs": plainly("/v1/blobs", ""),
	"POST /v1/blobs": func(g *rig, _ []string) request {
		return request{path: "/v1/blobs", body: "a file", headers: []string{"Content-Type", "text/plain"}}
	},
	"GET /v1/blobs/{blob_id}": func(g *rig, as []string) request {
		return request{path: "/v1/blobs/" + g.upload("text/plain", []byte("a file"), as...)}
	},
	"POST /v1/runs": func(g *rig, _ []string) request {
		return request{path: "/v1/runs", body: runBody("default", g.id(), "hello")}
	},
	"GET /v1/threads/{thread_id}":             ofThread("", ""),
	"PATCH /v1/threads/{thread_id}":           ofThread("", `{"title":"New","custom":{"a":[1]},"resource_id":null}`),
	"PATCH /v1/threads/{thread_id}/metadata":  ofThread("/metadata", `{"custom":{"b":null}}`),
	"DELETE /v1/threads/{thread_id}":          ofThread("", ""),
	"GET /v1/threads/{thread_id}/messages":    ofThread("/messages?visibility=all", ""),
	"POST /v1/threads/{thread_id}/messages":   ofThread("/messages", `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`),
	"POST /v1/threads/{thread_id}/fork":       ofThread("/fork", `{"seq":1}`),
	"POST /v1/threads/{thread_id}/mailbox":    ofThread("/mailbox", `{"payload":{"text":"x"}}`),
	"GET /v1/threads/{thread_id}/mailbox":     ofThread("/mailbox", ""),
	"GET /v1/threads/{thread_id}/runs":        ofThread("/runs", ""),
	"GET /v1/threads/{thread_id}/runs/latest": ofThread("/runs/latest", ""),
	"GET /v1/threads/{thread_id}/runs/active": func(g *rig, as []string) request {
		thread, _, _ := g.waits(as...)
		return request{path: "/v1/threads/" + thread + "/runs/active"}
	},
	"GET /v1/threads/{thread_id}/events": func(g *rig, as []string) request {
		thread, _, _ := g.waits(as...)
		return request{path: "/v1/threads/" + thread + "/events"}
	},
	"GET /v1/events/stream": func(g *rig, as []string) request {
		thread, _ := g.done(as...)
		return request{path: "/v1/events/stream?after=0-0&thread_id=" + thread}
	},
	"GET /v1/threads/{thread_id}/events/stream": ofThread("/events/stream?cursor=0-0", ""),
	"GET /v1/threads/{thread_id}/pending": func(g *rig, as []string) request {
		thread, _ := g.runs(as...)
		g.queue(thread, as...)
		return request{path: "/v1/threads/" + thread + "/pending"}
	},
	"POST /v1/threads/{thread_id}/cancel": func(g *rig, as []string) request {
		thread, _ := g.runs(as...)
		return request{path: "/v1/threads/" + thread + "/cancel"}
	},
	"POST /v1/threads/{thread_id}/interrupt": func(g *rig, as []string) request {
		thread, _ := g.runs(as...)
		return request{path: "/v1/threads/" + thread + "/interrupt"}
	},
	"POST /v1/threads/{thread_id}/decision": func(g *rig, as []string) request {
		thread, _, ticket := g.waits(as...)
		return request{path: "/v1/threads/" + thread + "/decision", body: fmt.Sprintf(`{"tool_call_id":%q,"action":"resume","payload":{"approved":true}}`, ticket)}
	},
	"POST /v1/threads/{thread_id}/pending/reorder": func(g *rig, as []string) request {
		thread, _ := g.runs(as...)
		id, rev := g.queue(thread, as...)
		return request{path: "/v1/threads/" + thread + "/pending/reorder", body: fmt.Sprintf(`{"revision":%q,"order":[%q]}`, rev, id)}
	},
	"PATCH /v1/threads/{thread_id}/pending/{pending_id}": func(g *rig, as []string) request {
		thread, _ := g.runs(as...)
		id, _ := g.queue(thread, as...)
		return request{path: "/v1/threads/" + thread + "/pending/" + id, body: `{"revision":0,"messages":[{"role":"user","content":"edited"}]}`}
	},
	"DELETE /v1/threads/{thread_id}/pending/{pending_id}": func(g *rig, as []string) request {
		thread, _ := g.runs(as...)
		id, _ := g.queue(thread, as...)
		return request{path: "/v1/threads/" + thread + "/pending/" + id + "?revision=0"}
	},
	"GET /v1/previews/runs":                plainly("/v1/previews/runs", ""),
	"GET /v1/previews/runs/{run_id}":       ofPreview(""),
	"GET /v1/previews/runs/{run_id}/trace": ofPreview("/trace"),
	"GET /v1/runs/{run_id}":                ofRun("", ""),
	"GET /v1/runs/{run_id}/explain":        ofRun("/explain", ""),
	"GET /v1/runs/{run_id}/forks":          ofRun("/forks", ""),
	"GET /v1/runs/{run_id}/timeline":       ofRun("/timeline?limit=2", ""),
	"GET /v1/runs/{run_id}/tree":           ofRun("/tree", ""),

	"GET /v1/traces":                             plainly("/v1/traces?limit=1", ""),
	"GET /v1/traces/{run_id}":                    ofTrace("", ""),
	"GET /v1/traces/{run_id}/pin":                ofTrace("/pin", ""),
	"POST /v1/traces/{run_id}/pin":               ofTrace("/pin", `{"reason":"odd"}`),
	"DELETE /v1/traces/{run_id}/pin":             ofTrace("/pin", ""),
	"POST /v1/runs/{run_id}/fork":                ofRun("/fork", `{"from_step":0}`),
	"GET /v1/runs/{run_id}/steps/{step}/request": ofRun("/steps/0/request", ""),
	"GET /v1/runs/{run_id}/events":               ofRun("/events", ""),
	"GET /v1/runs/{run_id}/events/stream":        ofRun("/events/stream?cursor=0-0", ""),
	"POST /v1/runs/{run_id}/inputs":              ofRun("/inputs", `{"messages":[{"role":"user","content":"more"}]}`),
	"POST /v1/runs/{run_id}/cancel": func(g *rig, as []string) request {
		_, run := g.runs(as...)
		return request{path: "/v1/runs/" + run + "/cancel"}
	},
	"POST /v1/runs/{run_id}/decision": func(g *rig, as []string) request {
		_, run, ticket := g.waits(as...)
		return request{path: "/v1/runs/" + run + "/decision", body: fmt.Sprintf(`{"toolCallId":%q,"action":"cancel","reason":"no"}`, ticket)}
	},
	"GET /v1/approvals": func(g *rig, as []string) request {
		g.waits(as...)
		g.poor(as...)
		return request{path: "/v1/approvals?limit=2"}
	},
	"GET /v1/decisions": func(g *rig, as []string) request {
		_, run, ticket := g.waits(as...)
		g.want(202, "POST", "/v1/approvals/"+run+"/"+ticket, `{"action":"cancel","reason":"no"}`, as...)
		g.eventually("the run is done", func() bool { return g.want(200, "GET", "/v1/runs/"+run, "", as...)["status"] == "done" })
		return request{path: "/v1/decisions?run_id=" + run}
	},
	"POST /v1/approvals/{run_id}/{ticket_id}": func(g *rig, as []string) request {
		_, run, ticket := g.waits(as...)
		return request{path: "/v1/approvals/" + run + "/" + ticket, body: `{"action":"resume"}`}
	},
	"POST /v1/approvals": func(g *rig, as []string) request {
		_, run, ticket := g.waits(as...)
		return request{path: "/v1/approvals", body: fmt.Sprintf(`{"decisions":[{"run_id":%q,"ticket_id":%q,"action":"cancel"}]}`, run, ticket)}
	},
	"POST /v1/runs/cancel": func(g *rig, as []string) request {
		_, run := g.runs(as...)
		return request{path: "/v1/runs/cancel", body: fmt.Sprintf(`{"ids":[%q]}`, run)}
	},
	"POST /v1/runs/continue": func(g *rig, as []string) request {
		return request{path: "/v1/runs/continue", body: fmt.Sprintf(`{"ids":[%q]}`, g.poor(as...))}
	},
	"GET /v1/restored":      plainly("/v1/restored", ""),
	"POST /v1/runs/release": plainly("/v1/runs/release", `{"all":true}`),
	"POST /v1/dead-letters/retry": func(g *rig, _ []string) request {
		return request{path: "/v1/dead-letters/retry", body: fmt.Sprintf(`{"ids":[%q]}`, g.dead(g.tenant))}
	},
	"POST /v1/dead-letters/delete": func(g *rig, _ []string) request {
		return request{path: "/v1/dead-letters/delete", body: fmt.Sprintf(`{"ids":[%q]}`, g.dead(g.tenant))}
	},
	"GET /v1/dead-letters": func(g *rig, _ []string) request {
		g.dead(g.tenant)
		return request{path: "/v1/dead-letters"}
	},
	"POST /v1/dead-letters/{dispatch_id}/retry": func(g *rig, _ []string) request {
		return request{path: "/v1/dead-letters/" + g.dead(g.tenant) + "/retry"}
	},
	"DELETE /v1/dead-letters/{dispatch_id}": func(g *rig, _ []string) request {
		return request{path: "/v1/dead-letters/" + g.dead(g.tenant)}
	},
	"GET /v1/usage":        plainly("/v1/usage", ""),
	"GET /v1/search":       plainly("/v1/search?q=default", ""),
	"GET /v1/stats/series": plainly("/v1/stats/series?metric=latency_p95_ms&by=agent&step=hour", ""),
	"GET /v1/queue": func(g *rig, _ []string) request {
		g.runs(admin...)
		return request{path: "/v1/queue"}
	},
	"GET /v1/dispatches": func(g *rig, _ []string) request {
		g.dead(g.tenant)
		return request{path: "/v1/dispatches?limit=2"}
	},
	"GET /v1/deliveries": func(g *rig, _ []string) request {
		g.notified()
		return request{path: "/v1/deliveries"}
	},
	"GET /v1/budget":                     plainly("/v1/budget", ""),
	"PUT /v1/budget":                     plainly("/v1/budget", `{"limit_usd":null}`),
	"GET /v1/agents/{agent_id}/budget":   plainly("/v1/agents/default/budget", ""),
	"PUT /v1/agents/{agent_id}/budget":   plainly("/v1/agents/default/budget", `{"limit_usd":1000}`),
	"GET /v1/threads/{thread_id}/budget": ofThread("/budget", ""),
	"PUT /v1/threads/{thread_id}/budget": ofThread("/budget", `{"limit_usd":0}`),
	"GET /v1/runs/{run_id}/budget":       ofRun("/budget", ""),
	"PUT /v1/runs/{run_id}/budget":       ofRun("/budget", `{"limit_usd":0.5}`),
	"POST /v1/runs/{run_id}/continue": func(g *rig, as []string) request {
		return request{path: "/v1/runs/" + g.poor(as...) + "/continue"}
	},
	"DELETE /v1/keys/{id}": func(g *rig, as []string) request {
		if as == nil {
			as = admin
		}
		return request{path: "/v1/keys/" + g.want(201, "POST", "/v1/keys", `{"kind":"read"}`, as...)["id"].(string)}
	},
}

// ofRecord returns a request about a new document.
func ofRecord(rest, body string) func(*rig, []string) request {
	return func(g *rig, _ []string) request {
		id := g.agent("")
		return request{path: "/v1/config/agents/" + id + rest, body: strings.ReplaceAll(body, "ID", id)}
	}
}

func plainly(path, body string) func(*rig, []string) request {
	return func(*rig, []string) request { return request{path: path, body: body} }
}

// ofContested returns a request about the schedule or the webhook that other processes change all the time.
func ofContested(all, rest, body string) func(*rig) request {
	return func(g *rig) request {
		made := map[string]string{"/v1/schedules": `{"id":"contested","cron":"@daily","run":{"agent_id":"default","messages":[{"role":"user","content":"hello"}]}}`, "/v1/webhooks": `{"id":"contested","url":"https://example.com/told"}`,
			"/v1/triggers": `{"id":"contested","run":{"agent_id":"default","messages":[{"role":"user","content":"hello"}]}}`}[all]
		if status, text := g.ask("POST", all, made, admin...); status != 201 && status != 409 {
			g.t.Fatalf("POST %s: %d %s", all, status, text)
		}
		return request{path: all + rest, body: body}
	}
}

func ofWebhook(rest, body string) func(*rig, []string) request {
	return func(g *rig, _ []string) request {
		return request{path: "/v1/webhooks/" + g.webhook() + rest, body: body}
	}
}

func atDoor(status int, body string, headers ...string) other {
	return other{status, func(g *rig) request {
		_, path := g.trigger("")
		return request{path: path, body: body, headers: headers}
	}}
}

func ofTrigger(rest, body string) func(*rig, []string) request {
	return func(g *rig, _ []string) request {
		id, _ := g.trigger("")
		return request{path: "/v1/triggers/" + id + rest, body: body}
	}
}

func ofSchedule(rest, body string) func(*rig, []string) request {
	return func(g *rig, _ []string) request {
		return request{path: "/v1/schedules/" + g.schedule(`"cron":"@daily"`, admin...) + rest, body: body}
	}
}

func ofThread(rest, body string) func(*rig, []string) request {
	return func(g *rig, as []string) request {
		thread, _ := g.done(as...)
		return request{path: "/v1/threads/" + thread + rest, body: body}
	}
}

func ofTrace(path, body string) func(g *rig, as []string) request {
	return func(g *rig, as []string) request {
		_, run := g.done(as...)
		return request{path: "/v1/traces/" + run + path, body: body}
	}
}

func ofRun(rest, body string) func(*rig, []string) request {
	return func(g *rig, as []string) request {
		_, run := g.done(as...)
		return request{path: "/v1/runs/" + run + rest, body: body}
	}
}

// ofPreview asks for something of a run of a preview.
func ofPreview(rest string) func(*rig, []string) request {
	return func(g *rig, _ []string) request {
		r, err := g.box.Tenant(server.PreviewTenant).Submit(g.t.Context(), mailbox.Submission{Request: awaken.RunRequest{ThreadID: g.id(), AgentID: "default", Messages: []*llm.Message{llm.UserText("hello")}}})
		if err != nil {
			g.t.Fatal(err)
		}
		g.eventually("the end of a preview", func() bool {
			run, err := g.box.Tenant(server.PreviewTenant).Store.LoadRun(g.t.Context(), r.RunID)
			return err == nil && run.Status == awaken.RunDone
		})
		return request{path: "/v1/previews/runs/" + r.RunID + rest}
	}
}

// agent writes a new agent and returns its id. The query can make it a draft.
func (g *rig) agent(query string) string {
	g.t.Helper()
	id := g.id()
	g.want(200, "PUT", "/v1/config/agents/"+id+query, fmt.Sprintf(`{"id":%q,"model_id":"m"}`, id), admin...)
	return id
}

// canary starts a new canary in place of any other.
func (g *rig) canary() (version int64) {
	g.t.Helper()
	g.ask("DELETE", "/v1/registry/canary", "", admin...)
	body := fmt.Sprintf(`{"records":[{"namespace":"agents","id":%q}],"canary":{"share":0.5}}`, g.agent("?publish=false"))
	return int64(g.want(200, "POST", "/v1/registry/publish", body, admin...)["number"].(float64))
}

// event returns the id of a resource's newest audit event.
func (g *rig) event(resource string) string {
	g.t.Helper()
	items := g.want(200, "GET", "/v1/audit-log?limit=1&resource="+resource, "", admin...)["items"].([]any)
	return items[0].(map[string]any)["id"].(string)
}

func init() {
	maps.Copy(successes, map[string]func(*rig, []string) request{
		"GET /v1/config/{namespace}": plainly("/v1/config/agents?limit=2", ""),
		"POST /v1/config/{namespace}": func(g *rig, _ []string) request {
			return request{path: "/v1/config/agents", body: fmt.Sprintf(`{"id":%q,"model_id":"m"}`, g.id())}
		},
		"POST /v1/config/{namespace}/validate":            plainly("/v1/config/agents/validate", `{"id":"new","model_id":"m"}`),
		"GET /v1/config/{namespace}/meta":                 plainly("/v1/config/agents/meta", ""),
		"GET /v1/config/{namespace}/$schema":              plainly("/v1/config/agents/$schema", ""),
		"GET /v1/config/{namespace}/{id}":                 plainly("/v1/config/mcp-servers/files", ""),
		"PUT /v1/config/{namespace}/{id}":                 ofRecord("", `{"id":"ID","model_id":"m","system_prompt":"new"}`),
		"DELETE /v1/config/{namespace}/{id}":              ofRecord("", ""),
		"GET /v1/config/{namespace}/{id}/meta":            ofRecord("/meta", ""),
		"GET /v1/config/diagnostics":                      plainly("/v1/config/diagnostics", ""),
		"GET /v1/config/{namespace}/{id}/removal-preview": plainly("/v1/config/models/local-model/removal-preview", ""),
		"GET /v1/config/providers/{id}/removal-preview":   plainly("/v1/config/providers/local/removal-preview", ""),
		"POST /v1/config/{namespace}/{id}/restore": func(g *rig, _ []string) request {
			id := g.agent("")
			g.want(200, "PUT", "/v1/config/agents/"+id, fmt.Sprintf(`{"id":%q,"model_id":"m","system_prompt":"other"}`, id), admin...)
			event := g.event("agents/" + id)
			g.want(200, "PUT", "/v1/config/agents/"+id, fmt.Sprintf(`{"id":%q,"model_id":"m"}`, id), admin...)
			return request{path: "/v1/config/agents/" + id + "/restore", body: fmt.Sprintf(`{"version":%q}`, event)}
		},
		"GET /v1/registry/versions":                            plainly("/v1/registry/versions?limit=2", ""),
		"GET /v1/registry/versions/{version}":                  plainly("/v1/registry/versions/1", ""),
		"GET /v1/registry/versions/{version}/{namespace}/{id}": plainly("/v1/registry/versions/1/agents/helper", ""),
		"GET /v1/registry/diff": func(g *rig, _ []string) request {
			g.agent("?publish=false")
			return request{path: "/v1/registry/diff?from=1&to=draft&limit=1"}
		},
		"POST /v1/registry/versions/{version}/rollback": func(g *rig, _ []string) request {
			g.agent("")
			return request{path: "/v1/registry/versions/1/rollback"}
		},
		"GET /v1/registry/drafts": func(g *rig, _ []string) request {
			g.agent("?publish=false")
			return request{path: "/v1/registry/drafts"}
		},
		"DELETE /v1/registry/drafts/{namespace}/{id}": func(g *rig, _ []string) request {
			return request{path: "/v1/registry/drafts/agents/" + g.agent("?publish=false")}
		},
		"GET /v1/registry/gates": func(g *rig, _ []string) request {
			id := g.agent("")
			g.want(200, "PUT", "/v1/config/agents/"+id, fmt.Sprintf(`{"id":%q,"model_id":"m","sections":{"eval_gate":{"require":[{"dataset":"none"}]}}}`, id), admin...)
			g.want(200, "PUT", "/v1/config/agents/"+id+"?publish=false", fmt.Sprintf(`{"id":%q,"model_id":"m","system_prompt":"new","sections":{"eval_gate":{"require":[{"dataset":"none"}]}}}`, id), admin...)
			return request{path: "/v1/registry/gates?version=draft"}
		},
		"POST /v1/registry/publish": func(g *rig, _ []string) request {
			return request{path: "/v1/registry/publish", body: fmt.Sprintf(`{"records":[{"namespace":"agents","id":%q}],"note":"a note"}`, g.agent("?publish=false"))}
		},
		"GET /v1/registry/canary": func(g *rig, _ []string) request {
			g.canary()
			return request{path: "/v1/registry/canary"}
		},
		"PUT /v1/registry/canary": func(g *rig, _ []string) request {
			return request{path: "/v1/registry/canary", body: fmt.Sprintf(`{"version":%d,"share":0.7,"rule":{"min_runs":10,"max_error_rate":0.5}}`, g.canary())}
		},
		"POST /v1/registry/canary/promote": func(g *rig, _ []string) request {
			g.canary()
			return request{path: "/v1/registry/canary/promote"}
		},
		"DELETE /v1/registry/canary": func(g *rig, _ []string) request {
			g.canary()
			return request{path: "/v1/registry/canary"}
		},
		"POST /v1/providers/{id}/test":              plainly("/v1/providers/local/test", ""),
		"GET /v1/mcp-servers/{id}/status":           plainly("/v1/mcp-servers/files/status", ""),
		"GET /v1/mcp-servers/{id}/inventory":        plainly("/v1/mcp-servers/files/inventory", ""),
		"POST /v1/mcp-servers/{id}/restart":         plainly("/v1/mcp-servers/files/restart", ""),
		"POST /v1/mcp-servers/{id}/approve":         plainly("/v1/mcp-servers/files/approve", `{"tools":{"read":"digest-read"}}`),
		"GET /v1/mcp-servers/{id}/authorization":    plainly("/v1/mcp-servers/issues/authorization", ""),
		"POST /v1/mcp-servers/{id}/authorization":   plainly("/v1/mcp-servers/issues/authorization", ""),
		"DELETE /v1/mcp-servers/{id}/authorization": plainly("/v1/mcp-servers/issues/authorization", ""),
		"GET /v1/mcp-oauth/callback": func(g *rig, as []string) request {
			return request{path: callback + "?code=read&state=" + g.begin("issues", as...)}
		},
		"POST /v1/mcp-oauth/callback": func(g *rig, as []string) request {
			return request{path: callback, body: fmt.Sprintf(`{"state":%q,"code":"read"}`, g.begin("issues", as...))}
		},
		"GET /v1/mcp-oauth/client.json":   plainly("/v1/mcp-oauth/client.json", ""),
		"GET /v1/a2a-servers/{id}/status": plainly("/v1/a2a-servers/peer/status", ""),
		"GET /v1/remembered-approvals":    plainly("/v1/remembered-approvals?agent_id=default", ""),
		"DELETE /v1/remembered-approvals": plainly("/v1/remembered-approvals?user_id=u", ""),
		"DELETE /v1/remembered-approvals/{id}": func(g *rig, _ []string) request {
			return request{path: "/v1/remembered-approvals/" + g.approved("u") + "?user_id=u"}
		},
		"GET /v1/memories": func(g *rig, _ []string) request {
			g.recall("", "u", "one")
			return request{path: "/v1/memories?user_id=u&limit=1"}
		},
		"DELETE /v1/memories": plainly("/v1/memories?user_id=u", ""),
		"DELETE /v1/memories/{id}": func(g *rig, _ []string) request {
			g.recall("", "u", "two")
			return request{path: "/v1/memories/two?user_id=u"}
		},
		"GET /v1/audit-log":                            plainly("/v1/audit-log?limit=2", ""),
		"POST /v1/agents/permission-preview":           plainly("/v1/agents/permission-preview", `{"agent":"helper","recent":{"limit":3}}`),
		"POST /v1/patterns/match":                      plainly("/v1/patterns/match", `{"pattern":"Bash(npm *)","calls":[{"tool":"Bash","arguments":{"command":"npm i"}}]}`),
		"GET /v1/agents/{agent_id}/permission-preview": plainly("/v1/agents/helper/permission-preview", ""),
		"GET /v1/admin/assistant/config":               plainly("/v1/admin/assistant/config", ""),
		"PUT /v1/admin/assistant/config": func(g *rig, _ []string) request {
			now := g.want(200, "GET", "/v1/admin/assistant/config", "", admin...)["revision"]
			return request{path: "/v1/admin/assistant/config", body: fmt.Sprintf(`{"policy_prompt":"Be brief.","model_id":"m","revision":%v}`, now)}
		},
		"GET /v1/capabilities":      plainly("/v1/capabilities", ""),
		"GET /v1/agents":            func(*rig, []string) request { return request{path: "/v1/agents?limit=1", headers: admin} },
		"GET /v1/agents/{agent_id}": plainly("/v1/agents/helper", ""),
		"GET /v1/agents/runtime-stats": func(g *rig, as []string) request {
			g.waits(as...)
			return request{path: "/v1/agents/runtime-stats?window=1h"}
		},
		"GET /v1/agents/{agent_id}/runtime-stats": plainly("/v1/agents/default/runtime-stats", ""),
	})
	for _, o := range []struct{ path, body, field string }{
		{"agents/helper", `{"system_prompt":"other"}`, "system_prompt"}, {"tools/ask", `{"description":"other"}`, "description"}, {"skills/greet", `{"name":"other"}`, "name"},
	} {
		ns, _, _ := strings.Cut(o.path, "/")
		path, name := "/v1/config/"+o.path+"/overrides", "/v1/config/"+ns+"/{id}/overrides"
		successes["POST "+name] = plainly(path, o.body)
		successes["PATCH "+name] = plainly(path, o.body)
		overridden := func(rest string) func(g *rig, as []string) request {
			return func(g *rig, _ []string) request {
				g.want(200, "PATCH", path, o.body, admin...)
				return request{path: path + rest}
			}
		}
		successes["DELETE "+name], successes["DELETE "+name+"/{field}"] = overridden(""), overridden("/"+o.field)
		for _, op := range []string{"POST " + name, "PATCH " + name, "DELETE " + name, "DELETE " + name + "/{field}"} {
			q := request{path: path, body: o.body}
			if strings.HasSuffix(op, "{field}") {
				q.path += "/" + o.field
				others[op] = append(others[op], other{400, func(*rig) request { return request{path: path + "/no_such_field"} }})
			}
			others[op] = append(others[op], ifMatch(412, `"999"`, q), ifMatch(400, "zzz", q))
			if ns != "tools" {
				others[op] = append(others[op], other{422, func(g *rig) request {
					mine := fmt.Sprint("mine-", g.made.Add(1))
					doc := map[string]string{"agents": `{"id":%q,"model_id":"m"}`, "skills": `{"id":%q,"name":"n","description":"d","instructions_md":"i"}`}[ns]
					g.want(201, "POST", "/v1/config/"+ns, fmt.Sprintf(doc, mine), admin...)
					return request{path: strings.Replace(q.path, o.path, ns+"/"+mine, 1), body: q.body}
				}})
			}
		}
	}
}

// other is a request whose response has a status that not every operation can have.
type other struct {
	status int
	make   func(g *rig) request
}

func ifMatch(status int, etag string, q request) other {
	q.headers = []string{"If-Match", etag}
	return other{status, func(*rig) request { return q }}
}

func about(status int, path, body string) other {
	return other{status, func(*rig) request { return request{path: path, body: body} }}
}

// others has such requests.
var others = map[string][]other{
	"GET /v1/session": {{401, func(*rig) request {
		return request{path: "/v1/session", headers: []string{"Authorization", "Bearer a-wrong-key"}}
	}}},
	"POST /v1/triggers/{trigger_id}/fire": {atDoor(400, `{`), atDoor(413, `"`+strings.Repeat("x", 70_000)+`"`), atDoor(415, "{}", "Content-Type", "image/png"), {403, func(g *rig) request {
		_, path := g.trigger(`"paused":true`)
		return request{path: path, body: `{}`}
	}}, {429, func(g *rig) request {
		_, path := g.trigger(`"per_minute":1`)
		g.want(202, "POST", path, `{}`)
		return request{path: path, body: `{}`}
	}}},
	"GET /v1/blobs/{blob_id}":            {part(206, "Range", "bytes=1-2"), part(416, "Range", "bytes=99-"), part(304, "If-None-Match", "*")},
	"PUT /v1/config/{namespace}/{id}":    {ifMatch(412, `"999"`, request{path: "/v1/config/agents/helper", body: `{"id":"helper","model_id":"m"}`})},
	"DELETE /v1/config/{namespace}/{id}": {ifMatch(412, `"999"`, request{path: "/v1/config/agents/helper"}), about(409, "/v1/config/providers/local", ""), about(400, "/v1/config/agents/x?force=maybe", "")},
	"POST /v1/config/{namespace}":        {about(409, "/v1/config/agents", `{"id":"helper","model_id":"m"}`)},
	"POST /v1/config/{namespace}/{id}/restore": {
		{412, func(g *rig) request {
			id := g.agent("")
			return request{path: "/v1/config/agents/" + id + "/restore", body: fmt.Sprintf(`{"version":%q}`, g.event("agents/"+id)), headers: []string{"If-Match", `"999"`}}
		}},
		{422, func(g *rig) request {
			return request{path: "/v1/config/agents/helper/restore", body: fmt.Sprintf(`{"version":%q}`, g.event("agents/"+g.agent("")))}
		}},
		about(404, "/v1/config/agents/helper/restore", `{"version":"missing"}`),
	},
	"GET /v1/config/{namespace}":           {about(400, "/v1/config/agents?limit=x", "")},
	"GET /v1/config/{namespace}/{id}":      {about(400, "/v1/config/agents/helper?state=x", "")},
	"GET /v1/agents/{agent_id}":            {about(400, "/v1/agents/helper?state=x", "")},
	"GET /v1/remembered-approvals":         {about(400, "/v1/remembered-approvals?agent_id=a&user_id=u", "")},
	"DELETE /v1/remembered-approvals":      {about(400, "/v1/remembered-approvals", "")},
	"DELETE /v1/remembered-approvals/{id}": {about(400, "/v1/remembered-approvals/x", ""), about(404, "/v1/remembered-approvals/x?user_id=u", "")},
	"GET /v1/memories":                     {about(400, "/v1/memories?user_id=u&cursor=x", "")},
	"DELETE /v1/memories":                  {about(400, "/v1/memories", "")},
	"DELETE /v1/memories/{id}":             {about(400, "/v1/memories/x", ""), about(404, "/v1/memories/x?user_id=u", "")},
	"GET /v1/registry/gates":               {about(400, "/v1/registry/gates?version=x", ""), about(404, "/v1/registry/gates?version=99999", "")},
	"GET /v1/registry/diff":                {about(400, "/v1/registry/diff?from=x", ""), about(404, "/v1/registry/diff?to=99999", "")},
	"GET /v1/registry/drafts":              {about(400, "/v1/registry/drafts?cursor=x", "")},
	"DELETE /v1/registry/drafts/{namespace}/{id}": {ifMatch(412, `"999"`, request{path: "/v1/registry/drafts/agents/helper"}),
		ifMatch(400, "x", request{path: "/v1/registry/drafts/agents/helper"})},
	"GET /v1/agents":            {about(400, "/v1/agents?offset=x", "")},
	"GET /v1/registry/versions": {about(400, "/v1/registry/versions?before=x", "")},
	"POST /v1/registry/versions/{version}/rollback": {{400, func(g *rig) request {
		p, _, err := g.control.Versions().Preview(g.t.Context(), []byte(`{"model_id":"m"}`), config.Actor{})
		if err != nil {
			g.t.Fatal(err)
		}
		return request{path: "/v1/registry/versions/" + p.ResolutionID() + "/rollback"}
	}}},
	"POST /v1/registry/publish": {about(404, "/v1/registry/publish", `{"records":[{"namespace":"agents","id":"missing"}]}`), about(400, "/v1/registry/publish", `{"canary":{"share":7}}`)},
	"PUT /v1/registry/canary":   {about(404, "/v1/registry/canary", `{"version":99999,"share":0.5}`), about(400, "/v1/registry/canary", `{"version":1,"share":7}`)},
	"POST /v1/registry/canary/promote": {{404, noCanary("/v1/registry/canary/promote")}, {400, func(*rig) request {
		return request{path: "/v1/registry/canary/promote", headers: []string{"X-Awaken-Gate-Override", "%"}}
	}}},
	"DELETE /v1/registry/canary":         {{404, noCanary("/v1/registry/canary")}},
	"GET /v1/mcp-servers/{id}/inventory": {about(502, "/v1/mcp-servers/down/inventory", "")},
	"POST /v1/mcp-servers/{id}/restart":  {about(502, "/v1/mcp-servers/down/restart", "")},
	"POST /v1/mcp-servers/{id}/approve": {about(502, "/v1/mcp-servers/down/approve", `{"tools":{"read":"digest-read"}}`), about(400, "/v1/mcp-servers/files/approve", `{"tools":{"missing":"x"}}`),
		about(409, "/v1/mcp-servers/files/approve", `{"tools":{"read":"digest-of-another"}}`)},
	"GET /v1/mcp-servers/{id}/authorization":    {about(400, "/v1/mcp-servers/files/authorization", ""), {500, noConsent("lost")}, {502, noConsent("unusable")}},
	"POST /v1/mcp-servers/{id}/authorization":   {about(400, "/v1/mcp-servers/files/authorization", ""), about(403, "/v1/mcp-servers/shared/authorization", ""), {502, noConsent("lost")}, {502, noConsent("unusable")}},
	"DELETE /v1/mcp-servers/{id}/authorization": {about(400, "/v1/mcp-servers/files/authorization", ""), about(403, "/v1/mcp-servers/shared/authorization", ""), {502, noConsent("lost")}, {502, noConsent("unusable")}},
	"GET /v1/mcp-oauth/callback": {about(400, callback+"?state=unknown", ""), about(400, callback, ""),
		{200, func(g *rig) request {
			return request{path: callback + "?error=access_denied&state=" + g.begin("issues")}
		}},
		{200, func(g *rig) request { return request{path: callback + "?code=c&state=" + g.begin("shared", admin...)} }},
		{403, func(g *rig) request {
			return request{path: callback + "?code=c&again=true&state=" + g.begin("shared", admin...)}
		}}},
	"POST /v1/mcp-oauth/callback": {about(400, callback, `{"state":"unknown","code":"c"}`), {200, delivered("issues", "error", "access_denied")}, {502, delivered("issues", "code", "wrong")},
		{403, delivered("shared", "code", "c")}},
	"GET /v1/audit-log":                       {about(400, "/v1/audit-log?since=yesterday", "")},
	"PUT /v1/admin/assistant/config":          {about(400, "/v1/admin/assistant/config", `{"policy_prompt":"","model_id":"missing","revision":0}`), about(409, "/v1/admin/assistant/config", `{"policy_prompt":"","revision":77}`)},
	"POST /v1/agents/permission-preview":      {about(404, "/v1/agents/permission-preview", `{"agent":"none"}`)},
	"GET /v1/agents/runtime-stats":            {about(400, "/v1/agents/runtime-stats?window=x", "")},
	"GET /v1/agents/{agent_id}/runtime-stats": {about(400, "/v1/agents/default/runtime-stats?window=0", "")},
}

// noConsent asks for the authorization of a server that no user can authorize now.
func noConsent(id string) func(g *rig) request {
	return func(g *rig) request {
		g.mcp.Server("lost", "connection refused")
		g.want(200, "PUT", "/v1/config/mcp-servers/"+id, fmt.Sprintf(`{"id":%q,"transport":"http","url":"https://%s.example","auth":{"type":"oauth"}}`, id, id), admin...)
		return request{path: "/v1/mcp-servers/" + id + "/authorization"}
	}
}

// delivered delivers the response to an authorization that has begun, with a parameter.
func delivered(id, name, value string) func(g *rig) request {
	return func(g *rig) request {
		return request{path: callback, body: fmt.Sprintf(`{"state":%q,%q:%q}`, g.begin(id, admin...), name, value)}
	}
}

func noCanary(path string) func(g *rig) request {
	return func(g *rig) request {
		g.ask("DELETE", "/v1/registry/canary", "", admin...)
		return request{path: path}
	}
}

// conflicts has requests that are late, repeated, or about something that has changed.
var conflicts = map[string]func(g *rig) request{
	"POST /v1/schedules":                      ofContested("/v1/schedules", "", `{"id":"contested","cron":"@daily","run":{"agent_id":"default","messages":[{"role":"user","content":"hello"}]}}`),
	"PUT /v1/schedules/{schedule_id}":         ofContested("/v1/schedules", "/contested", `{"cron":"@daily","run":{"agent_id":"default","messages":[{"role":"user","content":"hello"}]}}`),
	"POST /v1/schedules/{schedule_id}/pause":  ofContested("/v1/schedules", "/contested/pause", ""),
	"POST /v1/schedules/{schedule_id}/resume": ofContested("/v1/schedules", "/contested/resume", ""),
	"POST /v1/schedules/{schedule_id}/run":    ofContested("/v1/schedules", "/contested/run", ""),
	"POST /v1/triggers":                       ofContested("/v1/triggers", "", `{"id":"contested","run":{"agent_id":"default","messages":[{"role":"user","content":"hello"}]}}`),
	"PUT /v1/triggers/{trigger_id}":           ofContested("/v1/triggers", "/contested", `{"run":{"agent_id":"default","messages":[{"role":"user","content":"hello"}]}}`),
	"POST /v1/triggers/{trigger_id}/rotate":   ofContested("/v1/triggers", "/contested/rotate", "{}"),
	"POST /v1/triggers/{trigger_id}/run":      func(g *rig) request { return request{path: "/v1/triggers/" + g.unable() + "/run", body: `{}`} },
	"POST /v1/triggers/{trigger_id}/fire": func(g *rig) request {
		link := g.want(200, "POST", "/v1/triggers/"+g.unable()+"/url", `{}`, admin...)["url"]
		return request{path: pathOf(g.t, link), body: `{}`}
	},
	"POST /v1/webhooks":                     ofContested("/v1/webhooks", "", `{"id":"contested","url":"https://example.com/told"}`),
	"PUT /v1/webhooks/{webhook_id}":         ofContested("/v1/webhooks", "/contested", `{"url":"https://example.com/told"}`),
	"POST /v1/webhooks/{webhook_id}/rotate": ofContested("/v1/webhooks", "/contested/rotate", ""),
	"DELETE /v1/threads/{thread_id}": func(g *rig) request {
		thread, _ := g.runs()
		return request{path: "/v1/threads/" + thread}
	},
	"POST /v1/threads/{thread_id}/decision": func(g *rig) request {
		thread, run, ticket := g.waits()
		body := fmt.Sprintf(`{"tool_call_id":%q,"action":"cancel"}`, ticket)
		g.want(202, "POST", "/v1/threads/"+thread+"/decision", body)
		g.ends(run)
		return request{path: "/v1/threads/" + thread + "/decision", body: strings.Replace(body, "cancel", "resume", 1)}
	},
	"POST /v1/runs/{run_id}/decision": func(g *rig) request {
		_, run, ticket := g.waits()
		body := fmt.Sprintf(`{"tool_call_id":%q,"action":"cancel"}`, ticket)
		g.want(202, "POST", "/v1/runs/"+run+"/decision", body)
		g.ends(run)
		return request{path: "/v1/runs/" + run + "/decision", body: strings.Replace(body, "cancel", "resume", 1)}
	},
	"POST /v1/runs/{run_id}/continue": func(g *rig) request {
		_, run := g.done()
		return request{path: "/v1/runs/" + run + "/continue"}
	},
	"POST /v1/approvals/{run_id}/{ticket_id}": func(g *rig) request {
		_, run, ticket := g.waits()
		g.want(202, "POST", "/v1/approvals/"+run+"/"+ticket, `{"action":"cancel"}`)
		g.ends(run)
		return request{path: "/v1/approvals/" + run + "/" + ticket, body: `{"action":"resume"}`}
	},
	"POST /v1/threads/{thread_id}/fork": func(g *rig) request {
		thread, _ := g.runs()
		return request{path: "/v1/threads/" + thread + "/fork", body: `{"seq":0}`}
	},
	"POST /v1/runs/{run_id}/fork": func(g *rig) request {
		_, run := g.runs()
		return request{path: "/v1/runs/" + run + "/fork", body: `{"from_step":0}`}
	},
	"POST /v1/threads/{thread_id}/messages": twice("/v1/threads/THREAD/messages", `{"messages":[{"role":"user","content":"x"}]}`),
	"POST /v1/threads/{thread_id}/mailbox":  twice("/v1/threads/THREAD/mailbox", `{"payload":"x"}`),
	"POST /v1/runs/{run_id}/inputs":         twice("/v1/runs/RUN/inputs", `{"messages":[{"role":"user","content":"x"}]}`),
	"POST /v1/runs":                         twice("/v1/runs", runBody("default", "", "x")),
	"POST /v1/threads/{thread_id}/pending/reorder": func(g *rig) request {
		thread, _ := g.runs()
		id, _ := g.queue(thread)
		return request{path: "/v1/threads/" + thread + "/pending/reorder", body: fmt.Sprintf(`{"revision":"old","order":[%q]}`, id)}
	},
	"PATCH /v1/threads/{thread_id}/pending/{pending_id}": func(g *rig) request {
		thread, _ := g.runs()
		id, _ := g.queue(thread)
		return request{path: "/v1/threads/" + thread + "/pending/" + id, body: `{"revision":7,"messages":[{"role":"user","content":"edited"}]}`}
	},
	"DELETE /v1/threads/{thread_id}/pending/{pending_id}": func(g *rig) request {
		thread, _ := g.runs()
		id, _ := g.queue(thread)
		return request{path: "/v1/threads/" + thread + "/pending/" + id + "?revision=7"}
	},
	"POST /v1/dead-letters/{dispatch_id}/retry": func(g *rig) request { return request{path: "/v1/dead-letters/" + g.live() + "/retry"} },
	"DELETE /v1/dead-letters/{dispatch_id}":     func(g *rig) request { return request{path: "/v1/dead-letters/" + g.live()} },
	"DELETE /v1/keys/{id}":                      func(*rig) request { return request{path: "/v1/keys/admin"} },
}

// live makes a dispatch that is not a dead letter.
func (g *rig) live() string {
	return g.want(201, "POST", "/v1/threads/"+g.id()+"/mailbox", `{"payload":"x"}`)["dispatch_id"].(string)
}

// twice sends a request and returns another one with the same key.
func twice(path, body string) func(g *rig) request {
	return func(g *rig) request {
		thread, run := g.done()
		key := []string{"Idempotency-Key", thread, "Accept", "application/json"}
		path := strings.NewReplacer("THREAD", thread, "RUN", run).Replace(path)
		if status, text := g.ask("POST", path, body, key...); status >= 300 {
			g.t.Fatalf("POST %s: %d %s", path, status, text)
		}
		return request{path: path, body: strings.Replace(body, `"x"`, `"y"`, 1), headers: key}
	}
}

// mistakes has invalid values for operations without a body.
var mistakes = map[string]string{
	"GET /v1/threads":                                     "/v1/threads?limit=x",
	"GET /v1/blobs":                                       "/v1/blobs?cursor=zzz",
	"POST /v1/blobs":                                      "/v1/blobs",
	"GET /v1/threads/summaries":                           "/v1/threads/summaries?cursor=zzz",
	"DELETE /v1/threads/{thread_id}":                      "/v1/threads/x?child_strategy=odd",
	"GET /v1/threads/{thread_id}/messages":                "/v1/threads/x/messages?order=up",
	"GET /v1/threads/{thread_id}/mailbox":                 "/v1/threads/x/mailbox?offset=x",
	"GET /v1/threads/{thread_id}/runs":                    "/v1/threads/x/runs?status=odd",
	"GET /v1/threads/{thread_id}/events":                  "/v1/threads/x/events?limit=x",
	"GET /v1/runs/{run_id}/events":                        "/v1/runs/x/events?limit=x",
	"GET /v1/runs":                                        "/v1/runs?status=odd",
	"GET /v1/previews/runs":                               "/v1/previews/runs?status=odd",
	"GET /v1/previews/runs/{run_id}/trace":                "/v1/previews/runs/x/trace?limit=x",
	"GET /v1/traces":                                      "/v1/traces?outcome=odd",
	"GET /v1/traces/{run_id}":                             "/v1/traces/x?limit=x",
	"DELETE /v1/traces/{run_id}/pin":                      "/v1/traces/x/pin?kind=odd",
	"GET /v1/runs/summary":                                "/v1/runs/summary?user_id=%01",
	"GET /v1/restored":                                    "/v1/restored?user_id=%01",
	"GET /v1/approvals":                                   "/v1/approvals?limit=x",
	"GET /v1/decisions":                                   "/v1/decisions?since=yesterday",
	"GET /v1/dead-letters":                                "/v1/dead-letters?limit=x",
	"GET /v1/dispatches":                                  "/v1/dispatches?status=odd",
	"GET /v1/search":                                      "/v1/search?limit=x",
	"GET /v1/stats/series":                                "/v1/stats/series?metric=odd",
	"GET /v1/providers/limits":                            "/v1/providers/limits?limit=x",
	"POST /v1/providers/{id}/test":                        "/v1/providers/local/test?model=%01",
	"DELETE /v1/providers/limits":                         "/v1/providers/limits",
	"GET /v1/usage":                                       "/v1/usage?agent_id=%01",
	"GET /v1/deliveries":                                  "/v1/deliveries?limit=x",
	"GET /v1/schedules":                                   "/v1/schedules?cursor=zzz",
	"GET /v1/schedules/{schedule_id}/firings":             "/v1/schedules/x/firings?limit=x",
	"GET /v1/triggers":                                    "/v1/triggers?cursor=zzz",
	"GET /v1/triggers/{trigger_id}/firings":               "/v1/triggers/x/firings?limit=x",
	"GET /v1/webhooks":                                    "/v1/webhooks?cursor=zzz",
	"GET /v1/webhooks/{webhook_id}/deliveries":            "/v1/webhooks/x/deliveries?limit=x",
	"GET /v1/budget":                                      "/v1/budget?tenant=%01",
	"DELETE /v1/threads/{thread_id}/pending/{pending_id}": "/v1/threads/x/pending/y?revision=x",
}

// never has statuses that only a bug in the server could cause.
var never = map[string]bool{"GET /v1/models/health 500": true, "GET /v1/providers/limits 500": true, "DELETE /v1/providers/limits 500": true, "GET /v1/system/info 500": true, "GET /v1/system/modules 500": true, "GET /v1/system/settings 500": true,
	// They are about what is in memory.
	"GET /v1/config/{namespace}/$schema 500": true, "GET /v1/config/diagnostics 500": true, "POST /v1/providers/{id}/test 500": true, "GET /v1/mcp-servers/{id}/status 500": true,
	"GET /v1/mcp-servers/{id}/inventory 500": true, "GET /v1/a2a-servers/{id}/status 500": true, "GET /v1/agents/{agent_id}/permission-preview 500": true,
	// What fails is another server.
	"POST /v1/mcp-servers/{id}/authorization 500": true, "POST /v1/mcp-oauth/callback 500": true,
	"POST /v1/patterns/match 500": true, "GET /v1/remembered-approvals 500": true, "GET /v1/memories 500": true, // the test breaks no profile of a tenant
	"DELETE /v1/remembered-approvals 500": true, "DELETE /v1/remembered-approvals/{id} 500": true, "DELETE /v1/memories 500": true, "DELETE /v1/memories/{id} 500": true,

	"POST /v1/schedules/preview 500": true, "POST /v1/webhooks/{webhook_id}/redeliver 409": true, // a delivery that changes all the time

	"GET /v1/deliveries 500": true, "GET /v1/agents/runtime-stats 500": true, "GET /v1/agents/{agent_id}/runtime-stats 500": true}

func TestOpenAPI_MatchesTheServer(t *testing.T) {
	t.Parallel()
	doors := contestedTriggers{new(trigger.Memory)}
	plain := newRig(t, func(c *servertest.Config) { c.Automation.Triggers.Store = doors })
	d := readDocument(t, plain)
	closed := newRig(t, func(c *servertest.Config) { c.Open = new(bool) })
	small := newRig(t, func(c *servertest.Config) { c.Limits.Body, c.Files.Bytes = 16, 16 })
	slow := newRig(t, func(c *servertest.Config) { c.Limits.WaitTime = time.Nanosecond })
	limited := newRig(t, func(c *servertest.Config) { c.Limits.KeyRate = 1e-9 })
	limited.want(200, "GET", "/v1/runs", "", admin...) // the one request that it allows
	impatient := newRig(t, func(c *servertest.Config) {
		c.Limits.BodyRate, c.Limits.BodyGrace, c.Files.Rate, c.Files.Grace = 1<<40, time.Nanosecond, 1<<40, time.Nanosecond
		c.Automation.Triggers.Store = doors
	})
	broken := newBrokenRig(t, errors.New("the store is broken"))
	held := make(chan struct{}, 1)
	full := &rig{t: t, db: heldDB{memory.NewDB(), held}, keys: plain.keys}
	full.start(func(c *servertest.Config) {
		c.Limits.Requests, c.Limits.Streams, c.Limits.RequestTime = 1, 1, time.Hour
	})
	full.occupy(held)

	var busy atomic.Bool
	contested := &rig{t: t, db: memory.NewDB(), keys: plain.keys, conf: contestedConfig{memory.NewDB().Config(), &busy}}
	contested.start()

	d.operations(func(method, path string, op map[string]any) {
		name := method + " " + path
		ok := successes[name]
		if ok == nil {
			t.Errorf("%s: the test has no request for it", name)
			return
		}
		access, _ := op["x-access"].(string)
		var as []string
		if access == "admin" {
			as = admin
		}
		ids := regexp.MustCompile(`\{\w+\}`)
		missing := ids.ReplaceAllString(path, "missing-"+plain.id()) // a mailbox makes its thread

		q := ok(plain, nil)
		if status := d.ask(plain, name, q.path, q.body, append(q.headers, as...)...); status >= 300 {
			t.Errorf("%s: status is %d, want success", name, status)
		}
		d.ask(plain, name, q.path, q.body, append([]string{"Host", "evil.example"}, as...)...)
		if missing != path {
			d.ask(plain, name, missing, q.body, as...)
			d.ask(plain, name, ids.ReplaceAllString(path, "a%01b"), q.body, as...)
		}
		if path := mistakes[name]; path != "" {
			d.ask(plain, name, path, "", as...)
		}
		if make := conflicts[name]; make != nil {
			q := make(plain)
			if status := d.ask(plain, name, q.path, q.body, append(q.headers, as...)...); status != 409 {
				t.Errorf("%s: status is %d, want 409", name, status)
			}
		}
		for _, o := range others[name] {
			q := o.make(plain)
			if status := d.ask(plain, name, q.path, q.body, append(q.headers, as...)...); status != o.status {
				t.Errorf("%s: %s %s: status is %d, want %d", name, q.path, q.body, status, o.status)
			}
		}
		someone := missing
		if op["x-scope"] == "server" {
			someone = q.path // a namespace has to be there
			if _, races := op["responses"].(map[string]any)["409"]; races {
				q := ok(contested, nil)
				busy.Store(true)
				if status := d.ask(contested, name, q.path, q.body, as...); status != 409 {
					t.Errorf("%s: status is %d, want 409", name, status)
				}
				busy.Store(false)
			}
		}
		if op["requestBody"] != nil {
			d.ask(plain, name, someone, `{`, as...)
			d.ask(plain, name, someone, `{"no_such_field":1}`, as...)
			d.ask(plain, name, someone, `{}`, append([]string{"Content-Type", "text/html"}, as...)...)
			d.ask(small, name, someone, q.body+strings.Repeat(" ", 100), append(q.headers, as...)...)
			d.ask(impatient, name, someone, q.body+strings.Repeat(" ", 100_000), append(q.headers, as...)...)
		}
		if strings.HasSuffix(path, "/events") || strings.HasSuffix(path, "/events/stream") || strings.HasSuffix(path, "/timeline") {
			bare, _, _ := strings.Cut(q.path, "?")
			d.ask(plain, name, bare+"?cursor=zzz", "")
			d.ask(plain, name, bare+"?cursor=99-1", "")
		}
		if path == "/v1/events/stream" { // without a thread that has ended, it does not end
			missing = q.path
			d.ask(plain, name, path+"?thread_id=missing", "")
			d.ask(plain, name, path+"?cursor=1", "")
		}
		if access != "" {
			d.ask(closed, name, q.path, q.body)
			d.ask(limited, name, missing, q.body, admin...)
			d.ask(full, name, missing, q.body, as...)
		}
		d.ask(broken, name, missing, q.body, append(q.headers, as...)...)
		if strings.HasPrefix(path, "/v1/agents/") || strings.HasSuffix(path, "/authorization") || op["x-scope"] == "server" { // which are not in the store
			d.ask(broken, name, q.path, q.body, as...)
		}
	})
	d.ask(plain, "POST /v1/runs", "/v1/runs", runBody("default", "", "hello"), "Accept", "application/json")
	away, wary := newBrokenRig(t, &fault.Outage{Reason: "the store is away", Err: io.EOF}), newRig(t, func(c *servertest.Config) { c.Limits.WrongKeys = 1 })
	// Each wrong key doubles the wait, from a second to a minute: on a slow machine the second one may come after it.
	for _, g := range append([]*rig{broken, away}, slices.Repeat([]*rig{wary}, 8)...) {
		d.ask(g, "GET /v1/session", "/v1/session", "", "Authorization", "Bearer a-wrong-key")
		d.ask(g, "POST /v1/triggers/{trigger_id}/fire", "/v1/triggers/x/fire?signature=x", "{}")
		d.ask(g, "GET "+callback, callback+"?state=s", "", "Authorization", "Bearer a-wrong-key")
		d.ask(g, "DELETE /v1/session", "/v1/session", "", "Cookie", cookieOf(g)+"=0123456789abcdef0123456789abcdef.x", "Origin", g.http.URL)
	}
	d.ask(newRig(t, func(c *servertest.Config) { c.Plane.Authorizer = undocumented{} }), "GET /v1/mcp-oauth/client.json", "/v1/mcp-oauth/client.json", "")
	_, door := plain.trigger("")
	d.ask(impatient, "POST /v1/triggers/{trigger_id}/fire", door, strings.Repeat(" ", 50_000))
	d.ask(slow, "POST /v1/runs", "/v1/runs", runBody("default", "", "RUN_TOOL wait {}"), "Accept", "application/json")

	d.operations(func(method, path string, op map[string]any) {
		for status := range op["responses"].(map[string]any) {
			if at := fmt.Sprintf("%s %s %s", method, path, status); !d.seen[at] && !never[at] {
				t.Errorf("%s is in the document, and was never answered", at)
			}
		}
		for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if _, documented := d.doc["paths"].(map[string]any)[path].(map[string]any)[strings.ToLower(m)]; documented {
				continue
			}
			status, _ := plain.ask(m, regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "missing"), "")
			if status != 405 && !d.matches(m, path) {
				t.Errorf("%s %s is not in the document, and answered with %d", m, path, status)
			}
		}
	})
}

// matches reports whether another path of the document matches the same requests.
func (d *openAPI) matches(method, path string) (found bool) {
	d.operations(func(m, p string, _ map[string]any) {
		if !found && m == method && p != path {
			found = regexp.MustCompile("^" + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(p, "[^/]+") + "$").MatchString(path)
		}
	})
	return found
}

// occupy takes the only slot for requests and the only one for streams. The database sends on held when the request has its slot:
// to ask for a refusal instead would take the slot from that request.
func (g *rig) occupy(held <-chan struct{}) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), "GET", g.http.URL+"/v1/threads?resource_id=held", nil)
	if err != nil {
		g.t.Fatal(err)
	}
	go func() {
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	<-held
	stream := g.do("POST", "/v1/runs", runBody("default", "busy", "RUN_TOOL wait {}"))
	g.t.Cleanup(func() { stream.Body.Close() })
	readFrames(g.t, stream.Body, is("tool_call_ready"))
}

// heldDB is a database that never counts the threads of the resource "held"; it sends on held when it was asked to.
type heldDB struct {
	*memory.DB
	held chan<- struct{}
}

func (d heldDB) Handle(tenant string) mailbox.Handle { return heldStore{d.Store(tenant), d.held} }

type heldStore struct {
	*memory.Store
	held chan<- struct{}
}

func (s heldStore) CountThreads(ctx context.Context, q awaken.ThreadQuery) (int, error) {
	if q.ResourceID == "held" {
		s.held <- struct{}{}
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return s.Store.CountThreads(ctx, q)
}

// brokenDB is a database that fails every call that clients need.
type brokenDB struct {
	*memory.DB
	err error
}

func (b brokenDB) Handle(tenant string) mailbox.Handle { return brokenStore{b.Store(tenant), b.err} }

func (b brokenDB) Changes() changelog.Store { return brokenChanges{b.err} }

type brokenChanges struct{ err error }

func (b brokenChanges) Horizon(context.Context) (int64, error) { return 0, b.err }
func (b brokenChanges) Changes(context.Context, changelog.Query) (*changelog.Page, error) {
	return nil, b.err
}
func (b brokenChanges) TrimChanges(context.Context, time.Duration) (int, error) { return 0, b.err }

type brokenStore struct {
	*memory.Store
	err error
}

func (s brokenStore) Thread(context.Context, string) (*awaken.Thread, error)            { return nil, s.err }
func (s brokenStore) LoadRun(context.Context, string) (*awaken.Run, error)              { return nil, s.err }
func (s brokenStore) CreateThread(context.Context, *awaken.Thread) error                { return s.err }
func (s brokenStore) Change(context.Context, string, func(*mailbox.Thread) error) error { return s.err }
func (s brokenStore) ListThreads(context.Context, awaken.ThreadQuery) ([]*awaken.Thread, error) {
	return nil, s.err
}
func (s brokenStore) CountThreads(context.Context, awaken.ThreadQuery) (int, error) { return 0, s.err }
func (s brokenStore) CountRuns(context.Context, awaken.RunQuery) (int, error)       { return 0, s.err }
func (s brokenStore) ListRuns(context.Context, awaken.RunQuery) ([]*awaken.Run, error) {
	return nil, s.err
}
func (s brokenStore) Enqueue(context.Context, mailbox.Terms, ...*mailbox.Dispatch) ([]int, error) {
	return nil, s.err
}
func (s brokenStore) Dispatch(context.Context, string) (*mailbox.Dispatch, error)  { return nil, s.err }
func (s brokenStore) Submitted(context.Context, string) (*mailbox.Dispatch, error) { return nil, s.err }
func (s brokenStore) Decisions(context.Context, mailbox.DecisionQuery) ([]*awaken.Decided, error) {
	return nil, s.err
}

// brokenRollups fails.
type brokenRollups struct {
	rollup.Store
	err error
}

func (b brokenDB) Rollups() rollup.Store { return brokenRollups{b.DB.Rollups(), b.err} }

func (s brokenRollups) Figures(context.Context, rollup.Query) ([]rollup.Row, error) {
	return nil, s.err
}

func (s brokenStore) CountDispatches(context.Context) (map[mailbox.Status]int, error) {
	return nil, s.err
}
func (s brokenStore) Dispatches(context.Context, mailbox.Query) ([]*mailbox.Dispatch, error) {
	return nil, s.err
}
func (s brokenStore) Balances(context.Context, ...money.Account) ([]money.Balance, error) {
	return nil, s.err
}
func (s brokenStore) Reservations(context.Context) (map[string]*money.Reservation, error) {
	return nil, s.err
}
func (s brokenStore) UpdateBudget(context.Context, string, []money.Account, func(*money.Book) error) error {
	return s.err
}
func (s brokenStore) UsageTotals(context.Context, awaken.UsageQuery) ([]awaken.UsageTotal, error) {
	return nil, s.err
}
func (s brokenStore) PurgeDispatches(context.Context, mailbox.Query) (int, error) { return 0, s.err }

func (s brokenStore) Blobs() blob.Store { return brokenBlobs{s.Store.Blobs(), s.err} }

type brokenBlobs struct {
	blob.Store
	err error
}

func (b brokenBlobs) Total(context.Context) (int64, error)                   { return 0, b.err }
func (b brokenBlobs) List(context.Context, blob.Query) ([]*blob.Blob, error) { return nil, b.err }
func (b brokenBlobs) Open(context.Context, string) (*blob.Blob, io.ReadSeekCloser, error) {
	return nil, nil, b.err
}

// part asks for an uploaded file with a header.
func part(status int, header, value string) other {
	return other{status, func(g *rig) request {
		return request{path: "/v1/blobs/" + g.upload("text/plain", []byte("a file")), headers: []string{header, value}}
	}}
}

type brokenProfile struct {
	profile.Store
	err error
}

func (p brokenProfile) List(context.Context, string) ([]profile.Entry, error) { return nil, p.err }
func (p brokenProfile) Page(context.Context, string, profile.Page) ([]profile.Entry, error) {
	return nil, p.err
}
func (p brokenProfile) Get(context.Context, string, string) (*profile.Entry, error) {
	return nil, p.err
}
func (p brokenProfile) Set(context.Context, string, string, json.RawMessage) error {
	return p.err
}

// newBrokenRig returns a server whose stores fail with err.
func newBrokenRig(t *testing.T, err error, change ...func(*servertest.Config)) *rig {
	t.Helper()
	var broken atomic.Bool
	g := &rig{t: t, db: brokenDB{memory.NewDB(), err}, keys: access.NewKeys(brokenProfile{memory.NewProfile(), err}),
		conf: brokenConfig{memory.NewDB().Config(), &broken, err}, endpoints: brokenRows[webhook.Endpoint]{err}, judged: brokenJudgements{err: err}}
	if err := g.keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
		t.Fatal(err)
	}
	g.start(append([]func(*servertest.Config){func(c *servertest.Config) {
		c.Figures.Replicas, c.Automation.Schedules = figures.NewReplicas(brokenProfile{memory.NewProfile(), err}), brokenSchedules{brokenRows[schedule.Schedule]{err}}
		c.Automation.Triggers.Store = brokenTriggers{brokenRows[trigger.Trigger]{err}}
	}}, change...)...)
	broken.Store(true)
	return g
}

type brokenJudgements struct {
	live.Store
	err error
}

func (b brokenJudgements) Judgements(context.Context, live.Query) ([]*live.Judgement, error) {
	return nil, b.err
}

// brokenRows is a store of rows that fails.
type brokenRows[T any] struct{ err error }

func (b brokenRows[T]) Get(context.Context, string, string) (*T, error) { return nil, b.err }

func (b brokenRows[T]) List(context.Context, string, string, int) ([]*T, error) { return nil, b.err }

func (b brokenRows[T]) Due(context.Context, int) ([]*T, time.Time, error) {
	return nil, time.Time{}, b.err
}

func (b brokenRows[T]) Swap(context.Context, *T) (bool, error) { return false, b.err }

func (b brokenRows[T]) Drop(context.Context, string, string) (bool, error) { return false, b.err }

type brokenSchedules struct {
	brokenRows[schedule.Schedule]
}

func (b brokenSchedules) Record(context.Context, *schedule.Schedule, ...schedule.Firing) (bool, error) {
	return false, b.err
}

func (b brokenSchedules) Firings(context.Context, string, string, int64, int) ([]schedule.Firing, error) {
	return nil, b.err
}

type brokenTriggers struct{ brokenRows[trigger.Trigger] }

func (b brokenTriggers) Log(context.Context, string, string, *trigger.Firing) error { return b.err }

func (b brokenTriggers) Firings(context.Context, string, string, trigger.Place, int) ([]trigger.Firing, error) {
	return nil, b.err
}

func (b brokenTriggers) Enter(context.Context, string, string, *trigger.Firing, int) (bool, error) {
	return false, b.err
}

// contested is the id of a schedule and of a webhook that other processes change all the time.
const contested = "contested"

type contestedSchedules struct{ schedule.Store }

func (c contestedSchedules) Swap(ctx context.Context, s *schedule.Schedule) (bool, error) {
	if s.ID == contested && s.Revision > 0 {
		return false, nil
	}
	return c.Store.Swap(ctx, s)
}

type contestedEndpoints struct{ webhook.EndpointStore }

func (c contestedEndpoints) Swap(ctx context.Context, e *webhook.Endpoint) (bool, error) {
	if e.ID == contested && e.Revision > 0 {
		return false, nil
	}
	return c.EndpointStore.Swap(ctx, e)
}

type contestedTriggers struct{ trigger.Store }

func (c contestedTriggers) Swap(ctx context.Context, t *trigger.Trigger) (bool, error) {
	if t.ID == contested && t.Revision > 0 {
		return false, nil
	}
	return c.Store.Swap(ctx, t)
}

// TestOpenAPI_IsValid checks that the document conforms to the specification and that every schema in
// it compiles.
func TestOpenAPI_IsValid(t *testing.T) {
	t.Parallel()
	d := readDocument(t, newRig(t))
	if v := d.doc["openapi"]; v != "3.1.0" {
		t.Errorf("openapi is %v", v)
	}
	info := d.doc["info"].(map[string]any)
	if info["title"] == "" || info["version"] == "" {
		t.Errorf("info is %v", info)
	}
	refs := 0
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if to, ok := v["$ref"].(string); ok {
				refs++
				if _, err := d.compiler.Compile("mem:openapi" + to); err != nil {
					t.Errorf("%s refers to %s: %v", at, to, err)
				}
			}
			for k, sub := range v {
				walk(at+"/"+k, sub)
			}
		case []any:
			for i, sub := range v {
				walk(fmt.Sprint(at, "/", i), sub)
			}
		}
	}
	walk("", d.doc)
	for name := range d.doc["components"].(map[string]any)["schemas"].(map[string]any) {
		if _, err := d.compiler.Compile("mem:openapi#/components/schemas/" + name); err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
	operations := map[string]bool{}
	d.operations(func(method, path string, op map[string]any) {
		id, _ := op["operationId"].(string)
		if id == "" || operations[id] {
			t.Errorf("%s %s: operationId is %q", method, path, id)
		}
		operations[id] = true
		if op["summary"] == "" {
			t.Errorf("%s %s has no summary", method, path)
		}
		var inPath, declared []string
		for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
			inPath = append(inPath, m[1])
		}
		names := map[string]bool{}
		for _, p := range op["parameters"].([]any) {
			p := p.(map[string]any)
			at := fmt.Sprint(p["in"], " ", p["name"])
			if names[at] || p["schema"] == nil {
				t.Errorf("%s %s: parameter %s is there twice or has no schema", method, path, at)
			}
			names[at] = true
			if p["in"] == "path" {
				declared = append(declared, p["name"].(string))
				if p["required"] != true {
					t.Errorf("%s %s: %s is not required", method, path, at)
				}
			}
		}
		if !slices.Equal(inPath, declared) {
			t.Errorf("%s %s: parameters of the path are %v, declared are %v", method, path, inPath, declared)
		}
		for status, r := range op["responses"].(map[string]any) {
			if r.(map[string]any)["description"] == "" {
				t.Errorf("%s %s: %s has no description", method, path, status)
			}
		}
	})
	if len(operations) < 40 || refs < 100 {
		t.Errorf("there are %d operations and %d references: something is missing", len(operations), refs)
	}
}
