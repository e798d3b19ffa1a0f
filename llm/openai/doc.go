// Package openai is the adapter for OpenAI and for servers with a compatible API.
//
//	model, err := openai.New(openai.Config{})          // key from OPENAI_API_KEY
//	model, err := openai.New(openai.Config{Preset: "deepseek"})
//	model, err := openai.New(openai.Config{Config: provider.Config{BaseURL: "http://localhost:8000/v1"}})
//
// OpenAI has two APIs: Responses and Chat Completions. The adapter uses Responses for OpenAI and
// Azure, except in requests that only Chat Completions supports: with audio, stop sequences or a
// seed. All other servers get Chat Completions. [Config.API] overrides the choice.
//
// How compatible servers differ is data: see [Preset].
package openai
