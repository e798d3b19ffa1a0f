package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/servertest"
)

// withUsers returns a server whose proxy names the users, with the key of an operator.
func withUsers(t *testing.T) (g *rig, operator []string) {
	t.Helper()
	g = newRig(t, func(c *servertest.Config) { c.Users.Header = "X-User" })
	if err := g.keys.Fix("the-key-of-an-operator", server.Key{ID: "op", Kind: server.RunKey, Operator: true}); err != nil {
		t.Fatal(err)
	}
	return g, []string{"Authorization", "Bearer the-key-of-an-operator"}
}

// A thread belongs to the user who creates it, by itself or with its first run.
func TestUsers_AThreadBelongsToTheUserWhoCreatesIt(t *testing.T) {
	t.Parallel()
	g, operator := withUsers(t)
	alice, bob := []string{"X-User", "alice"}, []string{"X-User", "bob"}
	made := g.want(201, "POST", "/v1/threads", `{"title":"hers"}`, alice...)
	if made["user_id"] != "alice" {
		t.Errorf("the thread is %v", made)
	}
	path := "/v1/threads/" + made["id"].(string)
	g.want(200, "GET", path, "", alice...)
	g.want(404, "GET", path, "", bob...)
	g.want(404, "GET", path, "")
	// An operator makes a thread for a user, and gives it to another.
	for _, headers := range [][]string{bob, nil} {
		g.want(403, "POST", "/v1/threads", `{"user_id":"alice"}`, headers...)
		g.want(403, "POST", "/v1/runs", `{"agent_id":"default","user_id":"alice","messages":[{"role":"user","content":"hi"}]}`, headers...)
		g.want(403, "GET", "/v1/threads?user_id=alice", "", headers...)
	}
	g.want(403, "PATCH", path, `{"user_id":"bob"}`, alice...)
	g.want(403, "PATCH", path, `{"user_id":null}`, alice...)
	g.want(200, "PATCH", path, `{"user_id":"alice","title":"still hers"}`, alice...)
	g.want(200, "PATCH", path, `{"user_id":"bob"}`, operator...)
	g.want(404, "GET", path, "", alice...)
	g.want(200, "GET", path, "", bob...)
	g.want(200, "PATCH", path, `{"user_id":null}`, operator...)
	g.want(404, "GET", path, "", bob...)
	g.want(200, "GET", path, "")
	// What an operator says on a user's thread is said for that user.
	made = g.want(201, "POST", "/v1/threads", `{"user_id":"bob"}`, operator...)
	thread := made["id"].(string)
	body := fmt.Sprintf(`{"agent_id":"default","thread_id":%q,"stream":false,"messages":[{"role":"user","content":"hi"}]`, thread)
	ran := g.want(200, "POST", "/v1/runs", body+`}`, operator...)
	run := g.want(200, "GET", "/v1/runs/"+ran["run_id"].(string), "", bob...)
	if run["user_id"] != "bob" {
		t.Errorf("the run is for %v", run["user_id"])
	}
	g.want(403, "POST", "/v1/runs", body+`,"user_id":"alice"}`, operator...)
	if list := g.want(200, "GET", "/v1/runs?user_id=bob", "", operator...); list["total"] != 1.0 {
		t.Errorf("bob's runs are %v", list)
	}
	if list := g.want(200, "GET", "/v1/runs?user_id=alice", "", operator...); list["total"] != 0.0 {
		t.Errorf("alice's runs are %v", list)
	}
}

