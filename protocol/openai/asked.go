package openai

import (
	"encoding/json"

	"github.com/awaken-go/awaken"
)

// Asked is what a response repeats of the request that it answers, as far as the run keeps it.
type Asked struct {
	Tools     []awaken.ToolSpec // of the client
	Overrides *awaken.InferenceOverride
	Schema    json.RawMessage // of the answer
}

// askedBy returns what the request of a run has asked for.
func askedBy(run *awaken.Run) Asked { return Asked{run.FrontendTools, run.Overrides, run.OutputSchema} }

// repeat sets the fields of a response.
func (a *Asked) repeat(r *response) {
	r.ToolChoice, r.ParallelToolCalls, r.Tools, r.Text = "auto", true, make([]tool, 0, len(a.Tools)), textConfig{format{Type: "text"}}
	for _, t := range a.Tools {
		r.Tools = append(r.Tools, tool{Type: "function", function: function{Name: t.ID, Description: t.Description, Parameters: t.Parameters}})
	}
	if len(a.Schema) > 0 {
		r.Text.Format = format{Type: "json_schema", Name: "answer", Schema: a.Schema}
	}
	o := a.Overrides
	if o == nil {
		return
	}
	r.Temperature, r.TopP, r.MaxOutputTokens = o.Temperature, o.TopP, o.MaxTokens
	if o.ParallelTools != nil {
		r.ParallelToolCalls = *o.ParallelTools
	}
	if c := o.ToolChoice; c != nil {
		if r.ToolChoice = c.Mode; c.Mode == "tool" {
			r.ToolChoice = tool{Type: "function", function: function{Name: c.Name}}
		}
	}
}
