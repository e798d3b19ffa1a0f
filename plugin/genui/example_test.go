package genui_test

import (
	"context"
	"fmt"
	"log"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/genui"
)

// An agent draws a button. Its first attempt is wrong; it reads where, and corrects it.
func Example() {
	draw := func(root string) llmtest.Turn {
		return llmtest.Use(genui.RenderA2UI, `{"messages": [
			{"surfaceUpdate": {"surfaceId": "table", "components": [
				{"id": "book", "component": {"Button": {"child": "label", "action": {"name": "book"}}}},
				{"id": "label", "component": {"Text": {"text": {"literalString": "Book"}}}}]}},
			{"beginRendering": {"surfaceId": "table", "root": "`+root+`"}}]}`)
	}
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{genui.Name}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(draw("form"), draw("book"), llmtest.Say("Please book."))},
		Plugins:   []awaken.Plugin{genui.New()},
	})
	if err != nil {
		log.Fatal(err)
	}
	for ev, err := range rt.Stream(context.Background(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("A table, please.")}}) {
		if err != nil {
			log.Fatal(err)
		}
		if done, ok := ev.(*awaken.ToolCallDone); ok {
			fmt.Println(done.Result.Plain())
		}
	}
	// Output:
	// [invalid_arguments] /messages/1/beginRendering/root: is "form", which surface "table" does not have, want one of its components: book, label
	// {"rendered":true,"count":2}
}

// A program in OpenUI Lang is checked without a run.
func ExampleParseOpenUI() {
	_, err := genui.ParseOpenUI("root = Card([title, total])\ntitle = CardHeader(\"Bill\")", genui.Limits{Components: 100, Depth: 10, Bytes: 10_000})
	fmt.Println(err)
	// Output: 1:21: total is not defined, want one of root, title
}
