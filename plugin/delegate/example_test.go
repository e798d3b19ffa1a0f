package delegate_test

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/delegate"
	"github.com/awaken-go/awaken/store/memory"
)

// A delegate asks a person, who answers on the parent's run.
func Example() {
	publish := awaken.NewTool(awaken.ToolSpec{ID: "publish"}, func(_ context.Context, call *awaken.ToolCall, _ struct{}) (string, error) {
		if call.Resume == nil {
			return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Message: "Publish this?"}})
		}
		return "published", nil
	})
	rt, err := engine.New(engine.Config{
		Agents: []*awaken.AgentSpec{
			{ID: "editor", ModelID: "editor", Delegates: []string{"writer"}},
			{ID: "writer", ModelID: "writer", Description: "Writes and publishes."},
		},
		Models: []awaken.ModelSpec{{ID: "editor", ProviderID: "editor", UpstreamModel: "x"}, {ID: "writer", ProviderID: "writer", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{
			"editor": llmtest.NewScript(llmtest.Use("agent_run_writer", `{"prompt": "Write about bees."}`), llmtest.Say("It is out.")),
			"writer": llmtest.NewScript(llmtest.Use("publish", `{}`), llmtest.Say("Bees buzz.")),
		},
		Tools:   []awaken.Tool{publish},
		Plugins: []awaken.Plugin{delegate.New(delegate.Options{})},
		Store:   memory.New(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	res, err := rt.Run(ctx, awaken.RunRequest{AgentID: "editor", Messages: []*llm.Message{llm.UserText("Something about bees, please.")}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ticket := res.Waiting.Tickets[0]
	fmt.Printf("%s asks: %s\n", ticket.AgentID, ticket.Reason)
	if res, err = rt.Resume(ctx, res.RunID, nil, ticket.Approve()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Response)
	// Output:
	// writer asks: Publish this?
	// It is out.
}
