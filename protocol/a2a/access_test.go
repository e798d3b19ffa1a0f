package a2a_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/protocoltest"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/store/memory"
)

// A request without a key, or with one that is not enough, is refused in the protocol's shape; cards are for everyone.
func TestAccess_Keys(t *testing.T) {
	box, err := mailbox.New(mailbox.Config{Queue: memory.NewDB()}, protocoltest.Idle(t, nil).Runtime().With)
	if err != nil {
		t.Fatal(err)
	}
	keys := access.NewKeys(memory.NewProfile())
	for secret, k := range map[string]server.Key{"read": {ID: "r", Kind: server.ReadKey}, "run": {ID: "w", Kind: server.RunKey}} {
		if err := keys.Fix("the-key-to-"+secret, k); err != nil {
			t.Fatal(err)
		}
	}
	all := routes(t, a2a.Config{RequireKey: true, ExtendedCardToken: awaken.NewSecret("s3cret")})
	srv, err := server.New(server.Config{Mailbox: box, Keys: keys, Open: new(false), Routes: all})
	if err != nil {
		t.Fatal(err)
	}
	send := func(method, path, body, key string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(method, path, strings.NewReader(body))
		req.Host = "127.0.0.1"
		if key != "" {
			req.Header.Set("Authorization", "Bearer the-key-to-"+key)
		}
		w := httptest.NewRecorder()
		srv.Handler().ServeHTTP(w, req)
		return w
	}
	for _, r := range all {
		path := strings.NewReplacer("{task_id}", "t", "{path...}", "default/tasks").Replace(r.Path)
		for key, allowed := range map[string]bool{"": false, "read": r.Method == "GET", "run": true} {
			w := send(r.Method, path, "{}", key)
			if r.Needs == permit.Public {
				continue
			}
			if refused := w.Code == 401 || w.Code == 403; refused == allowed {
				t.Errorf("%s %s with key %q: %d", r.Method, path, key, w.Code)
			}
			if (w.Code == 401 || w.Code == 403) && !strings.Contains(w.Body.String(), `"domain":"a2a-protocol.org"`) {
				t.Errorf("%s %s with key %q: %s", r.Method, path, key, w.Body)
			}
		}
	}
	if w := send("GET", "/.well-known/agent-card.json", "", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"securityRequirements":[{"schemes":{"key":{}}}]`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := send("POST", "/v1/a2a", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`, "run"); w.Code != 200 || !strings.Contains(w.Body.String(), `"slow"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	// A request has one header, for a key or for the token of the card.
	for _, path := range []string{"/v1/a2a/extendedAgentCard", "/v1/a2a/default/extendedAgentCard"} {
		for key, want := range map[string]int{"": 401, "nothing": 401, "read": 200, "run": 200} {
			if w := send("GET", path, "", key); w.Code != want {
				t.Errorf("%s with key %q: %d %s", path, key, w.Code, w.Body)
			}
		}
	}
}

// A client that guesses the token of the extended card must wait, as one that guesses keys.
func TestAccess_WrongTokensMakeAnAddressWait(t *testing.T) {
	box, err := mailbox.New(mailbox.Config{Queue: memory.NewDB()}, protocoltest.Idle(t, nil).Runtime().With)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: box, Limits: server.Limits{WrongKeys: 3}, Routes: routes(t, a2a.Config{ExtendedCardToken: awaken.NewSecret("s3cret")})})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(from, token string) *httptest.ResponseRecorder {
		req := httptest.NewRequest("GET", "http://127.0.0.1/v1/a2a/extendedAgentCard", nil)
		req.RemoteAddr = from
		req.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		srv.Handler().ServeHTTP(w, req)
		return w
	}
	const guesser, other = "192.0.2.1:5", "192.0.2.2:5"
	for i := range 3 {
		if w := ask(guesser, fmt.Sprint("guess-", i)); w.Code != 401 {
			t.Fatalf("guess %d: %d %s", i, w.Code, w.Body)
		}
	}
	if w := ask(guesser, "s3cret"); w.Code != 429 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"domain":"a2a-protocol.org"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := ask(other, "s3cret"); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A user can neither send to nor answer for another, and gets the same answer as for what does not exist.
func TestAccess_Users(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		var sent struct{ Task a2a.Task }
		g.decode(g.ask("SendMessage", body(message("RUN_TOOL ask"), nil, ""), protocoltest.UserHeader, "alice").result, &sent)
		for _, user := range []string{"bob", ""} {
			m := message("approve")
			m.TaskID = sent.Task.ID
			if r := g.ask("SendMessage", body(m, nil, ""), protocoltest.UserHeader, user); r.reason != "TASK_NOT_FOUND" {
				t.Errorf("%q answers: %+v", user, r)
			}
			m = message("hello")
			m.ContextID = sent.Task.ContextID
			if r := g.ask("SendMessage", body(m, nil, ""), protocoltest.UserHeader, user); r.reason != "NOT_FOUND" {
				t.Errorf("%q sends: %+v", user, r)
			}
			if r := g.ask("ListTasks", map[string]any{"contextId": sent.Task.ContextID}, protocoltest.UserHeader, user); r.reason != "NOT_FOUND" {
				t.Errorf("%q lists: %+v", user, r)
			}
		}
		run := g.Open(sent.Task.ContextID)
		if run == nil || run.Status != awaken.RunWaiting || run.UserID != "alice" {
			t.Errorf("%+v", run)
		}
	})
}

// An operator who speaks for two users gets two tasks, although their messages are equal.
func TestAccess_MessagesOfUsersAreDistinctForOperators(t *testing.T) {
	box, err := mailbox.New(mailbox.Config{Queue: memory.NewDB()}, protocoltest.Idle(t, nil).Runtime().With)
	if err != nil {
		t.Fatal(err)
	}
	keys := access.NewKeys(memory.NewProfile())
	if err := keys.Fix("the-key-of-an-operator", server.Key{ID: "op", Kind: server.RunKey, Operator: true}); err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: box, Keys: keys, Users: server.Users{Header: protocoltest.UserHeader}, Routes: routes(t, a2a.Config{})})
	if err != nil {
		t.Fatal(err)
	}
	tasks := map[string]string{} // user -> task
	for range 2 {
		for _, user := range []string{"alice", "bob"} {
			req := httptest.NewRequest("POST", "http://127.0.0.1/v1/a2a/message:send", strings.NewReader(`{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"hello"}]},"configuration":{"returnImmediately":true}}`))
			req.Header.Set("Authorization", "Bearer the-key-of-an-operator")
			req.Header.Set(protocoltest.UserHeader, user)
			w := httptest.NewRecorder()
			srv.Handler().ServeHTTP(w, req)
			var sent struct{ Task a2a.Task }
			if err := json.Unmarshal(w.Body.Bytes(), &sent); err != nil || w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if before, ok := tasks[user]; ok && before != sent.Task.ID {
				t.Errorf("%s sends again, and task %s becomes %s", user, before, sent.Task.ID)
			}
			tasks[user] = sent.Task.ID
		}
	}
	if tasks["alice"] == tasks["bob"] {
		t.Errorf("bob gets the task of alice: %s", tasks["bob"])
	}
}

// A run of a variant of an agent is a task of that agent.
func TestAgents_Variants(t *testing.T) {
	g := protocoltest.Idle(t, routes(t, a2a.Config{Agents: []string{"default"}}))
	box, url := g.Start(false)
	for agent, want := range map[string]int{"default": 200, "default:canary": 200, "defaults": 404, "slow:canary": 404} {
		r, err := box.Tenant("").Submit(t.Context(), mailbox.Submission{Request: awaken.RunRequest{AgentID: agent, Messages: []*llm.Message{llm.UserText("hello")}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/v1/a2a/tasks/", "/v1/a2a/default/tasks/"} {
			if status, text := g.Ask("GET", url+path+r.RunID, ""); status != want {
				t.Errorf("%s%s of agent %s: %d %s, want %d", path, r.RunID, agent, status, text, want)
			}
		}
	}
}

// What a client approves holds for its user only, unless the configuration allows more.
func TestAccess_Remember(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		for scope, want := range map[string]string{"thread": "", "project": "PERMISSION_DENIED"} {
			task := g.task("SendMessage", body(message("RUN_TOOL talk"), nil, "careful"))
			m := message("")
			m.TaskID, m.Parts = task.ID, []a2a.Part{{Data: json.RawMessage(fmt.Sprintf(`{"approved":true,"remember":%q}`, scope))}}
			if r := g.ask("SendMessage", body(m, nil, "")); r.reason != want {
				t.Errorf("%s: %+v", scope, r)
			}
		}
	})
}

// A question about credentials is a state of its own, and waiting for its own tasks is none.
func TestEncoder_WaitingStates(t *testing.T) {
	for action, want := range map[string]a2a.State{"auth": a2a.AuthRequired, "auth:github": a2a.AuthRequired, "agent_delegate:auth_required": a2a.AuthRequired, "tool:PermissionConfirm": a2a.InputRequired, "authority": a2a.InputRequired} {
		waiting := &awaken.Waiting{Reason: awaken.WaitUserInput, TicketIDs: []string{"x"}, Tickets: []awaken.WaitingTicket{{TicketID: "x", ToolCallID: "c", ToolName: "tool",
			Suspension: &awaken.Suspension{ID: "x", Action: action, Message: "Well?"}}}}
		if got := finished(t, waiting); got.Status.State != want || *got.Status.Message.Parts[0].Text != "Well?" {
			t.Errorf("%s: %+v", action, got.Status)
		}
	}
	if got := finished(t, &awaken.Waiting{Reason: awaken.WaitBackgroundTasks}); got.Status.State != a2a.Working {
		t.Errorf("%+v", got.Status)
	}
}

// finished returns the task of a run that begins and waits.
func finished(t *testing.T, w *awaken.Waiting) *a2a.Task {
	t.Helper()
	entries := []awaken.Entry{
		{Cursor: awaken.Cursor{Epoch: 1, Seq: 1}, Event: &awaken.RunStart{ThreadID: "c", RunID: "t"}},
		{Cursor: awaken.Cursor{Epoch: 1, Seq: 2}, Event: &awaken.RunFinish{ThreadID: "c", RunID: "t", Termination: awaken.Termination{Type: awaken.Suspended}, Result: &awaken.RunOutput{Waiting: w}}},
	}
	return seen(t, events(t, encode(t, entries, a2a.Options{Snapshot: entries[1].Cursor}, protocol.Position{})))
}

// Text that turns out to be void is taken back, and what replaces it is whole.
func TestEncoder_TakesBack(t *testing.T) {
	at := func(seq uint64, ev awaken.Event) awaken.Entry {
		return awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: seq}, Event: ev}
	}
	start := `data: {"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_SUBMITTED"}}}` + "\n\n"
	for name, entries := range map[string][]awaken.Entry{
		"retried":   {at(1, &awaken.RunStart{ThreadID: "c", RunID: "t"}), at(2, &awaken.StepStart{MessageID: "m"}), at(3, &awaken.TextDelta{Delta: "wrong"}), at(4, &awaken.StreamReset{Reason: "x"}), at(5, &awaken.TextDelta{Delta: "ri"}), at(6, &awaken.TextDelta{Delta: "ght"})},
		"new owner": {at(1, &awaken.RunStart{ThreadID: "c", RunID: "t"}), at(2, &awaken.StepStart{MessageID: "m"}), at(3, &awaken.TextDelta{Delta: "wrong"}), at(4, &awaken.RunStart{ThreadID: "c", RunID: "t"}), at(5, &awaken.StepStart{MessageID: "m"}), at(6, &awaken.TextDelta{Delta: "right"})},
		"next step": {at(1, &awaken.RunStart{ThreadID: "c", RunID: "t"}), at(2, &awaken.StepStart{MessageID: "m"}), at(3, &awaken.TextDelta{Delta: "wait"}), at(4, &awaken.InferenceComplete{}), at(5, &awaken.StepStart{MessageID: "n"}), at(6, &awaken.TextDelta{Delta: "right"})},
		"lost":      {at(1, &awaken.RunStart{ThreadID: "c", RunID: "t"}), at(2, &awaken.StepStart{MessageID: "m"}), at(3, &awaken.TextDelta{Delta: "ri"}), at(4, &awaken.StreamReset{Reason: "x", Cursor: "1-3"}), at(5, &awaken.TextDelta{Delta: "ght"})},
	} {
		if got := seen(t, events(t, start+encode(t, entries, a2a.Options{}, protocol.Position{}))); text(got, "response") != "right" {
			t.Errorf("%s: %q", name, text(got, "response"))
		}
	}
}

// A stream that the server cannot finish ends with the error, in the shape of its binding.
func TestEncoder_Failure(t *testing.T) {
	for rpc, want := range map[string]string{
		"":  "event: error\ndata: {\"error\":{\"code\":503,\"status\":\"UNAVAILABLE\",\"message\":\"gone\",",
		"7": "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603,\"message\":\"gone\",",
	} {
		enc := a2a.NewEncoder(a2a.Options{RPC: json.RawMessage(rpc)})
		if rpc == "" {
			enc = a2a.NewEncoder(a2a.Options{})
		}
		var f protocol.Frames
		f.Unnamed()
		enc.End(&f, nil)
		enc.End(&f, &protocol.Failure{Status: 503, Code: "store_unavailable", Message: "gone"})
		if got := string(f.Bytes()); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "}\n\n") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