// A user cannot touch another user's input, calls, runs and threads by any id.
func TestUsers_CannotActOnWhatIsAnothers(t *testing.T) {
	t.Parallel()
	g, _ := withUsers(t)
	b := g.own("", "alice")
	before := b.state(t)
	for _, headers := range [][]string{{"X-User", "bob"}, nil} {
		// The operations of runs take the ids of threads and dispatches too, and those of threads the
		// ids of runs.
		for _, id := range []string{b.thread, b.run, b.dispatch} {
			for _, path := range []string{"/v1/threads/" + id + "/cancel", "/v1/threads/" + id + "/interrupt", "/v1/runs/" + id + "/cancel", "/v1/runs/" + id + "/continue",
				"/v1/threads/" + id + "/decision", "/v1/runs/" + id + "/decision", "/v1/approvals/" + id + "/" + b.ticket} {
				if status, text := g.ask("POST", path, fmt.Sprintf(`{"tool_call_id":%q,"action":"resume","arguments":{"path":"mine"}}`, b.ticket), headers...); status != 404 {
					t.Errorf("%v: POST %s: %d %s", headers, path, status, text)
				}
			}
		}
		g.want(404, "PATCH", "/v1/threads/"+b.queued+"/pending/"+b.pending, `{"revision":0,"messages":[{"role":"user","content":"mine"}]}`, headers...)
		g.want(404, "DELETE", "/v1/threads/"+b.queued+"/pending/"+b.pending, "", headers...)
		g.want(404, "DELETE", "/v1/threads/"+b.queued, "", headers...)
		for _, mode := range []string{"queue", "live_then_queue", "interrupt_then_queue", "resume_open_run"} {
			g.want(404, "POST", "/v1/runs", fmt.Sprintf(`{"agent_id":"default","thread_id":%q,"mode":%q,"messages":[{"role":"user","content":"hi"}]}`, b.thread, mode), headers...)
		}
	}
	if after := b.state(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	g.want(202, "POST", "/v1/approvals/"+b.run+"/"+b.ticket, `{"action":"resume"}`, "X-User", "alice")
}

// Equal idempotency keys of two users are two submissions.
func TestUsers_HaveIdempotencyKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	g, _ := withUsers(t)
	body := `{"agent_id":"default","stream":false,"messages":[{"role":"user","content":"hello"}]}`
	runs := map[string]string{}
	for range 2 {
		for _, user := range []string{"alice", "bob", ""} {
			headers := []string{"Idempotency-Key", "key-1"}
			if user != "" {
				headers = append(headers, "X-User", user)
			}
			got := g.want(200, "POST", "/v1/runs", body, headers...)["run_id"].(string)
			for other, run := range runs {
				if (run == got) != (other == user) {
					t.Errorf("%q has run %s, and %q has run %s", user, got, other, run)
				}
			}
			runs[user] = got
			thread := g.want(200, "GET", "/v1/runs/"+got, "", headers...)["thread_id"].(string)
			if _, text := g.ask("GET", "/v1/threads/"+thread+"/mailbox", "", headers...); !strings.Contains(text, `"idempotency_key":"key-1"`) {
				t.Errorf("the dispatches of %q are %s", user, text)
			}
		}
	}
}

// A request that is sent again does not show a thread that belongs to another user by now.
func TestUsers_ARepeatedRequestDoesNotShowWhatIsAnothers(t *testing.T) {
	t.Parallel()
	g, operator := withUsers(t)
	body, headers := `{"agent_id":"default","stream":false,"messages":[{"role":"user","content":"hello"}]}`, []string{"X-User", "alice", "Idempotency-Key", "key-1"}
	thread := g.want(200, "POST", "/v1/runs", body, headers...)["thread_id"].(string)
	g.want(200, "POST", "/v1/runs", body, headers...)
	g.want(200, "PATCH", "/v1/threads/"+thread, `{"user_id":"bob"}`, operator...)
	g.want(404, "POST", "/v1/runs", body, headers...)
}

// Of two users who create the same thread at once, one has it, and the other gets 404.
func TestUsers_CreateAThreadOnce(t *testing.T) {
	t.Parallel()
	g, _ := withUsers(t)
	for i := range 20 {
		thread := fmt.Sprint("race-", i)
		users := []string{"alice", "bob", "carol"}
		got := make([]int, len(users))
		var wg sync.WaitGroup
		for j, user := range users {
			wg.Go(func() {
				got[j], _ = g.ask("POST", "/v1/runs", fmt.Sprintf(`{"agent_id":"default","thread_id":%q,"mode":"queue","stream":false,"messages":[{"role":"user","content":"hi"}]}`, thread), "X-User", user)
			})
		}
		wg.Wait()
		th, err := g.box.Tenant("").Store.Thread(t.Context(), thread)
		if err != nil {
			t.Fatal(err)
		}
		for j, user := range users {
			if want := map[bool]int{true: 200, false: 404}[user == th.UserID]; got[j] != want {
				t.Errorf("%s: %s got %d, the thread belongs to %s", thread, user, got[j], th.UserID)
			}
		}
		runs, err := g.box.Tenant("").Store.ListRuns(t.Context(), awaken.RunQuery{ThreadID: thread})
		if err != nil || len(runs) != 1 || runs[0].UserID != th.UserID {
			t.Errorf("%d runs, %v", len(runs), err)
		}
	}
}

