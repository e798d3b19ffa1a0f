package deferred

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/pattern"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/state/profile"
)

// Actions that other plugins and tools can schedule.
var (
	// Promote promotes deferred tools, by id.
	Promote = awaken.NewAction[[]string]("deferred_tools.promote", awaken.PhaseBeforeInference)
	// Defer defers promoted tools again, by id.
	Defer = awaken.NewAction[[]string]("deferred_tools.defer", awaken.PhaseBeforeInference)
)

// tracking is what a thread records about its promoted tools.
type tracking struct {
	Turns    int              `json:"turns"`
	Promoted map[string]usage `json:"promoted"`
}

type change struct {
	promote map[string]usage // priors of tools to promote
	demote  []string
	turn    bool // a turn ended, in which the tools in used were called
	used    []string
	omega   float64
}

var (
	tracked = state.NewKey("deferred_tools.state", func(t tracking, c change) tracking {
		next := tracking{Turns: t.Turns, Promoted: map[string]usage{}}
		maps.Copy(next.Promoted, t.Promoted)
		if c.turn {
			next.Turns++
			for id, u := range next.Promoted {
				next.Promoted[id] = u.after(c.omega, slices.Contains(c.used, id), next.Turns)
			}
		}
		for id, prior := range c.promote {
			// A promotion counts as a use: the model asked for the tool, and must get the
			// chance to call it.
			if u, ok := next.Promoted[id]; ok {
				u.LastUsed = next.Turns
				next.Promoted[id] = u
			} else {
				next.Promoted[id] = prior.after(c.omega, true, next.Turns)
			}
		}
		for _, id := range c.demote {
			delete(next.Promoted, id)
		}
		return next
	}, state.Options{Scope: state.Thread, Merge: state.Commutative})

	// usedTools are the tools that a run has used.
	usedTools = state.NewKey("deferred_tools.used", func(list, add []string) []string {
		return slices.Compact(slices.Sorted(slices.Values(slices.Concat(list, add))))
	}, state.Options{Merge: state.Commutative})

	learn = awaken.NewEffect[lesson]("deferred_tools.learn")
)

type plugin struct{ section *awaken.Section[Config] }

func (plugin) Name() string { return Name }

func (p plugin) Register(r *awaken.Registrar) error {
	r.Section(p.section)
	r.Key(tracked, usedTools)
	r.HandleEffect(learn.Handler(func(ctx context.Context, h *awaken.HookCall, l lesson) error { return l.keep(ctx, h.Profile) }))
	cfg, err := p.section.Read(r.Agent)
	if err != nil {
		return nil // the registry reports an invalid section
	}
	pol, err := cfg.compile()
	if err != nil {
		return nil
	}
	pol.names = r.Names
	pol.review(r)
	r.Handle(Promote.Handler(func(ctx context.Context, h *awaken.HookCall, ids []string) error {
		return pol.promote(ctx, h, h.Profile, h.Agent.ID, ids)
	}))
	r.Handle(Defer.Handler(func(_ context.Context, h *awaken.HookCall, ids []string) error {
		tracked.Update(h, change{demote: ids})
		return nil
	}))
	r.On(awaken.PhaseBeforeInference, pol.beforeInference)
	r.On(awaken.PhaseAfterInference, pol.afterInference)
	r.On(awaken.PhaseRunEnd, pol.runEnd)
	r.Transform(pol.filter)
	r.Tool(pol.searchTool())
	return nil
}

// review warns about names that mean no tool.
func (p *policy) review(r *awaken.Registrar) {
	of, permits := func(p *pattern.Pattern) *pattern.Pattern { return p }, func(*pattern.Pattern) bool { return false }
	for code, waiting := range map[string]bool{"rule_matches_nothing": false, "rule_unknown_yet": true} {
		r.Review(code, func(map[string]json.RawMessage) []string {
			return pattern.Strays(p.patterns, of, permits, p.names, waiting)
		})
	}
}

