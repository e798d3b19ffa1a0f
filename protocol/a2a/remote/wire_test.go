package remote_test

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

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/protocol/a2a/remote"
	"github.com/awaken-go/awaken/registry"
)

// simple is a server that answers every message with a text. It knows nothing but sending and getting.
type simple struct {
	*httptest.Server
	mu      sync.Mutex
	card    string // "" means none
	headers []http.Header
	bodies  []string
	answer  string // the response to a message
	check   func(r *http.Request) int
	send    func(w http.ResponseWriter, r *http.Request) // instead of answer
}

func newSimple(t testing.TB) *simple {
	s := &simple{answer: `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hello"}]}}`}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		card, check, answer, send := s.card, s.check, s.answer, s.send
		s.mu.Unlock()
		switch {
		case r.URL.Path == "/.well-known/agent-card.json" && card != "":
			fmt.Fprint(w, strings.ReplaceAll(card, "URL", s.URL))
		case strings.HasSuffix(r.URL.Path, "/message:stream"), strings.HasSuffix(r.URL.Path, "/message:send"):
			data, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			s.mu.Lock()
			s.headers, s.bodies = append(s.headers, r.Header), append(s.bodies, string(data))
			s.mu.Unlock()
			if check != nil {
				if status := check(r); status != 0 {
					w.WriteHeader(status)
					return
				}
			}
			if send != nil {
				send(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, answer)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// run runs an agent on a server once.
func run(t *testing.T, e awaken.RemoteEndpoint) (*awaken.RunResult, error) {
	t.Helper()
	s := newSide(t)
	s.agents = append(s.agents, &awaken.AgentSpec{ID: "far", Endpoint: &e})
	return s.runtime().Run(t.Context(), say("far", "t", "hi"), nil)
}

func options(t *testing.T, text string) (out map[string]json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAuth_EverySchemeReachesTheServer(t *testing.T) {
	var asked int
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		if asked++; id != "me" || secret != "shh" || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "a b" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"t%d","token_type":"Bearer","expires_in":3600}`, asked)
	}))
	defer tokens.Close()
	for _, c := range []struct {
		auth         *awaken.RemoteAuth
		header, want string
	}{
		{nil, "Authorization", ""},
		{&awaken.RemoteAuth{Type: "bearer", Token: awaken.NewSecret("s3cret")}, "Authorization", "Bearer s3cret"},
		{&awaken.RemoteAuth{Type: "api_key", Token: awaken.NewSecret("s3cret")}, "X-API-Key", "s3cret"},
		{&awaken.RemoteAuth{Type: "api_key", Header: "X-Other", Token: awaken.NewSecret("s3cret")}, "X-Other", "s3cret"},
		{&awaken.RemoteAuth{Type: "oauth2_client_credentials", TokenURL: tokens.URL, ClientID: "me", ClientSecret: awaken.NewSecret("shh"), Scopes: []string{"a", "b"}}, "Authorization", "Bearer t"},
	} {
		srv := newSimple(t)
		res, err := run(t, awaken.RemoteEndpoint{BaseURL: srv.URL, Auth: c.auth, Options: options(t, `{"headers":{"X-Team":"blue"}}`)})
		if err != nil || res.Response != "hello" {
			t.Fatalf("%+v: got %+v, %v", c.auth, res, err)
		}
		h := srv.headers[0]
		if got := h.Get(c.header); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s is %q, want %q", c.header, got, c.want)
		}
		if h.Get("A2A-Version") != "1.0" || h.Get("X-Team") != "blue" {
			t.Errorf("the headers are %v", h)
		}
	}
}

func TestAuth_ATokenThatIsRefusedIsRenewedOnce(t *testing.T) {
	asked := 0
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"t%d","token_type":"Bearer","expires_in":3600}`, asked)
	}))
	defer tokens.Close()
	srv := newSimple(t)
	srv.check = func(r *http.Request) int {
		if r.Header.Get("Authorization") == "Bearer t1" {
			return http.StatusUnauthorized
		}
		return 0
	}
	auth := &awaken.RemoteAuth{Type: "oauth2_client_credentials", TokenURL: tokens.URL, ClientID: "me", ClientSecret: awaken.NewSecret("shh")}
	if res, err := run(t, awaken.RemoteEndpoint{BaseURL: srv.URL, Auth: auth}); err != nil || res.Response != "hello" || asked != 2 {
		t.Fatalf("got %+v, %v after %d tokens", res, err, asked)
	}
}