// A user's key is confined also where users are off; keys without a user are not.
func TestUsers_OfKeysAreConfinedWhereUsersAreOff(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	headers := func(user string) []string { return []string{"Authorization", "Bearer the-key-of-" + user} }
	for _, user := range []string{"alice", "bob"} {
		if err := g.keys.Fix("the-key-of-"+user, server.Key{ID: user, Kind: server.RunKey, User: user}); err != nil {
			t.Fatal(err)
		}
	}
	b := g.own("", "alice")
	g.want(200, "GET", "/v1/threads/"+b.thread, "", headers("alice")...)
	g.want(404, "GET", "/v1/threads/"+b.thread, "", headers("bob")...)
	g.want(200, "GET", "/v1/threads/"+b.thread, "")
	g.want(202, "POST", "/v1/threads/"+b.thread+"/cancel", "")
}

// With server.Users.On, keys are the only source of users, and a key without one has the fewest rights.
func TestUsers_OnWithoutAHeader(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Users.On = true })
	b, free := g.own("", "alice"), g.own("", "")
	g.want(404, "GET", "/v1/threads/"+b.thread, "")
	g.want(200, "GET", "/v1/threads/"+free.thread, "")
	g.want(200, "GET", "/v1/threads/"+b.thread, "", "Authorization", "Bearer "+adminKey)
	status, text := g.ask("POST", "/v1/keys", `{"kind":"read","operator":true}`, "Authorization", "Bearer "+adminKey)
	var made struct {
		Operator bool
		Secret   string
	}
	if err := json.Unmarshal([]byte(text), &made); err != nil || status != 201 || !made.Operator {
		t.Fatalf("%d %s", status, text)
	}
	g.want(200, "GET", "/v1/threads/"+b.thread, "", "Authorization", "Bearer "+made.Secret)
	g.want(403, "POST", "/v1/threads/"+b.thread+"/cancel", "", "Authorization", "Bearer "+made.Secret)
}

// A stream ends when its thread no longer belongs to the user, before the next run on it is shown.
func TestUsers_AStreamEndsWithTheOwnership(t *testing.T) {
	t.Parallel()
	g, operator := withUsers(t)
	id := g.want(201, "POST", "/v1/threads", `{}`, "X-User", "alice")["id"].(string)
	body := func(text string) string {
		return fmt.Sprintf(`{"agent_id":"default","thread_id":%q,"stream":false,"messages":[{"role":"user","content":%q}]}`, id, text)
	}
	resp := g.do("GET", "/v1/threads/"+id+"/events/stream", "", "X-User", "alice")
	defer resp.Body.Close()
	g.want(200, "POST", "/v1/runs", body("mine"), "X-User", "alice")
	stream := bufio.NewReader(resp.Body)
	readFrames(t, stream, is("run_finish"))
	g.want(200, "PATCH", "/v1/threads/"+id, `{"user_id":"bob"}`, operator...)
	g.want(200, "POST", "/v1/runs", body("secret"), "X-User", "bob")
	var all strings.Builder
	for _, f := range readFrames(t, stream, nil) {
		all.WriteString(f.event + " " + f.data + "\n")
	}
	if got := all.String(); strings.Contains(got, "secret") || !strings.Contains(got, "error {\"error\":\"thread not found") {
		t.Errorf("the stream is %s", got)
	}
}

// A user cannot delete other users' threads with one of their own.
func TestUsers_CannotDeleteOthersBelowTheirs(t *testing.T) {
	t.Parallel()
	g, operator := withUsers(t)
	thread := func(user, parent string) string {
		return g.want(201, "POST", "/v1/threads", fmt.Sprintf(`{"user_id":%q,"parent_thread_id":%q}`, user, parent), operator...)["id"].(string)
	}
	top := thread("alice", "")
	below := thread("alice", top)
	of := thread("bob", below)
	g.want(409, "DELETE", "/v1/threads/"+top+"?child_strategy=cascade", "", "X-User", "alice")
	g.want(200, "GET", "/v1/threads/"+of, "", "X-User", "bob")
	g.want(200, "PATCH", "/v1/threads/"+of, `{"parent_thread_id":null}`, operator...)
	g.want(204, "DELETE", "/v1/threads/"+top+"?child_strategy=cascade", "", "X-User", "alice")
	g.want(404, "GET", "/v1/threads/"+below, "", "X-User", "alice")
}
