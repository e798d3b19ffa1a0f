package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
)

func TestTokens_OfMessages(t *testing.T) {
	t.Parallel()
	call := func(args string) llm.ToolCall {
		return llm.ToolCall{ID: "c", Name: "write", Arguments: json.RawMessage(args)}
	}
	tests := []struct {
		name string
		m    *llm.Message
		want int
	}{
		{"nothing", &llm.Message{Role: llm.User}, 4},
		{"hello", llm.UserText("hello"), 5},
		{"400 bytes", llm.UserText(strings.Repeat("x", 400)), 104},
		{"bytes, not characters", llm.UserText(strings.Repeat("ö", 200)), 104},
		{"thinking", &llm.Message{Role: llm.Assistant, Content: []llm.Block{llm.Thinking(strings.Repeat("x", 40), nil)}}, 14},
		{"encrypted thinking", &llm.Message{Role: llm.Assistant, Content: []llm.Block{llm.Thinking("", &llm.Opaque{Provider: "p", Signature: strings.Repeat("x", 40)})}}, 14},
		{"a call", &llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{call("{}")}}, 4 + (40+5+2)/4},
		{"a call with large arguments", &llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{call(`{"text":"` + strings.Repeat("x", 4000) + `"}`)}}, 4 + (40+5+4011)/4},
		{"an image", &llm.Message{Role: llm.User, Content: []llm.Block{llm.Image(llm.URL("https://example.com/cat.png"))}}, 1604},
		{"a text document", &llm.Message{Role: llm.User, Content: []llm.Block{llm.Document(llm.Base64("text/plain", strings.Repeat("x", 4000)), "")}}, 4 + 750},
		{"a large PDF", &llm.Message{Role: llm.User, Content: []llm.Block{llm.Document(llm.Base64("application/pdf", strings.Repeat("x", 4_000_000)), "")}}, 4 + 75_000},
		{"a small PDF", &llm.Message{Role: llm.User, Content: []llm.Block{llm.Document(llm.Base64("application/pdf", "xxxx"), "")}}, 1604},
		{"a sound", &llm.Message{Role: llm.User, Content: []llm.Block{{Type: llm.AudioBlock, Source: llm.Base64("audio/mp3", strings.Repeat("x", 4_000_000))}}}, 4 + 6000},
		{"an empty source", &llm.Message{Role: llm.User, Content: []llm.Block{{Type: llm.VideoBlock}}}, 804},
		{"a tool result", &llm.Message{Role: llm.ToolRole, Content: []llm.Block{{Type: llm.ToolResultBlock, Tool: &llm.ToolPart{Content: []llm.Block{llm.Text(strings.Repeat("x", 30))}}}}}, 4 + 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.m.Tokens(); got != tt.want {
				t.Errorf("%d tokens, want %d", got, tt.want)
			}
		})
	}
}

func TestTokens_OfToolsAndRequests(t *testing.T) {
	t.Parallel()
	tool := llm.Tool{Name: "search", Description: strings.Repeat("d", 20), Parameters: json.RawMessage(strings.Repeat("p", 120))}
	if got := tool.Tokens(); got != 46 {
		t.Errorf("the tool is %d tokens, want 46", got)
	}
	req := &llm.Request{System: []llm.Block{llm.Text(strings.Repeat("s", 40))}, Tools: []llm.Tool{tool, tool},
		Messages: llm.NewMessages(llm.UserText("hello"))}
	if got, want := req.FixedTokens(), 14+2*46; got != want {
		t.Errorf("fixed parts are %d tokens, want %d", got, want)
	}
	if got, want := req.Tokens(), 14+2*46+5; got != want {
		t.Errorf("the request is %d tokens, want %d", got, want)
	}
}
