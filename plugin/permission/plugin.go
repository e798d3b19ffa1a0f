package permission

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/pattern"
	"github.com/awaken-go/awaken/internal/toolname"
	"github.com/awaken-go/awaken/state/builtin"
)

type plugin struct {
	base    Config
	section *awaken.Section[Config]
}

func (p *plugin) Name() string { return Name }

func (p *plugin) Register(r *awaken.Registrar) error {
	r.Section(p.section)
	r.Key(threadRules, runRules, spent)
	r.HandleEffect(keep.Handler(keepRule))
	if err := p.base.Validate(); err != nil {
		return err
	}
	cfg, err := p.section.Read(r.Agent)
	if err != nil {
		return nil // the registry reports an invalid section
	}
	rules, err := compile(slices.Concat(p.base.Rules, cfg.Rules), cfg.DefaultBehavior)
	if err != nil {
		return nil
	}
	g := &guard{names: r.Names, rules: rules, fallback: cfg.DefaultBehavior, onDeny: cfg.OnDeny, remember: cfg.Remember}
	of := func(r rule) *pattern.Pattern { return r.pattern }
	r.Review("rule_argument_unknown", func(tools map[string]json.RawMessage) []string {
		return pattern.Review(rules, of, g.names, tools)
	})
	own := rules[len(p.base.Rules):] // the program's rules are about the tools of all agents
	permits := func(r rule) bool { return !r.restricts }
	r.Review("rule_matches_nothing", func(map[string]json.RawMessage) []string {
		return pattern.Strays(own, of, permits, g.names, false)
	})
	r.Review("rule_unknown_yet", func(map[string]json.RawMessage) []string {
		return pattern.Strays(own, of, permits, g.names, true)
	})
	r.Hide(g.hides)
	r.On(awaken.PhaseToolGate, g.note)
	r.Gate(g.judge)
	return nil
}

// guard decides about the calls of one agent.
type guard struct {
	names    *toolname.Names
	rules    []rule
	fallback Behavior
	onDeny   OnDeny
	remember []Scope // nil means the default
}

// hides reports whether every call of the tool is denied.
func (g *guard) hides(tool string) bool {
	matched := false // some rule may match a call of it
	for _, r := range g.rules {
		if !r.concerns(g.names.Tool(tool)) || r.When != "" {
			continue
		}
		if r.Behavior == Deny && r.pattern.Unconditional() && r.Scope != Once {
			return true
		}
		matched = true
	}
	return !matched && g.fallback == Deny
}

// decide returns what happens to a call, and the rule that decides; the rule is nil if the
// default applies. Remembered rules only allow, so they are consulted last. Those in the
// profile are only read if a person would be asked otherwise. Rules about tainted runs take precedence, unless
// another denies the call.
func (g *guard) decide(ctx context.Context, h *awaken.HookCall) (Behavior, *rule, error) {
	c := pattern.NewCall(g.names.Tool(h.Tool.Tool), h.Tool.Args)
	rules := g.rules
	if used := spent.Get(h); len(used) > 0 {
		rules = slices.DeleteFunc(slices.Clone(g.rules), func(r rule) bool {
			by, ok := used[r.Tool]
			return r.Scope == Once && ok && by != h.Tool.ID
		})
	}
	approved := approvals{
		kept:    func() ([]rule, error) { return keptRules(ctx, h) },
		granted: func() bool { return granted(c, builtin.Grants.Get(h)) },
	}
	return g.weigh(c, reachOf(h), approved, rules, remembered(threadRules.Get(h)), remembered(runRules.Get(h)))
}

// approvals are the approvals of a call that are looked up only if a person would be asked otherwise.
type approvals struct {
	kept    func() ([]rule, error) // the rules in the profile
	granted func() bool            // whether the call needs no approval anyway
}

// weigh returns what rules, and after them the rules remembered for the run, decide about a call.
func (g *guard) weigh(c *pattern.Call, to *reach, approved approvals, rules []rule, held ...[]rule) (Behavior, *rule, error) {
	rules = to.about(rules)
	of := func(when Condition) *rule {
		lists := [][]rule{having(when, rules)}
		for _, l := range held {
			lists = append(lists, having(when, l))
		}
		return strongest(c, lists...)
	}
	r, when := of(""), Condition("")
	if to != nil && (r == nil || r.Behavior != Deny) && strongest(c, having(Tainted, rules)) != nil {
		r, when = of(Tainted), Tainted
	}
	if r != nil && r.Behavior != Ask {
		return r.Behavior, r, nil
	}
	if r == nil && g.fallback != Ask {
		return g.fallback, nil, nil
	}
	all, err := approved.kept()
	if err != nil {
		return "", nil, err
	}
	if a := strongest(c, having(when, all)); a != nil {
		return Allow, a, nil
	}
	if r == nil && approved.granted() {
		return Allow, nil, nil
	}
	return Ask, r, nil
}

