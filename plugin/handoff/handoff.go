// Package handoff hands a thread from one agent to another.
//
// The run goes on: at the border between two steps the other agent's prompt, model,
// tools and plugins take over, and from then on the thread is the other agent's, in
// later runs too, until it is handed on or back. The run's identity, its events and its
// record name whoever has it.
//
// What a thread is handed to is an agent of the registry, or a variant: the same agent
// but for a few fields, an [awaken.Overlay]. Both come from the agent's section; variants
// that several agents share are given to [New]:
//
//	"agent_handoff": {
//		"agents": ["billing"],
//		"overlays": {"terse": {"system_prompt": "Answer in one line."}},
//		"max_handoffs": 8
//	}
//
// The model is offered a tool handoff_to_<name> for each of them, and for the way back
// from a variant. Go code uses [Request], [Activate] and [Clear].
//
// Agents that hand a thread to and fro do not do so for ever: a run is handed over
// max_handoffs times at most.
package handoff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/builtin"
	"github.com/awaken-go/awaken/state"
)

// PluginID is the name of the plugin and of its section.
const PluginID = "agent_handoff"

// Config is the section of an agent that can hand its thread over.
type Config struct {
	Agents      []string                  `json:"agents,omitempty" jsonschema:"agents that the model may hand the thread to"`
	Overlays    map[string]awaken.Overlay `json:"overlays,omitempty" jsonschema:"variants of this agent, by name; what an overlay leaves out is the agent's"`
	MaxHandoffs int                       `json:"max_handoffs" jsonschema:"how often one run may be handed over"`
	Tools       bool                      `json:"tools" jsonschema:"offer the model a tool handoff_to_<name> for each agent and variant"`
}

// Validate says what is wrong with the section.
func (c *Config) Validate() error {
	if c.MaxHandoffs < 1 {
		return fmt.Errorf("max_handoffs is %d, want 1 or more", c.MaxHandoffs)
	}
	for i, id := range c.Agents {
		if strings.TrimSpace(id) == "" {
			return fmt.Errorf("agents[%d] is empty", i)
		}
		if slices.Contains(c.Agents[:i], id) {
			return fmt.Errorf("agents lists %q twice", id)
		}
		if _, both := c.Overlays[id]; both {
			return fmt.Errorf("%q is in agents and in overlays", id)
		}
	}
	return nil
}

// Section is the plugin's section.
var Section = awaken.NewSection(PluginID, Config{MaxHandoffs: 8, Tools: true})

func init() {
	Section.Info = awaken.SectionInfo{DisplayName: "Handoff", Description: "Hands the thread to another agent, or to a variant of this one.", Category: "agents"}
}

// Handoffs says who has a thread.
type Handoffs struct {
	ActiveAgent    string `json:"active_agent,omitempty"`    // agent or variant; "" is the base agent
	RequestedAgent string `json:"requested_agent,omitempty"` // to whom it goes at the next border
	BaseAgent      string `json:"base_agent,omitempty"`      // whose it was at first
	Cleared        bool   `json:"cleared,omitempty"`         // it goes back at the next border
}

// Effective is who has the thread, or will have it: what was asked for, else who is active.
// "" is the base agent.
func (h Handoffs) Effective() string {
	switch {
	case h.RequestedAgent != "":
		return h.RequestedAgent
	case h.Cleared:
		return ""
	}
	return h.ActiveAgent
}

// change is what State is updated with; see [Request], [Activate] and [Clear].
type change func(h *Handoffs)

// State is who has the thread. Read it with State.Get.
var State = state.NewKey(PluginID, func(h Handoffs, c change) Handoffs {
	c(&h)
	return h
}, state.Options{Scope: state.Thread})

// count is how often this run was handed over.
var count = state.NewKey(PluginID+".count", func(n, d int) int { return n + d }, state.Options{Merge: state.Commutative})

// Request asks for the thread to be handed to an agent or variant. That happens at the
// next border: the start of a run, or the end of a step.
func Request(w state.Writer, agent string) {
	State.Update(w, func(h *Handoffs) { h.RequestedAgent, h.Cleared = agent, false })
}

// Activate hands the thread to an agent or variant. It does not count as a handoff, and is
// not refused for being one too many.
func Activate(w state.Writer, agent string) {
	State.Update(w, func(h *Handoffs) { h.ActiveAgent, h.RequestedAgent, h.Cleared = agent, "", false })
}

// Clear gives the thread back to the agent that it was handed away from first.
func Clear(w state.Writer) {
	State.Update(w, func(h *Handoffs) { h.RequestedAgent, h.Cleared = "", h.ActiveAgent != "" })
}

