package permission

import (
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/toolname"
)

// Preview lists what an agent may do without approval, as far as that does not depend on
// arguments.
type Preview struct {
	Enabled         bool // the agent loads the plugin
	DefaultBehavior Behavior
	Denied          []string // tools whose calls are all denied; hidden from models
	Effective       []string // all other tools
	Conditional     []Conditional
}

// Conditional is a rule that depends on arguments, or on what the run has read.
type Conditional struct {
	Tool     string // the only tool that the pattern matches, or ""
	Behavior Behavior
	Pattern  string
}

// PreviewOf returns what a plugin returned by [New] means for the tools of an agent. Names are the names of the tools;
// nil means that they have their ids only.
func PreviewOf(p awaken.Plugin, spec *awaken.AgentSpec, tools []string, names *toolname.Names) (*Preview, error) {
	own, ok := p.(*plugin)
	if !ok {
		return nil, fmt.Errorf("%w: plugin %q was not created by permission.New", awaken.ErrInvalid, p.Name())
	}
	out := &Preview{Enabled: slices.Contains(spec.PluginIDs, Name), DefaultBehavior: Allow, Denied: []string{}, Effective: slices.Clone(tools), Conditional: []Conditional{}}
	if !out.Enabled {
		return out, nil
	}
	cfg, err := own.section.Read(spec)
	if err != nil {
		return nil, err
	}
	rules, err := compile(slices.Concat(own.base.Rules, cfg.Rules), cfg.DefaultBehavior)
	if err != nil {
		return nil, err
	}
	g := &guard{names: names, rules: rules, fallback: cfg.DefaultBehavior}
	out.DefaultBehavior, out.Effective = cfg.DefaultBehavior, []string{}
	for _, id := range tools {
		if g.hides(id) {
			out.Denied = append(out.Denied, id)
		} else {
			out.Effective = append(out.Effective, id)
		}
	}
	for _, r := range rules {
		if !r.pattern.Unconditional() || r.When != "" {
			out.Conditional = append(out.Conditional, Conditional{r.pattern.Tool(), r.Behavior, r.Rule.Tool})
		}
	}
	return out, nil
}
