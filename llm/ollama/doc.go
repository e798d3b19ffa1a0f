// Package ollama asks models that Ollama runs, in its own language (/api/chat): thinking,
// tools, images, schemas, and how long a model stays loaded.
//
//	model, err := ollama.New(ollama.Config{})
//	reply, err := llm.Generate(ctx, model, &llm.Request{Model: "qwen3", Messages: llm.NewMessages(llm.UserText("Hello"))})
//
// The server is that of OLLAMA_HOST, or the one on this machine. It needs no key; ollama.com
// does (OLLAMA_API_KEY).
package ollama
