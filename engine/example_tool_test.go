package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

type cityArgs struct {
	City string `json:"city" jsonschema:"name of the city"`
}

type weather struct {
	Celsius int `json:"celsius"`
}

// A first tool. The model is a script here: it asks for the tool, then for the same
// tool with wrong arguments, and then answers.
func ExampleNewTool() {
	tool := awaken.NewTool(awaken.ToolSpec{
		ID:          "get_weather",
		Description: "Tells the weather in a city.",
		Effect:      awaken.ReadOnly,
	}, func(_ context.Context, _ *awaken.ToolCall, in cityArgs) (weather, error) {
		if in.City != "Paris" {
			return weather{}, errors.New("unknown city") // shown to the model
		}
		return weather{Celsius: 21}, nil
	})
	model := llmtest.NewScript(
		llmtest.Use("get_weather", `{"city":"Paris"}`),
		llmtest.Use("get_weather", `{"town":"Paris"}`),
		llmtest.Say("It is 21 degrees."),
	)
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "chat"}},
		Models:    []awaken.ModelSpec{{ID: "chat", ProviderID: "demo", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"demo": model},
		Tools:     []awaken.Tool{tool},
	})
	if err != nil {
		log.Fatal(err)
	}
	req := awaken.RunRequest{Messages: []*llm.Message{llm.UserText("How warm is it in Paris?")}}
	for ev, err := range rt.Stream(context.Background(), req) {
		if err != nil {
			log.Fatal(err)
		}
		switch ev := ev.(type) {
		case *awaken.ToolCallDone:
			if ev.Outcome == awaken.CallSucceeded {
				fmt.Println("succeeded:", string(ev.Result.Data))
			} else {
				fmt.Println("failed:", ev.Result.Message)
			}
		case *awaken.TextDelta:
			fmt.Println(ev.Delta)
		}
	}
	// Output:
	// succeeded: {"celsius":21}
	// failed: [invalid_arguments] arguments of tool "get_weather" do not fit: /: missing "city"; /: unknown field "town"
	// It is 21 degrees.
}
