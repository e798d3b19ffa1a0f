// Package handoff hands a thread from one agent to another.
//
// The run continues: between two steps, the other agent's prompt, model, tools and plugins
// take over. From then on the thread belongs to the other agent, in later runs too, until it
// is handed on or back. The run's identity, its events and its record name the current agent.
//
// A target is an agent of the registry, or a variant: the same agent with a few fields
// changed, an [awaken.Overlay]. Both come from the agent's section; variants that several
// agents share are passed to [New]:
//
//	"agent_handoff": {
//		"agents": ["billing"],
//		"overlays": {"terse": {"system_prompt": "Answer in one line."}},
//		"max_handoffs": 8
//	}
//
// The model is offered a tool handoff_to_<name> for each target, and for the way back from a
// variant. Go code uses [Request], [Activate] and [Clear].
//
// A run is handed over at most max_handoffs times, so agents cannot pass a thread back and
// forth forever.
package handoff

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// PluginID is the name of the plugin and of its section.
const PluginID = "agent_handoff"

// Config is the section of an agent that can hand its thread over.
type Config struct {
	Agents      []string                  `json:"agents,omitempty" jsonschema:"agents that the model may hand the thread to"`
	Overlays    map[string]awaken.Overlay `json:"overlays,omitempty" jsonschema:"variants of this agent, by name; fields that an overlay omits are the agent's"`
	MaxHandoffs int                       `json:"max_handoffs" jsonschema:"maximum number of handoffs in one run"`
	Tools       bool                      `json:"tools" jsonschema:"offer the model a tool handoff_to_<name> for each agent and variant"`
}

// Validate checks the section.
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
			return fmt.Errorf("%q is in both agents and overlays", id)
		}
	}
	return nil
}

// Section is the plugin's section.
var Section = awaken.NewSection(PluginID, Config{MaxHandoffs: 8, Tools: true})

func init() {
	Section.Info = awaken.SectionInfo{DisplayName: "Handoff", Description: "Hands the thread to another agent, or to a variant of this one.", Category: "agents"}
}

// Handoffs records which agent has a thread.
type Handoffs struct {
	ActiveAgent    string `json:"active_agent,omitempty"`    // agent or variant; "" means the base agent
	RequestedAgent string `json:"requested_agent,omitempty"` // takes over at the next step boundary
	BaseAgent      string `json:"base_agent,omitempty"`      // the agent before the first handoff
	Cleared        bool   `json:"cleared,omitempty"`         // returns to the base agent at the next step boundary
}

// Effective returns the agent that has the thread or is about to take over: the requested
// agent, else the active one. "" means the base agent.
func (h Handoffs) Effective() string {
	switch {
	case h.RequestedAgent != "":
		return h.RequestedAgent
	case h.Cleared:
		return ""
	}
	return h.ActiveAgent
}

// change is an update of State; see [Request], [Activate] and [Clear].
type change func(h *Handoffs)

// State records which agent has the thread.
var State = state.NewKey(PluginID, func(h Handoffs, c change) Handoffs {
	c(&h)
	return h
}, state.Options{Scope: state.Thread})

// count is the number of handoffs in this run.
var count = state.NewKey(PluginID+".count", func(n, d int) int { return n + d }, state.Options{Merge: state.Commutative})

// Request requests a handoff to an agent or variant. It takes effect at the next boundary: the
// start of a run, or the end of a step.
func Request(w state.Writer, agent string) {
	State.Update(w, func(h *Handoffs) { h.RequestedAgent, h.Cleared = agent, false })
}

// Activate hands the thread to an agent or variant. It neither counts as a handoff nor is
// subject to the limit.
func Activate(w state.Writer, agent string) {
	State.Update(w, func(h *Handoffs) { h.ActiveAgent, h.RequestedAgent, h.Cleared = agent, "", false })
}

// Clear returns the thread to the base agent.
func Clear(w state.Writer) {
	State.Update(w, func(h *Handoffs) { h.RequestedAgent, h.Cleared = "", h.ActiveAgent != "" })
}

// New returns the plugin. The overlays are variants of every agent that loads it, in addition
// to those of the agent's section.
func New(overlays map[string]awaken.Overlay) awaken.Plugin { return &plugin{overlays} }

type plugin struct{ overlays map[string]awaken.Overlay }

func (p *plugin) Name() string { return PluginID }

