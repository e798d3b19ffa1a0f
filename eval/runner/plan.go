package runner

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/trace"
)

// Plan lists the cells to run. Its cells are numbered from 0: the variants of the first case, each with its samples, then the
// variants of the second.
type Plan struct {
	Fixtures []eval.Fixture
	Variants []Variant
	// Samples is how often a cell is run. 0 means once, without a number in its report.
	Samples int
	Limits  Limits
	Judge   *Judge // nil: answers are not judged
	// Functions are those that scorers of kind func name.
	Functions map[string]eval.ScoreFunc
	// Done reports that a cell is not to be run, because it has a report from before. Nil means that none has.
	Done func(n int) bool
	// Start is called before a cell that may cost something is run, by several cells at a time. If it fails, the cell is not run, and no
	// other is. Cells are started in the order of their numbers, as far as they run one after another. Nil is not called.
	Start func(ctx context.Context, n int) error
	// Spend is called with 0 before a cell that may cost something is run, and then with what each inference of it and of the judge cost, in US
	// dollars, by several cells at a time. If it fails, no other cell is run, and those that are running are cut off: their reports say why. Nil is not called.
	Spend func(usd float64) error
	// Record is called with the trace of a cell that was run, under the id of its last run, which the item then names unless it fails. The trace has the events of
	// all runs of the cell. It is called by several cells at a time, if the runtime has a method Store. Nil is not called.
	Record func(ctx context.Context, runID string, lines []trace.Event) error
}

// Limits bounds a run over a dataset. A field that is 0 sets no limit.
type Limits struct {
	Concurrency int           // cells at a time; 0 means 1
	Time        time.Duration // of all cells together
	Tokens      int64         // of all cells together, with those of the judge
	USD         float64       // of all cells together
}

// Variant is an agent as it is tried.
type Variant struct {
	Cell     *eval.Cell         // names the variant in reports; nil if there is only one
	Registry *registry.Registry // has the agent
	AgentID  string
	Scripted bool // the scripts of the cases answer instead of the agent's model
	// Parameters override the agent's request parameters.
	Parameters *awaken.InferenceOverride
}

// Choice is one variant of an agent.
type Choice struct {
	ID             string                    `json:"id"` // names it in reports
	SystemPrompt   *string                   `json:"system_prompt,omitempty"`
	AgentOverrides json.RawMessage           `json:"agent_overrides,omitempty"` // fields of the agent
	Parameters     *awaken.InferenceOverride `json:"parameters,omitempty"`      // such as temperature
}

// Overrides returns the fields of the agent that the choice replaces, on top of others, which may be nil. Errors are awaken.ErrInvalid.
func (c *Choice) Overrides(others json.RawMessage) (json.RawMessage, error) {
	if c.AgentOverrides == nil && c.SystemPrompt == nil {
		return others, nil
	}
	fields := map[string]json.RawMessage{}
	for _, o := range []json.RawMessage{others, c.AgentOverrides} {
		if o == nil || string(o) == "null" {
			continue // null would make fields nil
		}
		if err := json.Unmarshal(o, &fields); err != nil {
			return nil, fmt.Errorf("agent_overrides of variant %q: %w: %w", c.ID, awaken.ErrInvalid, err)
		}
	}
	if c.SystemPrompt != nil {
		prompt, err := json.Marshal(*c.SystemPrompt)
		if err != nil {
			return nil, err
		}
		fields["system_prompt"] = prompt
	}
	return json.Marshal(fields)
}

const (
	scriptedAgent = "eval"
	scriptedModel = "eval-script"
	judgeAgent    = "eval-judge"
)

// Scripted returns a variant for cases with scripts: an agent that has no instructions, no plugins and only the tools for which
// a case has results.
func Scripted() Variant {
	reg, err := registry.New(registry.Config{Builtin: builtin.For, ID: scriptedAgent, Lazy: true, Agents: []*awaken.AgentSpec{{ID: scriptedAgent, ModelID: scriptedModel}}})
	if err != nil {
		panic(err) // it depends on no input
	}
	return Variant{Registry: reg, AgentID: scriptedAgent, Scripted: true}
}

// Patched returns a registry in which an agent has another model, if modelID is not "", and the fields of a JSON object instead of its own,
// if overrides is not nil. Errors are awaken.ErrNotFound, awaken.ErrInvalid or an *awaken.ConfigError.
func Patched(reg *registry.Registry, agentID, modelID string, overrides json.RawMessage) (*registry.Registry, error) {
	spec, err := copyOf(reg, agentID)
	if err != nil {
		return nil, err
	}
	if modelID != "" && !reg.HasModel(modelID) {
		return nil, fmt.Errorf("model %q: %w", modelID, awaken.ErrNotFound)
	}
	if overrides != nil {
		if spec, err = patch(spec, overrides); err != nil {
			return nil, err
		}
	}
	if modelID != "" {
		spec.ModelID = modelID
	}
	return reg.Derive(registry.Edit{Agents: []*awaken.AgentSpec{spec}})
}