// having returns the rules with a condition, or with none.
func having(when Condition, rules []rule) []rule {
	is := func(r rule) bool { return r.When == when }
	if !slices.ContainsFunc(rules, func(r rule) bool { return !is(r) }) {
		return rules
	}
	return slices.DeleteFunc(slices.Clone(rules), func(r rule) bool { return !is(r) })
}

// granted reports whether a call needs no approval, such as one that an active skill allows.
func granted(c *pattern.Call, grants map[string][]string) bool {
	for _, tools := range grants {
		for _, text := range tools {
			if p, err := pattern.Compile(text); err == nil && p.Match(c) {
				return true
			}
		}
	}
	return false
}

// note records what the gate cannot, because it must be pure: that a rule was used up, and
// what a person wants remembered.
func (g *guard) note(ctx context.Context, h *awaken.HookCall) error {
	if slices.ContainsFunc(g.rules, func(r rule) bool { return r.Scope == Once }) {
		_, r, err := g.decide(ctx, h)
		if err != nil {
			return err
		}
		if r != nil && r.Scope == Once {
			spent.Update(h, use{r.Tool, h.Tool.ID})
		}
	}
	if r := h.Tool.Resume; r != nil && r.SuspensionID == suspensionID(h.Tool.ID) {
		remember(h, r.Result)
	}
	return nil
}

// action is the action of the plugin's questions.
const action = "tool:PermissionConfirm"

func suspensionID(callID string) string { return "perm_" + callID }

// judge is the tool gate.
func (g *guard) judge(ctx context.Context, h *awaken.HookCall) (awaken.Verdict, error) {
	behavior, r, err := g.decide(ctx, h)
	if err != nil {
		return awaken.Verdict{}, err
	}
	switch behavior {
	case Allow:
		return reachOf(h).bound(awaken.Allow(), g.names.Tool(h.Tool.Tool), g.rules), nil
	case Deny:
		reason := fmt.Sprintf("Tool '%s' denied by permission rules", h.Tool.Tool)
		if r != nil {
			reason += ": " + r.pattern.String()
		}
		if g.onDeny == DenyBlock {
			return awaken.Block(reason), nil
		}
		res := awaken.ErrorResult("permission_denied", reason)
		res.Metadata = map[string]any{"rejected": true}
		return awaken.Answer(res), nil
	}
	t, err := g.question(h, r)
	return reachOf(h).bound(awaken.SuspendCall(t), g.names.Tool(h.Tool.Tool), g.rules), err
}

// parameters are the parameters of the plugin's questions.
type parameters struct {
	Tool     string          `json:"tool_name"`
	Args     json.RawMessage `json:"tool_args"`
	Remember choice          `json:"remember"`
	// Rule is the pattern of the rule that asks; "" if the default does.
	Rule string `json:"rule,omitempty"`
	// TaintedBy is the result because of which the call needs approval.
	TaintedBy *awaken.Taint `json:"tainted_by,omitempty"`
	// Hosts are the hosts that such a call sends data to, if they are known.
	Hosts []string `json:"hosts,omitempty"`
}

// question returns the ticket of a call that needs approval.
func (g *guard) question(h *awaken.HookCall, r *rule) (awaken.Ticket, error) {
	offer := g.offers(h, r)
	message := fmt.Sprintf("Tool '%s' needs your approval", h.Tool.Tool)
	p := parameters{Tool: h.Tool.Tool, Args: h.Tool.Args, Remember: offer}
	if r != nil {
		p.Rule = r.pattern.String()
	}
	if to := reachOf(h); to != nil && r != nil && r.When == Tainted {
		p.TaintedBy, p.Hosts = to.taint, to.hosts
		message += ": " + to.why()
	}
	params, err := json.Marshal(p)
	if err != nil {
		return awaken.Ticket{}, err
	}
	return awaken.Ticket{
		Suspension: awaken.Suspension{
			ID:             suspensionID(h.Tool.ID),
			Action:         action,
			Message:        message,
			Parameters:     params,
			ResponseSchema: offer.schema(),
		},
		ResumeMode: awaken.ReplayToolCall,
	}, nil
}