// New returns the plugin. The overlays are variants of every agent that loads it, beside
// those of the agent's own section.
func New(overlays map[string]awaken.Overlay) awaken.Plugin { return &plugin{overlays} }

type plugin struct{ overlays map[string]awaken.Overlay }

func (p *plugin) Name() string { return PluginID }

func (p *plugin) Register(r *awaken.Registrar) error {
	r.Section(Section)
	r.Key(State, count)
	cfg, err := Section.Read(r.Agent)
	if err != nil {
		return nil // the registry says so
	}
	for i, id := range cfg.Agents {
		if r.Lookup(id) == nil {
			return fmt.Errorf("agents[%d] is %q, which is not defined", i, id)
		}
	}
	overlays := map[string]awaken.Overlay{}
	maps.Copy(overlays, p.overlays)
	maps.Copy(overlays, cfg.Overlays)
	for _, name := range slices.Sorted(maps.Keys(overlays)) {
		r.Variant(name, overlays[name])
	}
	w := &way{cfg: cfg, variants: overlays}
	r.On(awaken.PhaseRunStart, w.sync)
	r.On(awaken.PhaseStepEnd, w.sync)
	if cfg.Tools {
		for _, name := range w.targets(r.Agent) {
			r.Tool(w.tool(name))
		}
	}
	return nil
}

// way is what the plugin does for one agent.
type way struct {
	cfg      Config
	variants map[string]awaken.Overlay
}

// targets are whom the model of an agent may hand the thread to.
func (w *way) targets(agent *awaken.AgentSpec) []string {
	names := append(slices.Collect(maps.Keys(w.variants)), w.cfg.Agents...)
	if agent.Base() != agent.ID {
		names = append(names, agent.Base()) // back
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return w.id(agent, name) == agent.ID })
}

// id is the id of the agent or variant of that name.
func (w *way) id(agent *awaken.AgentSpec, name string) string {
	if _, ok := w.variants[name]; ok {
		return awaken.VariantID(agent.Base(), name)
	}
	return name
}

// sync makes what was asked for happen: the runtime changes the agent when ActiveAgent
// has changed.
func (w *way) sync(_ context.Context, h *awaken.HookCall) error {
	s := State.Get(h)
	if h.Phase == awaken.PhaseRunStart && s.ActiveAgent != "" && builtin.ActiveAgent.Get(h) == "" {
		forget := func(h *Handoffs) { *h = Handoffs{RequestedAgent: h.RequestedAgent} }
		State.Update(h, forget) // somebody has asked for another agent since
		forget(&s)
	}
	switch {
	case s.RequestedAgent != "":
		if n := count.Get(h); n >= w.cfg.MaxHandoffs {
			return fmt.Errorf("handoff to %q: %w", s.RequestedAgent, w.tooMany(n))
		}
		count.Update(h, 1)
		w.hand(h, s, s.RequestedAgent)
	case s.Cleared:
		builtin.ActiveAgent.Update(h, s.BaseAgent)
		State.Clear(h)
	case s.ActiveAgent != "" && w.id(h.Agent, s.ActiveAgent) != builtin.ActiveAgent.Get(h) && s.ActiveAgent != builtin.ActiveAgent.Get(h):
		w.hand(h, s, s.ActiveAgent)
	}
	return nil
}

// hand gives the thread to an agent or variant.
func (w *way) hand(h *awaken.HookCall, s Handoffs, name string) {
	base, id := cmp.Or(s.BaseAgent, h.Agent.Base()), w.id(h.Agent, name)
	builtin.ActiveAgent.Update(h, id)
	if id == base {
		State.Clear(h) // it is back
		return
	}
	State.Update(h, func(h *Handoffs) { h.ActiveAgent, h.RequestedAgent, h.BaseAgent = name, "", base })
}

func (w *way) tooMany(n int) error {
	return fmt.Errorf("the run has been handed over %d times, which is the limit", n)
}

// tool lets the model hand the thread over.
func (w *way) tool(name string) awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{
		ID:          "handoff_to_" + name,
		Description: fmt.Sprintf("Hands the conversation over to %q, who answers from then on.", name),
		Category:    "handoff",
		Effect:      awaken.ReadOnly, // what it records is committed with its result
	}, func(_ context.Context, call *awaken.ToolCall, in struct {
		Reason string `json:"reason,omitempty" jsonschema:"why, for whoever takes over"`
	}) (*awaken.ToolResult, error) {
		if n := count.Get(call); n >= w.cfg.MaxHandoffs {
			return nil, errors.Join(w.tooMany(n), errors.New("answer yourself"))
		}
		Request(call, name)
		text := "Handed over to " + name + "."
		if in.Reason != "" {
			text += " Reason: " + in.Reason
		}
		return awaken.TextResult(text), nil
	})
}
