package deferred_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/deferred"
)

// The model searches for a tool, and is offered it from then on.
func Example() {
	model := llmtest.NewScript(
		llmtest.Use(deferred.SearchTool, `{"query":"weather city"}`),
		llmtest.Use("get_weather", `{}`),
		llmtest.Say("Sunny."),
	).Record()
	answer := func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return "sunny", nil }
	rt, err := engine.New(engine.Config{
		Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{deferred.Name}, Sections: map[string]json.RawMessage{
			deferred.SectionName: json.RawMessage(`{"enabled": true}`),
		}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{"p": model},
		Plugins:   []awaken.Plugin{deferred.New()},
		Tools: []awaken.Tool{
			awaken.NewTool(awaken.ToolSpec{ID: "get_weather", Description: "The weather in a city"}, answer),
			awaken.NewTool(awaken.ToolSpec{ID: "get_news", Description: "The news of a day"}, answer),
		},
	})
	if err != nil {
		panic(err)
	}
	if _, err := rt.Run(context.Background(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("weather?")}}, nil); err != nil {
		panic(err)
	}
	for _, req := range model.Requests() {
		fmt.Println(req.Tools)
	}
	// Output:
	// [ToolSearch]
	// [ToolSearch get_weather]
	// [ToolSearch get_weather]
}
