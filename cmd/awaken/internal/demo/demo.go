// Package demo provides agents and tools for trying out the runtime. They need no network, no
// key and no files. Their model is scripted; see [llmtest.Demo] for the prompts it understands.
package demo

import (
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eval/live/jury"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/background"
	"github.com/awaken-go/awaken/plugin/basics"
	"github.com/awaken-go/awaken/plugin/deferred"
	"github.com/awaken-go/awaken/plugin/delegate"
	"github.com/awaken-go/awaken/plugin/fork"
	"github.com/awaken-go/awaken/plugin/genui"
	"github.com/awaken-go/awaken/plugin/guard"
	"github.com/awaken-go/awaken/plugin/handoff"
	"github.com/awaken-go/awaken/plugin/memory"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/plugin/reminder"
	"github.com/awaken-go/awaken/plugin/skills"
	"github.com/awaken-go/awaken/plugin/web"
)

const (
	// ScenarioAgentID is the agent that understands the "scenario:" prompts.
	ScenarioAgentID = "scenario"
	// ModelID is the model of the demo agents.
	ModelID = "default"
	// ProviderID is the provider of that model.
	ProviderID = "default"
	// Adapter is the adapter of a provider with the scripted model.
	Adapter = "scripted"
)

// Config returns the configuration of all demo agents. The caller may extend it.
func Config() engine.Config {
	cfg := Minimal()
	cfg.Agents = agents()
	cfg.Tools = tools()
	cfg.Plugins = append(Plugins(), plugin{})
	cfg.Plugins = append(cfg.Plugins, skillPlugins()...)
	return cfg
}

// Plugins returns the plugins that every agent may load. Their sections configure them.
func Plugins() []awaken.Plugin {
	return []awaken.Plugin{permission.New(permission.Config{}), reminder.New(reminder.Config{}), deferred.New(), guard.Rails(), memory.New(),
		handoff.New(nil), delegate.New(delegate.Options{}), background.New(), basics.New(), web.New(nil), fork.New(), genui.New(), jury.New()}
}

// Minimal returns the configuration of the default agent alone, without tools.
func Minimal() engine.Config {
	return engine.Config{
		Agents:    []*awaken.AgentSpec{agent(engine.DefaultAgentID, 3, "Answers with the scripted model.", "You are a helpful assistant.")},
		Models:    []awaken.ModelSpec{Model()},
		Providers: map[string]llm.Model{ProviderID: llmtest.Demo()},
		Plugins:   Plugins(),
	}
}

// Model returns the model of the demo agents.
func Model() awaken.ModelSpec {
	return awaken.ModelSpec{ID: ModelID, ProviderID: ProviderID, UpstreamModel: "deepseek-chat"}
}

func agent(id string, maxRounds int, description, prompt string) *awaken.AgentSpec {
	return &awaken.AgentSpec{ID: id, Description: description, ModelID: ModelID, SystemPrompt: prompt, MaxRounds: &maxRounds}
}

