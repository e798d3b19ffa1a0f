package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/server/servertest"
)

// caller is a client of the matrix.
type caller struct {
	name     string
	key      server.Key
	user     string // in the proxy's header
	confined bool   // to what belongs to user
	foreign  bool   // of another tenant
	acting   string // tenant in the header of an admin
}

// callersOf returns the clients that ask for what belongs to alice, in a tenant.
func callersOf(tenant string) []caller {
	run, operator := server.Key{ID: "run" + tenant, Kind: server.RunKey, Tenant: tenant}, server.Key{ID: "op" + tenant, Kind: server.RunKey, Tenant: tenant, Operator: true}
	out := []caller{
		{name: "other user", key: run, user: "bob", confined: true},
		{name: "other user by key", key: server.Key{ID: "bob" + tenant, Kind: server.RunKey, Tenant: tenant, User: "bob"}, confined: true},
		{name: "no user", key: run, confined: true},
		{name: "owner", key: run, user: "alice", confined: true},
		{name: "operator", key: operator},
		{name: "operator as another user", key: operator, user: "bob"},
		{name: "tenant admin", key: server.Key{ID: "admin" + tenant, Kind: server.AdminKey, Tenant: tenant}},
		{name: "global admin", key: server.Key{ID: "global", Kind: server.AdminKey}, foreign: tenant != ""},
	}
	if tenant != "" {
		out = append(out, caller{name: "global admin for the tenant", key: server.Key{ID: "global", Kind: server.AdminKey}, acting: tenant})
	}
	return out
}

func (c *caller) secret() string { return "the-secret-key-of-" + c.key.ID }

func (c *caller) headers() []string {
	h := []string{"Authorization", "Bearer " + c.secret()}
	if c.user != "" {
		h = append(h, "X-User", c.user)
	}
	if c.acting != "" {
		h = append(h, "X-Awaken-Tenant", c.acting)
	}
	return h
}

// belongings is a thread of alice with a run that waits, and one with queued input.
type belongings struct {
	tenant                        *mailbox.Tenant
	thread, run, dispatch, ticket string
	queued, pending               string
	blob                          string // that the thread holds
	consent                       *authorization
}

// own makes belongings of a user.
func (g *rig) own(tenant, user string) *belongings {
	g.t.Helper()
	n := g.made.Add(1)
	b := &belongings{tenant: g.box.Tenant(tenant), thread: fmt.Sprintf("thread-%d", n), queued: fmt.Sprintf("queued-%d", n)}
	request := func(thread, text string) awaken.RunRequest {
		return awaken.RunRequest{AgentID: "default", ThreadID: thread, UserID: user, Messages: []*llm.Message{llm.UserText(text)}}
	}
	if _, err := b.tenant.Submit(g.t.Context(), mailbox.Submission{Request: request(b.queued, "later"), Delay: time.Hour}); err != nil {
		g.t.Fatal(err)
	}
	list, err := b.tenant.Pending(g.t.Context(), b.queued)
	if err != nil || len(list.Items) != 1 {
		g.t.Fatalf("%+v, %v", list, err)
	}
	b.pending = list.Items[0].ID
	r, err := b.tenant.Submit(g.t.Context(), mailbox.Submission{Request: request(b.thread, "RUN_TOOL ask {}")})
	if err != nil {
		g.t.Fatal(err)
	}
	b.run, b.dispatch = r.RunID, r.DispatchID
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		run, err := b.tenant.Store.LoadRun(g.t.Context(), r.RunID)
		if err != nil || time.Now().After(deadline) {
			g.t.Fatalf("%+v, %v", run, err)
		}
		if run.Status == awaken.RunWaiting {
			b.ticket = run.Waiting.Tickets[0].TicketID
			break
		}
	}
	stored, err := blob.Of(b.tenant.Store).Put(g.t.Context(), "text/plain", strings.NewReader(b.thread), blob.Thread(b.thread))
	if err != nil {
		g.t.Fatal(err)
	}
	b.blob, b.consent = stored.ID, g.authorize(tenant, user, b.thread)
	b.state(g.t) // waits until the dispatch is settled
	return b
}

// decide decides on alice's call, and waits until her run is done.
func (b *belongings) decide(g *rig) {
	g.t.Helper()
	if _, err := b.tenant.Decide(g.t.Context(), b.run, awaken.Decision{Target: b.ticket, Action: awaken.ActionCancel}); err != nil {
		g.t.Fatal(err)
	}
	g.eventually("done", func() bool {
		run, err := b.tenant.Store.LoadRun(g.t.Context(), b.run)
		return err == nil && run.Status == awaken.RunDone
	})
}

