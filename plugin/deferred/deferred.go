// Package deferred keeps tool schemas out of the model's context until they are needed. A
// deferred tool is only named. The tool ToolSearch finds it and promotes it; from then on the
// model is offered it like any other. A promoted tool that is no longer used is deferred
// again.
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
// Unless enabled is set, tools are deferred only if that saves more tokens than ToolSearch and
// the list of names cost. The plugin looks at the available tools in every step, so tools that
// appear later are deferred too.
//
// Promotions are stored with the thread. The frequency of use is learned across threads, in
// the profile, if the runtime has one.
package deferred

import (
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/internal/pattern"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/internal/toolname"
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

// The modes of tools.
const (
	Eager    Mode = "eager"
	Deferred Mode = "deferred"
)

// Config is the section "deferred_tools".
type Config struct {
	Enabled      *bool              `json:"enabled" jsonschema:"true defers tools, false does not, null defers them if that saves enough"`
	Rules        []Rule             `json:"rules" jsonschema:"the first rule that matches a tool sets its mode"`
	DefaultMode  Mode               `json:"default_mode" jsonschema:"mode of tools that no rule matches: eager or deferred"`
	BetaOverhead float64            `json:"beta_overhead" jsonschema:"tokens that ToolSearch and the list of names cost per turn"`
	AgentPriors  map[string]float64 `json:"agent_priors" jsonschema:"expected frequency of use per tool, 0 to 1; 0.01 for other tools"`
	DiscBeta     DiscBeta           `json:"disc_beta" jsonschema:"when a promoted tool is deferred again"`
}

// Rule sets the mode of the tools that match a pattern.
type Rule struct {
	Tool string `json:"tool" jsonschema:"a name of a tool, a glob or a /regular expression/"`
	Mode Mode   `json:"mode"`
}

// DescribeSchema adds constraints that Go types cannot express.
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

// Defaults returns the section's default values.
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
	names    *toolname.Names
	patterns []*pattern.Pattern // of Rules
}

func (c *Config) compile() (*policy, error) {
	p := &policy{Config: *c}
	var bad check.Problems
	bad.OneOf("default_mode", string(c.DefaultMode), string(Eager), string(Deferred))
	for i, r := range c.Rules {
		bad.OneOf(fmt.Sprintf("rules[%d].mode", i), string(r.Mode), string(Eager), string(Deferred))
		pt, err := pattern.Compile(r.Tool)
		if err != nil {
			bad.Add("rules[%d].tool: %w", i, err)
		} else if !pt.Unconditional() {
			bad.Add("rules[%d].tool is %q, which has arguments, want a pattern without: a tool is deferred regardless of its arguments", i, r.Tool)
		}
		p.patterns = append(p.patterns, pt)
	}
	bad.When(c.BetaOverhead < 0, "beta_overhead is %g, want 0 or more", c.BetaOverhead)
	for tool, prior := range c.AgentPriors {
		bad.When(prior < 0 || prior > 1, "agent_priors[%q] is %g, want 0 to 1", tool, prior)
	}
	d := c.DiscBeta
	bad.When(d.Omega <= 0 || d.Omega > 1, "disc_beta.omega is %g, want above 0 and at most 1", d.Omega)
	bad.When(d.N0 <= 0 || d.Gamma <= 0 || d.ThreshMult < 0 || d.DeferAfter < 0,
		"disc_beta has n0 %g, gamma %g, thresh_mult %g and defer_after %d, want n0 and gamma above 0 and the others not negative", d.N0, d.Gamma, d.ThreshMult, d.DeferAfter)
	return p, bad.Err()
}

// mode returns the initial mode of a tool.
func (p *policy) mode(tool string) Mode {
	if tool == SearchTool {
		return Eager
	}
	for i, pt := range p.patterns {
		if pt.Restricts(p.names.Tool(tool)) {
			return p.Rules[i].Mode
		}
	}
	return p.DefaultMode
}

// cost returns the tokens that a tool's schema costs, and those that its name alone costs.
func cost(t *llm.Tool) (whole, name float64) {
	return float64(max(len(t.Parameters)/4, 10)), float64(max(len(t.Name)/4, 1))
}

// enabled reports whether tools are deferred at all: whether it is wanted, worthwhile, and
// possible. It is impossible if the agent may not use ToolSearch.
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
		Description: "Which tools the model must search for before it sees their schemas."}
	return plugin{s}
}
