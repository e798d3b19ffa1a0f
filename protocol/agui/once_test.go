package agui_test

import (
	"fmt"
	"strings"
	"testing"
)

// said is a request with one message.
func said(runID, agent, content string) string {
	return fmt.Sprintf(`{"threadId":"t","runId":%q,"agentId":%q,"messages":[{"id":"m","role":"user","content":%q}]}`, runID, agent, content)
}

// The same message under another run id, sent within a moment, is the same request: its client gets the first one's run. Another message
// with the same id is refused.
func TestMessage_SentAgainAtOnceGetsItsAnswer(t *testing.T) {
	g := newRig(t)
	answer := func(runID string) string {
		t.Helper()
		var text string
		list := g.ask(said(runID, "default", "hello"))
		for _, e := range list {
			if e.kind() == "TEXT_MESSAGE_CONTENT" {
				text += e["messageId"].(string) + " " + e["delta"].(string)
			}
		}
		if find(t, list, "RUN_STARTED")["runId"] != runID {
			t.Errorf("run %s got %v", runID, list[0])
		}
		return text
	}
	first := answer("r1")
	if second := answer("r2"); first == "" || second != first || len(g.runs("t")) != 1 {
		t.Errorf("%q and %q, and %d runs, want the same answer, of one", first, second, len(g.runs("t")))
	}
	if status, body := g.post(g.URL, "/run", said("r3", "default", "something else")); status != 409 || !strings.Contains(body, `message id \"m\"`) {
		t.Errorf("other content: %d %s, want 409 and the id", status, body)
	}
}

// A message whose run waits for an answer to its question, sent again at once, gets the question.
func TestMessage_SentAgainWhileItsRunWaitsGetsTheQuestion(t *testing.T) {
	g := newRig(t)
	first, second := g.ask(said("r1", "again", "go")), g.ask(said("r2", "again", "go"))
	if one, two := find(t, first, "RUN_FINISHED")["outcome"], find(t, second, "RUN_FINISHED")["outcome"]; fmt.Sprint(one) != fmt.Sprint(two) || len(g.runs("t")) != 1 {
		t.Errorf("%v and %v, and %d runs, want the same question, of one", one, two, len(g.runs("t")))
	}
}