// state is everything that a request of another user must not change.
func (b *belongings) state(t testing.TB) string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		var all []any
		claimed := false
		for _, id := range []string{b.thread, b.queued} {
			th, err := b.tenant.Store.Thread(t.Context(), id)
			if err != nil {
				return err.Error()
			}
			runs, _ := b.tenant.Store.ListRuns(t.Context(), awaken.RunQuery{ThreadID: id})
			ds, _ := b.tenant.Store.Dispatches(t.Context(), mailbox.Query{ThreadID: id})
			items, _ := b.tenant.Pending(t.Context(), id)
			claimed = claimed || slices.ContainsFunc(ds, func(d *mailbox.Dispatch) bool { return d.Status == mailbox.Claimed })
			all = append(all, th, runs, ds, items)
		}
		all = append(all, b.consent.now(t))
		if !claimed || time.Now().After(deadline) {
			data, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
	}
}

// path fills in a route's path with what belongs to alice.
func (b *belongings) path(r *protocol.Route) string {
	thread := b.thread
	if strings.Contains(r.Path, "/pending") {
		thread = b.queued
	}
	if r.Path == callback && r.Method == "GET" {
		return fmt.Sprintf("%s?state=%s&code=all&again=true", callback, b.consent.state)
	}
	server := "helper"
	if consents(r) {
		server = "issues"
	}
	task := b.run
	if r.Method == "POST" {
		task += ":cancel"
	}
	return strings.NewReplacer("{thread_id}", thread, "{run_id}", b.run, "{dispatch_id}", b.dispatch, "{ticket_id}", b.ticket, "{pending_id}", b.pending, "{blob_id}", b.blob,
		"{agent_id}", "default", "{namespace}", "agents", "{id}", server, "{version}", "1", "{field}", "x", "{model}", "default",
		"{task_id}", task, "{path...}", "default/tasks/"+task).Replace(r.Path)
}

