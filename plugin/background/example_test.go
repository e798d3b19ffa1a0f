package background_test

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/background"
	"github.com/awaken-go/awaken/store/memory"
)

// The model starts a tool in the background and waits for it later.
func Example() {
	index := awaken.NewTool(awaken.ToolSpec{ID: "index", Effect: awaken.Idempotent}, func(_ context.Context, _ *awaken.ToolCall, in struct {
		Path string `json:"path"`
	}) (string, error) {
		return "indexed " + in.Path, nil
	})
	rt, err := engine.New(engine.Config{
		Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{background.PluginID}}},
		Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(
			llmtest.Use("spawn_task", `{"name": "index", "tool": "index", "arguments": {"path": "/docs"}}`),
			llmtest.Use("await_task", `{"task": "index"}`),
			llmtest.Say("The index is ready."))},
		Tools:   []awaken.Tool{index},
		Plugins: []awaken.Plugin{background.New()},
		Store:   memory.New(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	res, err := rt.Run(ctx, awaken.RunRequest{Messages: []*llm.Message{llm.UserText("Index my documents.")}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := rt.Settle(ctx); err != nil { // the task, and the parent that it wakes
		fmt.Println(err)
		return
	}
	run, err := rt.Store().LoadRun(ctx, res.RunID)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.Status, run.FinalOutput)
	// Output:
	// done The index is ready.
}
