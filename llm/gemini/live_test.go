package gemini

import (
	"os"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// TestLive asks a real server, if LLM_MODEL, LLM_API_KEY and perhaps LLM_BASE_URL name one.
func TestLive(t *testing.T) {
	name := os.Getenv("LLM_MODEL")
	if name == "" || os.Getenv("LLM_API_KEY") == "" {
		t.Skip("LLM_MODEL and LLM_API_KEY are not set")
	}
	m, err := New(Config{Config: provider.Config{APIKey: os.Getenv("LLM_API_KEY"), BaseURL: os.Getenv("LLM_BASE_URL")}})
	if err != nil {
		t.Fatal(err)
	}
	req := hello(name)
	req.Tools = []llm.Tool{lookup()}
	req.ReasoningEffort = &llm.Effort{Level: "low"}
	req.Messages = llm.NewMessages(llm.UserText("Look up the word xyzzy with the tool. Then repeat what it returned."))
	r := ask(t, m, req)
	if r.Finish != llm.ToolUse {
		t.Fatalf("finish %s: %s", r.Finish, show(r.Message))
	}
	req.Messages = req.Messages.Append(r.Message)
	for _, c := range r.Message.ToolCalls {
		req.Messages = req.Messages.Append(&llm.Message{Role: llm.ToolRole, ToolCallID: c.ID, Content: []llm.Block{llm.Text("hollow voice")}})
	}
	if r = ask(t, m, req); !strings.Contains(strings.ToLower(r.Message.Text()), "hollow voice") {
		t.Errorf("answer %s", show(r.Message))
	}
	t.Logf("usage %+v", r.Usage)
}
