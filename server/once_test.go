package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// A thread accepts a message with an id once, on every route that takes messages: a repeat gets the run of the first, and
// another message with the same id is refused.
func TestMessages_WithAnIDAreAcceptedOnce(t *testing.T) {
	g := newRig(t)
	post := func(path, id, text string) (int, string, string) {
		t.Helper()
		status, body := g.ask("POST", path, fmt.Sprintf(`{"agent_id":"default","thread_id":"t","stream":false,"messages":[{"id":%q,"role":"user","content":%q}]}`, id, text))
		var out struct {
			RunID string `json:"run_id"`
		}
		if status < 300 {
			if err := json.Unmarshal([]byte(body), &out); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
		}
		return status, out.RunID, body
	}
	_, first, body := post("/v1/runs", "m1", "hello")
	if first == "" {
		t.Fatal(body)
	}
	if status, again, body := post("/v1/runs", "m1", "hello"); status != 200 || again != first {
		t.Errorf("sent again: %d %s, want run %s", status, body, first)
	}
	if status, _, body := post("/v1/runs", "m1", "something else"); status != 409 || !strings.Contains(body, `message id \"m1\"`) {
		t.Errorf("other content: %d %s, want 409 and the id", status, body)
	}
	var runs sync.Map
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			status, body := g.ask("POST", "/v1/threads/t/messages", `{"agent_id":"default","messages":[{"id":"m2","role":"user","content":"hello"}]}`)
			var out struct {
				RunID string `json:"run_id"`
			}
			if err := json.Unmarshal([]byte(body), &out); err != nil || status != 202 {
				t.Errorf("%d %s, %v", status, body, err)
			}
			runs.Store(out.RunID, true)
		})
	}
	wg.Wait()
	n := 0
	runs.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("the message has %d runs, want one", n)
	}
	for _, id := range []string{"", ""} { // messages without ids are new
		post("/v1/runs", id, "hello")
	}
	if _, list := g.ask("GET", "/v1/threads/t/runs", ""); strings.Count(list, `"run_id"`) != 4 {
		t.Errorf("the runs are %s, want four", list)
	}
}
