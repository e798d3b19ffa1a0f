package engine_test

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// An answer that is a Go value. The model of this example cannot be held to a schema, so it
// gives its answer by calling a tool; its first try does not fit.
func ExampleOutput() {
	type Invoice struct {
		Customer string  `json:"customer" jsonschema:"who has to pay"`
		Total    float64 `json:"total"`
	}
	var invoice engine.Output[Invoice]

	model := llmtest.NewScript(
		llmtest.Turn{ToolCalls: []llmtest.Call{{Name: awaken.FinalOutputTool, Arguments: []byte(`{"customer":"Ada"}`)}}},
		llmtest.Turn{ToolCalls: []llmtest.Call{{Name: awaken.FinalOutputTool, Arguments: []byte(`{"customer":"Ada","total":12.5}`)}}},
	)
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": model},
	})
	if err != nil {
		panic(err)
	}
	res, err := rt.Run(context.Background(), awaken.RunRequest{
		Messages:     []*llm.Message{llm.UserText("Ada bought 5 apples for 2.50 each.")},
		OutputSchema: invoice.Schema(),
	}, nil)
	if err != nil {
		panic(err)
	}
	in, err := invoice.Decode(res)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s pays %.2f after %d steps\n", in.Customer, in.Total, res.Steps)
	// Output: Ada pays 12.50 after 2 steps
}
