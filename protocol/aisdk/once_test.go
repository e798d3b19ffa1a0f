package aisdk_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// runs returns how many runs a thread has.
func (g *rig) runs(thread string) int {
	g.TB.Helper()
	n, err := g.Box.Tenant("").Store.CountRuns(g.TB.Context(), awaken.RunQuery{ThreadID: thread})
	if err != nil {
		g.TB.Fatal(err)
	}
	return n
}

// chat posts a body, which must be accepted, and returns the text of the answer and the id of its message.
func (g *rig) chat(body string) (text, id string) {
	g.TB.Helper()
	status, got := g.post(g.URL, body)
	if status != 200 {
		g.TB.Fatalf("%s: %d: %s", body, status, got)
	}
	list := chunksOf(g.TB, got)
	for _, c := range list {
		if c.kind() == "text-delta" {
			text += c["delta"].(string)
		}
	}
	if ids := messageIDs(list); len(ids) > 0 {
		id = ids[0]
	}
	return text, id
}

// A message that is sent again gets the answer that it got: when the run is over, and when the queue has forgotten the run.
func TestMessage_SentAgainGetsItsAnswer(t *testing.T) {
	g := newRig(t)
	const body = `{"id":"t","messages":[{"id":"m","role":"user","content":"hello"}]}`
	text, id := g.chat(body)
	if text == "" || id == "" {
		t.Fatalf("the answer is %q, %q", text, id)
	}
	check := func(when string) {
		t.Helper()
		for range 2 {
			if again, same := g.chat(body); again != text || same != id || g.runs("t") != 1 {
				t.Errorf("%s: %q of message %s, and %d runs, want %q of %s, and one", when, again, same, g.runs("t"), text, id)
			}
		}
		status, got := g.post(g.URL, `{"id":"t","messages":[{"id":"m","role":"user","content":"something else"}]}`)
		if status != 409 || !strings.Contains(got, `message id \"m\"`) {
			t.Errorf("%s, other content: %d %s, want 409 and the id", when, status, got)
		}
	}
	check("when the run is over")
	g.chat(`{"id":"t","messages":[{"id":"m2","role":"user","content":"another"}]}`)
	if again, _ := g.chat(`{"id":"t","messages":[{"id":"m2","role":"user","content":"another"}]}`); again == text || again == "" || g.runs("t") != 2 {
		t.Errorf("the second message: %q, and %d runs", again, g.runs("t"))
	}
	if n, err := g.Box.Tenant("").Store.PurgeDispatches(t.Context(), mailbox.Query{}); n == 0 || err != nil {
		t.Fatal(n, err)
	}
	const all = `{"id":"t","messages":[{"id":"m","role":"user","content":"hello"},{"id":"m2","role":"user","content":"another"}]}`
	if again, _ := g.chat(all); again == "" || g.runs("t") != 2 {
		t.Errorf("when the queue has forgotten it: %q, and %d runs", again, g.runs("t"))
	}
}

// A message whose run waits for a decision, sent again, gets the question.
func TestMessage_SentAgainWhileItsRunWaitsGetsTheQuestion(t *testing.T) {
	g := newRig(t)
	const body = `{"id":"t","agentId":"again","messages":[{"id":"m","role":"user","content":"go"}]}`
	for range 2 {
		status, got := g.post(g.URL, body)
		if status != 200 || find(chunksOf(t, got), "tool-approval-request") == nil {
			t.Fatalf("%d: %s", status, got)
		}
	}
	if g.runs("t") != 1 || g.Open("t") == nil {
		t.Errorf("%d runs, open is %+v, want the one that waits", g.runs("t"), g.Open("t"))
	}
}

// An edit is accepted once, and the next one is another: from A to B to A to B.
func TestMessage_EditedBackAndForth(t *testing.T) {
	g := newRig(t)
	edit := func(text string) string {
		return fmt.Sprintf(`{"id":"t","messageId":"m","messages":[{"id":"m","role":"user","content":%q}]}`, text)
	}
	g.chat(`{"id":"t","messages":[{"id":"m","role":"user","content":"A"}]}`)
	g.chat(`{"id":"t","messages":[{"id":"m2","role":"user","content":"later"}]}`)
	last := ""
	for i, text := range []string{"B", "A", "B"} {
		answer, id := g.chat(edit(text))
		if !strings.Contains(answer, text) || id == last || g.runs("t") != 3+i {
			t.Errorf("edit %d: %q, and %d runs, want an answer to %s, and %d", i, answer, g.runs("t"), text, 3+i)
		}
		if again, same := g.chat(edit(text)); again != answer || same != id || g.runs("t") != 3+i {
			t.Errorf("edit %d, sent again: %q, and %d runs", i, again, g.runs("t"))
		}
		last = id
	}
	// What an edit has removed can be said again.
	if _, id := g.chat(`{"id":"t","messages":[{"id":"m","role":"user","content":"B"},{"id":"m2","role":"user","content":"later"}]}`); id == "" || g.runs("t") != 6 {
		t.Errorf("a message that was removed: %d runs, want 6", g.runs("t"))
	}
	if got := g.history(g.URL, "t").Messages; len(got) != 4 || got[0].ID != "m" || got[2].ID != "m2" {
		t.Errorf("the history is %+v", got)
	}
}

// An edit of a message that no run has read yet replaces it.
func TestMessage_EditedBeforeARunReadsIt(t *testing.T) {
	g := &rig{protocoltest.Idle(t, aisdk.Routes())}
	g.Box, g.URL = g.Start(false)
	queued := func() int {
		list, err := g.Box.Tenant("").Store.Dispatches(t.Context(), mailbox.Query{ThreadID: "t"})
		if err != nil {
			t.Error(err)
		}
		return len(list)
	}
	accepted := make(chan string, 2)
	for _, body := range []string{`{"id":"t","messages":[{"id":"m","role":"user","content":"A"}]}`, `{"id":"t","messageId":"m","messages":[{"id":"m","role":"user","content":"B"}]}`} {
		before := queued()
		go func() {
			_, got := g.post(g.URL, body)
			accepted <- got
		}()
		for deadline := time.Now().Add(10 * time.Second); queued() == before; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the message was not accepted")
			}
		}
	}
	stop := works(g.Box)
	defer stop()
	<-accepted
	<-accepted
	got := g.history(g.URL, "t").Messages
	if len(got) != 2 || got[0].ID != "m" || fmt.Sprint(got[0].Parts) != fmt.Sprint([]chunk{{"type": "text", "text": "B"}}) {
		t.Errorf("the history is %+v, want the edited message and its answer", got)
	}
}

// A regeneration is no repeat.
func TestMessage_RegeneratedIsAnotherRun(t *testing.T) {
	g := newRig(t)
	const body = `{"id":"t",%s"messages":[{"id":"m","role":"user","content":"hello"}]}`
	_, first := g.chat(fmt.Sprintf(body, ""))
	_, second := g.chat(fmt.Sprintf(body, `"trigger":"regenerate-message",`))
	_, third := g.chat(fmt.Sprintf(body, `"trigger":"regenerate-message",`))
	if first == second || second == third || g.runs("t") != 3 {
		t.Errorf("answers %s, %s and %s, and %d runs, want three", first, second, third, g.runs("t"))
	}
}
