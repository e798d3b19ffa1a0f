package reminder

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/pattern"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state/builtin"
)

type plugin struct {
	base    Config
	section *awaken.Section[Config]
}

func (p *plugin) Name() string { return Name }

func (p *plugin) Register(r *awaken.Registrar) error {
	r.Section(p.section)
	if err := p.base.Validate(); err != nil {
		return err
	}
	cfg, err := p.section.Read(r.Agent)
	if err != nil {
		return nil // the registry reports an invalid section
	}
	rules, err := compile(merge(p.base.Rules, cfg.Rules))
	if err != nil {
		return nil
	}
	names, of := r.Names, func(r rule) *pattern.Pattern { return r.pattern }
	r.Review("rule_argument_unknown", func(tools map[string]json.RawMessage) []string {
		return pattern.Review(rules, of, names, tools)
	})
	own, permits := rules[len(rules)-len(cfg.Rules):], func(rule) bool { return false }
	r.Review("rule_matches_nothing", func(map[string]json.RawMessage) []string { return pattern.Strays(own, of, permits, names, false) })
	r.Review("rule_unknown_yet", func(map[string]json.RawMessage) []string { return pattern.Strays(own, of, permits, names, true) })
	r.On(awaken.PhaseAfterToolExecute, func(_ context.Context, h *awaken.HookCall) error {
		remind(h, rules, pattern.NewCall(names.Tool(h.Tool.Tool), h.Tool.Args), h.Result)
		return nil
	})
	// A suspended call has no result yet, so its reminders are added when the step ends.
	if slices.ContainsFunc(rules, func(r rule) bool { return r.Output.Status == Pending }) {
		r.On(awaken.PhaseStepEnd, func(_ context.Context, h *awaken.HookCall) error {
			for _, c := range builtin.ToolCallStates.Get(h) {
				if c.Status == awaken.CallSuspended {
					remind(h, rules, pattern.NewCall(names.Tool(c.ToolName), c.Arguments),
						&awaken.ToolResult{Status: awaken.ToolPending, Message: c.Ticket.Suspension.Message})
				}
			}
			return nil
		})
	}
	return nil
}

// merge appends the section's rules to those of the plugin, except for the plugin's rules that
// they replace.
func merge(base, section []Rule) []Rule {
	base = slices.DeleteFunc(slices.Clone(base), func(b Rule) bool {
		return b.Name != "" && slices.ContainsFunc(section, func(r Rule) bool { return r.Name == b.Name })
	})
	return append(base, section...)
}

// remind schedules the messages of the rules that match a call and its result.
func remind(h *awaken.HookCall, rules []rule, c *pattern.Call, res *awaken.ToolResult) {
	for i := range rules {
		r := &rules[i]
		if !r.accepts(res) || !r.pattern.MatchNames(c) {
			continue
		}
		m := awaken.ContextMessage{Key: "reminder." + r.Name, Role: llm.System, Content: []llm.Block{llm.Text(r.Message.Content)},
			Target: targets[r.Message.Target], CooldownTurns: r.Message.CooldownTurns}
		if r.Message.Target == Conversation {
			m.Visibility = llm.VisibleAll
		}
		builtin.AddContextMessage.Schedule(h, m)
	}
}

// accepts reports whether a result satisfies the rule's condition.
func (r *rule) accepts(res *awaken.ToolResult) bool {
	switch want := r.Output.Status; want {
	case "", Any:
		if res.Status == awaken.ToolPending {
			return false
		}
	default:
		if string(want) != string(res.Status) {
			return false
		}
	}
	if r.glob != nil && !slices.ContainsFunc(texts(res), r.glob.Match) {
		return false
	}
	return !slices.ContainsFunc(r.fields, func(f *pattern.Condition) bool { return !f.Match(fields(res)) })
}

// texts returns the texts of a result: its message, its data, and the content that the model
// is shown. An error has its text in the message, an answer in the data.
func texts(res *awaken.ToolResult) []string {
	out := []string{res.Message, pattern.Text(res.Data)}
	var shown strings.Builder
	for _, b := range res.Content {
		shown.WriteString(b.Text)
	}
	return append(out, shown.String())
}

// fields returns the data of a result. An error without data gets the usual error object.
func fields(res *awaken.ToolResult) json.RawMessage {
	if res.Status == awaken.ToolError && pattern.Text(res.Data) == "" {
		data, _ := json.Marshal(map[string]any{"error": map[string]string{"message": res.Message}}) // cannot fail
		return data
	}
	return res.Data
}
