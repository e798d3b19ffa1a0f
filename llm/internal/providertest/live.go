package providertest

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// Live calls a real server, if LLM_MODEL and one of LLM_BASE_URL and LLM_API_KEY are set: for
// text, for a tool call, and for a model that does not exist.
func Live(t *testing.T, open func(t testing.TB, c provider.Config) llm.Model) {
	base, key, model := os.Getenv("LLM_BASE_URL"), os.Getenv("LLM_API_KEY"), os.Getenv("LLM_MODEL")
	if model == "" || base == "" && key == "" {
		t.Skip("LLM_MODEL, and LLM_BASE_URL or LLM_API_KEY, are not set")
	}
	m := open(t, provider.Config{BaseURL: base, APIKey: key, Timeout: time.Minute})
	t.Run("Text", func(t *testing.T) {
		req := Hello(model)
		req.Messages, req.MaxTokens = llm.NewMessages(llm.UserText("Answer with the single word: pong")), new(2000)
		r := Generate(t, m, req)
		if !strings.Contains(strings.ToLower(r.Message.Text()), "pong") || r.Usage.PromptTokens == 0 {
			t.Errorf("%q, %+v, %s", r.Message.Text(), r.Usage, r.Finish)
		}
	})
	t.Run("Tool", func(t *testing.T) {
		req := Hello(model)
		req.Tools, req.MaxTokens = []llm.Tool{Lookup()}, new(4000)
		req.Messages = llm.NewMessages(llm.UserText("Look up the word xyzzy with the tool. Then repeat what it returned."))
		var r *llm.Reply
		calls := 0
		for range 4 {
			r = Generate(t, m, req)
			req.Messages = req.Messages.Append(r.Message)
			for _, c := range r.Message.ToolCalls {
				calls++
				req.Messages = req.Messages.Append(&llm.Message{Role: llm.ToolRole, ToolCallID: c.ID, Content: []llm.Block{llm.Text("hollow voice")}})
			}
			if r.Finish != llm.ToolUse {
				break
			}
		}
		if calls == 0 || !strings.Contains(strings.ToLower(r.Message.Text()), "hollow voice") {
			t.Errorf("%d calls, the answer is %s", calls, Show(r.Message))
		}
		t.Logf("usage %+v", r.Usage)
	})
	t.Run("WrongModel", func(t *testing.T) {
		_, err := llm.Generate(t.Context(), m, Hello("no-such-model-as-this"))
		if k := llm.KindOf(err); k != llm.ModelNotFound && k != llm.InvalidRequest && k != llm.Unauthorized {
			t.Errorf("%v", err)
		}
	})
}
