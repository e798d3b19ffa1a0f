package engine_test

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

// A run whose budget is used up waits. When there is more money it continues where it stopped.
func ExampleSetBudget() {
	ctx := context.Background()
	store := memory.New()
	answer := llmtest.Say("Forty-two.")
	answer.Usage = &llm.Usage{PromptTokens: 800, CompletionTokens: 200}
	limit := 0.0
	in, out := 1.25, 10.0
	rt, err := engine.New(engine.Config{
		Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m", Budget: &awaken.AgentBudget{Agent: &limit}}},
		Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted", MaxOutputTokens: 4000,
			Prices: awaken.Prices{InputPrice: &in, OutputPrice: &out}}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(answer)},
		Store:     store,
	})
	if err != nil {
		panic(err)
	}
	res, err := rt.Run(ctx, awaken.RunRequest{Messages: []*llm.Message{llm.UserText("What is the answer?")}}, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(res.Status, res.Waiting.Reason, res.Waiting.Budget.Account)

	account := res.Waiting.Budget.Account
	if err := money.SetBudget(ctx, store, account, new(5*money.Dollar)); err != nil {
		panic(err)
	}
	if res, err = rt.Run(ctx, awaken.RunRequest{Continue: res.RunID}, nil); err != nil {
		panic(err)
	}
	fmt.Println(res.Status, res.Response, res.CostUSD)
	// Output:
	// waiting budget_exhausted agent default
	// done Forty-two. 0.003
}
