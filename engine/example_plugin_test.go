package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/state"
)

// CallLimit is the configuration of the plugin below: a section of the agent's spec.
type CallLimit struct {
	Max int `json:"max" jsonschema:"how many tool calls a run may make"`
}

var (
	callLimit = awaken.NewSection("call_limit", CallLimit{Max: 50})
	callCount = state.NewKey("call_limit.count", func(n, d int) int { return n + d }, state.Options{Merge: state.Commutative})
	overLimit = awaken.NewEffect[int]("call_limit.exceeded")
)

// limiter ends runs that call too many tools.
type limiter struct{}

func (limiter) Name() string { return "call_limit" }

func (limiter) Register(r *awaken.Registrar) error {
	r.Section(callLimit)
	r.Key(callCount)
	r.On(awaken.PhaseAfterToolExecute, limiter{}.count)
	r.On(awaken.PhaseStepEnd, limiter{}.check)
	r.HandleEffect(overLimit.Handler(limiter{}.audit))
	return nil
}

// Hooks read, decide and record. They do nothing else.
func (limiter) count(_ context.Context, h *awaken.HookCall) error {
	callCount.Update(h, 1)
	return nil
}

func (limiter) check(_ context.Context, h *awaken.HookCall) error {
	cfg, err := callLimit.Read(h.Agent)
	if err != nil {
		return err
	}
	if n := callCount.Get(h); n > cfg.Max {
		overLimit.Emit(h, n)
		h.End()
	}
	return nil
}

// Effects act outside the run, after the commit that asked for them.
func (limiter) audit(_ context.Context, h *awaken.HookCall, n int) error {
	fmt.Printf("run of %s made %d calls\n", h.Run.AgentID, n)
	return nil
}

// A plugin with configuration, state, hooks and an effect.
func Example_plugin() {
	echo := awaken.NewTool(awaken.ToolSpec{ID: "echo", Effect: awaken.ReadOnly},
		func(_ context.Context, _ *awaken.ToolCall, in struct{}) (string, error) { return "echo", nil })
	rt, err := engine.New(engine.Config{
		Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "chat", PluginIDs: []string{"call_limit"},
			Sections: map[string]json.RawMessage{"call_limit": json.RawMessage(`{"max": 2}`)}}},
		Models:    []awaken.ModelSpec{{ID: "chat", ProviderID: "demo", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"demo": llmtest.NewScript(llmtest.Use("echo", `{}`)).Loop()},
		Tools:     []awaken.Tool{echo},
		Plugins:   []awaken.Plugin{limiter{}},
	})
	if err != nil {
		log.Fatal(err)
	}
	res, err := rt.Run(context.Background(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("go")}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Termination, "after", res.Steps, "steps")
	// Output:
	// run of default made 3 calls
	// behavior_requested after 3 steps
}
