package observe_test

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/observe"
)

// What an agent did, by model and by tool.
func Example() {
	memory := observe.NewMemory()
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{observe.Name}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "gpt-4o-mini"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(llmtest.Use("weather", `{}`), llmtest.Say("Sunny."))},
		Tools:     []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "weather"}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return "sun", nil })},
		Plugins:   []awaken.Plugin{observe.New(observe.Options{Sinks: []observe.Sink{memory}})},
	})
	if err != nil {
		panic(err)
	}
	if _, err := rt.Run(context.Background(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("How is the weather?")}}, nil); err != nil {
		panic(err)
	}
	m := memory.Metrics()
	for _, s := range m.ByModel() {
		fmt.Printf("%s: %d requests, %d failures\n", s.Model, s.Inferences, s.Failures)
	}
	for _, s := range m.ByTool() {
		fmt.Printf("%s: %d calls, %d failures\n", s.Tool, s.Calls, s.Failures)
	}
	// Output:
	// gpt-4o-mini: 2 requests, 0 failures
	// weather: 1 calls, 0 failures
}
