package rigtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Chat is what a provider that speaks Chat Completions is asked.
type Chat struct {
	// Said is the text of the last user message.
	Said string
	// Called reports whether the result of a call came after it.
	Called bool
}

// ReadChat reads a request for Chat Completions.
func ReadChat(r *http.Request) (*Chat, error) {
	var req struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		return nil, fmt.Errorf("%s is not the path of Chat Completions", r.URL.Path)
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		return nil, err
	}
	if len(req.Messages) == 0 {
		return nil, errors.New("the request has no messages")
	}
	c := &Chat{}
	for _, m := range req.Messages {
		switch m.Role {
		case "user":
			c.Said, c.Called = textOf(m.Content), false
		case "tool":
			c.Called = true
		}
	}
	return c, nil
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

// Reply is the stream of a reply to a request for Chat Completions. Each piece is sent at once; the first error stays.
type Reply struct {
	w   http.ResponseWriter
	err error
}

// NewReply begins a reply.
func NewReply(w http.ResponseWriter) *Reply {
	w.Header().Set("Content-Type", "text/event-stream")
	return &Reply{w: w}
}

// chunk sends a piece.
func (r *Reply) chunk(delta map[string]any, finish any) bool {
	choice := map[string]any{"index": 0, "delta": delta, "finish_reason": finish}
	return r.send(map[string]any{"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": []any{choice}})
}

func (r *Reply) send(frame any) bool {
	data, err := json.Marshal(frame)
	if r.err == nil {
		r.err = err
	}
	if r.err == nil {
		_, r.err = fmt.Fprintf(r.w, "data: %s\n\n", data)
	}
	if r.err == nil {
		r.err = http.NewResponseController(r.w).Flush()
	}
	return r.err == nil
}

// Text sends a piece of text, and reports whether the reader is there.
func (r *Reply) Text(text string) bool {
	return r.chunk(map[string]any{"role": "assistant", "content": text}, nil)
}

// Call ends the reply with a call of a tool.
func (r *Reply) Call(tool, arguments string) {
	call := map[string]any{"index": 0, "id": "call", "type": "function", "function": map[string]any{"name": tool, "arguments": arguments}}
	_ = r.chunk(map[string]any{"tool_calls": []any{call}}, nil)
	r.end("tool_calls")
}

// End ends the reply.
func (r *Reply) End() { r.end("stop") }

func (r *Reply) end(finish string) {
	usage := map[string]int{"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
	if r.chunk(map[string]any{}, finish) && r.send(map[string]any{"id": "c", "choices": []any{}, "usage": usage}) {
		_, r.err = fmt.Fprint(r.w, "data: [DONE]\n\n")
	}
}
