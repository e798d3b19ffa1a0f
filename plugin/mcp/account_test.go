package mcp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/mcp"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
	"github.com/awaken-go/awaken/plugin/mcp/oauth/oauthtest"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/memory"
)

// guarded is a server that users authorize, and what the processes that use it share.
type guarded struct {
	*oauthtest.Server
	t      *testing.T
	store  awaken.Store
	values profile.Store
	grant  oauth.Grant
	client http.Client // with which the server is reached

	mu    sync.Mutex
	ahead time.Duration
}

func newGuarded(t *testing.T, o oauthtest.Options) *guarded {
	return &guarded{Server: oauthtest.New(t, o), t: t, store: memory.New(), values: memory.NewProfile()}
}

// worker is what ends with a process.
type worker struct {
	*engine.Runtime
	g      *guarded
	broker *oauth.Broker
	plugin *mcp.Plugin
}

func (g *guarded) process(turns ...llmtest.Turn) *worker {
	g.t.Helper()
	sealer, err := oauth.NewSealer(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		g.t.Fatal(err)
	}
	broker, err := oauth.New(oauth.Config{Values: func(string) profile.Store { return g.values }, Sealer: sealer, RedirectURL: "http://localhost:3000/callback", Client: &http.Client{},
		Now: func() time.Time {
			g.mu.Lock()
			defer g.mu.Unlock()
			return time.Now().Add(g.ahead)
		}})
	if err != nil {
		g.t.Fatal(err)
	}
	p, err := mcp.New(mcp.Config{Servers: []mcp.Server{{ID: "s", URL: g.URL, OAuth: &oauth.Client{Grant: g.grant}}}, Options: mcp.Options{Client: &g.client, OAuth: broker}})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { p.Close() })
	if g.grant == "" {
		if err := p.Ready(patience(g.t)); err != nil {
			g.t.Fatal(err)
		}
	}
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{mcp.PluginID}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(turns...)}, Plugins: []awaken.Plugin{p}, Store: g.store, Profile: g.values,
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return &worker{rt, g, broker, p}
}

// ask runs the agent for a user.
func (w *worker) ask(thread, user string) *awaken.RunResult {
	w.g.t.Helper()
	res, err := w.Run(patience(w.g.t), awaken.RunRequest{ThreadID: thread, UserID: user, Messages: []*llm.Message{llm.UserText("go")}}, nil)
	if err != nil {
		w.g.t.Fatal(err)
	}
	return res
}

// ticket returns the address that a waiting run wants to have opened.
func (g *guarded) ticket(res *awaken.RunResult) string {
	g.t.Helper()
	if res.Waiting == nil || len(res.Waiting.Tickets) != 1 || res.Waiting.Tickets[0].Suspension.Action != mcp.AuthorizationAction {
		g.t.Fatalf("the run does not wait for an authorization: %+v", res)
	}
	var p struct {
		Server, Tool, Mode, URL string
		ExpiresAt               int64 `json:"expires_at"`
	}
	if err := json.Unmarshal(res.Waiting.Tickets[0].Suspension.Parameters, &p); err != nil || p.Server != "s" || p.Mode != "url" || p.ExpiresAt == 0 || !strings.Contains(res.Waiting.Tickets[0].Suspension.Message, p.URL) {
		g.t.Fatalf("%+v, %v", p, err)
	}
	return p.URL
}

// complete delivers the response of the authorization server, and resumes the runs that waited.
func (w *worker) complete(response url.Values) []*awaken.RunResult {
	w.g.t.Helper()
	c, err := w.broker.Complete(w.g.t.Context(), response, nil)
	if err != nil {
		w.g.t.Fatal(err)
	}
	var out []*awaken.RunResult
	for _, waiter := range c.Waiters {
		d := awaken.Decision{Target: waiter.Target, Action: awaken.ActionResume}
		if c.Denied != "" {
			d.Action, d.Reason = awaken.ActionCancel, c.Denied
		}
		res, err := w.Run(patience(w.g.t), awaken.RunRequest{ThreadID: waiter.ThreadID, Decisions: []awaken.Decision{d}}, nil)
		if errors.Is(err, awaken.ErrNotFound) {
			continue // it was resumed before
		}
		if err != nil {
			w.g.t.Fatal(err)
		}
		out = append(out, res)
	}
	return out
}