func TestErrors_SayWhatIsWrong(t *testing.T) {
	card := func(fields string) func(*simple) { return func(s *simple) { s.card = fields } }
	answer := func(text string) func(*simple) { return func(s *simple) { s.answer = text } }
	for name, c := range map[string]struct {
		server func(*simple)
		want   string
	}{
		"version 0.3":             {card(`{"name":"old","url":"URL","protocolVersion":"0.3.0"}`), `agent "old" speaks A2A 0.3.0, want 1.0`},
		"no version":              {card(`{"name":"old","url":"URL"}`), `speaks A2A 0.3, want 1.0`},
		"only gRPC":               {card(`{"name":"g","supportedInterfaces":[{"url":"URL","protocolBinding":"GRPC","protocolVersion":"1.0"}]}`), `lists no interface of A2A 1.0`},
		"on another host":         {card(`{"name":"g","supportedInterfaces":[{"url":"https://evil.example/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`), `lists no interface of A2A 1.0`},
		"an event of 0.3":         {answer(`{"kind":"task","id":"1","status":{"state":"working"}}`), "it looks like A2A 0.3"},
		"not JSON":                {answer(`<html>`), "not of A2A 1.0"},
		"two of them":             {answer(`{"task":{"id":"1","status":{"state":"TASK_STATE_WORKING"}},"message":{"messageId":"m","role":"ROLE_AGENT","parts":[]}}`), "has 2 of task"},
		"an unknown state":        {answer(`{"task":{"id":"1","status":{"state":"dancing"}}}`), `the state of a task is "dancing"`},
		"a task that failed":      {answer(`{"task":{"id":"1","status":{"state":"TASK_STATE_FAILED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"no luck"}]}}}}`), "ended with TASK_STATE_FAILED: no luck"},
		"a task that is rejected": {answer(`{"task":{"id":"1","status":{"state":"TASK_STATE_REJECTED"}}}`), "it gives no reason"},
		"a long id":               {answer(`{"task":{"id":"` + strings.Repeat("x", 600) + `","status":{"state":"TASK_STATE_WORKING"}}}`), "longer than 512 bytes"},
		"refused":                 {func(s *simple) { s.check = func(*http.Request) int { return http.StatusForbidden } }, "status 403"},
		"redirected":              {func(s *simple) { s.check = func(*http.Request) int { return http.StatusFound } }, "redirects"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := newSimple(t)
			c.server(srv)
			res, err := run(t, awaken.RemoteEndpoint{BaseURL: srv.URL})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %+v, %v, want %q", res, err, c.want)
			}
			if len(srv.bodies) > 1 {
				t.Errorf("%d messages were sent", len(srv.bodies))
			}
		})
	}
}

func TestGuard_AddressesThatAreNotPublicAreRefused(t *testing.T) {
	srv := newSimple(t)
	for _, o := range []remote.Options{{}, {Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}} {
		rt, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{{ID: "far", Endpoint: &awaken.RemoteEndpoint{BaseURL: srv.URL}}},
			Backends: map[string]registry.RemoteBackend{"a2a": remote.New(o)}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rt.Run(t.Context(), say("far", "t", "hi"), nil); err == nil || !strings.Contains(err.Error(), "not public") {
			t.Errorf("got %v", err)
		}
	}
	if len(srv.bodies) > 0 {
		t.Error("the server was reached")
	}
}

func TestEndpoint_MistakesAreReportedWhenAgentsAreResolved(t *testing.T) {
	for _, c := range []struct {
		e    awaken.RemoteEndpoint
		want string
	}{
		{awaken.RemoteEndpoint{}, "base_url"},
		{awaken.RemoteEndpoint{BaseURL: "ftp://x"}, "want http:// or https://"},
		{awaken.RemoteEndpoint{BaseURL: "https://u:p@x"}, "credentials"},
		{awaken.RemoteEndpoint{BaseURL: "https://x?k=1"}, "no query"},
		{awaken.RemoteEndpoint{BaseURL: "https://x", Options: options(t, `{"poll":1}`)}, `"poll"`},
		{awaken.RemoteEndpoint{BaseURL: "https://x", Options: options(t, `{"poll_interval_ms":-1}`)}, "poll_interval_ms is -1"},
		{awaken.RemoteEndpoint{BaseURL: "https://x", Options: options(t, `{"history_length":-1}`)}, "history_length is -1"},
		{awaken.RemoteEndpoint{BaseURL: "https://x", Options: options(t, `{"binding":"GRPC"}`)}, `binding is "GRPC"`},
		{awaken.RemoteEndpoint{BaseURL: "https://x", Options: options(t, `{"context":"all"}`)}, `context is "all"`},
		{awaken.RemoteEndpoint{BaseURL: "https://x", Options: options(t, `{"headers":{"Host":"y"}}`)}, "Host is set by the client"},
		{awaken.RemoteEndpoint{BaseURL: "https://x", Options: options(t, `{"headers":{"X":"a\nb"}}`)}, "line break"},
		{awaken.RemoteEndpoint{BaseURL: "https://x", Auth: &awaken.RemoteAuth{Type: "basic"}}, "basic"},
		{awaken.RemoteEndpoint{BaseURL: "https://x", Auth: &awaken.RemoteAuth{Type: "bearer"}}, "token"},
		{awaken.RemoteEndpoint{BaseURL: "https://x", Auth: &awaken.RemoteAuth{Type: "oauth2_client_credentials", ClientID: "a", ClientSecret: awaken.NewSecret("b")}}, "token_url"},
		{awaken.RemoteEndpoint{BaseURL: "https://x", TimeoutMS: -1}, "timeout_ms"},
	} {
		_, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{{ID: "far", Endpoint: &c.e}}, Backends: map[string]registry.RemoteBackend{"a2a": remote.New(remote.Options{})}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.e, err, c.want)
		}
	}
}

