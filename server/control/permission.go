package control

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// permissions has the handlers that preview an agent's tool permissions.
type permissions struct {
	plugin   awaken.Plugin // nil if the permission plugin is missing
	registry func() *registry.Registry
	control  *config.Manager
}

func (h *permissions) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/agents/{agent_id}/permission-preview", Needs: permit.ReadConfig, Handle: server.Handle(h.get),
			Summary: "Preview an agent's tool permissions", Replies: map[int]any{200: permissionPreview{}}},
		{Method: "POST", Path: "/v1/agents/permission-preview", Needs: permit.ReadConfig, Handle: server.HandleBody(h.try),
			Summary: "Preview the decisions of an agent's permission rules on calls; the agent need not be saved", Body: trialBody{}, Replies: map[int]any{200: trialReply{}}, Failures: []int{404}},
		{Method: "POST", Path: "/v1/patterns/match", Needs: permit.ReadConfig, Handle: server.HandleBody(h.match),
			Summary: "Explain whether the pattern of a rule matches calls", Body: patternBody{}, Replies: map[int]any{200: patternReply{}}},
	}
}

// permissionPreview is what an agent may do without approval, as far as that is independent of
// arguments.
type permissionPreview struct {
	AgentID               string            `json:"agent_id"`
	PluginEnabled         bool              `json:"permission_plugin_enabled"`
	DefaultBehavior       string            `json:"default_behavior"`
	CandidateTools        []string          `json:"candidate_tools"`
	UnconditionallyDenied []string          `json:"unconditionally_denied"`
	EffectiveTools        []string          `json:"effective_tools"`
	ArgsConditionalRules  []conditionalRule `json:"args_conditional_rules"`
}

// conditionalRule is a permission rule that depends on a call's arguments.
type conditionalRule struct {
	Tool     string `json:"tool"`
	Behavior string `json:"behavior"`
	Pattern  string `json:"pattern"`
}

var errNoPermissions = server.Unavailable("this server has no permission plugin")

func (h *permissions) get(req *server.Request) error {
	if h.plugin == nil {
		return errNoPermissions
	}
	reg, id := h.registry(), req.Path("agent_id")
	spec := reg.Agent(id)
	if spec == nil {
		return protocol.NotFound("agent", id)
	}
	tools := reg.ToolIDs(id)
	v, err := permission.PreviewOf(h.plugin, spec, tools, reg.Names(id))
	if err != nil {
		return err
	}
	out := permissionPreview{AgentID: id, PluginEnabled: v.Enabled, DefaultBehavior: string(v.DefaultBehavior), CandidateTools: append([]string{}, tools...),
		UnconditionallyDenied: append([]string{}, v.Denied...), EffectiveTools: append([]string{}, v.Effective...), ArgsConditionalRules: []conditionalRule{}}
	for _, r := range v.Conditional {
		out.ArgsConditionalRules = append(out.ArgsConditionalRules, conditionalRule{Tool: r.Tool, Behavior: string(r.Behavior), Pattern: r.Pattern})
	}
	return req.Reply(200, out)
}