// Live returns the variant of an agent with a model, or with its own if modelID is "". Without an agent, the model answers alone, without instructions and
// tools. Errors are those of [Patched].
func Live(reg *registry.Registry, agentID, modelID string, overrides json.RawMessage) (v Variant, err error) {
	v = Variant{Cell: &eval.Cell{ModelID: modelID}, AgentID: agentID}
	if agentID == "" {
		v.AgentID = scriptedAgent
		if reg, err = reg.Derive(registry.Edit{Lazy: true, Agents: []*awaken.AgentSpec{{ID: scriptedAgent, AllowedTools: []string{}}}}); err != nil {
			return v, err
		}
	}
	if v.Registry, err = Patched(reg, v.AgentID, modelID, overrides); err == nil && modelID == "" {
		v.Cell.ModelID = v.Registry.Agent(v.AgentID).ModelID
	}
	return v, err
}

// copyOf returns a copy of an agent that this runtime can run.
func copyOf(reg *registry.Registry, agentID string) (*awaken.AgentSpec, error) {
	spec := reg.Agent(agentID)
	if spec == nil {
		return nil, fmt.Errorf("agent %q: %w", agentID, awaken.ErrNotFound)
	}
	if kind := spec.BackendKind(); kind != "" {
		return nil, fmt.Errorf("agent %q: %w: it runs elsewhere (%s); want an agent that runs here", agentID, awaken.ErrInvalid, kind)
	}
	return patch(spec, nil)
}

// patch returns a copy of spec with the fields of a JSON object.
func patch(spec *awaken.AgentSpec, overrides json.RawMessage) (*awaken.AgentSpec, error) {
	data, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	if overrides != nil {
		fields, changes := map[string]json.RawMessage{}, map[string]json.RawMessage{}
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, err
		}
		if err := strict.Unmarshal(overrides, &changes); err != nil {
			return nil, fmt.Errorf("agent_overrides: %w: %w", awaken.ErrInvalid, err)
		}
		for name, value := range changes {
			if name == "id" || name == "endpoint" || name == "backend" {
				return nil, fmt.Errorf("agent_overrides.%s: %w: it cannot be overridden", name, awaken.ErrInvalid)
			}
			if string(value) == "null" {
				delete(fields, name)
				continue
			}
			fields[name] = value
		}
		if data, err = json.Marshal(fields); err != nil {
			return nil, err
		}
	}
	out := new(awaken.AgentSpec)
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("agent_overrides: %w: %w", awaken.ErrInvalid, err)
	}
	return out, nil
}

// scripted returns the registry of a cell whose replies come from a model, those of the agent and of the agents below it. An error of the script is not
// retried: a reply answers one inference.
func (v *Variant) scripted(model llm.Model, tools []awaken.Tool) (*registry.Registry, error) {
	var specs []*awaken.AgentSpec
	known := map[string]bool{}
	for todo := []string{v.AgentID}; len(todo) > 0; todo = todo[1:] {
		if known[todo[0]] {
			continue
		}
		known[todo[0]] = true
		spec, err := copyOf(v.Registry, todo[0])
		if err != nil && todo[0] == v.AgentID {
			return nil, err
		}
		if err != nil {
			continue // it runs elsewhere, and is not called
		}
		todo = append(todo, spec.Delegates...)
		spec.ModelID = scriptedModel
		if spec.Sections == nil {
			spec.Sections = map[string]json.RawMessage{}
		}
		spec.Sections["retry"] = json.RawMessage(`{"max_retries":0,"max_stream_retries":0}`)
		specs = append(specs, spec)
	}
	return v.Registry.Derive(registry.Edit{Lazy: true, Agents: specs, Tools: tools, Providers: map[string]llm.Model{scriptedModel: model},
		Models: []awaken.ModelSpec{{ID: scriptedModel, ProviderID: scriptedModel, UpstreamModel: scriptedModel}}})
}

// Len returns the number of cells.
func (p *Plan) Len() int { return len(p.Fixtures) * len(p.Variants) * max(1, p.Samples) }

// place is where a cell is in a plan.
type place struct{ fixture, variant, sample int }

func (p *Plan) place(n int) place {
	samples := max(1, p.Samples)
	return place{n / samples / len(p.Variants), n / samples % len(p.Variants), n % samples}
}

// Item returns the item of a cell, without its report.
func (p *Plan) Item(n int) eval.Item { return p.item(p.place(n)) }

func (p *Plan) item(at place) eval.Item {
	it := eval.Item{FixtureID: p.Fixtures[at.fixture].ID, Cell: p.Variants[at.variant].Cell}
	if p.Samples > 0 {
		it.SampleIndex = &at.sample
	}
	return it
}

// twins returns, for each fixture, the first one that runs alike: they differ at most in what is expected of the run.
func (p *Plan) twins() ([]int, error) {
	first, out := map[[sha256.Size]byte]int{}, make([]int, len(p.Fixtures))
	for i := range p.Fixtures {
		f := &p.Fixtures[i]
		data, err := json.Marshal(struct {
			Turns   []eval.Exchange
			Results []eval.ToolResult
			Decide  eval.Decide
			Unused  bool
			Score   *float64
			Rubric  string
		}{f.Turns(), f.ToolResults, f.Decide, f.AllowUnusedProviderScript, f.Expect.MinJudgeScore, f.Expect.Rubric})
		if err != nil {
			return nil, fmt.Errorf("fixture %q: %w", f.ID, err)
		}
		digest := sha256.Sum256(data)
		if _, ok := first[digest]; !ok {
			first[digest] = i
		}
		out[i] = first[digest]
	}
	return out, nil
}
