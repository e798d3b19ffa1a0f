package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

// A context policy makes every request fit. Here the provider says that a request is too
// large; the beginning of the conversation is summarised, and the model asked once more.
func ExampleContextPolicy() {
	story := strings.Repeat("and then ", 500)
	model := llmtest.NewScript(
		llmtest.Say(story),
		llmtest.Turn{Error: &llmtest.Failure{Kind: llm.ContextOverflow, Message: "prompt is too long"}},
		llmtest.Say("They went to sea."), // the summary
		llmtest.Say("They came home."),
	).Record()

	policy := awaken.DefaultContextPolicy()
	policy.AutocompactThreshold = new(100_000)
	policy.CompactionRawSuffixMessages = 1
	store := memory.New()
	rt, err := engine.New(engine.Config{
		Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m", ContextPolicy: &policy,
			Sections: map[string]json.RawMessage{"compaction": json.RawMessage(`{"summary_max_tokens": 500}`)}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "some-model", ContextWindow: 128_000}},
		Providers: map[string]llm.Model{"p": model},
		Store:     store,
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for _, text := range []string{"Tell me a story.", "How does it end?"} {
		if _, err := rt.Run(ctx, awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText(text)}}, nil); err != nil {
			log.Fatal(err)
		}
	}
	for _, m := range model.Requests()[3].Messages {
		fmt.Printf("%s: %s\n", m.Role, m.Text())
	}
	thread, err := store.Thread(ctx, "t")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(thread.MessageCount, "messages in the log")
	// Output:
	// system: <conversation-summary>
	// They went to sea.
	// </conversation-summary>
	// user: How does it end?
	// 5 messages in the log
}
