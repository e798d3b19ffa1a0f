// Package gemini is the adapter for Gemini: the Gemini API with a key, or Vertex AI with a service
// account.
//
//	model, err := gemini.New(gemini.Config{}) // key from GEMINI_API_KEY
//	reply, err := llm.Generate(ctx, model, &llm.Request{
//		Model:    "gemini-2.5-flash",
//		Messages: llm.NewMessages(llm.UserText("What is Go?")),
//	})
//
// Thought signatures are stored with the calls and texts they came with, and are sent back only to
// the model they came from.
package gemini
