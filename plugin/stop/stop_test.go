package stop_test

import (
	"context"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/stop"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
)

// frugal stops after a number of output tokens.
type frugal int64

func (frugal) ID() string { return "frugal" }

func (f frugal) Evaluate(s *awaken.StopStats) *awaken.StopDecision {
	if s.OutputTokens >= int64(f) {
		return &awaken.StopDecision{Code: "frugal", Detail: "said enough"}
	}
	return nil
}

func run(t *testing.T, p awaken.Plugin) *awaken.RunResult {
	t.Helper()
	turn := llmtest.Use("echo", `{}`)
	turn.Usage = &llm.Usage{PromptTokens: 1, CompletionTokens: 10}
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{p.Name()}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(turn).Loop()},
		Plugins:   []awaken.Plugin{p},
		Tools: []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "echo"},
			func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return "echo", nil })},
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := rt.Run(t.Context(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("go")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestNew_StopsWithTheCodeAndDetailOfThePolicy(t *testing.T) {
	res := run(t, stop.New("frugal", frugal(30)))
	want := awaken.Termination{Type: awaken.Stopped, Code: "frugal", Detail: "said enough"}
	if res.Termination != want || res.Steps != 3 {
		t.Fatalf("got %v after %d steps, want %v after 3", res.Termination, res.Steps, want)
	}
}

func TestConditions_AddsConditionsToTheAgentsOwn(t *testing.T) {
	p, err := stop.Conditions("house", awaken.StopCondition{Type: "token_budget", Limit: 25})
	if err != nil {
		t.Fatal(err)
	}
	if res := run(t, p); res.Termination.Code != "token_budget" || res.Steps != 3 {
		t.Fatalf("got %v after %d steps, want token_budget after 3", res.Termination, res.Steps)
	}
}

// A cost budget needs prices; without them the registry warns that it has no effect.
func TestConditions_CostNeedsPrices(t *testing.T) {
	price := 1.0
	for _, m := range []awaken.ModelSpec{
		{ID: "m", ProviderID: "p", UpstreamModel: "x"},
		{ID: "m", ProviderID: "p", UpstreamModel: "x", Prices: awaken.Prices{InputPrice: &price, OutputPrice: &price}},
	} {
		reg, err := registry.New(registry.Config{Builtin: builtin.For,
			Agents:    []*awaken.AgentSpec{{ID: "a", ModelID: "m", StopConditions: []awaken.StopCondition{{Type: "cost_budget", MaxUSD: 1}}}},
			Models:    []awaken.ModelSpec{m},
			Providers: map[string]llm.Model{"p": llmtest.NewScript()},
		})
		if err != nil {
			t.Fatal(err)
		}
		warned := false
		for _, d := range reg.Diagnostics() {
			warned = warned || d.Code == "cost_without_prices"
		}
		if warned == (m.InputPrice != nil) {
			t.Errorf("with prices %v: warned is %v", m.InputPrice != nil, warned)
		}
	}
}

func TestConditions_ReportsEveryMistake(t *testing.T) {
	_, err := stop.Conditions("house", awaken.StopCondition{Type: "rounds"}, awaken.StopCondition{Type: "timeout", Limit: -1})
	if err == nil || !strings.Contains(err.Error(), `type is "rounds"`) || !strings.Contains(err.Error(), "seconds is -1") {
		t.Fatalf("got %v, want both mistakes", err)
	}
}
