package guard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/internal/glob"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/internal/toolname"
)

// Name is the name of the plugin that [Rails] returns, and of its section.
const Name = "guardrails"

// Config is the section "guardrails".
type Config struct {
	Secrets *Secrets `json:"secrets,omitempty" jsonschema:"removes credentials from texts"`
	Rules   []Rule   `json:"rules,omitempty" jsonschema:"limits on the size and wording of texts, applied in this order"`
}

// Secrets removes credentials from texts: keys of well-known services, private keys, tokens,
// passwords in URLs.
type Secrets struct {
	On       []awaken.GuardPoint `json:"on,omitempty" jsonschema:"input, output and tool_result; default: all of them"`
	Patterns []string            `json:"patterns,omitempty" jsonschema:"additional regular expressions that match secrets"`
	Action   Action              `json:"action,omitempty" jsonschema:"rewrite (the default), block or suspend"`
}

// Rule limits the size or wording of texts.
type Rule struct {
	Name     string              `json:"name,omitempty"`
	On       []awaken.GuardPoint `json:"on" jsonschema:"input, output or tool_result"`
	Tool     string              `json:"tool,omitempty" jsonschema:"limits the rule to results of tools that match this glob"`
	MaxBytes int                 `json:"max_bytes,omitempty" jsonschema:"matches texts that are longer"`
	Pattern  string              `json:"pattern,omitempty" jsonschema:"matches texts that contain this regular expression"`
	Action   Action              `json:"action" jsonschema:"rewrite, block or suspend"`
	// Replacement replaces each match of Pattern when Action is rewrite. A text over MaxBytes
	// is cut.
	Replacement string `json:"replacement,omitempty"`
	Reason      string `json:"reason,omitempty" jsonschema:"shown to the person who decides, or as the reason of the run's end"`
}

// Action decides how a matching text is handled.
type Action string

// The actions of rules.
const (
	ActionRewrite Action = "rewrite"
	ActionBlock   Action = "block"
	ActionSuspend Action = "suspend"
)

var allPoints = []awaken.GuardPoint{awaken.InputPoint, awaken.OutputPoint, awaken.ResultPoint}

// DescribeSchema adds constraints that Go types cannot express.
func (*Config) DescribeSchema(s *schema.Node) {
	actions := []any{string(ActionRewrite), string(ActionBlock), string(ActionSuspend)}
	rule := s.Property("rules").Items()
	rule.Property("action").Enum(actions...)
	rule.Property("on").Items().Enum("input", "output", "tool_result")
	rule.Property("max_bytes").Min(0)
}

// Validate reports every mistake in the section.
func (c *Config) Validate() error {
	_, err := c.compile(nil)
	return err
}

// compile returns the configured guards. Names are the names of the agent's tools.
func (c *Config) compile(names *toolname.Names) ([]plugin, error) {
	var out []plugin
	var bad check.Problems
	if s := c.Secrets; s != nil {
		action, borders := cmp.Or(s.Action, ActionRewrite), s.On
		if len(borders) == 0 {
			borders = allPoints
		}
		exprs := slices.Clone(knownSecrets)
		for i, text := range s.Patterns {
			re, err := regexp.Compile(text)
			if err != nil {
				bad.Add("secrets.patterns[%d]: %w", i, err)
				continue
			}
			exprs = append(exprs, re)
		}
		bad.Include(checkUse("secrets", borders, action))
		out = append(out, plugin{"secrets", secrets{exprs, action}, borders})
	}
	for i, r := range c.Rules {
		where := fmt.Sprintf("rules[%d]", i)
		r.Name = cmp.Or(r.Name, fmt.Sprintf("rule-%d", i))
		l := limit{Rule: r, names: names}
		var err error
		if r.Pattern != "" {
			if l.re, err = regexp.Compile(r.Pattern); err != nil {
				bad.Add("%s.pattern: %w", where, err)
			}
		}
		if r.Tool != "" {
			if l.tool, err = glob.CompileRule(r.Tool); err != nil {
				bad.Add("%s.tool: %w", where, err)
			}
		}
		switch {
		case r.MaxBytes < 0:
			bad.Add("%s.max_bytes is %d, want 0 or more", where, r.MaxBytes)
		case r.MaxBytes == 0 && r.Pattern == "":
			bad.Add("%s has no max_bytes and no pattern, want at least one", where)
		case len(r.On) == 0:
			bad.Add("%s.on is empty, want input, output or tool_result", where)
		}
		bad.Include(checkUse(where, r.On, r.Action))
		out = append(out, plugin{r.Name, l, r.On})
	}
	return out, bad.Err()
}

// checkUse validates where a guard runs, and its action.
func checkUse(where string, borders []awaken.GuardPoint, a Action) error {
	for i, b := range borders {
		if !slices.Contains(allPoints, b) {
			return fmt.Errorf("%s.on[%d] is %q, want input, output or tool_result", where, i, b)
		}
	}
	if a != ActionRewrite && a != ActionBlock && a != ActionSuspend {
		return fmt.Errorf("%s.action is %q, want rewrite, block or suspend", where, a)
	}
	return nil
}

