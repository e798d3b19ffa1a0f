package protocol

import (
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
)

// maxTokens is the most that a client may ask a model for. No model gives more.
const maxTokens = 1 << 20

// CheckOverride returns a failure if the parameters that a client sets for the model of an agent are wrong; field is where they
// are. What a provider would reject must not become a run.
func CheckOverride(field string, o *awaken.InferenceOverride, reg *registry.Registry, agentID string) error {
	if v := o.Temperature; v != nil && !(*v >= 0 && *v <= 2) {
		return BadRequest("%s.temperature is %v, want 0 to 2", field, *v)
	}
	if v := o.TopP; v != nil && !(*v >= 0 && *v <= 1) {
		return BadRequest("%s.top_p is %v, want 0 to 1", field, *v)
	}
	if v := o.MaxTokens; v != nil && (*v < 1 || *v > maxTokens) {
		return BadRequest("%s.max_tokens is %d, want 1 to %d", field, *v, maxTokens)
	}
	if v := o.ReasoningEffort; v != nil && (v.Budget < 0 || v.Budget > maxTokens) {
		return BadRequest("%s.reasoning_effort is %d, want at most %d tokens", field, v.Budget, maxTokens)
	}
	if o.UpstreamModel == "" {
		return nil
	}
	if err := CheckID(field+".upstream_model", o.UpstreamModel); err != nil {
		return err
	}
	if strings.TrimSpace(o.UpstreamModel) == "" {
		return BadRequest("%s.upstream_model is blank", field)
	}
	if a := reg.Agent(agentID); a != nil && reg.HasPool(a.ModelID) {
		return BadRequest("%s.upstream_model is %q, but model %s of agent %s is a pool, which selects the model itself", field, o.UpstreamModel, a.ModelID, agentID)
	}
	return nil
}
