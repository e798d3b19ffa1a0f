package reminder_test

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/reminder"
)

// After an edit of a TOML file the model is told to check it.
func Example() {
	model := llmtest.NewScript(llmtest.Use("Edit", `{"file_path":"Cargo.toml"}`), llmtest.Say("Edited.")).Record()
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{reminder.Name}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{"p": model},
		Tools: []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "Edit"}, func(_ context.Context, _ *awaken.ToolCall, in struct {
			FilePath string `json:"file_path"`
		}) (string, error) {
			return "ok", nil
		})},
		Plugins: []awaken.Plugin{reminder.New(reminder.Config{Rules: []reminder.Rule{{
			Tool:    "Edit(file_path ~ '*.toml')",
			Output:  reminder.Output{Status: reminder.Success},
			Message: reminder.Message{Target: reminder.SuffixSystem, Content: "Run cargo check."},
		}}})},
	})
	if err != nil {
		panic(err)
	}
	if _, err := rt.Run(context.Background(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("go")}}, nil); err != nil {
		panic(err)
	}
	last := model.Requests()[1].Messages
	fmt.Println(last[len(last)-1].Text())
	// Output: Run cargo check.
}
