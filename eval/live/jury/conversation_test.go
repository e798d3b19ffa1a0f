package jury_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/live/jury"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
)

// heard judges all runs, and returns what the judge was asked, by the answers.
func (c *court) heard(w *jury.Worker) map[string][]eval.Said {
	c.t.Helper()
	var mu sync.Mutex
	asked := map[string][]eval.Said{}
	w.Ask = func(_ context.Context, q jury.Question) (jury.Opinion, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[q.Answer] = q.Said
		return jury.Opinion{}, nil
	}
	for n, err := w.Round(c.t.Context()); n > 0; n, err = w.Round(c.t.Context()) {
		if err != nil {
			c.t.Fatal(err)
		}
	}
	return asked
}

func TestWorker_TheJudgeSeesTheConversation(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		c := newCourt(t, always)
		w := c.worker()
		calling := &llm.Message{Role: llm.Assistant, Content: []llm.Block{{Type: llm.TextBlock, Text: "I look."}}, ToolCalls: []llm.ToolCall{{ID: "c1", Name: "find", Arguments: []byte(`{"order":7}`)}}}
		result := &llm.Message{Role: llm.ToolRole, ToolCallID: "c1", Content: []llm.Block{{Type: llm.TextBlock, Text: `{"refund":20}`}}}
		photo := llm.UserText("Well?")
		photo.Content = append(photo.Content, llm.Block{Type: llm.ImageBlock, Title: "bill.png", Source: &llm.Source{Type: "url", URL: "https://example.com/bill.png"}})
		hidden := llm.UserText("It is Monday.")
		hidden.Visibility = llm.Internal
		c.run(w, awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("Where is it?"), calling, result, hidden, photo}})
		c.run(w, awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("And the other one?")}})
		c.run(w, awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("Later.")}})
		want := []eval.Said{{Role: "user", Text: "Where is it?"}, {Role: "assistant", Text: "I look."}, {Role: "call c1 of tool find", Text: `{"order":7}`}, {Role: "result of call c1", Text: `{"refund":20}`},
			{Role: "user", Text: "Well?\n(image bill.png)"}, {Role: "assistant", Text: "I heard: Well?"}, {Role: "user", Text: "And the other one?"}}
		if diff := cmp.Diff(want, c.heard(w)["I heard: And the other one?"]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestWorker_TheJudgeSeesThatMessagesAreLeftOut(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		c := newCourt(t, always)
		w := c.worker()
		said := func(text string) awaken.RunRequest {
			return awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText(text)}}
		}
		for i := range 60 {
			c.run(w, said(fmt.Sprint("turn ", i)))
		}
		c.run(w, said(strings.Repeat("é", 20_000)))
		c.run(w, said("after it"))
		asked := c.heard(w)
		if last := asked["I heard: turn 59"]; len(last) != 100 || last[0] != (eval.Said{Role: "note", Text: "20 earlier messages are left out"}) || last[99].Text != "turn 59" {
			t.Errorf("%d parts, %+v", len(last), last[:min(len(last), 2)])
		}
		own := asked["I heard: "+strings.Repeat("é", 20_000)]
		if n := len(own); n < 50 || len(own[n-1].Text) > 16_100 || !strings.HasSuffix(own[n-1].Text, "\n(24000 more bytes are left out)") {
			t.Errorf("%d parts", len(own))
		}
		if after := asked["I heard: after it"]; len(after) < 3 || len(after[len(after)-2].Text) > 4_100 || !strings.HasSuffix(after[len(after)-2].Text, "more bytes are left out)") {
			t.Errorf("%d parts", len(after))
		}
	})
}

func TestWorker_TheJudgeDoesNotSeeWhatWasRewound(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		c := newCourt(t, always)
		w := c.worker()
		wrong := llm.UserText("wrong")
		wrong.ID = "w"
		c.run(w, awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("first")}})
		c.run(w, awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{wrong}})
		c.run(w, awaken.RunRequest{ThreadID: "t", Rewind: "w", Messages: []*llm.Message{llm.UserText("right")}})
		want := []eval.Said{{Role: "user", Text: "first"}, {Role: "assistant", Text: "I heard: first"}, {Role: "user", Text: "right"}}
		if diff := cmp.Diff(want, c.heard(w)["I heard: right"]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
