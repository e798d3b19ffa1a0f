// Package demo has agents and tools to try the runtime with. They need nothing:
// no network, no key, no file. The model behind them is scripted; see
// [llmtest.Demo] for the words it obeys.
package demo

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

const (
	// ScenarioAgentID is the agent that obeys the "scenario:" words.
	ScenarioAgentID = "scenario"
	// ModelID is the model of the demo agents.
	ModelID = "default"
	// ProviderID is the provider of that model.
	ProviderID = "default"
	// Adapter is what a provider of the scripted model is called in configuration.
	Adapter = "scripted"
)

// Config returns everything the demo agents need, for the caller to add to.
func Config() awaken.Config {
	return awaken.Config{
		Agents:    Agents(),
		Models:    []awaken.ModelSpec{Model()},
		Providers: map[string]llm.Model{ProviderID: llmtest.Demo()},
		Tools:     Tools(),
		Plugins:   []awaken.Plugin{Plugin()},
	}
}

// Agents returns the demo agents: the default one and the scenario agent.
func Agents() []*awaken.AgentSpec {
	return []*awaken.AgentSpec{
		{
			ID:           awaken.DefaultAgentID,
			Description:  "Answers with the scripted model and has the demo tools.",
			ModelID:      ModelID,
			SystemPrompt: "You are a helpful assistant.",
			MaxRounds:    3,
			PluginIDs:    []string{PluginID},
		},
		{
			ID:           ScenarioAgentID,
			Description:  "Shows one thing for each scenario: word of a message.",
			ModelID:      ModelID,
			SystemPrompt: "You are the " + llmtest.ScenarioMarker + ". Do what the scenario: word of the message says.",
			MaxRounds:    8,
			PluginIDs:    []string{PluginID},
		},
	}
}

// Model returns the model of the demo agents.
func Model() awaken.ModelSpec {
	return awaken.ModelSpec{ID: ModelID, ProviderID: ProviderID, UpstreamModel: "deepseek-chat"}
}
