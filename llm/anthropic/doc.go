// Package anthropic is the adapter for Claude, and for servers with the same Messages API.
//
//	model, err := anthropic.New(anthropic.Config{}) // key from ANTHROPIC_API_KEY
//	reply, err := llm.Generate(ctx, model, &llm.Request{
//		Model:    "claude-sonnet-4-6",
//		Messages: llm.NewMessages(llm.UserText("What is Go?")),
//	})
//
// The adapter drops parameters that a model does not accept instead of failing, as long as the
// reply can still be correct: a temperature for a model that thinks, thinking if a tool is
// forced. docs/providers.md lists them.
package anthropic