// Rails returns the plugin "guardrails". Without a section it checks nothing.
func Rails() awaken.Plugin {
	s := awaken.NewSection(Name, Config{})
	s.Info = awaken.SectionInfo{DisplayName: "Guardrails", Category: "safety", Description: "Checks on the texts that enter and leave a run."}
	return rails{s}
}

type rails struct{ section *awaken.Section[Config] }

func (rails) Name() string { return Name }

func (p rails) Register(r *awaken.Registrar) error {
	r.Section(p.section)
	cfg, err := p.section.Read(r.Agent)
	if err != nil {
		return nil // the registry reports an invalid section
	}
	list, err := cfg.compile(r.Names)
	if err != nil {
		return nil
	}
	for code, waiting := range map[string]bool{"rule_matches_nothing": false, "rule_unknown_yet": true} {
		r.Review(code, func(map[string]json.RawMessage) []string { return strays(list, r.Names, waiting) })
	}
	for _, g := range list {
		err = errors.Join(err, g.Register(r))
	}
	return err
}

// strays reports the rules whose tool means none.
func strays(list []plugin, names *toolname.Names, waiting bool) (out []string) {
	for _, p := range list {
		l, ok := p.guard.(limit)
		if !ok || l.tool == nil || len(names.IDs(func(t toolname.Tool) bool { return t.Restricted(l.tool.Match) })) > 0 {
			continue
		}
		if d := names.Doubt(l.Tool, l.Tool); waiting == (len(d.Waiting) > 0) {
			out = append(out, fmt.Sprintf("rule %q: tool %s", l.Name, d.Text))
		}
	}
	return out
}

// secrets is the guard that removes credentials.
type secrets struct {
	exprs  []*regexp.Regexp
	action Action
}

// removed replaces a secret.
const removed = "[secret removed]"

// knownSecrets match credentials that are recognisable by their form.
var knownSecrets = compileAll(
	`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`,
	`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`,                                   // AWS
	`\bgh[pousr]_[A-Za-z0-9]{36,}\b`,                                  // GitHub
	`\bgithub_pat_[A-Za-z0-9_]{22,}\b`,                                // GitHub
	`\bglpat-[A-Za-z0-9_-]{20,}`,                                      // GitLab
	`\bsk-[A-Za-z0-9_-]{20,}`,                                         // OpenAI, Anthropic
	`\b[sr]k_live_[A-Za-z0-9]{16,}\b`,                                 // Stripe
	`\bxox[abeprs]-[A-Za-z0-9-]{10,}`,                                 // Slack
	`\bAIza[A-Za-z0-9_-]{35}`,                                         // Google
	`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`, // JSON web tokens
	`(?i)\bbearer\s+[A-Za-z0-9._~+/-]{16,}=*`,                         // headers
	`(?i)\b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]+@`,                   // passwords in URLs
	`(?i)\b(?:password|passwd|secret|api[_-]?key|access[_-]?token)["']?\s*[:=]\s*["']?[^\s"',;]{8,}`,
)

func compileAll(exprs ...string) []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, e := range exprs {
		out = append(out, regexp.MustCompile(e))
	}
	return out
}

// HasSecret reports whether a text contains what looks like a credential of a well-known form.
func HasSecret(text string) bool {
	return slices.ContainsFunc(knownSecrets, func(re *regexp.Regexp) bool { return re.MatchString(text) })
}

func (s secrets) Check(_ context.Context, t Text) (Verdict, error) {
	text := t.Text
	for _, re := range s.exprs {
		text = re.ReplaceAllLiteralString(text, removed)
	}
	if text == t.Text {
		return Pass(), nil
	}
	return s.action.verdict(text, "it contains a secret"), nil
}

// limit is the guard of a rule.
type limit struct {
	Rule
	re    *regexp.Regexp
	tool  *glob.Pattern
	names *toolname.Names
}

func (l limit) Check(_ context.Context, t Text) (Verdict, error) {
	if l.tool != nil && t.Point == awaken.ResultPoint && !l.names.Tool(t.Tool).Restricted(l.tool.Match) {
		return Pass(), nil
	}
	text, why := t.Text, ""
	if l.re != nil && l.re.MatchString(text) {
		text, why = l.re.ReplaceAllLiteralString(text, l.Replacement), "it has words that are not allowed"
	}
	if l.MaxBytes > 0 && len(text) > l.MaxBytes {
		text, why = cut(text, l.MaxBytes), fmt.Sprintf("it is %d bytes long, want at most %d", len(t.Text), l.MaxBytes)
	}
	if why == "" {
		return Pass(), nil
	}
	return l.Action.verdict(text, cmp.Or(l.Reason, why)), nil
}

func (a Action) verdict(text, why string) Verdict {
	switch a {
	case ActionBlock:
		return Block(why)
	case ActionSuspend:
		return Suspend(why)
	}
	return Rewrite(text)
}

// cut shortens a text to at most n bytes, without splitting a character.
func cut(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
