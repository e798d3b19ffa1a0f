// Package permission decides which tool calls an agent may make: allowed, denied, or
// put to a person.
//
//	cfg.Plugins = append(cfg.Plugins, permission.New(permission.Config{}))
//
// An agent that lists "permission" in plugin_ids has its rules in the section of the
// same name:
//
//	"permission": {
//	  "default_behavior": "ask",
//	  "rules": [
//	    {"tool": "read_*",               "behavior": "allow"},
//	    {"tool": "Bash(npm *)",          "behavior": "allow"},
//	    {"tool": "Bash(command ~ 'rm *')", "behavior": "deny"}
//	  ]
//	}
//
// Of all rules that take a call, those that deny win over those that allow, and those
// that allow over those that ask; the order in which they are written does not matter.
// A call that no rule takes has the default behaviour. The patterns are explained in
// docs/policies.md.
//
// A denied call is answered with an error, so that the model can do something else;
// on_deny can make it end the run instead. Tools that are denied whatever their arguments
// are not shown to the model at all.
//
// A call that asks is suspended. Whoever approves it may have the approval remembered:
// for the run, the thread, the agent ("project") or the user, with the decision's result
//
//	{"remember": {"scope": "thread", "tool": "Bash(npm *)"}}
//
// where tool is one of the patterns that the question offers, and can be left out.
package permission

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/document"
	"github.com/awaken-go/awaken/internal/pattern"
	"github.com/awaken-go/awaken/internal/schema"
)

// Name is the plugin's name and that of its section.
const Name = "permission"

// Behavior is what happens to a call.
type Behavior string

const (
	Allow Behavior = "allow"
	Ask   Behavior = "ask"
	Deny  Behavior = "deny"
)

// Scope is how long a rule holds.
type Scope string

const (
	Once    Scope = "once"    // for one call of each run
	Run     Scope = "run"     // until the run ends; documents may also say session
	Thread  Scope = "thread"  // on the thread
	Project Scope = "project" // for the agent, whoever runs it
	User    Scope = "user"    // for the user, whatever agent is run
)

// scopes are all of them, the narrowest first.
var scopes = []Scope{Once, Run, Thread, Project, User}

// OnDeny is what a denied call does to its run.
type OnDeny string

const (
	DenyError OnDeny = "error" // the call is answered with an error, and the run goes on
	DenyBlock OnDeny = "block" // the run ends as blocked
)

// Config is the section.
type Config struct {
	DefaultBehavior Behavior `json:"default_behavior" jsonschema:"what happens to calls that no rule takes: allow, ask or deny"`
	Rules           []Rule   `json:"rules" jsonschema:"deny wins over allow, allow over ask, whatever the order"`
	OnDeny          OnDeny   `json:"on_deny" jsonschema:"error answers a denied call with an error, block ends the run"`
	// Remember is what an approval can be remembered for: run, thread, project, user. Nil is
	// all of them, but not project if the run came by a protocol, such as that of a page:
	// what one visitor approves would hold for everybody. Listing it says that it may.
	Remember []Scope `json:"remember,omitempty" jsonschema:"what an approval can be remembered for; left out: everything, but not project in pages"`
}

// Rule is about the calls that a pattern takes.
type Rule struct {
	Tool     string   `json:"tool" jsonschema:"a pattern, such as read_file, mcp__* or Bash(npm *)"`
	Behavior Behavior `json:"behavior"`
	// Scope is how long the rule holds. A rule of a section holds for every run of the
	// agent, except that one with the scope once is used up by the first call that it
	// decides in a run. "" is project.
	Scope Scope `json:"scope,omitempty"`
}

// DescribeSchema adds what Go types cannot say.
func (*Config) DescribeSchema(s *schema.Node) {
	behaviors := []any{string(Allow), string(Ask), string(Deny)}
	s.Property("default_behavior").Enum(behaviors...)
	s.Property("on_deny").Enum(string(DenyError), string(DenyBlock))
	s.Property("remember").Items().Enum("run", "session", "thread", "project", "user")
	rule := s.Property("rules").Items()
	rule.Property("behavior").Enum(behaviors...)
	rule.Property("scope").Enum("once", "run", "session", "thread", "project", "user")
}

