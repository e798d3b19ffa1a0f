package skills

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/pattern"
	"github.com/awaken-go/awaken/internal/toolname"
	"github.com/awaken-go/awaken/llm"
)

// limits are the patterns of the tools that the active skills allow. A run may use what any of them
// allows.
type limits struct {
	patterns []*pattern.Pattern
	by       []string // the skills that have limits
	names    *toolname.Names
}

// limitsOf returns the limits of the active skills, or nil if none has any.
func (o *offer) limitsOf(u *use) (*limits, error) {
	var l *limits
	for _, a := range u.Active {
		if len(a.Tools) == 0 {
			continue
		}
		if l == nil {
			l = &limits{names: o.names}
		}
		l.by = append(l.by, a.Name)
		for _, text := range a.Tools {
			p, err := pattern.Compile(text)
			if err != nil {
				return nil, fmt.Errorf("skill %q: allowed-tools: %w", a.Name, err)
			}
			l.patterns = append(l.patterns, p)
		}
	}
	return l, nil
}

// offers reports whether some call of the tool is allowed.
func (l *limits) offers(tool string) bool {
	permitted := func(p *pattern.Pattern) bool { return p.Permits(l.names.Tool(tool)) }
	return slices.Contains(ownTools, tool) || slices.ContainsFunc(l.patterns, permitted)
}

// allows reports whether the call is allowed.
func (l *limits) allows(tool string, args json.RawMessage) bool {
	if slices.Contains(ownTools, tool) {
		return true
	}
	c := pattern.NewCall(l.names.Tool(tool), args)
	return slices.ContainsFunc(l.patterns, func(p *pattern.Pattern) bool { return p.Match(c) })
}

// restrict removes from the request the tools that active skills do not allow.
func (o *offer) restrict(_ context.Context, h *awaken.HookCall, req *llm.Request) error {
	u := used.Get(h)
	l, err := o.limitsOf(&u)
	if err != nil {
		return err
	}
	req.Tools = slices.DeleteFunc(slices.Clone(req.Tools), func(t llm.Tool) bool {
		return l != nil && !l.offers(t.Name) || t.Name == toolDeactivate && len(u.Active) == 0
	})
	return nil
}

// gate refuses the calls that active skills do not allow, and asks a person about scripts.
func (o *offer) gate(_ context.Context, h *awaken.HookCall) (awaken.Verdict, error) {
	u := used.Get(h)
	l, err := o.limitsOf(&u)
	if err != nil {
		return awaken.Verdict{}, err
	}
	if l != nil && !l.allows(h.Tool.Tool, h.Tool.Args) {
		r := awaken.ErrorResult("tool_not_allowed", fmt.Sprintf("the active skills %q do not allow this call of %q: do without it, or deactivate them first", l.by, h.Tool.Tool))
		r.Metadata = map[string]any{"rejected": true}
		return awaken.Answer(r), nil
	}
	if h.Tool.Tool == toolScript && o.cfg.Scripts == ScriptsAsk && !o.gated {
		return awaken.SuspendCall(awaken.Ticket{
			Suspension: awaken.Suspension{ID: "skill_" + h.Tool.ID, Action: "tool:PermissionConfirm", Message: "A skill wants to run a script", Parameters: h.Tool.Args},
			ResumeMode: awaken.ReplayToolCall}), nil
	}
	return awaken.Allow(), nil
}

// modelsOf returns the upstream models that skills may choose, by the names that they call them:
// those of the section, and the registry's models of the agent's provider.
func modelsOf(r *awaken.Registrar, cfg *Config, set *Set) map[string]string {
	out := maps.Clone(cfg.Models)
	if out == nil {
		out = map[string]string{}
	}
	if r.Models == nil {
		return out
	}
	own := r.Models(r.Agent.ModelID)
	for _, s := range set.byName {
		if _, mapped := out[s.Model]; mapped || s.Model == "" || own == nil {
			continue
		}
		if m := r.Models(s.Model); m != nil && m.ProviderID == own.ProviderID {
			out[s.Model] = m.UpstreamModel
		}
	}
	return out
}
