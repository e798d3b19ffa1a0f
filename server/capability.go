package server

import (
	"encoding/json"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/assistant"
)

// capabilities is what agents can be made of.
type capabilities struct {
	Agents            []string              `json:"agents"`
	Tools             []toolCapability      `json:"tools"`
	Plugins           []pluginCapability    `json:"plugins"`
	Skills            []json.RawMessage     `json:"skills"`
	Models            []*awaken.ModelSpec   `json:"models"`
	ModelPools        []json.RawMessage     `json:"model_pools"`
	Providers         []idOnly              `json:"providers"`
	Backends          []backendCapability   `json:"backends"`
	AdminAssistant    *assistant.Info       `json:"admin_assistant,omitempty"`
	SupportedAdapters []string              `json:"supported_adapters"`
	Namespaces        []namespaceCapability `json:"namespaces"`
}

type idOnly struct {
	ID string `json:"id"`
}

type toolCapability struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Source      toolSource      `json:"source"`
	Parameters  json.RawMessage `json:"parameters_schema,omitempty"`
}

type toolSource struct {
	Kind string `json:"kind"` // builtin or mcp
	ID   string `json:"id,omitempty"`
}

type pluginCapability struct {
	ID            string          `json:"id"`
	ConfigSchemas []sectionSchema `json:"config_schemas"`
}

type sectionSchema struct {
	Key string `json:"key"`
	// Schema is the section's JSON Schema, under both names that clients know.
	Schema     json.RawMessage `json:"schema"`
	JSONSchema json.RawMessage `json:"json_schema"`
	awaken.SectionInfo
	Default json.RawMessage `json:"default_value"`
}

type backendCapability struct {
	Kind        string          `json:"kind"`
	Version     int             `json:"version"`
	Schema      json.RawMessage `json:"schema"`
	DisplayName string          `json:"display_name"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default_config"`
	UISchema    json.RawMessage `json:"ui_schema,omitempty"`
}

type namespaceCapability struct {
	Namespace config.Namespace `json:"namespace"`
	Schema    json.RawMessage  `json:"schema"`
}

// backendSchema is the config of a backend that runs agents here.
const backendSchema = `{"type":"object","properties":{"model_id":{"type":"string"},"system_prompt":{"type":"string"},"max_rounds":{"type":"integer","minimum":0}},"additionalProperties":false}`

func (c *call) capabilities() error {
	reg := runtimeOf(c.tenant).Registry()
	out := capabilities{Agents: []string{}, Tools: []toolCapability{}, Plugins: []pluginCapability{}, Models: append([]*awaken.ModelSpec{}, reg.Models()...), Providers: []idOnly{},
		SupportedAdapters: append([]string{}, c.srv.cfg.Adapters...)}
	for _, id := range reg.AgentIDs() {
		if !strings.HasPrefix(id, "__") { // the server's own
			out.Agents = append(out.Agents, id)
		}
	}
	for _, t := range reg.Tools() {
		v := toolCapability{ID: t.ID, Name: t.Name, Description: t.Description, Source: toolSource{Kind: "builtin"}, Parameters: t.Parameters}
		if rest, ok := strings.CutPrefix(t.ID, "mcp__"); ok {
			if server, _, ok := strings.Cut(rest, "__"); ok {
				v.Source = toolSource{"mcp", server}
			}
		}
		out.Tools = append(out.Tools, v)
	}
	for _, p := range reg.Plugins() {
		if p.ID == assistant.PluginID {
			continue // only the server's own agent can load it
		}
		v := pluginCapability{ID: p.ID, ConfigSchemas: []sectionSchema{}}
		for _, s := range p.Sections {
			v.ConfigSchemas = append(v.ConfigSchemas, sectionSchema{s.Key, s.Schema, s.Schema, s.SectionInfo, s.Default})
		}
		out.Plugins = append(out.Plugins, v)
	}
	var err error
	if out.Skills, err = c.specs(config.Skills); err != nil {
		return err
	}
	if out.ModelPools, err = c.specs(config.Pools); err != nil {
		return err
	}
	for _, id := range reg.ProviderIDs() {
		out.Providers = append(out.Providers, idOnly{id})
	}
	out.Backends = []backendCapability{{Kind: "awaken", Version: 1, Schema: json.RawMessage(backendSchema), DisplayName: "Awaken", Description: "Runs in this server.", Default: json.RawMessage(`{}`)}}
	for _, kind := range reg.Backends() {
		out.Backends = append(out.Backends, backendCapability{Kind: kind, Version: 1, Schema: json.RawMessage(`{"type":"object"}`), DisplayName: kind, Description: "Runs elsewhere.", Default: json.RawMessage(`{}`)})
	}
	for _, ns := range config.Namespaces {
		out.Namespaces = append(out.Namespaces, namespaceCapability{ns, config.Schema(ns)})
	}
	if c.srv.cfg.Assistant != nil {
		out.AdminAssistant = c.srv.cfg.Assistant.Info(c.ctx)
	}
	return c.Reply(200, out)
}

// specs returns all documents of a namespace.
func (c *call) specs(ns config.Namespace) ([]json.RawMessage, error) {
	out := []json.RawMessage{}
	for offset := 0; ; offset += 1000 {
		views, err := c.srv.cfg.Control.List(c.ctx, ns, offset, 1000)
		if err != nil {
			return nil, err
		}
		for _, v := range views {
			out = append(out, v.Spec)
		}
		if len(views) < 1000 {
			return out, nil
		}
	}
}

// PermissionPreview says what an agent may do by itself, as far as that does not depend on
// arguments.
type PermissionPreview struct {
	AgentID               string            `json:"agent_id"`
	PluginEnabled         bool              `json:"permission_plugin_enabled"`
	DefaultBehavior       string            `json:"default_behavior"`
	CandidateTools        []string          `json:"candidate_tools"`
	UnconditionallyDenied []string          `json:"unconditionally_denied"`
	EffectiveTools        []string          `json:"effective_tools"`
	ArgsConditionalRules  []ConditionalRule `json:"args_conditional_rules"`
}

// ConditionalRule is a permission rule that depends on arguments.
type ConditionalRule struct {
	Tool     string `json:"tool"`
	Behavior string `json:"behavior"`
	Pattern  string `json:"pattern"`
}

func (c *call) permissionPreview() error {
	preview := c.srv.cfg.Permissions
	if preview == nil {
		return unavailable("this server has no permission plugin")
	}
	reg, id := runtimeOf(c.tenant).Registry(), c.path("agent_id")
	if reg.Agent(id) == nil {
		return notFound("agent", id)
	}
	out, err := preview(reg, id)
	if err != nil {
		return err
	}
	for _, list := range []*[]string{&out.CandidateTools, &out.UnconditionallyDenied, &out.EffectiveTools} {
		*list = append([]string{}, *list...) // never null
	}
	out.ArgsConditionalRules = append([]ConditionalRule{}, out.ArgsConditionalRules...)
	return c.Reply(200, out)
}
