package skills

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/toolname"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state/builtin"
)

// Options say where skills come from and what they may do.
type Options struct {
	Library *Library // nil has no skills
	// Documents are skills of a control plane. They take precedence over those of the library,
	// and belong to the version of the registry that has the plugins.
	Documents []*Skill
	// Runner runs the scripts of skills. With nil, agents have no tool for scripts.
	Runner *Runner
}

// New returns the plugins [DiscoveryID] and [InstructionsID]. The error reports documents that are
// not sealed or have the same name.
func New(o Options) ([]awaken.Plugin, error) {
	sh, err := newShelf(o.Library, o.Documents)
	if err != nil {
		return nil, err
	}
	return []awaken.Plugin{&discovery{shelf: sh, runner: o.Runner}, activeInstructions{}}, nil
}

// activeInstructions shows the model the instructions of active skills.
type activeInstructions struct{}

func (activeInstructions) Name() string { return InstructionsID }

func (activeInstructions) Register(r *awaken.Registrar) error {
	if !slices.Contains(r.Agent.PluginIDs, DiscoveryID) {
		return nil // no skill can be activated
	}
	r.On(awaken.PhaseBeforeInference, func(_ context.Context, h *awaken.HookCall) error {
		u := used.Get(h)
		if text := instructions(&u); text != "" {
			m := builtin.SystemContext("active_skill_instructions", text)
			m.Target = awaken.TargetSuffix
			builtin.AddContextMessage.Schedule(h, m)
		}
		return nil
	})
	return nil
}

// discovery offers skills to agents.
type discovery struct {
	*shelf
	runner *Runner
}

func (*discovery) Name() string { return DiscoveryID }

// Revision returns a number that changes with the skills, so that agents find the models that new
// skills name.
func (d *discovery) Revision() uint64 { return d.library.revision() }

func (d *discovery) Register(r *awaken.Registrar) error {
	r.Section(Section)
	r.Key(used)
	cfg, err := Section.Read(r.Agent)
	if err != nil {
		return nil // the registry reports it
	}
	o := &offer{shelf: d.shelf, cfg: cfg, runner: d.runner, models: modelsOf(r, &cfg, d.at("")),
		shows: slices.Contains(r.Agent.PluginIDs, InstructionsID), defers: slices.Contains(r.Agent.PluginIDs, deferredTools),
		gated: slices.Contains(r.Agent.PluginIDs, "permission"), names: r.Names}
	r.On(awaken.PhaseStepStart, o.stepStart)
	r.On(awaken.PhaseBeforeInference, o.beforeInference)
	r.On(awaken.PhaseAfterInference, o.afterInference)
	r.Gate(o.gate)
	r.Transform(o.restrict)
	r.Tool(&skillTool{o}, o.deactivateTool(), o.resourceTool())
	if o.runner != nil && cfg.Scripts != ScriptsOff {
		r.Tool(o.scriptTool())
	}
	return nil
}

// Deactivate takes back what active skills allow, before the thread is handed to another agent: that one has its own rules.
func (*discovery) Deactivate(_ context.Context, h *awaken.HookCall) error {
	for _, a := range used.Get(h).Active {
		builtin.Grants.Update(h, builtin.Grant{By: grantor(a.Name)})
	}
	return nil
}

var _ awaken.Deactivator = (*discovery)(nil)

// offer is what one agent is offered.
type offer struct {
	*shelf
	cfg    Config
	runner *Runner
	models map[string]string // upstream models by the names that skills call them
	shows  bool              // the agent loads InstructionsID
	defers bool              // the agent loads the plugin that defers tools
	gated  bool              // the agent loads the permission plugin
	names  *toolname.Names   // of the agent's tools
}

// stepStart takes in the library's current skills, so that a step sees one set, and what a person
// asks for.
func (o *offer) stepStart(_ context.Context, h *awaken.HookCall) error {
	u := used.Get(h)
	now := o.library.at("")
	if u.Set != now.digest {
		used.Update(h, change{set: now.digest})
	}
	msg := h.Messages.Last()
	if msg == nil || msg.Role != llm.User || msg.Metadata != nil && msg.Metadata.ClientRole != "" || msg.ID == u.Message && msg.ID != "" {
		return nil
	}
	set := o.at(now.digest)
	o.note(h, set, strings.FieldsFunc(msg.Text(), func(r rune) bool { return strings.ContainsRune(" \t\n\"'`<>()[],;", r) }))
	return o.command(h, set, msg)
}

// beforeInference tells the model which skills there are, and chooses its model.
func (o *offer) beforeInference(_ context.Context, h *awaken.HookCall) error {
	u := used.Get(h)
	if text := o.catalogue(o.at(u.Set), &u); text != "" {
		builtin.AddContextMessage.Schedule(h, builtin.SystemContext("skill_catalog", text))
	}
	for _, a := range slices.Backward(u.Active) {
		if a.Model != "" && h.Agent.Budget == nil { // a run with a budget may only use the model whose price it knows
			builtin.SetInferenceOverride.Schedule(h, awaken.InferenceOverride{UpstreamModel: a.Model})
			break
		}
	}
	return nil
}

// afterInference notes the files that the model works with.
func (o *offer) afterInference(_ context.Context, h *awaken.HookCall) error {
	set := o.at(used.Get(h).Set)
	for _, c := range h.Reply.Message.ToolCalls {
		o.note(h, set, texts(c.Arguments))
	}
	return nil
}

// reply is the result of a tool that succeeded.
func reply(data any, message string) (*awaken.ToolResult, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	return &awaken.ToolResult{Status: awaken.ToolSuccess, Message: message, Data: raw}, nil
}
