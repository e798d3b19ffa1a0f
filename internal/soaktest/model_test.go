//go:build linux

package soaktest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// pace is the time between two pieces of an answer.
const pace = 5 * time.Millisecond

// model is a provider that speaks Chat Completions. The last user message says what it does:
//
//	say N    answers with N pieces
//	NAME {…} calls a tool with these arguments, and then answers
func model(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") || json.NewDecoder(r.Body).Decode(&req) != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	said, called := "", false
	for _, m := range req.Messages {
		switch m.Role {
		case "user":
			said, called = textOf(m.Content), false
		case "tool":
			called = true
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(delta, finish string) bool {
		_, err := fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
		return err == nil && out.Flush() == nil
	}
	verb, rest, _ := strings.Cut(said, " ")
	n := 5
	if verb == "say" {
		n, _ = strconv.Atoi(rest)
	} else if !called {
		call, _ := json.Marshal(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": "call", "type": "function", "function": map[string]string{"name": verb, "arguments": rest}}}})
		if send(string(call), "null") && send("{}", `"tool_calls"`) {
			fmt.Fprint(w, "data: [DONE]\n\n")
		}
		return
	}
	for range n {
		select {
		case <-time.After(pace):
		case <-r.Context().Done():
			return
		}
		if !send(`{"content":"a piece of it "}`, "null") {
			return
		}
	}
	if send("{}", `"stop"`) {
		fmt.Fprint(w, `data: {"id":"c","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":10,"total_tokens":20}}`+"\n\ndata: [DONE]\n\n")
	}
}

// textOf returns the text of a message, whose content is a string or a list of parts.
func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &parts)
	for _, p := range parts {
		text += p.Text
	}
	return text
}
