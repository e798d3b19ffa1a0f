package memory_test

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/memory"
	memstore "github.com/awaken-go/awaken/store/memory"
)

// What an agent saves about a user can be exported and erased.
func Example() {
	ctx := context.Background()
	values := memstore.NewProfile()
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{memory.Name}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(llmtest.Use("memory_save", `{"text":"Likes tea."}`), llmtest.Say("Noted."))},
		Plugins:   []awaken.Plugin{memory.New()},
		Profile:   values,
	})
	if err != nil {
		panic(err)
	}
	if _, err := rt.Run(ctx, awaken.RunRequest{UserID: "alice", Messages: []*llm.Message{llm.UserText("I like tea.")}}, nil); err != nil {
		panic(err)
	}
	all, err := memory.Export(ctx, values, "alice")
	if err != nil {
		panic(err)
	}
	fmt.Println(all[0].Text)
	if err := memory.Erase(ctx, values, "alice"); err != nil {
		panic(err)
	}
	all, err = memory.Export(ctx, values, "alice")
	fmt.Println(len(all), err)
	// Output:
	// Likes tea.
	// 0 <nil>
}