// prior returns the frequency that the section expects of a tool, which it may name by any of its names.
func (p *policy) prior(id string) (float64, bool) {
	if prior, ok := p.AgentPriors[id]; ok {
		return prior, true
	}
	for _, name := range slices.Sorted(maps.Keys(p.AgentPriors)) {
		if p.names.Tool(id).Named(name) {
			return p.AgentPriors[name], true
		}
	}
	return 0, false
}

// promote records that tools are promoted, with the priors of their use.
func (p *policy) promote(ctx context.Context, w state.Writer, s profile.Store, agent string, ids []string) error {
	learned, err := priors(ctx, s, agent)
	if err != nil {
		return err
	}
	c := change{promote: map[string]usage{}, omega: p.DiscBeta.Omega}
	for _, id := range ids {
		prior, ok := learned.Tools[id]
		if !ok {
			prior, ok = p.prior(id)
		}
		if !ok {
			prior = defaultPrior
		}
		c.promote[id] = p.DiscBeta.initial(prior)
	}
	tracked.Update(w, c)
	return nil
}

// hidden reports whether a tool's schema is hidden from the model.
func (p *policy) hidden(t tracking, tool string) bool {
	_, promoted := t.Promoted[tool]
	return !promoted && p.mode(tool) == Deferred
}

// beforeInference defers tools that are no longer used, and lists the names of deferred tools.
func (p *policy) beforeInference(_ context.Context, h *awaken.HookCall) error {
	if !p.enabled(h.Tools) {
		return nil
	}
	t := tracked.Get(h)
	var again, names []string
	for i := range h.Tools {
		tool := &h.Tools[i]
		u, promoted := t.Promoted[tool.Name]
		c, name := cost(tool)
		switch {
		case p.mode(tool.Name) != Deferred:
		case !promoted:
			names = append(names, tool.Name)
		case p.DiscBeta.idle(u, t.Turns, c, name):
			again, names = append(again, tool.Name), append(names, tool.Name)
		}
	}
	if len(again) > 0 {
		tracked.Update(h, change{demote: again})
	}
	if len(names) > 0 {
		slices.Sort(names)
		builtin.AddContextMessage.Schedule(h, builtin.SystemContext("deferred_tools.list",
			"These tools exist, but you do not see how to call them yet. Find and load the ones you need with "+SearchTool+": "+strings.Join(names, ", ")))
	}
	return nil
}

// filter removes the deferred tools from a request, or ToolSearch if nothing is deferred.
func (p *policy) filter(_ context.Context, h *awaken.HookCall, req *llm.Request) error {
	enabled, t := p.enabled(h.Tools), tracked.Get(h)
	req.Tools = slices.DeleteFunc(req.Tools, func(tool llm.Tool) bool {
		if !enabled {
			return tool.Name == SearchTool
		}
		return p.hidden(t, tool.Name)
	})
	return nil
}

// afterInference counts the turn. A deferred tool that the model called without seeing its
// schema is promoted.
func (p *policy) afterInference(ctx context.Context, h *awaken.HookCall) error {
	if !p.enabled(h.Tools) {
		return nil
	}
	var used, unseen []string
	t := tracked.Get(h)
	for _, c := range h.Reply.Message.ToolCalls {
		used = append(used, c.Name)
		if p.hidden(t, c.Name) && slices.ContainsFunc(h.Tools, func(o llm.Tool) bool { return o.Name == c.Name }) {
			unseen = append(unseen, c.Name)
		}
	}
	tracked.Update(h, change{turn: true, used: used, omega: p.DiscBeta.Omega})
	if len(used) > 0 {
		usedTools.Update(h, used)
	}
	if len(unseen) > 0 {
		return p.promote(ctx, h, h.Profile, h.Agent.ID, unseen)
	}
	return nil
}

// runEnd records in the profile which tools the run used.
func (p *policy) runEnd(_ context.Context, h *awaken.HookCall) error {
	if h.Profile == nil || !p.enabled(h.Tools) {
		return nil
	}
	l := lesson{Agent: h.Agent.ID, Used: usedTools.Get(h)}
	for _, t := range h.Tools {
		if p.mode(t.Name) == Deferred {
			l.Tools = append(l.Tools, t.Name)
		}
	}
	learn.Emit(h, l)
	return nil
}
