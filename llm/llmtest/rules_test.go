package llmtest_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

func fromModel(name string) func(*llm.Request) bool {
	return func(req *llm.Request) bool { return req.Model == name }
}

func saying(s string) func(*llm.Request) llmtest.Turn {
	return func(*llm.Request) llmtest.Turn { return llmtest.Say(s) }
}

func TestRules_FirstMatchWins(t *testing.T) {
	t.Parallel()
	m := llmtest.NewRules(
		llmtest.Rule{Match: fromModel("a"), Turn: saying("one")},
		llmtest.Rule{Match: fromModel("a"), Turn: saying("two")},
		llmtest.Rule{Turn: saying("else")},
	)
	for model, want := range map[string]string{"a": "one", "b": "else"} {
		for range 2 {
			reply, err := llm.Generate(t.Context(), m, &llm.Request{Model: model})
			if err != nil {
				t.Fatal(err)
			}
			if got := reply.Message.Text(); got != want {
				t.Errorf("model %s: reply is %q, want %q", model, got, want)
			}
		}
	}
}

func TestRules_WithoutAMatchIsAnInvalidRequest(t *testing.T) {
	t.Parallel()
	m := llmtest.NewRules(llmtest.Rule{Match: fromModel("a"), Turn: saying("one")})
	_, err := listen(t, m, &llm.Request{Messages: llm.NewMessages(llm.UserText("Hi"))})
	checkError(t, err, llm.InvalidRequest, `no rule matches the last user message "Hi"`)
}

func TestRules_RespectCancellation(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := llm.Generate(ctx, llmtest.NewRules(llmtest.Rule{Turn: saying("one")}), &llm.Request{})
	if llm.KindOf(err) != llm.Cancelled {
		t.Errorf("error is %v, want cancelled", err)
	}
}

func TestRules_NameCallsAfterTheNumberOfMessages(t *testing.T) {
	t.Parallel()
	m := llmtest.NewRules(llmtest.Rule{Turn: func(*llm.Request) llmtest.Turn { return llmtest.Use("add", "{}") }})
	history := []*llm.Message{llm.UserText("a"), llm.UserText("b")}
	for range 2 { // the same request gets the same answer
		if diff := cmp.Diff("call_add_2", ask(t, m, history...).Message.ToolCalls[0].ID); diff != "" {
			t.Errorf("id (-want +got):\n%s", diff)
		}
	}
}

// A compacted conversation can have as many messages as it had before.
func TestRules_NeverReuseAnIDOfTheConversation(t *testing.T) {
	t.Parallel()
	m := llmtest.NewRules(llmtest.Rule{Turn: func(*llm.Request) llmtest.Turn { return llmtest.Use("add", "{}") }})
	got := ask(t, m,
		&llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "call_add_2"}, {ID: "call_add_3"}}},
		llm.UserText("again"),
	).Message.ToolCalls[0].ID
	if got != "call_add_4" {
		t.Errorf("id is %q, want call_add_4", got)
	}
}