// said returns the results of the calls of a thread's last run, in order.
func (w *worker) said(thread string) (out []string) {
	w.g.t.Helper()
	th, err := w.Store().Thread(w.g.t.Context(), thread)
	if err != nil {
		w.g.t.Fatal(err)
	}
	calls, err := w.Store().Calls(w.g.t.Context(), th.LatestRunID)
	if err != nil {
		w.g.t.Fatal(err)
	}
	for _, c := range calls {
		if c.Result != nil {
			out = append(out, c.Result.Plain())
		}
	}
	return out
}

const whoami = "mcp__s__whoami"

func TestAuthorization_SuspendsTheCallAcrossARestart(t *testing.T) {
	for name, stateless := range map[string]bool{"2025-11-25": false, "2026-07-28": true} {
		t.Run(name, func(t *testing.T) {
			g := newGuarded(t, oauthtest.Options{Stateless: stateless})
			first := g.process(llmtest.Use("mcp__s__authorize", `{}`))
			res := first.ask("t", "alice")
			address := g.ticket(res)
			first.plugin.Close()

			second := g.process(llmtest.Use(whoami, `{}`), llmtest.Say("done"))
			if all := second.complete(g.Approve(address, "alice@idp")); len(all) != 1 || all[0].Response != "done" {
				t.Fatalf("%+v", all)
			}
			if said := second.said("t"); len(said) != 2 || !strings.Contains(said[0], whoami) || said[1] != "alice@idp" {
				t.Errorf("the calls say %q", said)
			}
			second.plugin.Close()

			third := g.process(llmtest.Use(whoami, `{}`), llmtest.Say("again"), llmtest.Use(whoami, `{}`))
			if res := third.ask("t2", "alice"); res.Response != "again" || third.said("t2")[0] != "alice@idp" {
				t.Errorf("after another restart: %+v, %q", res, third.said("t2"))
			}
			address = g.ticket(third.ask("t3", "bob")) // the tool is known, bob's authorization is not
			third.plugin.Close()
			fourth := g.process(llmtest.Say("hello bob"))
			if all := fourth.complete(g.Approve(address, "bob@idp")); len(all) != 1 || all[0].Response != "hello bob" || fourth.said("t3")[0] != "bob@idp" {
				t.Errorf("%+v, %q", all, fourth.said("t3"))
			}
		})
	}
}

func TestAuthorization_OfTwoUsersAtTheSameTime(t *testing.T) {
	g := newGuarded(t, oauthtest.Options{})
	w := g.process(llmtest.Use("mcp__s__authorize", `{}`), llmtest.Say("ok"), llmtest.Use(whoami, `{}`), llmtest.Say("ok"))
	w.complete(g.Approve(g.ticket(w.ask("a", "alice")), "alice@idp"))
	w.complete(g.Approve(g.ticket(w.ask("b", "bob")), "bob@idp"))
	if said := w.said("b"); said[0] != "bob@idp" {
		t.Fatalf("bob is %q", said)
	}
	conn := w.plugin.Connection("s")
	var wg sync.WaitGroup
	for i := range 20 {
		user := []string{"alice", "bob"}[i%2]
		wg.Go(func() {
			for range 5 {
				res, err := tool(t, conn, whoami).Call(t.Context(), &awaken.ToolCall{ID: "c", Tool: whoami, Key: user, Run: &awaken.RunInfo{UserID: user}, Profile: g.values})
				if err != nil || res.Plain() != user+"@idp" {
					t.Errorf("%s is %+v, %v", user, res, err)
				}
			}
		})
	}
	wg.Wait()
	_, err := tool(t, conn, whoami).Call(t.Context(), &awaken.ToolCall{ID: "c", Tool: whoami, Run: &awaken.RunInfo{UserID: "carol"}, Profile: g.values})
	if err == nil {
		t.Error("carol is let in")
	}
}