// UnmarshalText reads session as run.
func (s *Scope) UnmarshalText(text []byte) error {
	if *s = Scope(text); *s == "session" {
		*s = Run
	}
	return nil
}

// Validate reports every mistake in the rules. A rule that cannot be read is one: it
// might have been meant to deny.
func (c *Config) Validate() error {
	var errs []error
	if err := c.DefaultBehavior.validate(); err != nil {
		errs = append(errs, fmt.Errorf("default_behavior is %w", err))
	}
	if c.OnDeny != DenyError && c.OnDeny != DenyBlock {
		errs = append(errs, fmt.Errorf("on_deny is %q, want error or block", c.OnDeny))
	}
	for i, s := range c.Remember {
		if s == Once || !slices.Contains(scopes, s) {
			errs = append(errs, fmt.Errorf("remember[%d] is %q, want run, thread, project or user", i, s))
		}
	}
	_, err := compile(c.Rules)
	return errors.Join(append(errs, err)...)
}

func (b Behavior) validate() error {
	if b != Allow && b != Ask && b != Deny {
		return fmt.Errorf("%q, want allow, ask or deny", b)
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.DefaultBehavior = cmp.Or(c.DefaultBehavior, Ask)
	c.OnDeny = cmp.Or(c.OnDeny, DenyError)
	return c
}

// Load reads rules from a YAML or JSON file that looks like the section.
func Load(name string) (Config, error) {
	var c Config
	if err := document.Load(name, &c); err != nil {
		return Config{}, fmt.Errorf("permissions: %w", err)
	}
	c = c.withDefaults()
	if err := c.Validate(); err != nil {
		return Config{}, fmt.Errorf("permissions: %s: %w", name, err)
	}
	return c, nil
}

// rule is a compiled rule.
type rule struct {
	Rule
	pattern *pattern.Pattern
}

func compile(rules []Rule) ([]rule, error) {
	out := make([]rule, 0, len(rules))
	var errs []error
	for i, r := range rules {
		p, err := pattern.Compile(r.Tool)
		if err != nil {
			errs = append(errs, fmt.Errorf("rules[%d].tool: %w", i, err))
		}
		if err := r.Behavior.validate(); err != nil {
			errs = append(errs, fmt.Errorf("rules[%d].behavior is %w", i, err))
		}
		if r.Scope != "" && !slices.Contains(scopes, r.Scope) {
			errs = append(errs, fmt.Errorf("rules[%d].scope is %q, want once, run, thread, project or user", i, r.Scope))
		}
		out = append(out, rule{r, p})
	}
	return out, errors.Join(errs...)
}

// rank orders behaviours by which wins.
func (b Behavior) rank() int { return slices.Index([]Behavior{Ask, Allow, Deny}, b) }

// strongest returns the rule that decides about a call, or nil: the one whose behaviour
// wins, of those the most specific, of those the first.
func strongest(c *pattern.Call, lists ...[]rule) *rule {
	var best *rule
	for _, rules := range lists {
		for i := range rules {
			r := &rules[i]
			if best != nil && (r.Behavior.rank() < best.Behavior.rank() || r.Behavior == best.Behavior && r.pattern.Compare(best.pattern) <= 0) {
				continue // it could not win
			}
			if r.pattern.Match(c) {
				best = r
			}
		}
	}
	return best
}

// New returns the plugin. The rules of base hold for every agent that loads it, beside
// those of the agent's own section; the other fields of base are what a section that
// leaves them out has. Mistakes in base are reported when an agent is resolved.
func New(base Config) awaken.Plugin {
	base = base.withDefaults()
	s := awaken.NewSection(Name, Config{DefaultBehavior: base.DefaultBehavior, OnDeny: base.OnDeny, Remember: base.Remember, Rules: []Rule{}})
	s.Info = awaken.SectionInfo{DisplayName: "Permissions", Category: "safety", Editor: "permission",
		Description: "Which tool calls are allowed, denied, or put to a person."}
	return &plugin{base, s}
}
