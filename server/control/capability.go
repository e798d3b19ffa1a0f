package control

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/assistant"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/plugin/fork"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// inventory has the handler of the parts that agents can use.
type inventory struct {
	control   *config.Manager
	assistant *assistant.Assistant // nil if it is disabled
	adapters  []string
	registry  func() *registry.Registry
}

func (h *inventory) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/capabilities", Needs: permit.ReadConfig, Handle: server.Handle(h.get),
			Summary: "List the tools, plugins, models and other parts that agents can use", Replies: map[int]any{200: capabilities{}}},
	}
}

// capabilities lists the parts that agents can use.
type capabilities struct {
	Agents            []string              `json:"agents"`
	Tools             []toolCapability      `json:"tools"`
	Plugins           []pluginCapability    `json:"plugins"`
	Skills            []json.RawMessage     `json:"skills"`
	Models            []modelCapability     `json:"models"`
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

// modelCapability is a model with what is known about it. Sources says for each effective capability
// where it comes from: configured, learned, discovered or known. Omitted is what some requests omit.
type modelCapability struct {
	awaken.ModelSpec
	Effective llm.ModelCapabilities `json:"effective_capabilities"`
	Sources   map[string]string     `json:"capability_sources"`
	Omitted   []llm.Omission        `json:"omitted_parameters,omitempty"`
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
	// Schema is the section's JSON Schema, under both names that clients use.
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

// backendSchema is the JSON Schema of the config of the backend that runs agents in this server.
const backendSchema = `{"type":"object","properties":{"model_id":{"type":"string"},"system_prompt":{"type":"string"},"max_rounds":{"type":"integer","minimum":0}},"additionalProperties":false}`

func (h *inventory) get(req *server.Request) error {
	reg := h.registry()
	out := capabilities{Agents: []string{}, Tools: []toolCapability{}, Plugins: []pluginCapability{}, Models: []modelCapability{}, Providers: []idOnly{},
		SupportedAdapters: append([]string{}, h.adapters...)}
	for _, id := range reg.AgentIDs() {
		if !strings.HasPrefix(id, "__") { // the server's own agents
			out.Agents = append(out.Agents, id)
		}
	}
	for _, m := range reg.Models() {
		k := reg.Knowledge(m.ID)
		out.Models = append(out.Models, modelCapability{*m, k.Capabilities(), k.Sources(), k.Omitted})
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
		if p.ID == assistant.PluginID || p.ID == fork.Name {
			continue // only the admin assistant, and forks of runs, can load them
		}
		v := pluginCapability{ID: p.ID, ConfigSchemas: []sectionSchema{}}
		for _, s := range p.Sections {
			v.ConfigSchemas = append(v.ConfigSchemas, sectionSchema{s.Key, s.Schema, s.Schema, s.SectionInfo, s.Default})
		}
		out.Plugins = append(out.Plugins, v)
	}
	var err error
	if out.Skills, err = h.specs(req.Context(), config.Skills); err != nil {
		return err
	}
	if out.ModelPools, err = h.specs(req.Context(), config.Pools); err != nil {
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
	if h.assistant != nil {
		out.AdminAssistant = h.assistant.Info(req.Context())
	}
	return req.Reply(200, out)
}

// specs returns all documents of a namespace.
func (h *inventory) specs(ctx context.Context, ns config.Namespace) ([]json.RawMessage, error) {
	out := []json.RawMessage{}
	for v, err := range h.control.All(ctx, ns) {
		if err != nil {
			return nil, err
		}
		out = append(out, v.Spec)
	}
	return out, nil
}
