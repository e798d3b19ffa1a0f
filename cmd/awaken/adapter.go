package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/demo"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/anthropic"
	"github.com/awaken-go/awaken/llm/gemini"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/llm/openai"
	"github.com/awaken-go/awaken/llm/provider"
)

// adapters are the names of providers' adapters.
func adapters() []string {
	names := []string{demo.Adapter, "anthropic", "gemini"}
	for _, p := range openai.Presets {
		names = append(names, p.Name)
	}
	return names
}

// openProvider returns the models of a provider.
func openProvider(p *awaken.ProviderSpec, keyFile string) (llm.Model, error) {
	if p.Adapter == demo.Adapter {
		return llmtest.Demo(), nil
	}
	if !slices.Contains(adapters(), p.Adapter) {
		return nil, fmt.Errorf("adapter is %q, want one of %s", p.Adapter, strings.Join(adapters(), ", "))
	}
	c := openai.Config{Preset: p.Adapter, Config: provider.Config{APIKey: p.APIKey.Expose(), KeyFile: keyFile, BaseURL: p.BaseURL, Timeout: time.Duration(p.TimeoutSecs) * time.Second}}
	for name, raw := range p.AdapterOptions {
		var to any
		switch name {
		case "headers":
			to = &c.Headers
		case "api":
			to = &c.API
		case "key_file":
			to = &c.KeyFile
		default:
			return nil, fmt.Errorf("adapter_options has %q, want headers, api or key_file", name)
		}
		if err := json.Unmarshal(raw, to); err != nil {
			return nil, fmt.Errorf("adapter_options.%s: %w", name, err)
		}
	}
	switch p.Adapter {
	case "anthropic":
		return anthropic.New(anthropic.Config{Config: c.Config})
	case "gemini":
		return gemini.New(gemini.Config{Config: c.Config})
	}
	return openai.New(c)
}

// useOpenAI makes the default provider a real one, if the settings have one. It returns
// what the person should know about it.
func useOpenAI(cfg *awaken.Config, s *settings.Settings) (note string, err error) {
	if s.OpenAI.APIKey.IsZero() && s.OpenAI.BaseURL == "" {
		return "", nil
	}
	m, err := openai.New(openai.Config{Config: provider.Config{APIKey: s.OpenAI.APIKey.Expose(), BaseURL: s.OpenAI.BaseURL}})
	if err != nil {
		return "", err
	}
	cfg.Providers[demo.ProviderID] = m
	if s.Agent.Model == "" {
		note = fmt.Sprintf("AGENT_MODEL is not set: the default model is %s", demo.Model().UpstreamModel)
	}
	return note, nil
}

// useModel has all agents ask one model, which is given as provider:model.
func useModel(cfg *awaken.Config, name, keyFile string) error {
	adapter, upstream, ok := strings.Cut(name, ":")
	if !ok || adapter == "" || upstream == "" {
		return fmt.Errorf("--model is %q, want provider:model, such as openai:gpt-5.5", name)
	}
	m := cfg.Providers[adapter]
	if m == nil || adapter == demo.ProviderID {
		var err error
		if m, err = openProvider(&awaken.ProviderSpec{ID: adapter, Adapter: adapter}, keyFile); err != nil {
			return fmt.Errorf("--model %s: %w", name, err)
		}
	}
	const id = "--model"
	cfg.Providers[id] = m
	cfg.Models = append(slices.Clone(cfg.Models), awaken.ModelSpec{ID: id, ProviderID: id, UpstreamModel: upstream})
	for _, a := range cfg.Agents {
		a.ModelID = id
	}
	return nil
}
