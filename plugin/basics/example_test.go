package basics_test

import (
	"context"
	"fmt"
	"log"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/basics"
)

// An agent that may calculate.
func Example() {
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{basics.Name}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(llmtest.Use(basics.Calculate, `{"expression":"0.1 + 0.2"}`), llmtest.Say("It is 0.3."))},
		Plugins:   []awaken.Plugin{basics.New()},
	})
	if err != nil {
		log.Fatal(err)
	}
	for ev, err := range rt.Stream(context.Background(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("How much is 0.1 + 0.2?")}}) {
		if err != nil {
			log.Fatal(err)
		}
		if done, ok := ev.(*awaken.ToolCallDone); ok {
			fmt.Println(done.Result.Plain())
		}
	}
	// Output: {"result":"0.3","exact":true}
}
