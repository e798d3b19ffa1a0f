package protocol

import (
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
)

// maxTokens is the most that a client may ask a model for. No model gives more.
const maxTokens = 1 << 20

// The most texts that may end an answer, and the longest of them in bytes.
const maxStops, maxStop = 16, 1 << 10

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
	if n := len(o.StopSequences); n > maxStops {
		return BadRequest("%s.stop_sequences has %d texts, want at most %d", field, n, maxStops)
	}
	for i, text := range o.StopSequences {
		if text == "" || len(text) > maxStop {
			return BadRequest("%s.stop_sequences[%d] has %d bytes, want 1 to %d", field, i, len(text), maxStop)
		}
	}
	if err := checkChoice(field+".tool_choice", o.ToolChoice); err != nil {
		return err
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

// checkChoice checks whether and which tool a client wants a model to call. A tool that the run does not have is found when the request
// is made.
func checkChoice(field string, c *llm.ToolChoice) error {
	switch {
	case c == nil:
	case c.Mode == "tool" && c.Name == "":
		return BadRequest("%s.name is missing; mode tool names the tool that must be called", field)
	case c.Mode != "tool" && c.Name != "":
		return BadRequest("%s.name is %q, but mode is %q; only mode tool names one", field, c.Name, c.Mode)
	case !slices.Contains([]string{"auto", "none", "required", "tool"}, c.Mode):
		return BadRequest("%s.mode is %q, want auto, none, required or tool", field, c.Mode)
	}
	return nil
}
