package permission_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/store/memory"
)

// An agent that may list files, must not delete any, and asks about everything else. The
// person approves, and for the whole thread.
func Example() {
	bash := awaken.NewTool(awaken.ToolSpec{ID: "Bash"}, func(_ context.Context, _ *awaken.ToolCall, in struct {
		Command string `json:"command"`
	}) (string, error) {
		fmt.Println("$", in.Command)
		return "done", nil
	})
	model := llmtest.NewScript(
		llmtest.Use("Bash", `{"command":"ls"}`),
		llmtest.Use("Bash", `{"command":"rm -rf /"}`),
		llmtest.Use("Bash", `{"command":"npm test"}`),
		llmtest.Use("Bash", `{"command":"npm run build"}`),
		llmtest.Say("Built."),
	)
	rt, err := engine.New(engine.Config{
		Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{permission.Name}, Sections: map[string]json.RawMessage{
			permission.Name: json.RawMessage(`{"rules": [
				{"tool": "Bash(command = 'ls')", "behavior": "allow"},
				{"tool": "Bash(rm *)",           "behavior": "deny"},
				{"tool": "Bash(npm *)",          "behavior": "ask"}]}`),
		}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{"p": model},
		Tools:     []awaken.Tool{bash},
		Plugins:   []awaken.Plugin{permission.New(permission.Config{})},
		Store:     memory.New(),
	})
	if err != nil {
		panic(err)
	}
	res, err := rt.Run(context.Background(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("build it")}}, nil)
	if err != nil {
		panic(err)
	}
	ticket := res.Waiting.Tickets[0]
	fmt.Println(ticket.Reason, string(ticket.Arguments))
	res, err = rt.Resume(context.Background(), res.RunID, nil, ticket.Answer(json.RawMessage(`{"remember": "thread"}`)))
	if err != nil {
		panic(err)
	}
	fmt.Println(res.Response)
	// Output:
	// $ ls
	// Tool 'Bash' needs your approval {"command":"npm test"}
	// $ npm test
	// $ npm run build
	// Built.
}
