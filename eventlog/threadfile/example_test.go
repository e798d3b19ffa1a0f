package threadfile_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eventlog/threadfile"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

// A conversation moves from one store to another.
func Example() {
	ctx := context.Background()
	here, there := memory.New(), memory.New()
	rt, err := engine.New(engine.Config{Store: here, Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "u"}},
		Providers: map[string]llm.Model{"p": llmtest.Demo()}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := rt.Run(ctx, awaken.RunRequest{ThreadID: "t1", Messages: []*llm.Message{llm.UserText("hello")}}, nil); err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := threadfile.Export(ctx, here, "t1", &file); err != nil {
		log.Fatal(err)
	}
	t, err := threadfile.Import(ctx, there, &file, "t2")
	if err != nil {
		log.Fatal(err)
	}
	records, err := there.Messages(ctx, t.ID, awaken.MessageQuery{})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range records {
		fmt.Println(r.Message.Role, r.Message.Text())
	}
	// Output:
	// user hello
	// assistant Scripted response to: hello
}
