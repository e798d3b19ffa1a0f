// Package ollama is the adapter for Ollama's own API (/api/chat). It supports thinking, tools,
// images, output schemas and keep-alive.
//
//	model, err := ollama.New(ollama.Config{})
//	reply, err := llm.Generate(ctx, model, &llm.Request{Model: "qwen3", Messages: llm.NewMessages(llm.UserText("Hello"))})
//
// The server is the one at OLLAMA_HOST, or the one on this machine. It needs no key, but
// ollama.com does (OLLAMA_API_KEY).
package ollama
