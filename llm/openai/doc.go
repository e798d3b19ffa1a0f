// Package openai asks models of OpenAI, and of everybody who speaks its language.
//
//	model, err := openai.New(openai.Config{})          // the key is OPENAI_API_KEY
//	model, err := openai.New(openai.Config{Preset: "deepseek"})
//	model, err := openai.New(openai.Config{Config: provider.Config{BaseURL: "http://localhost:8000/v1"}})
//
// There are two languages: the Responses API and Chat Completions. OpenAI and Azure are asked
// in the first, except for what only the second can do: audio, stop sequences and a seed.
// Everybody else is asked in the second. [Config.API] decides otherwise.
//
// What servers that are "compatible" do differently is data: see [Preset].
package openai
