package aisdk_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/store/memory"
)

// A server for pages that use the AI SDK.
func ExampleRoutes() {
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": llmtest.Demo()},
	})
	if err != nil {
		log.Fatal(err)
	}
	box, err := mailbox.New(mailbox.Config{Queue: memory.NewDB()}, rt.With)
	if err != nil {
		log.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: box, Routes: aisdk.Routes()})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _ = box.Work(ctx) }() // srv.Run does both
	ts := httptest.NewServer(srv.Handler())
	defer ts.Close()

	resp, err := http.Post(ts.URL+"/v1/ai-sdk/chat", "application/json",
		strings.NewReader(`{"id":"my-chat","messages":[{"id":"1","role":"user","parts":[{"type":"text","text":"hello"}]}]}`))
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var chunk struct{ Type, Delta string }
		if json.Unmarshal([]byte(data), &chunk) != nil {
			fmt.Println(data)
		} else if !strings.HasPrefix(chunk.Type, "data-") {
			fmt.Println(strings.TrimSpace(chunk.Type + " " + chunk.Delta))
		}
	}
	// Output:
	// start
	// start-step
	// text-start
	// text-delta Scripted response
	// text-delta to: hello
	// text-end
	// finish-step
	// finish
	// [DONE]
}
