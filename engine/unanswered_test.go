package engine_test

import (
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// The input of a run that ended before it started is in the thread, and nothing has answered it. A
// client that sends it again, because its history lacks the answer, adds nothing. One that has edited
// it replaces it and what follows. After an answer, an edit is a request of its own (Rewind).
func TestMessage_WithTheIDOfAnUnansweredOneRepeatsOrReplacesIt(t *testing.T) {
	t.Parallel()
	say := func(id, text string) *llm.Message {
		m := llm.UserText(text)
		m.ID = id
		return m
	}
	for name, test := range map[string]struct {
		back string // Rewind of the request
		sent []*llm.Message
		want []string // what the model sees
		log  []string // the ids of visible user messages
	}{
		"the same text":                 {"", []*llm.Message{say("a", "first")}, []string{"user: first", "user: more"}, []string{"a", "b"}},
		"the same text of both":         {"", []*llm.Message{say("a", "first"), say("b", "more")}, []string{"user: first", "user: more"}, []string{"a", "b"}},
		"another text":                  {"", []*llm.Message{say("a", "edited")}, []string{"user: edited"}, []string{"a"}},
		"another text of the last":      {"", []*llm.Message{say("b", "edited")}, []string{"user: first", "user: edited"}, []string{"a", "b"}},
		"the same text, and a new one":  {"", []*llm.Message{say("b", "more"), say("c", "new")}, []string{"user: first", "user: more", "user: new"}, []string{"a", "b", "c"}},
		"another text, and a new one":   {"", []*llm.Message{say("a", "edited"), say("c", "new")}, []string{"user: edited", "user: new"}, []string{"a", "c"}},
		"another text of both messages": {"", []*llm.Message{say("a", "edited"), say("b", "edited")}, []string{"user: edited", "user: edited"}, []string{"a", "b"}},
		"another text, and the same":    {"", []*llm.Message{say("a", "edited"), say("b", "more")}, []string{"user: edited", "user: more"}, []string{"a", "b"}},
		"an edit with the same text":    {"a", []*llm.Message{say("a", "first")}, []string{"user: first"}, []string{"a"}},
		"an edit, and what is shown":    {"b", []*llm.Message{say("a", "first"), say("b", "more")}, []string{"user: first", "user: more"}, []string{"a", "b"}},
		"an edit with another text":     {"a", []*llm.Message{say("a", "edited")}, []string{"user: edited"}, []string{"a"}},
		"a new message without an id":   {"", []*llm.Message{say("", "first")}, []string{"user: first", "user: more", "user: first"}, []string{"a", "b", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, []llmtest.Turn{llmtest.Say("answer")})
			for _, m := range []*llm.Message{say("a", "first"), say("b", "more")} {
				g.run(awaken.RunRequest{ThreadID: "t", RunID: "before-" + m.ID, Messages: []*llm.Message{m}, End: &awaken.Termination{Type: awaken.Cancelled}})
			}
			res, _ := g.run(awaken.RunRequest{ThreadID: "t", Messages: test.sent, Rewind: test.back})
			if res.Response != "answer" {
				t.Errorf("the response is %q", res.Response)
			}
			checkSeen(t, g, append(test.want, "assistant: answer"))
			var view awaken.View
			view.Append(g.log("t")...)
			var ids []string
			for _, m := range view.Messages() {
				if m.Role == llm.User {
					ids = append(ids, m.ID)
				}
			}
			if len(ids) != len(test.log) {
				t.Fatalf("the thread shows %q, want %q", ids, test.log)
			}
			for i, id := range test.log {
				if id != "" && ids[i] != id {
					t.Errorf("the thread shows %q, want %q", ids, test.log)
				}
			}
		})
	}
}
