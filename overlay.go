package awaken

import (
	"cmp"
	"strings"
)

// Overlay is what a variant of an agent has of its own. Fields that are nil are the
// agent's.
type Overlay struct {
	SystemPrompt  *string  `json:"system_prompt,omitempty"`
	ModelID       *string  `json:"model_id,omitempty"`
	AllowedTools  []string `json:"allowed_tools,omitzero"` // replaces allowed_tool_patterns too
	ExcludedTools []string `json:"excluded_tools,omitzero"`
}

// variantMark stands between the id of an agent and the name of one of its variants.
const variantMark = ":"

// VariantID is the id of a variant of an agent: what runs on it record as their agent.
func VariantID(agentID, name string) string { return agentID + variantMark + name }

// IsVariant reports whether id is a variant of an agent.
func IsVariant(id, agentID string) bool {
	rest, ok := strings.CutPrefix(id, agentID)
	return ok && agentID != "" && strings.HasPrefix(rest, variantMark)
}

// Base is the id of the agent that the spec is a variant of, or else its own id.
func (s *AgentSpec) Base() string { return cmp.Or(s.base, s.ID) }

// Over returns the spec of a variant of base.
func (o *Overlay) Over(base *AgentSpec, name string) *AgentSpec {
	s := *base
	s.ID, s.base, s.decoded = VariantID(base.ID, name), base.ID, nil
	s.SystemPrompt, s.ModelID = or(o.SystemPrompt, s.SystemPrompt), or(o.ModelID, s.ModelID)
	if o.AllowedTools != nil {
		s.AllowedTools, s.AllowedToolPatterns = o.AllowedTools, nil
	}
	if o.ExcludedTools != nil {
		s.ExcludedTools, s.ExcludedToolPatterns = o.ExcludedTools, nil
	}
	return &s
}
