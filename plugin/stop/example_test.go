package stop_test

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/stop"
)

// chatty stops a run whose answers come to more than a number of tokens.
type chatty int64

func (chatty) ID() string { return "chatty" }

func (max chatty) Evaluate(s *awaken.StopStats) *awaken.StopDecision {
	if s.OutputTokens > int64(max) {
		return &awaken.StopDecision{Code: "chatty", Detail: fmt.Sprintf("%d tokens", s.OutputTokens)}
	}
	return nil
}

// A policy of your own, beside conditions that several agents share.
func Example() {
	house, err := stop.Conditions("house-rules", awaken.StopCondition{Type: "cost_budget", MaxUSD: 1.50})
	if err != nil {
		panic(err)
	}
	turn := llmtest.Use("look", `{}`)
	turn.Usage = &llm.Usage{PromptTokens: 100, CompletionTokens: 40}
	price := 1.0
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{"house-rules", "chatty"}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x", Prices: awaken.Prices{InputPrice: &price, OutputPrice: &price}}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(turn).Loop()},
		Plugins:   []awaken.Plugin{house, stop.New("chatty", chatty(100))},
		Tools: []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "look"},
			func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return "nothing", nil })},
	})
	if err != nil {
		panic(err)
	}
	res, err := rt.Run(context.Background(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("go")}}, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(res.Termination)
	// Output: stopped: chatty (120 tokens)
}
