// Package deferred keeps the schemas of tools out of the model's context until they are
// needed. A deferred tool is only named; the tool ToolSearch finds it and promotes it, and
// from then on the model is offered it like any other. A tool that is not used any more is
// deferred again.
//
//	cfg.Plugins = append(cfg.Plugins, deferred.New())
//
// An agent that lists "ext-deferred-tools" in plugin_ids is configured by the section
// deferred_tools:
//
//	"deferred_tools": {
//	  "enabled": null,
//	  "default_mode": "deferred",
//	  "rules": [{"tool": "get_weather", "mode": "eager"}, {"tool": "debug_*", "mode": "deferred"}]
//	}
//
// Unless enabled says otherwise, tools are deferred only when that saves more than
// ToolSearch and the list of names cost. Which tools there are is looked at in every step,
// so tools that arrive later are deferred too.
//
// What is promoted is kept with the thread. How often tools are used is learned across
// threads, in the profile, if the runtime has one.
package deferred

import (
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/pattern"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/llm"
)

const (
	// Name is the plugin's name.
	Name = "ext-deferred-tools"
	// SectionName is the name of its section.
	SectionName = "deferred_tools"
	// SearchTool is the id of the tool that finds deferred tools.
	SearchTool = "ToolSearch"
)

// Mode is whether a tool's schema is shown from the start.
type Mode string

const (
	Eager    Mode = "eager"
	Deferred Mode = "deferred"
)

// Config is the section.
type Config struct {
	Enabled      *bool              `json:"enabled" jsonschema:"true defers, false does not, null defers when that saves enough"`
	Rules        []Rule             `json:"rules" jsonschema:"the first that takes a tool says how it is loaded"`
	DefaultMode  Mode               `json:"default_mode" jsonschema:"how tools are loaded that no rule takes: eager or deferred"`
	BetaOverhead float64            `json:"beta_overhead" jsonschema:"tokens that ToolSearch and the list of names cost in each turn"`
	AgentPriors  map[string]float64 `json:"agent_priors" jsonschema:"how often tools are used, from 0 to 1; 0.01 for others"`
	DiscBeta     DiscBeta           `json:"disc_beta" jsonschema:"when a promoted tool is deferred again"`
}

// Rule says how the tools that a pattern takes are loaded.
type Rule struct {
	Tool string `json:"tool" jsonschema:"a tool's id, a glob or a /regular expression/"`
	Mode Mode   `json:"mode"`
}

// DescribeSchema adds what Go types cannot say.
func (*Config) DescribeSchema(s *schema.Node) {
	s.Property("default_mode").Enum(string(Eager), string(Deferred))
	s.Property("rules").Items().Property("mode").Enum(string(Eager), string(Deferred))
	s.Property("beta_overhead").Min(0)
	d := s.Property("disc_beta")
	d.Property("omega").Range(0, 1)
	d.Property("n0").Min(0)
	d.Property("defer_after").Min(0)
	d.Property("thresh_mult").Min(0)
	d.Property("gamma").Min(0)
	d.Optional("omega", "n0", "defer_after", "thresh_mult", "gamma")
}

// Defaults are what a section that leaves things out has.
func Defaults() Config {
	return Config{Rules: []Rule{}, DefaultMode: Deferred, BetaOverhead: 1136, AgentPriors: map[string]float64{},
		DiscBeta: DiscBeta{Omega: 0.95, N0: 5, DeferAfter: 5, ThreshMult: 0.5, Gamma: 2000}}
}

// Validate reports every mistake in the section.
func (c *Config) Validate() error {
	_, err := c.compile()
	return err
}

// policy is the compiled section.
type policy struct {
	Config
	patterns []*pattern.Pattern // of Rules
}

func (c *Config) compile() (*policy, error) {
	p := &policy{Config: *c}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	mode := func(field string, m Mode) {
		if m != Eager && m != Deferred {
			bad("%s is %q, want eager or deferred", field, m)
		}
	}
	mode("default_mode", c.DefaultMode)
	for i, r := range c.Rules {
		mode(fmt.Sprintf("rules[%d].mode", i), r.Mode)
		pt, err := pattern.Compile(r.Tool)
		if err != nil {
			bad("rules[%d].tool: %w", i, err)
		} else if !pt.Unconditional() {
			bad("rules[%d].tool is %q, which has arguments: tools are deferred whatever they are called with", i, r.Tool)
		}
		p.patterns = append(p.patterns, pt)
	}
	if c.BetaOverhead < 0 {
		bad("beta_overhead is %g, want 0 or more", c.BetaOverhead)
	}
	for tool, prior := range c.AgentPriors {
		if prior < 0 || prior > 1 {
			bad("agent_priors[%q] is %g, want 0 to 1", tool, prior)
		}
	}
	d := c.DiscBeta
	if d.Omega <= 0 || d.Omega > 1 {
		bad("disc_beta.omega is %g, want above 0 and at most 1", d.Omega)
	}
	if d.N0 <= 0 || d.Gamma <= 0 || d.ThreshMult < 0 || d.DeferAfter < 0 {
		bad("disc_beta has n0 %g, gamma %g, thresh_mult %g and defer_after %d, want positive numbers", d.N0, d.Gamma, d.ThreshMult, d.DeferAfter)
	}
	return p, errors.Join(errs...)
}

// mode is how a tool is loaded at first.
func (p *policy) mode(tool string) Mode {
	if tool == SearchTool {
		return Eager
	}
	for i, pt := range p.patterns {
		if pt.MatchTool(tool) {
			return p.Rules[i].Mode
		}
	}
	return p.DefaultMode
}

// cost is what a tool's schema costs in tokens, and what its name alone does.
func cost(t *llm.Tool) (whole, name float64) {
	return float64(max(len(t.Parameters)/4, 10)), float64(max(len(t.Name)/4, 1))
}

// enabled reports whether tools are deferred at all: whether it is wanted, worth it, and
// possible, which it is not when the agent may not search.
func (p *policy) enabled(tools []llm.Tool) bool {
	searchable, saved := false, 0.0
	for i := range tools {
		t := &tools[i]
		searchable = searchable || t.Name == SearchTool
		if p.mode(t.Name) == Deferred {
			c, name := cost(t)
			saved += max(c-name, 0)
		}
	}
	if p.Enabled != nil {
		return *p.Enabled && searchable
	}
	return searchable && saved > p.BetaOverhead
}

// New returns the plugin.
func New() awaken.Plugin {
	s := awaken.NewSection(SectionName, Defaults())
	s.Info = awaken.SectionInfo{DisplayName: "Deferred Tools", Category: "context",
		Description: "Which tools the model has to search for before it sees their schemas."}
	return plugin{s}
}
