package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/store/memory"
)

// visits belongs to the thread, and any number of writers may add to it at once.
var visits = state.NewKey("example.visits", func(n, d int) int { return n + d },
	state.Options{Scope: state.Thread, Merge: state.Commutative})

// visitsPlugin owns the key. Keys are registered by plugins, so that an agent has
// the state of the plugins it loads.
type visitsPlugin struct{}

func (visitsPlugin) Name() string { return "visits" }

func (visitsPlugin) Register(r *awaken.Registrar) error {
	r.Key(visits)
	r.Tool(awaken.NewTool(awaken.ToolSpec{ID: "visit"},
		func(_ context.Context, call *awaken.ToolCall, _ struct{}) (string, error) {
			visits.Update(call, 1) // committed with the result
			return fmt.Sprintf("visit number %d", visits.Get(call)+1), nil
		}))
	return nil
}

// State that lives as long as the thread.
func Example_state() {
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "chat", PluginIDs: []string{"visits"}}},
		Models:    []awaken.ModelSpec{{ID: "chat", ProviderID: "demo", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"demo": llmtest.NewScript(llmtest.Use("visit", `{}`), llmtest.Say("welcome")).Loop()},
		Plugins:   []awaken.Plugin{visitsPlugin{}},
		Store:     memory.New(),
	})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		req := awaken.RunRequest{ThreadID: "guest", Messages: []*llm.Message{llm.UserText("hello")}}
		for ev, err := range rt.Stream(context.Background(), req) {
			if err != nil {
				log.Fatal(err)
			}
			if done, ok := ev.(*awaken.ToolCallDone); ok {
				fmt.Println(string(done.Result.Data))
			}
		}
	}
	// Output:
	// "visit number 1"
	// "visit number 2"
}