func TestOptions_DoWhatTheySay(t *testing.T) {
	srv := newSimple(t)
	srv.card = `{"name":"s","capabilities":{"streaming":true},"supportedInterfaces":[{"url":"URL","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`
	for text, want := range map[string]string{
		`{}`:                   `"acceptedOutputModes":["text/plain"`,
		`{"history_length":3}`: `"historyLength":3`,
		`{"streaming":false}`:  `"returnImmediately":true`,
		`{"streaming":false,"return_immediately":false}`: `"returnImmediately":false`,
	} {
		srv.bodies = nil
		if res, err := run(t, awaken.RemoteEndpoint{BaseURL: srv.URL, Options: options(t, text)}); err != nil || res.Response != "hello" {
			t.Fatalf("%s: got %+v, %v", text, res, err)
		}
		if !strings.Contains(srv.bodies[0], want) {
			t.Errorf("%s: sent %s, want %s", text, srv.bodies[0], want)
		}
	}
}

func TestDoubt_AMessageThatMayHaveArrivedIsSentAgainOnlyIfAPersonSaysSo(t *testing.T) {
	for _, approve := range []bool{true, false} {
		srv, s := newSimple(t), newSide(t) // the server cannot list tasks
		srv.send = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		s.far("far", srv.URL, "", "")
		res, err := s.runtime().Run(t.Context(), say("far", "t", "hi"), nil)
		if err != nil || res.Status != awaken.RunWaiting || !strings.Contains(res.Waiting.Tickets[0].Reason, "may have arrived") {
			t.Fatalf("got %+v, %v", res, err)
		}
		if len(srv.bodies) != 1 {
			t.Fatalf("%d messages were sent", len(srv.bodies))
		}
		srv.mu.Lock()
		srv.send = nil
		srv.mu.Unlock()
		d := res.Waiting.Tickets[0].Approve()
		if !approve {
			d = res.Waiting.Tickets[0].Reject("")
		}
		res, err = s.runtime().Resume(t.Context(), res.RunID, nil, d)
		if !approve {
			if err == nil || !strings.Contains(err.Error(), "was not sent again") || len(srv.bodies) != 1 {
				t.Errorf("got %+v, %v, %d messages", res, err, len(srv.bodies))
			}
			continue
		}
		if err != nil || res.Response != "hello" || len(srv.bodies) != 2 {
			t.Fatalf("got %+v, %v, %d messages", res, err, len(srv.bodies))
		}
		if a, b := messageID([]byte(srv.bodies[0])), messageID([]byte(srv.bodies[1])); a == "" || a != b {
			t.Errorf("the messages have the ids %q and %q, want the same", a, b)
		}
	}
}

func TestTimeout_EndsTheRun(t *testing.T) {
	srv := newSimple(t)
	stop := make(chan struct{})
	srv.send = func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}
	defer close(stop)
	if res, err := run(t, awaken.RemoteEndpoint{BaseURL: srv.URL, TimeoutMS: 50}); err == nil || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Fatalf("got %+v, %v", res, err)
	}
}

