package llm

import (
	"cmp"
	"context"
	"iter"
)

// The ways in which a model takes a reasoning effort, for [ModelCapabilities].
const (
	NoReasoning     = "none"   // it takes none
	ReasoningBudget = "budget" // as a number of tokens
	ReasoningLevels = "levels" // as a level
)

// ModelCapabilities says which optional parameters a model accepts. The zero value of a field is
// unknown: the parameter is sent, and dropped if the provider rejects it.
type ModelCapabilities struct {
	Reasoning     string `json:"reasoning,omitempty"`      // how it takes a reasoning effort: none, budget or levels
	Temperature   *bool  `json:"temperature,omitempty"`    // whether it accepts a temperature
	TopP          *bool  `json:"top_p,omitempty"`          // whether it accepts top_p
	ParallelTools *bool  `json:"parallel_tools,omitempty"` // whether parallel tool calls can be turned on and off
	Seed          *bool  `json:"seed,omitempty"`           // whether it accepts a seed
}

// Or returns c with its unknown fields from other.
func (c ModelCapabilities) Or(other ModelCapabilities) ModelCapabilities {
	return ModelCapabilities{
		Reasoning:     cmp.Or(c.Reasoning, other.Reasoning),
		Temperature:   cmp.Or(c.Temperature, other.Temperature),
		TopP:          cmp.Or(c.TopP, other.TopP),
		ParallelTools: cmp.Or(c.ParallelTools, other.ParallelTools),
		Seed:          cmp.Or(c.Seed, other.Seed),
	}
}

// Trim removes the parameters that the model does not accept, and returns their names.
func (c ModelCapabilities) Trim(p *Params) (dropped []string) {
	drop := func(name string) { dropped = append(dropped, name) }
	if c.Reasoning == NoReasoning && p.ReasoningEffort != nil {
		p.ReasoningEffort = nil
		drop("reasoning_effort")
	}
	if refuses(c.Temperature) && p.Temperature != nil {
		p.Temperature = nil
		drop("temperature")
	}
	if refuses(c.TopP) && p.TopP != nil {
		p.TopP = nil
		drop("top_p")
	}
	if refuses(c.ParallelTools) && p.ParallelTools != nil {
		p.ParallelTools = nil
		drop("parallel_tools")
	}
	if refuses(c.Seed) && p.Seed != nil {
		p.Seed = nil
		drop("seed")
	}
	return dropped
}

func refuses(accepts *bool) bool { return accepts != nil && !*accepts }

// Refused returns the names of the optional parameters that the model does not accept.
func (c ModelCapabilities) Refused() []string {
	return c.Trim(&Params{ReasoningEffort: &Effort{}, Temperature: new(0.0), TopP: new(0.0), ParallelTools: new(false), Seed: new(int64(0))})
}

// ModelKnowledge lists the parameters that a model is known to accept, by source. What an
// earlier field says takes precedence over later ones.
type ModelKnowledge struct {
	Configured ModelCapabilities // see [Describe]
	Learned    ModelCapabilities // from requests that the provider rejected
	Discovered ModelCapabilities // from the provider's list of models
	Known      ModelCapabilities // from the table of well-known models
	// Omitted lists parameters that the adapter omits from some requests, although the model accepts them in others.
	Omitted []Omission
	// Listed has the list prices and limits of the model from the built-in catalogue of the provider, or is nil.
	Listed *ModelInfo
}

// Omission is a parameter that a request has, but that the adapter does not send as it is.
type Omission struct {
	Parameter string `json:"parameter"` // its JSON name in a run's overrides
	Reason    string `json:"reason"`    // how it differs and why, such as "omitted while the model thinks"
}

// Capabilities returns what all sources say together.
func (k ModelKnowledge) Capabilities() ModelCapabilities {
	return k.Configured.Or(k.Learned).Or(k.Discovered).Or(k.Known)
}

// Sources returns, for each capability that is known, by its JSON name, the source that counts:
// configured, learned, discovered or known.
func (k ModelKnowledge) Sources() map[string]string {
	out := map[string]string{}
	for _, from := range []struct {
		source string
		can    ModelCapabilities
	}{{"known", k.Known}, {"discovered", k.Discovered}, {"learned", k.Learned}, {"configured", k.Configured}} {
		for name, says := range map[string]bool{"reasoning": from.can.Reasoning != "", "temperature": from.can.Temperature != nil, "top_p": from.can.TopP != nil,
			"parallel_tools": from.can.ParallelTools != nil, "seed": from.can.Seed != nil} {
			if says {
				out[name] = from.source
			}
		}
	}
	return out
}

// Describer is implemented by models that know what the provider's models accept.
type Describer interface {
	// Knowledge returns what is known about the model with that name.
	Knowledge(model string) ModelKnowledge
}

// KnowledgeOf returns what m knows about the model with that name.
func KnowledgeOf(m Model, model string) ModelKnowledge {
	if d, ok := m.(Describer); ok {
		return d.Knowledge(model)
	}
	return ModelKnowledge{}
}

// Describe returns a model that adds c to the requests for the model with that name. What c
// says takes precedence over what m knows.
func Describe(m Model, model string, c ModelCapabilities) Model {
	if c == (ModelCapabilities{}) {
		return m
	}
	return described{m, model, c}
}

type described struct {
	Model
	name string
	can  ModelCapabilities
}

func (d described) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	if req.Model == d.name {
		own := *req
		own.Capabilities = d.can.Or(req.Capabilities)
		req = &own
	}
	return d.Model.Stream(ctx, req)
}

func (d described) SupportsSchema(model string) bool { return SupportsSchema(d.Model, model) }

func (d described) Knowledge(model string) ModelKnowledge {
	k := KnowledgeOf(d.Model, model)
	if model == d.name {
		k.Configured = d.can.Or(k.Configured)
	}
	return k
}
