package provider

import (
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/awaken-go/awaken/llm"
)

// Knowledge returns what is known about a model: by its name, from the provider's list of models,
// from requests that the provider rejected, and what the adapter omits.
func (a *API) Knowledge(model string) llm.ModelKnowledge {
	k := a.knowledge(model)
	if a.Omits == nil {
		return k
	}
	note := func(d llm.Delta) {
		if o := (llm.Omission{Parameter: d.Name, Reason: d.Text}); !slices.Contains(k.Omitted, o) {
			k.Omitted = append(k.Omitted, o)
		}
	}
	for _, effort := range []*llm.Effort{{Level: "high"}, nil} {
		req := &llm.Request{Model: model, Capabilities: k.Capabilities(), Params: llm.Params{ReasoningEffort: effort, Temperature: new(0.5), TopP: new(0.5), Seed: new(int64(math.MaxInt64))}}
		req.Capabilities.Trim(&req.Params)
		a.Omits(req, note)
	}
	return k
}

func (a *API) knowledge(model string) llm.ModelKnowledge {
	info, _ := Known(model)
	a.learned.mu.Lock()
	defer a.learned.mu.Unlock()
	k := llm.ModelKnowledge{
		Learned:    a.learned.rejected[model],
		Discovered: a.learned.listed[listName(model)],
		Known:      a.Lacks.Or(info.Capabilities),
	}
	if listed, ok := Catalogued(a.base, model); ok {
		k.Listed = &listed
	}
	return k
}

// Note remembers what a list of the provider's models says that they accept, in place of what an
// earlier list said. [API.Models] notes the lists that it fetches.
func (a *API) Note(list []llm.ModelInfo) {
	listed := map[string]llm.ModelCapabilities{}
	for _, info := range list {
		if info.Capabilities != (llm.ModelCapabilities{}) {
			listed[listName(info.ID)] = info.Capabilities
		}
	}
	a.learned.mu.Lock()
	defer a.learned.mu.Unlock()
	a.learned.listed = listed
}

// listName returns a model's name as lists are searched for it, see [llm.FindModel].
func listName(model string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(model), "models/"), ":latest")
}

// fitted returns req with what is known about its model, without the parameters that the model
// does not accept, and emits those.
func (a *API) fitted(req *llm.Request, emit Emit) *llm.Request {
	own := *req
	own.Capabilities = req.Capabilities.Or(a.knowledge(req.Model).Capabilities())
	for _, name := range own.Capabilities.Trim(&own.Params) {
		emit.Omit(name, "omitted: the model does not accept it")
	}
	return &own
}

// learned is what the provider told about its models. It is safe for concurrent use.
type learned struct {
	mu       sync.Mutex
	rejected map[string]llm.ModelCapabilities // by model, from rejected requests
	listed   map[string]llm.ModelCapabilities // by listName
}

// maxLearned limits the models to remember from requests: their names may come from clients.
const maxLearned = 1000

func (l *learned) reject(model string, c llm.ModelCapabilities) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rejected == nil || len(l.rejected) >= maxLearned {
		l.rejected = map[string]llm.ModelCapabilities{}
	}
	l.rejected[model] = c.Or(l.rejected[model])
}

// optional lists the words with which providers name an optional parameter, and what a model that
// rejects the parameter lacks.
var optional = []struct {
	words []string
	lacks llm.ModelCapabilities
}{
	{[]string{"reasoning_effort", "reasoning", "thinking", "think", "thinkingconfig", "thinking_config", "thinkingbudget", "thinking_budget",
		"thinkinglevel", "thinking_level", "enable_thinking", "budget_tokens", "encrypted_content"}, llm.ModelCapabilities{Reasoning: llm.NoReasoning}},
	{[]string{"temperature"}, llm.ModelCapabilities{Temperature: new(false)}},
	{[]string{"top_p", "topp"}, llm.ModelCapabilities{TopP: new(false)}},
	{[]string{"parallel_tool_calls", "disable_parallel_tool_use"}, llm.ModelCapabilities{ParallelTools: new(false)}},
	{[]string{"seed", "random_seed"}, llm.ModelCapabilities{Seed: new(false)}},
}

// without returns req without the optional parameters that err, the provider's rejection, names,
// or nil if it names none that req has. Dropped are their names, and lacks is what the model does
// not accept.
func without(req *llm.Request, err error) (less *llm.Request, dropped []string, lacks llm.ModelCapabilities) {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.InvalidRequest || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return nil, nil, lacks
	}
	named := strings.FieldsFunc(strings.ToLower(e.Param+" "+e.Message), func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	for _, o := range optional {
		if slices.ContainsFunc(named, func(word string) bool { return slices.Contains(o.words, word) }) {
			lacks = lacks.Or(o.lacks)
		}
	}
	own := *req
	dropped = lacks.Trim(&own.Params)
	if len(dropped) == 0 && (lacks.Reasoning == "" || req.Capabilities.Reasoning == llm.NoReasoning) { // reasoning is also requested without an effort
		return nil, nil, lacks
	}
	own.Capabilities = lacks.Or(req.Capabilities)
	return &own, dropped, lacks
}

// permanent reports whether a rejection is about the parameter itself, not about its value.
func permanent(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && containsAny(strings.ToLower(e.Message), "not support", "unsupported", "unrecognized", "unknown", "not permitted", "not allowed",
		"not accept", "not enabled", "not available", "deprecated", "unexpected")
}
