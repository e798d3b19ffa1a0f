package handoff_test

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/handoff"
	"github.com/awaken-go/awaken/store/memory"
)

// The model hands the conversation to a variant of its agent, which keeps it.
func Example() {
	support := &awaken.AgentSpec{ID: "support", ModelID: "m", SystemPrompt: "You explain at length.", PluginIDs: []string{handoff.PluginID}}
	brief := "You answer in one line."
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{support},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(llmtest.Use("handoff_to_terse", `{}`), llmtest.Say("Yes."), llmtest.Say("No."))},
		Plugins:   []awaken.Plugin{handoff.New(map[string]awaken.Overlay{"terse": {SystemPrompt: &brief}})},
		Store:     memory.New(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"Be brief. Is it late?", "Is it dark?"} {
		res, err := rt.Run(context.Background(), awaken.RunRequest{AgentID: "support", ThreadID: "t", Messages: []*llm.Message{llm.UserText(text)}}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %s\n", res.AgentID, res.Response)
	}
	// Output:
	// support:terse: Yes.
	// support:terse: No.
}