func TestAuthorization_ResumesAllRunsOfTheUser(t *testing.T) {
	g := newGuarded(t, oauthtest.Options{})
	w := g.process(llmtest.Use("mcp__s__authorize", `{}`), llmtest.Use("mcp__s__authorize", `{}`), llmtest.Use("mcp__s__authorize", `{}`), llmtest.Say("one"), llmtest.Say("two"))
	address := g.ticket(w.ask("1", "alice"))
	g.ticket(w.ask("2", "alice"))
	g.ticket(w.ask("3", "bob"))
	if all := w.complete(g.Approve(address, "alice@idp")); len(all) != 2 || all[0].Response != "one" || all[1].Response != "two" {
		t.Errorf("%+v", all)
	}
}

func TestAuthorization_RefusedFailsTheCall(t *testing.T) {
	g := newGuarded(t, oauthtest.Options{})
	w := g.process(llmtest.Use("mcp__s__authorize", `{}`), llmtest.Say("what a pity"))
	all := w.complete(g.Deny(g.ticket(w.ask("t", "alice"))))
	if len(all) != 1 || all[0].Response != "what a pity" {
		t.Fatalf("%+v", all)
	}
	if said := w.said("t"); len(said) != 1 || !strings.Contains(said[0], "access_denied") {
		t.Errorf("the model is told %q", said)
	}
}

