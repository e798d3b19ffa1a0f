package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// A first answer, from the scripted model that needs no key.
func ExampleNewAgent() {
	rt, err := engine.NewAgent(llmtest.Demo(), "scripted", awaken.AgentSpec{SystemPrompt: "You are terse."})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := rt.Text(context.Background(), "hello")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
	// Output: Scripted response to: hello
}

// A first agent, on the scripted model that needs no key.
func Example() {
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "chat", SystemPrompt: "You are terse."}},
		Models:    []awaken.ModelSpec{{ID: "chat", ProviderID: "demo", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"demo": llmtest.Demo()},
	})
	if err != nil {
		log.Fatal(err)
	}
	req := awaken.RunRequest{Messages: []*llm.Message{llm.UserText("hello")}}
	for ev, err := range rt.Stream(context.Background(), req) {
		if err != nil {
			log.Fatal(err)
		}
		if d, ok := ev.(*awaken.TextDelta); ok {
			fmt.Print(d.Delta)
		}
	}
	// Output: Scripted response to: hello
}
