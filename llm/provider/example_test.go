package provider_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/openai"
	"github.com/awaken-go/awaken/llm/provider"
)

// A test calls a real model once and plays the cassette back from then on: without a network,
// without a key, and with the same reply in the same pieces.
func ExampleRecorder() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, s := range []string{`{"delta":{"content":"Hello "}}`, `{"delta":{"content":"you."}}`, `{"delta":{},"finish_reason":"stop"}`} {
			_, _ = io.WriteString(w, `data: {"choices":[`+s+"]}\n\n")
		}
	}))
	dir, err := os.MkdirTemp("", "cassette")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "hello.jsonl")
	ask := func(key string, through http.RoundTripper) {
		model, err := openai.New(openai.Config{Config: provider.Config{APIKey: key, BaseURL: server.URL, HTTPClient: &http.Client{Transport: through}}})
		if err != nil {
			panic(err)
		}
		reply, err := llm.Generate(context.Background(), model, &llm.Request{Model: "some-model", Messages: llm.NewMessages(llm.UserText("Hello"))})
		if err != nil {
			panic(err)
		}
		fmt.Println(reply.Message.Text())
	}

	recorder := &provider.Recorder{File: file}
	ask("a-real-key", recorder)
	if err := recorder.Close(); err != nil {
		panic(err)
	}
	server.Close() // from here on there is no server

	player, err := provider.OpenPlayer(file)
	if err != nil {
		panic(err)
	}
	ask("none", player)
	fmt.Println(player.Left(), "exchanges are left")
	// Output:
	// Hello you.
	// Hello you.
	// 0 exchanges are left
}