func (p *plugin) Register(r *awaken.Registrar) error {
	r.Section(Section)
	r.Key(State, count)
	cfg, err := Section.Read(r.Agent)
	if err != nil {
		return nil // the registry reports it
	}
	for i, id := range cfg.Agents {
		if r.Lookup(id) == nil {
			return fmt.Errorf("agents[%d]: agent %q not found", i, id)
		}
	}
	overlays := map[string]awaken.Overlay{}
	maps.Copy(overlays, p.overlays)
	maps.Copy(overlays, cfg.Overlays)
	for _, name := range slices.Sorted(maps.Keys(overlays)) {
		r.Variant(name, overlays[name])
	}
	sw := &switcher{cfg: cfg, variants: overlays}
	r.On(awaken.PhaseRunStart, sw.sync)
	r.On(awaken.PhaseStepEnd, sw.sync)
	if cfg.Tools {
		for _, name := range sw.targets(r.Agent) {
			r.Tool(sw.tool(name, r.Lookup(name)))
		}
	}
	return nil
}

// switcher hands the thread of one agent over.
type switcher struct {
	cfg      Config
	variants map[string]awaken.Overlay
}

// targets returns the agents and variants that the model may hand the thread to.
func (sw *switcher) targets(agent *awaken.AgentSpec) []string {
	names := append(slices.Collect(maps.Keys(sw.variants)), sw.cfg.Agents...)
	if agent.Base() != agent.ID {
		names = append(names, agent.Base()) // back
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return sw.id(agent, name) == agent.ID })
}

// id returns the id of the agent or variant with a name.
func (sw *switcher) id(agent *awaken.AgentSpec, name string) string {
	if _, ok := sw.variants[name]; ok {
		return agent.VariantID(name)
	}
	return name
}

// sync applies a pending request. The runtime switches the agent when ActiveAgent changes.
func (sw *switcher) sync(_ context.Context, h *awaken.HookCall) error {
	s := State.Get(h)
	if h.Phase == awaken.PhaseRunStart && s.ActiveAgent != "" && builtin.ActiveAgent.Get(h) == "" {
		forget := func(h *Handoffs) { *h = Handoffs{RequestedAgent: h.RequestedAgent} }
		State.Update(h, forget) // the thread was run with another agent since
		forget(&s)
	}
	switch {
	case s.RequestedAgent != "":
		if n := count.Get(h); n >= sw.cfg.MaxHandoffs {
			return fmt.Errorf("handoff to %q: %w", s.RequestedAgent, sw.tooMany(n))
		}
		count.Update(h, 1)
		sw.hand(h, s, s.RequestedAgent)
	case s.Cleared:
		builtin.ActiveAgent.Update(h, s.BaseAgent)
		State.Clear(h)
	case s.ActiveAgent != "" && sw.id(h.Agent, s.ActiveAgent) != builtin.ActiveAgent.Get(h) && s.ActiveAgent != builtin.ActiveAgent.Get(h):
		sw.hand(h, s, s.ActiveAgent)
	}
	return nil
}

// hand hands the thread to an agent or variant.
func (sw *switcher) hand(h *awaken.HookCall, s Handoffs, name string) {
	base, id := cmp.Or(s.BaseAgent, h.Agent.Base()), sw.id(h.Agent, name)
	builtin.ActiveAgent.Update(h, id)
	if id == base {
		State.Clear(h) // back at the base agent
		return
	}
	State.Update(h, func(h *Handoffs) { h.ActiveAgent, h.RequestedAgent, h.BaseAgent = name, "", base })
}

func (sw *switcher) tooMany(n int) error {
	return fmt.Errorf("the limit of %d handoffs in one run is reached", n)
}

// tool returns the tool that hands the thread to an agent or variant; to is the agent, or nil.
func (sw *switcher) tool(name string, to *awaken.AgentSpec) awaken.Tool {
	leaves, effect := awaken.Egress{None: true}, awaken.ReadOnly // what it records is committed with its result
	if to != nil {                                               // not a variant
		if leaves = to.Egress(); to.BackendKind() != "" {
			effect = awaken.Effectful // what a remote agent does is not known
		}
	}
	return awaken.NewTool(awaken.ToolSpec{
		ID:          "handoff_to_" + name,
		Description: fmt.Sprintf("Hands the conversation over to %q, which answers from then on.", name),
		Category:    "handoff",
		Effect:      effect,
		Egress:      leaves, // the conversation goes to the server of a remote agent
	}, func(_ context.Context, call *awaken.ToolCall, in struct {
		Reason string `json:"reason,omitempty" jsonschema:"why, for the agent that takes over"`
	}) (*awaken.ToolResult, error) {
		if n := count.Get(call); n >= sw.cfg.MaxHandoffs {
			return nil, fmt.Errorf("%w: answer yourself", sw.tooMany(n))
		}
		Request(call, name)
		text := "Handed over to " + name + "."
		if in.Reason != "" {
			text += " Reason: " + in.Reason
		}
		return awaken.TextResult(text), nil
	})
}
