// Package anthropic asks Claude, and servers that speak the same Messages API.
//
//	model, err := anthropic.New(anthropic.Config{}) // the key is in ANTHROPIC_API_KEY
//	reply, err := llm.Generate(ctx, model, &llm.Request{
//		Model:    "claude-sonnet-4-6",
//		Messages: llm.NewMessages(llm.UserText("What is Go?")),
//	})
//
// What a model does not accept is left out rather than refused, where leaving it out
// changes how the model answers and not what is answered: a temperature where the model
// thinks, thinking where a tool is forced. docs/providers.md has the list.
package anthropic
