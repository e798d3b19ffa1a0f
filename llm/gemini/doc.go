// Package gemini asks Gemini: at the Gemini API with a key, or at Vertex AI with a service
// account.
//
//	model, err := gemini.New(gemini.Config{}) // the key is in GEMINI_API_KEY
//	reply, err := llm.Generate(ctx, model, &llm.Request{
//		Model:    "gemini-2.5-flash",
//		Messages: llm.NewMessages(llm.UserText("What is Go?")),
//	})
//
// Thought signatures are kept with the calls and texts they came with, and are sent back
// to the model they came from.
package gemini
