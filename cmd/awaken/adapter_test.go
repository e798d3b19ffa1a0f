package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
)

// startOpenAI starts a server that speaks Chat Completions and wants the key sk-test. It
// answers with the name of the model and what the user said. When the user says break, the
// connection is lost after the name.
func startOpenAI() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-test" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`)
			return
		}
		var q struct {
			Model    string
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || !strings.HasSuffix(r.URL.Path, "/v1/chat/completions") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		said := q.Messages[len(q.Messages)-1].Content
		for i, s := range []string{q.Model, " heard: ", said} {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", s)
			_ = http.NewResponseController(w).Flush()
			if i == 0 && said == "break" {
				panic(http.ErrAbortHandler)
			}
		}
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
}

// startAnthropic starts a server that speaks the Messages API and wants the key
// sk-ant-test. It answers like startOpenAI.
func startAnthropic() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "sk-ant-test" && r.Header.Get("Authorization") != "Bearer sk-ant-test" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
			return
		}
		var q struct {
			Model    string
			Messages []struct{ Content []struct{ Text string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || !strings.HasSuffix(r.URL.Path, "/v1/messages") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		last := q.Messages[len(q.Messages)-1].Content
		event := func(kind, data string) { fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, data) }
		event("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":3,"output_tokens":1}}`)
		event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
		for _, s := range []string{q.Model, " heard: ", last[len(last)-1].Text} {
			event("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":"text_delta","text":%q}`, s))
		}
		event("content_block_stop", `,"index":0`)
		event("message_delta", `,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}`)
		event("message_stop", "")
	}))
}

// startOllama starts a server that speaks /api/chat, wants no key, and answers like startOpenAI,
// with how long the model stays loaded and how large its context is.
func startOllama() *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"models":[{"model":"qwen-test:latest"}]}`)
	})
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"model_info":{"qwen.context_length":40960},"capabilities":["completion"]}`)
	})
	mux.HandleFunc("POST /api/chat", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model     string
			KeepAlive string `json:"keep_alive"`
			Options   struct {
				NumCtx int `json:"num_ctx"`
			}
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		for _, s := range []string{q.Model, " heard: ", q.Messages[len(q.Messages)-1].Content, fmt.Sprint(" ", q.KeepAlive, " ", q.Options.NumCtx)} {
			fmt.Fprintf(w, "{\"message\":{\"role\":\"assistant\",\"content\":%q},\"done\":false}\n", s)
		}
		_, _ = io.WriteString(w, `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}`)
	})
	return httptest.NewServer(mux)
}
