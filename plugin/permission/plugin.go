package permission

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/pattern"
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
	g := &guard{rules: rules, fallback: cfg.DefaultBehavior, onDeny: cfg.OnDeny, remember: cfg.Remember}
	r.Review("rule_argument_unknown", func(tools map[string]json.RawMessage) []string {
		return pattern.Review(rules, func(r rule) *pattern.Pattern { return r.pattern }, tools)
	})
	r.Hide(g.hides)
	r.On(awaken.PhaseToolGate, g.note)
	r.Gate(g.judge)
	return nil
}

// guard decides about the calls of one agent.
type guard struct {
	rules    []rule
	fallback Behavior
	onDeny   OnDeny
	remember []Scope // nil means the default
}

// hides reports whether every call of the tool is denied.
func (g *guard) hides(tool string) bool {
	matched := false // some rule may match a call of it
	for _, r := range g.rules {
		if !r.pattern.MatchTool(tool) {
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
// profile are only read if a person would be asked otherwise.
func (g *guard) decide(ctx context.Context, h *awaken.HookCall) (Behavior, *rule, error) {
	c := pattern.NewCall(h.Tool.Tool, h.Tool.Args)
	rules := g.rules
	if used := spent.Get(h); len(used) > 0 {
		rules = slices.DeleteFunc(slices.Clone(g.rules), func(r rule) bool {
			by, ok := used[r.Tool]
			return r.Scope == Once && ok && by != h.Tool.ID
		})
	}
	r := strongest(c, rules, remembered(threadRules.Get(h)), remembered(runRules.Get(h)))
	if r != nil && r.Behavior != Ask {
		return r.Behavior, r, nil
	}
	if r == nil && g.fallback != Ask {
		return g.fallback, nil, nil
	}
	kept, err := keptRules(ctx, h)
	if err != nil {
		return "", nil, err
	}
	if a := strongest(c, kept); a != nil {
		return Allow, a, nil
	}
	return Ask, r, nil
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
		return awaken.Allow(), nil
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
	return awaken.SuspendCall(t), err
}

// parameters are the parameters of the plugin's questions.
type parameters struct {
	Tool     string          `json:"tool_name"`
	Args     json.RawMessage `json:"tool_args"`
	Remember choice          `json:"remember"`
}

// question returns the ticket of a call that needs approval.
func (g *guard) question(h *awaken.HookCall, r *rule) (awaken.Ticket, error) {
	offer := g.offers(h, r)
	params, err := json.Marshal(parameters{h.Tool.Tool, h.Tool.Args, offer})
	if err != nil {
		return awaken.Ticket{}, err
	}
	return awaken.Ticket{
		Suspension: awaken.Suspension{
			ID:             suspensionID(h.Tool.ID),
			Action:         action,
			Message:        fmt.Sprintf("Tool '%s' needs your approval", h.Tool.Tool),
			Parameters:     params,
			ResponseSchema: offer.schema(),
		},
		ResumeMode: awaken.ReplayToolCall,
	}, nil
}