func TestAuthorization_IsAskedForAgainAfterARevocation(t *testing.T) {
	g := newGuarded(t, oauthtest.Options{})
	w := g.process(llmtest.Use("mcp__s__authorize", `{}`), llmtest.Say("ok"), llmtest.Use(whoami, `{}`), llmtest.Say("back"))
	w.complete(g.Approve(g.ticket(w.ask("a", "alice")), "alice@idp"))
	g.Revoke("alice@idp")
	if all := w.complete(g.Approve(g.ticket(w.ask("b", "alice")), "alice@other")); len(all) != 1 || all[0].Response != "back" {
		t.Fatalf("%+v", all)
	}
	if said := w.said("b"); said[0] != "alice@other" {
		t.Errorf("alice is %q", said)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server that wants more whatever it gets does not ask its user for ever.
func TestAuthorization_IsNotAskedForWithoutEnd(t *testing.T) {
	g := newGuarded(t, oauthtest.Options{})
	g.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="mcp.write"`)
		if strings.Contains(r.Header.Get("Mcp-Method"), "discover") {
			w.WriteHeader(http.StatusForbidden)
		} else { // as a server does that knows the new revision only
			w.WriteHeader(http.StatusBadRequest)
		}
		return w.Result(), nil
	})
	w := g.process(llmtest.Use("mcp__s__authorize", `{}`), llmtest.Say("what a pity"))
	res := w.ask("t", "alice")
	asked := 0
	for ; res.Waiting != nil && asked < 10; asked++ {
		res = w.complete(g.Approve(g.ticket(res), "alice@idp"))[0]
	}
	if asked != 3 || res.Response != "what a pity" {
		t.Errorf("alice was asked %d times, want 3; %+v", asked, res)
	}
	if said := w.said("t"); len(said) != 1 || !strings.Contains(said[0], "refused 3 authorizations") {
		t.Errorf("the model is told %q", said)
	}
}

func TestAuthorization_IsAskedForAgainIfAPersonResumesTheRunWithout(t *testing.T) {
	g := newGuarded(t, oauthtest.Options{})
	w := g.process(llmtest.Use("mcp__s__authorize", `{}`), llmtest.Say("ok"))
	res := w.ask("t", "alice")
	first := g.ticket(res)
	res, err := w.Run(patience(t), awaken.RunRequest{ThreadID: "t", Decisions: []awaken.Decision{{Target: res.Waiting.Tickets[0].TicketID, Action: awaken.ActionResume}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	second := g.ticket(res)
	if first == second {
		t.Error("the address is the same")
	}
	if all := w.complete(g.Approve(second, "alice@idp")); len(all) == 0 || all[0].Response != "ok" {
		t.Errorf("%+v", all)
	}
}

func TestAuthorization_IsRefreshedWhileTheSessionIsOpen(t *testing.T) {
	g := newGuarded(t, oauthtest.Options{})
	w := g.process(llmtest.Use("mcp__s__authorize", `{}`), llmtest.Say("ok"))
	w.complete(g.Approve(g.ticket(w.ask("a", "alice")), "alice@idp"))
	for range 3 {
		g.mu.Lock()
		g.ahead += 10 * time.Minute
		g.mu.Unlock()
		res, err := tool(t, w.plugin.Connection("s"), whoami).Call(t.Context(), &awaken.ToolCall{ID: "c", Tool: whoami, Run: &awaken.RunInfo{UserID: "alice"}, Profile: g.values})
		if err != nil || res.Plain() != "alice@idp" {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	if n, refusals := g.Tokens("refresh_token"); n != 3 || refusals != 0 {
		t.Errorf("%d refreshes, %d refused", n, refusals)
	}
}

func TestDrain_TakesNoFurtherCallsOfUsers(t *testing.T) {
	g := newGuarded(t, oauthtest.Options{})
	w := g.process(llmtest.Use("mcp__s__authorize", `{}`), llmtest.Say("ok"))
	w.complete(g.Approve(g.ticket(w.ask("a", "alice")), "alice@idp"))
	conn := w.plugin.Connection("s")
	whoAmI := tool(t, conn, whoami)
	conn.Drain()
	_, err := whoAmI.Call(t.Context(), &awaken.ToolCall{ID: "c", Tool: whoami, Run: &awaken.RunInfo{UserID: "alice"}, Profile: g.values})
	if err == nil || !strings.Contains(err.Error(), "its configuration has changed") {
		t.Errorf("error is %v, want that the call was not made", err)
	}
}

func TestAuthorization_SharedByAll(t *testing.T) {
	g := newGuarded(t, oauthtest.Options{})
	g.grant = oauth.Shared
	w := g.process()
	conn := w.plugin.Connection("s")
	until(t, "the server is not authorized", func() bool { return strings.Contains(conn.Status().Error, "needs to be authorized") })
	if st := conn.Status(); st.Authorization != oauth.Shared || st.Connected || len(conn.Tools()) != 0 {
		t.Errorf("%+v", st)
	}
	req, err := w.broker.Begin(t.Context(), &oauth.Server{ID: "s", URL: g.URL, Client: oauth.Client{Grant: oauth.Shared}}, oauth.Owner{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.complete(g.Approve(req.URL, "bot@idp"))
	if err := conn.Restart(patience(t)); err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"alice", "bob"} {
		res, err := tool(t, conn, whoami).Call(t.Context(), &awaken.ToolCall{ID: "c", Tool: whoami, Run: &awaken.RunInfo{UserID: user}, Profile: g.values})
		if err != nil || res.Plain() != "bot@idp" {
			t.Errorf("%+v, %v", res, err)
		}
	}
	g.Revoke("bot@idp")
	_, err = tool(t, conn, whoami).Call(t.Context(), &awaken.ToolCall{ID: "c", Tool: whoami, Run: &awaken.RunInfo{UserID: "alice"}, Profile: g.values})
	if err == nil || !strings.Contains(err.Error(), "an administrator has to authorize") {
		t.Errorf("error is %v", err)
	}
}
