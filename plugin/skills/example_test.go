package skills_test

import (
	"context"
	"fmt"
	"strings"
	"testing/fstest"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/skills"
)

// The model loads a skill, and follows its instructions from the next step on.
func Example() {
	files := fstest.MapFS{"haiku/SKILL.md": {Data: []byte("---\nname: haiku\ndescription: Answers in a haiku.\narguments: topic\n---\nWrite a haiku about ${topic}.\n")}}
	lib, err := skills.Open(skills.FS(files)) // or skills.Folder("skills")
	if err != nil {
		panic(err)
	}
	plugins, err := skills.New(skills.Options{Library: lib})
	if err != nil {
		panic(err)
	}
	model := llmtest.NewScript(llmtest.Use("skill", `{"skill":"haiku","args":"rain"}`), llmtest.Say("…")).Record()
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{skills.DiscoveryID, skills.InstructionsID}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{"p": model},
		Plugins:   plugins,
	})
	if err != nil {
		panic(err)
	}
	if _, err := rt.Run(context.Background(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("Tell me about rain.")}}, nil); err != nil {
		panic(err)
	}
	for _, req := range model.Requests() {
		fmt.Println(strings.Contains(req.System, "Answers in a haiku."), strings.Contains(req.System, "Write a haiku about rain."))
	}
	// Output:
	// true false
	// true true
}
