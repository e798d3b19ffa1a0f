// Command embed shows how to add agents to an HTTP program: it has its own tool and page, and
// serves the agents under /agents.
//
//	go run ./examples/embed
//	curl -N http://127.0.0.1:8080/agents/v1/runs -H 'Content-Type: application/json' \
//	  -d '{"agent_id":"greeter","messages":[{"role":"user","content":"RUN_TOOL greet {\"name\":\"Ada\"}"}]}'
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/store/memory"
)

func greet(_ context.Context, _ *awaken.ToolCall, in struct {
	Name string `json:"name"`
}) (string, error) {
	return "Hello, " + in.Name + "!", nil
}

// newApp returns the program's handler, and the mailbox whose runs it works on.
func newApp() (http.Handler, *mailbox.Mailbox, error) {
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "greeter", ModelID: "chat", SystemPrompt: "You greet people."}},
		Models:    []awaken.ModelSpec{{ID: "chat", ProviderID: "demo", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"demo": llmtest.Demo()}, // any llm.Model
		Tools:     []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "greet", Effect: awaken.ReadOnly}, greet)},
	})
	if err != nil {
		return nil, nil, err
	}
	box, err := mailbox.New(mailbox.Config{Queue: memory.NewDB()}, rt.With)
	if err != nil {
		return nil, nil, err
	}
	srv, err := server.New(server.Config{Mailbox: box, Wings: []server.Wing{runs.New(runs.Config{})}})
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "My own page.") })
	mux.Handle("/agents/", http.StripPrefix("/agents", srv.Handler()))
	return mux, box, nil
}

func main() {
	app, box, err := newApp()
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(box.Work(context.Background())) }()
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", app))
}
