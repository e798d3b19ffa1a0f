package server

import (
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
)

// maxTokens is the most that a client may ask a model for. No model gives more.
const maxTokens = 1 << 20

// checkOverride validates the parameters that a client sets for the model of an agent. What a
// provider would reject must not become a run.
func checkOverride(reg *registry.Registry, agentID string, o *awaken.InferenceOverride) error {
	if v := o.Temperature; v != nil && !(*v >= 0 && *v <= 2) {
		return protocol.BadRequest("overrides.temperature is %v, want 0 to 2", *v)
	}
	if v := o.TopP; v != nil && !(*v >= 0 && *v <= 1) {
		return protocol.BadRequest("overrides.top_p is %v, want 0 to 1", *v)
	}
	if v := o.MaxTokens; v != nil && (*v < 1 || *v > maxTokens) {
		return protocol.BadRequest("overrides.max_tokens is %d, want 1 to %d", *v, maxTokens)
	}
	if v := o.ReasoningEffort; v != nil && (v.Budget < 0 || v.Budget > maxTokens) {
		return protocol.BadRequest("overrides.reasoning_effort is %d, want at most %d tokens", v.Budget, maxTokens)
	}
	if o.UpstreamModel == "" {
		return nil
	}
	if err := protocol.CheckID("overrides.upstream_model", o.UpstreamModel); err != nil {
		return err
	}
	if strings.TrimSpace(o.UpstreamModel) == "" {
		return protocol.BadRequest("overrides.upstream_model is blank")
	}
	if a := reg.Agent(agentID); a != nil && reg.HasPool(a.ModelID) {
		return protocol.BadRequest("overrides.upstream_model is %q, but model %s of agent %s is a pool, which selects the model itself", o.UpstreamModel, a.ModelID, agentID)
	}
	return nil
}
