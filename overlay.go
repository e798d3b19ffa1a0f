package awaken

import (
	"cmp"
	"strings"
)

// Overlay defines a variant of an agent by its differences. Nil fields keep the agent's
// values; an empty list of tools is not nil and replaces them. See [Registrar.Variant].
type Overlay struct {
	SystemPrompt  *string  `json:"system_prompt,omitempty"`
	ModelID       *string  `json:"model_id,omitempty"`
	AllowedTools  []string `json:"allowed_tools,omitzero"`  // also replaces allowed_tool_patterns
	ExcludedTools []string `json:"excluded_tools,omitzero"` // also replaces excluded_tool_patterns
}

// variantMark separates the id of an agent from the name of one of its variants.
const variantMark = ":"

// VariantID returns the id of the variant with that name, of the agent or of the one that it is
// itself a variant of. Runs of the variant record it as their agent id.
func (s *AgentSpec) VariantID(name string) string { return s.Base() + variantMark + name }

// IsVariant reports whether id is the id of a variant of the agent.
func IsVariant(id, agentID string) bool {
	rest, ok := strings.CutPrefix(id, agentID)
	return ok && agentID != "" && strings.HasPrefix(rest, variantMark)
}

// Base returns the id of the agent that the spec is a variant of, or its own id if it is no
// variant.
func (s *AgentSpec) Base() string { return cmp.Or(s.base, s.ID) }

// Over returns the spec of the variant of base with that name.
func (o *Overlay) Over(base *AgentSpec, name string) *AgentSpec {
	s := *base
	s.ID, s.base, s.decoded = base.ID+variantMark+name, base.ID, nil
	s.SystemPrompt, s.ModelID = or(o.SystemPrompt, s.SystemPrompt), or(o.ModelID, s.ModelID)
	if o.AllowedTools != nil {
		s.AllowedTools, s.AllowedToolPatterns = o.AllowedTools, nil
	}
	if o.ExcludedTools != nil {
		s.ExcludedTools, s.ExcludedToolPatterns = o.ExcludedTools, nil
	}
	return &s
}