func TestCard_IsKeptAsLongAsTheServerSays(t *testing.T) {
	var mu sync.Mutex
	var tags []string
	name := "one"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		tags = append(tags, r.Header.Get("If-None-Match"))
		w.Header().Set("Cache-Control", "public, max-age=60")
		w.Header().Set("ETag", `"`+name+`"`)
		if r.Header.Get("If-None-Match") == `"`+name+`"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprintf(w, `{"name":%q,"supportedInterfaces":[{"url":"http://%s","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, name, r.Host)
	}))
	defer srv.Close()
	now := time.Unix(1_000_000, 0)
	b := remote.New(remote.Options{Allow: loopback, Now: func() time.Time { return now }})
	status := func() remote.Status { return b.Status(t.Context(), remote.Server{BaseURL: srv.URL}, nil) }
	if s := status(); s.Err != nil || !strings.Contains(string(s.Card), `"one"`) || s.CardURL != srv.URL+"/.well-known/agent-card.json" {
		t.Fatalf("got %+v", s)
	}
	now = now.Add(59 * time.Second)
	status()
	if len(tags) != 1 {
		t.Errorf("the card was asked for %d times within its age", len(tags))
	}
	now = now.Add(2 * time.Second)
	if s := status(); s.Err != nil || len(tags) != 2 || tags[1] != `"one"` {
		t.Errorf("got %+v, tags %v, want the card to be asked for with its tag", s, tags)
	}
	mu.Lock()
	name = "two"
	mu.Unlock()
	now = now.Add(61 * time.Second)
	if s := status(); s.Err != nil || !strings.Contains(string(s.Card), `"two"`) {
		t.Errorf("got %+v", s)
	}
	srv.Close()
	now = now.Add(61 * time.Second)
	if s := status(); s.Err == nil || !strings.Contains(string(s.Card), `"two"`) {
		t.Errorf("a server that is gone: got %+v, want the error and the last card", s)
	}
}

func TestCard_ThatIsTooLargeIsRefused(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name":"%s"}`, strings.Repeat("x", 300<<10))
	}))
	defer srv.Close()
	b := remote.New(remote.Options{Allow: loopback})
	if s := b.Status(t.Context(), remote.Server{BaseURL: srv.URL}, nil); s.Err == nil || !strings.Contains(s.Err.Error(), "larger than") {
		t.Errorf("got %+v", s)
	}
}

func TestPolling_FollowsATaskWhoseServerDoesNotStream(t *testing.T) {
	var mu sync.Mutex
	looks := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "message:send"):
			fmt.Fprint(w, `{"task":{"id":"1","contextId":"c","status":{"state":"TASK_STATE_SUBMITTED"}}}`)
		case strings.HasSuffix(r.URL.Path, "/tasks/1"):
			if looks++; looks < 3 {
				fmt.Fprint(w, `{"id":"1","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"artifacts":[{"artifactId":"a","parts":[{"text":"half"}]}]}`)
				return
			}
			fmt.Fprint(w, `{"id":"1","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"half and half"}]},{"artifactId":"b","parts":[{"text":"more"}]}]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	res, err := run(t, awaken.RemoteEndpoint{BaseURL: srv.URL, Options: options(t, `{"streaming":false,"poll_interval_ms":5}`)})
	if err != nil || res.Response != "half and half\n\nmore" || looks != 3 {
		t.Fatalf("got %+v, %v after %d looks", res, err, looks)
	}
}

func TestReplacedText_IsRetracted(t *testing.T) {
	srv, s := newSimple(t), newSide(t)
	srv.send = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, ev := range []string{
			`{"task":{"id":"1","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`,
			`{"artifactUpdate":{"taskId":"1","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"let me "}]}}}`,
			`{"artifactUpdate":{"taskId":"1","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"see"}]},"append":true}}`,
			`{"artifactUpdate":{"taskId":"1","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"42"}]}}}`,
			`{"statusUpdate":{"taskId":"1","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`,
		} {
			fmt.Fprintf(w, "data: %s\n\n", ev)
		}
	}
	s.far("far", srv.URL, "", "")
	h := &heard{}
	res, err := s.runtime().Run(t.Context(), say("far", "t", "hi"), h)
	if err != nil || res.Response != "42" || h.text != "42" || h.pieces != 3 {
		t.Fatalf("got %+v, %v, heard %q in %d pieces", res, err, h.text, h.pieces)
	}
}

func TestCard_HasALimitOfTime(t *testing.T) {
	stop := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}))
	defer srv.Close()
	defer close(stop)
	b := remote.New(remote.Options{Allow: loopback})
	if s := b.Status(t.Context(), remote.Server{BaseURL: srv.URL, CardTimeout: 20 * time.Millisecond}, nil); s.Err == nil || !strings.Contains(s.Err.Error(), "deadline") {
		t.Errorf("got %+v", s)
	}
}

func TestSecrets_AreNotInTheErrorsOfServersThatQuoteThem(t *testing.T) {
	srv := newSimple(t)
	srv.send = func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"error":{"code":403,"message":"%s and %s are wrong"}}`, r.Header.Get("Authorization"), r.Header.Get("X-Team"))
	}
	_, err := run(t, awaken.RemoteEndpoint{BaseURL: srv.URL, Auth: &awaken.RemoteAuth{Type: "bearer", Token: awaken.NewSecret("s3cret")}, Options: options(t, `{"headers":{"X-Team":"blue-team"}}`)})
	if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "blue-team") || !strings.Contains(err.Error(), "***") {
		t.Errorf("got %v", err)
	}
}