// bodies are bodies that name what belongs to alice, for the routes that take an id in one.
func (b *belongings) body(r *protocol.Route) (string, bool) {
	thread, run := b.thread, b.run
	agui := fmt.Sprintf(`{"threadId":%q,"runId":"r-of-%s","messages":[{"id":"m1","role":"user","content":"hello"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`, thread, thread)
	chat := fmt.Sprintf(`{"id":%q,"trigger":"submit-message","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"hello"}]}]}`, thread)
	message := fmt.Sprintf(`{"message":{"messageId":"m1","role":"ROLE_USER","contextId":%q,"parts":[{"text":"hello"}]},"configuration":{"returnImmediately":true}}`, thread)
	body, ok := map[string]string{
		"POST /v1/a2a":                                       fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":{"id":%q}}`, run),
		"POST /v1/mcp":                                       fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"default","arguments":{"message":"hello","thread_id":%q}}}`, thread),
		"POST /v1/a2a/message:send":                          message,
		"POST /v1/a2a/message:stream":                        message,
		"POST " + callback:                                   fmt.Sprintf(`{"state":%q,"code":"all"}`, b.consent.state),
		"POST /v1/runs":                                      fmt.Sprintf(`{"agent_id":"default","thread_id":%q,"messages":[{"role":"user","content":"hello"}]}`, thread),
		"POST /v1/threads":                                   fmt.Sprintf(`{"parent_thread_id":%q}`, thread),
		"POST /v1/ai-sdk/chat":                               chat,
		"POST /v1/ai-sdk/agents/{agent_id}/runs":             chat,
		"POST /v1/ai-sdk/threads/{thread_id}/runs":           chat,
		"POST /v1/ag-ui/run":                                 agui,
		"POST /v1/ag-ui/threads/{thread_id}/runs":            agui,
		"POST /v1/ag-ui/agents/{agent_id}/runs":              agui,
		"POST /v1/ag-ui/agent/{agent_id}/run":                agui,
		"POST /v1/ag-ui/agent/{agent_id}/connect":            agui,
		"POST /v1/ag-ui":                                     fmt.Sprintf(`{"method":"agent/stop","params":{"agentId":"default","threadId":%q},"body":{"runId":%q}}`, thread, run),
		"POST /openai/v1/responses":                          fmt.Sprintf(`{"model":"default","conversation":%q,"input":"hello"}`, thread),
		"POST /openai/v1/chat/completions":                   fmt.Sprintf(`{"model":"default","messages":[{"role":"tool","tool_call_id":"call_%s.%s","content":"{\"approved\":true}"}]}`, run, b.ticket),
		"POST /v1/threads/{thread_id}/messages":              `{"messages":[{"role":"user","content":"hello"}]}`,
		"POST /v1/threads/{thread_id}/fork":                  `{"seq":1}`,
		"POST /v1/runs/{run_id}/fork":                        `{"from_step":0}`,
		"POST /v1/threads/{thread_id}/mailbox":               `{"payload":{"text":"hello"}}`,
		"POST /v1/threads/{thread_id}/decision":              fmt.Sprintf(`{"tool_call_id":%q,"action":"resume","arguments":{"path":"elsewhere"}}`, b.ticket),
		"POST /v1/runs/{run_id}/decision":                    fmt.Sprintf(`{"tool_call_id":%q,"action":"resume"}`, b.ticket),
		"POST /v1/approvals/{run_id}/{ticket_id}":            `{"action":"resume"}`,
		"POST /v1/approvals":                                 fmt.Sprintf(`{"decisions":[{"run_id":%q,"ticket_id":%q,"action":"resume"}]}`, run, b.ticket),
		"POST /v1/runs/cancel":                               fmt.Sprintf(`{"ids":[%q]}`, run),
		"POST /v1/runs/continue":                             fmt.Sprintf(`{"ids":[%q]}`, run),
		"POST /v1/runs/{run_id}/inputs":                      `{"messages":[{"role":"user","content":"hello"}]}`,
		"PATCH /v1/threads/{thread_id}":                      `{"title":"mine"}`,
		"PATCH /v1/threads/{thread_id}/metadata":             `{"title":"mine"}`,
		"PATCH /v1/threads/{thread_id}/pending/{pending_id}": `{"revision":0,"messages":[{"role":"user","content":"mine"}]}`,
	}[r.Method+" "+r.Path]
	return body, ok
}

// send sends a request and returns the status and the beginning of the body.
func (g *rig) send(method, path, body string, headers ...string) (int, string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, g.http.URL+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp.StatusCode, "" // it may never end
	}
	data, _ := io.ReadAll(resp.Body)
	var batch struct{ Items []struct{ Status int } }
	if resp.StatusCode == 200 && method == "POST" && json.Unmarshal(data, &batch) == nil && len(batch.Items) == 1 && batch.Items[0].Status != 0 {
		return batch.Items[0].Status, string(data) // as a request for the item alone
	}
	return resp.StatusCode, string(data)
}

// refusal returns the status with which a route refuses a caller, as its declaration says, or 0.
func refusal(r *protocol.Route, c *caller) int {
	switch {
	case r.Path == callback && c.name != "owner": // only who has begun an authorization completes it
		return http.StatusForbidden
	case r.Needs == permit.Public, consents(r): // every caller has its own authorizations
		return 0
	case r.Method+" "+r.Path == "PUT /v1/budget" && c.key.Tenant != "": // a tenant's admin must not raise the tenant's limit
		return http.StatusForbidden
	case !c.key.Permissions().Has(r.Needs):
		return http.StatusForbidden
	case c.confined && (r.Scope == protocol.Operators || r.Scope == protocol.Undeclared):
		return http.StatusForbidden
	case r.Scope == protocol.Shared, forAdmins(r) && !names(r):
		return 0
	case c.foreign, c.confined && c.name != "owner":
		return http.StatusNotFound
	}
	return 0
}

// Every route keeps every kind of caller to what it may use. The expectations follow from what the
// routes declare, so a route that is added is tested, and fails the test if it declares nothing.
func TestUsers_EveryRouteForEveryCaller(t *testing.T) {
	for _, tenant := range []string{"", "acme"} {
		t.Run("tenant "+tenant, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, allRoutes(t), func(c *servertest.Config) { c.Users.Header = "X-User" })
			callers := callersOf(tenant)
			if tenant == "" && !testenv.Long() { // without tenants, only the global admin is another caller than in one
				callers = slices.DeleteFunc(callers, func(c caller) bool { return c.name != "other user" && c.name != "owner" && c.name != "global admin" })
			}
			for _, c := range callers {
				if err := g.keys.Fix(c.secret(), c.key); err != nil {
					t.Fatal(err)
				}
			}
			b := g.own(tenant, "alice")
			for _, r := range g.srv.Table() {
				b = checkRoute(g, &r, b, tenant, callers)
			}
		})
	}
}

// forAdmins reports whether only admins may use a route.
func forAdmins(r *protocol.Route) bool { return !permit.Runner.Has(r.Needs) }

// names reports whether a route names what it is about in its path.
func names(r *protocol.Route) bool {
	return slices.ContainsFunc([]string{"{thread_id}", "{run_id}", "{dispatch_id}", "{task_id}", "{path...}", "{blob_id}"}, func(id string) bool { return strings.Contains(r.Path, id) })
}

const callback = "/v1/mcp-oauth/callback"

// consents reports whether a route is about the authorizations of the caller's own user, whatever else the caller may use.
func consents(r *protocol.Route) bool {
	return r.Path == callback || strings.HasSuffix(r.Path, "/authorization")
}

// changes reports whether a route can change what belongs to alice, for a caller that may use it.
func changes(r *protocol.Route, c *caller) bool {
	return (names(r) || !forAdmins(r)) && (r.Method != "GET" || r.Path == callback) && (!consents(r) || c.name == "owner")
}

// checkRoute asks a route as every caller for what belongs to alice. It returns what the next route can be asked for.
func checkRoute(g *rig, r *protocol.Route, b *belongings, tenant string, callers []caller) *belongings {
	t := g.t
	t.Helper()
	route := r.Method + " " + r.Path
	declared := r.Needs == permit.Public || forAdmins(r) || r.Scope != protocol.Undeclared
	if !declared || r.Scope == protocol.ByPath && !names(r) || names(r) && !forAdmins(r) && (r.Scope == protocol.Shared || r.Scope == protocol.Operators) {
		t.Errorf("%s: scope %d does not fit its path", route, r.Scope)
	}
	if r.Path == "/v1/decisions" {
		b = g.own(tenant, "alice")
		b.decide(g)
	}
	before, asked := b.state(t), []string(nil) // callers since then
	unchanged := func() {
		t.Helper()
		if diff := cmp.Diff(before, b.state(t)); diff != "" {
			t.Errorf("%s by %s: changed what belongs to alice (-before +after):\n%s", route, strings.Join(asked, " or "), diff)
		}
	}
	for _, c := range callers {
		body, ok := b.body(r)
		path, feed := b.path(r), r.Path == "/v1/events/stream"
		if feed { // what else it has, TestFeed_IsThatOfTheCaller reads
			path += "?thread_id=" + b.thread
		}
		list := r.Scope == protocol.ByCaller && r.Method == "GET" && !names(r) && !feed && !consents(r)
		if r.Scope == protocol.ByCaller && !list && !ok && !names(r) && !r.Raw && !feed && !consents(r) {
			t.Errorf("%s: the test has no body that names a thread", route)
		}
		want := refusal(r, &c)
		if want == 0 && changes(r, &c) {
			unchanged() // by the callers before
		}
		status, text := g.send(r.Method, path, body, c.headers()...)
		if strings.Contains(text, `"reason":"TASK_NOT_FOUND"`) || strings.Contains(text, `"data":{"status":404`) { // JSON-RPC answers with status 200
			status = http.StatusNotFound
		}
		switch {
		case r.Needs == permit.Public && !consents(r): // such a route knows no callers
		case r.Raw && want == http.StatusNotFound: // what is uploaded belongs to the caller
		case route == "DELETE /v1/a2a/{path...}": // such a route has no operation
		case route == "GET /v1/mcp": // it is about the run that Last-Event-ID names
		case list && c.foreign && strings.Contains(text, `"runs":`): // those of its own tenant
		case list:
			// With usage, whether a thread is listed shows in the number of runs; with the summary, in that of waiting ones.
			shown := strings.Contains(text, b.thread) || strings.Contains(text, b.blob) || strings.Contains(text, `"runs":`) && !strings.Contains(text, `"runs":0`) ||
				r.Path == "/v1/runs/summary" && !strings.Contains(text, `"waiting":0`)
			if status != 200 || shown != (want == 0) {
				t.Errorf("%s by %s: %d, shows the thread: %v, want %v: %.300s", route, c.name, status, shown, want == 0, text)
			}
		case want == http.StatusNotFound && route == "POST /v1/threads":
			if status != http.StatusBadRequest || !strings.Contains(text, "parent thread not found") {
				t.Errorf("%s by %s: %d %s, want an unknown parent", route, c.name, status, text)
			}
		case c.foreign && want == http.StatusNotFound: // in another tenant, the id may be free
		case want != 0 && status != want:
			t.Errorf("%s by %s: %d %.300s, want %d", route, c.name, status, text, want)
		case want == 0 && (status == 401 || status == 403 || status == 404 && r.Scope != protocol.Operators && !forAdmins(r) || status >= 500 && !forAdmins(r)):
			t.Errorf("%s by %s: %d %.300s, want it to be allowed", route, c.name, status, text)
		}
		if mine := c.name == "owner"; consents(r) && strings.Contains(text, b.thread) != (mine && r.Method == "GET" && r.Path != callback) {
			t.Errorf("%s by %s: %d %.300s, which shows the authorization of alice: want so for alice", route, c.name, status, text)
		}
		if want != 0 || !changes(r, &c) {
			asked = append(asked, c.name)
			continue
		}
		b = g.own(tenant, "alice")
		before, asked = b.state(t), nil
	}
	unchanged()
	if r.Path == "/v1/decisions" { // the next one needs a call that waits
		return g.own(tenant, "alice")
	}
	return b
}