// agents returns the demo agents. An agent has all the tools unless it names those it may use.
// Some agents are named after a plugin that does not exist yet, and work without it.
func agents() []*awaken.AgentSpec {
	only := func(a *awaken.AgentSpec, tools ...string) *awaken.AgentSpec {
		a.AllowedTools = append([]string{}, tools...)
		return a
	}
	within := func(a *awaken.AgentSpec, tokens int) *awaken.AgentSpec {
		p := awaken.DefaultContextPolicy()
		p.MaxContextTokens, p.MaxOutputTokens, p.AutocompactThreshold = tokens, tokens/4, new(tokens/2)
		a.ContextPolicy = &p
		return a
	}
	scenario := agent(ScenarioAgentID, 8, "Shows one thing for each scenario: word of a message.",
		"You are the "+llmtest.ScenarioMarker+". Do what the scenario: word of the message says.")
	scenario.ToolExecutionMode = awaken.ParallelStreaming
	budget := agent("budget", 3, "Stops after 50,000 tokens, a minute or three errors.", "You are a frugal assistant.")
	budget.StopConditions = []awaken.StopCondition{{Type: "token_budget", Limit: 50_000}, {Type: "timeout", Limit: 60}, {Type: "consecutive_errors", Limit: 3}}
	all := []*awaken.AgentSpec{
		agent(engine.DefaultAgentID, 3, "Answers with the scripted model and has the demo tools.", "You are a helpful assistant."),
		agent("limited", 1, "Asks its model once.", "You are a helpful assistant with little time."),
		agent("permission", 8, "Asks before it uses a tool.", "You are a careful assistant."),
		agent("travel", 3, "Plans trips.", "You are a travel planner. Keep the list of trips up to date with your tools."),
		agent("research", 3, "Researches a question and writes a report.", "You are a research assistant. Collect resources, then write a report."),
		agent("stopper", 1, "Stops after one round.", "You are a helpful assistant."),
		agent("thinking", 1, "Thinks before it answers.", "You are a thoughtful assistant."),
		agent("skills", 8, "Uses skills.", "You are a helpful assistant with skills."),
		agent("a2a", 8, "Talks to other agents.", "You are a helpful assistant that works with other agents."),
		agent("phases", 2, "Shows the phases of a run.", "You are a helpful assistant."),
		agent("genui", 2, "Shows its answers as pictures.", "You are a helpful assistant that shows what it says."),
		only(agent("a2ui", 8, "Draws user interfaces with A2UI.", "You draw user interfaces."), "render_a2ui"),
		only(agent("json-render", 4, "Draws user interfaces from JSON with a tool.", "You draw user interfaces with render_json_ui."), "render_json_ui"),
		only(agent("openui", 4, "Draws user interfaces with OpenUI and a tool.", "You draw user interfaces with render_openui_ui."), "render_openui_ui"),
		only(agent("json-render-ui", 1, "Answers with JSON that draws a user interface.", "You answer with JSON that draws a user interface.")),
		only(agent("openui-ui", 1, "Answers with a user interface in OpenUI Lang.", "You answer with a user interface, written in OpenUI Lang.")),
		agent("profile", 3, "Remembers who it talks to.", "You are a helpful assistant that remembers people."),
		within(agent("creative", 3, "Writes freely.", "You are a creative writer."), 100_000),
		within(agent("compact", 3, "Keeps its conversations short.", "You are a terse assistant."), 8_000),
		budget,
		agent("config-assistant", 6, "Helps with the configuration.", "You help people to configure agents."),
		scenario,
	}
	for _, a := range all {
		if a.AllowedTools == nil {
			a.PluginIDs = []string{pluginID}
		}
		if section, ok := permissions[a.ID]; ok {
			a.PluginIDs = append(a.PluginIDs, permission.Name)
			a.Sections = map[string]json.RawMessage{permission.Name: json.RawMessage(section)}
		}
		if section, ok := drawing[a.ID]; ok {
			a.PluginIDs = append(a.PluginIDs, genui.Name)
			a.Sections = map[string]json.RawMessage{genui.Name: json.RawMessage(section)}
		}
		if a.ID == "profile" {
			a.PluginIDs = append(a.PluginIDs, memory.Name)
		}
		if a.ID == "skills" {
			a.PluginIDs = append(a.PluginIDs, skills.DiscoveryID, skills.InstructionsID)
		}
		if a.ID == "a2a" { // delegates to other agents
			a.Delegates = []string{engine.DefaultAgentID, "research"}
			a.PluginIDs = append(a.PluginIDs, handoff.PluginID, background.PluginID)
			a.Sections = map[string]json.RawMessage{handoff.PluginID: json.RawMessage(`{"agents": ["travel"]}`)}
		}
	}
	return all
}

// permissions holds the section of the permission plugin, by the agent that loads it. Only one
// of them asks; the others show that allowed calls need no approval.
var permissions = map[string]string{
	"permission": `{"default_behavior":"ask","rules":[{"tool":"get_*","behavior":"allow"},{"tool":"serverInfo","behavior":"allow"},
		{"tool":"failingTool","behavior":"deny"},{"tool":"delete_*","behavior":"deny"}]}`,
	"limited": allowAll, "travel": allowAll, "research": allowAll, "phases": allowAll, "genui": allowAll, "profile": allowAll,
	"creative": allowAll, "compact": allowAll, "budget": allowAll, "config-assistant": allowAll, ScenarioAgentID: allowAll,
}

// drawing holds the section of the plugin generative-ui, by the agent that loads it. Two agents draw for
// others.
var drawing = map[string]string{
	"a2ui":           `{}`,
	"json-render":    `{"formats":["json-render"],"json_render_agent":"json-render-ui"}`,
	"openui":         `{"formats":["openui-lang"],"openui_agent":"openui-ui"}`,
	"json-render-ui": `{"formats":[],"answer":"json-render"}`,
	"openui-ui":      `{"formats":[],"answer":"openui-lang"}`,
}

const allowAll = `{"default_behavior":"allow"}`
