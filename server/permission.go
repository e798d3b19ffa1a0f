package server

import (
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
)

// permissions has the handler that previews an agent's tool permissions.
type permissions struct {
	preview  func(reg *registry.Registry, agentID string) (*PermissionPreview, error) // nil if the permission plugin is missing
	registry func() *registry.Registry
}

func (h *permissions) routes() []protocol.Route {
	return forGlobalAdmins([]protocol.Route{
		{Method: "GET", Path: "/v1/agents/{agent_id}/permission-preview", Handle: own(h.get),
			Summary: "Preview an agent's tool permissions", Replies: map[int]any{200: PermissionPreview{}}},
	})
}

// PermissionPreview is what an agent may do without approval, as far as that is independent of
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

// ConditionalRule is a permission rule that depends on a call's arguments.
type ConditionalRule struct {
	Tool     string `json:"tool"`
	Behavior string `json:"behavior"`
	Pattern  string `json:"pattern"`
}

func (h *permissions) get(req *request) error {
	preview := h.preview
	if preview == nil {
		return unavailable("this server has no permission plugin")
	}
	reg, id := h.registry(), req.path("agent_id")
	if reg.Agent(id) == nil {
		return protocol.NotFound("agent", id)
	}
	out, err := preview(reg, id)
	if err != nil {
		return err
	}
	for _, list := range []*[]string{&out.CandidateTools, &out.UnconditionallyDenied, &out.EffectiveTools} {
		*list = append([]string{}, *list...) // never null
	}
	out.ArgsConditionalRules = append([]ConditionalRule{}, out.ArgsConditionalRules...)
	return req.Reply(200, out)
}
