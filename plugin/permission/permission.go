// Package permission decides which tool calls an agent may make: a call is allowed, denied, or
// suspended until a person decides.
//
//	cfg.Plugins = append(cfg.Plugins, permission.New(permission.Config{}))
//
// An agent that lists "permission" in plugin_ids has its rules in the section of the same
// name:
//
//	"permission": {
//	  "default_behavior": "ask",
//	  "rules": [
//	    {"tool": "read_*",               "behavior": "allow"},
//	    {"tool": "Bash(npm *)",          "behavior": "allow"},
//	    {"tool": "Bash(rm *)",           "behavior": "deny"}
//	  ]
//	}
//
// Among the rules that match a call, deny takes precedence over allow, and allow over ask;
// their order does not matter. If no rule matches, the default behavior applies.
// docs/policies.md explains the patterns. An allow rule about the primary argument matches
// calls that have only that argument; a deny rule, such as the one about rm above, matches
// calls that have such a value among their arguments.
//
// A rule with "when": "tainted" is about calls that may change something or carry data out ([awaken.Egress]), in runs that have read
// untrusted content ([awaken.Taint]): results of MCP servers, web pages. It takes precedence over rules without
// a condition, except those that deny, and over what was remembered without it:
//
//	{"tool": "*", "behavior": "ask", "when": "tainted", "allow_hosts": ["go.dev", "*.example.com"]}
//
// With allow_hosts the rule leaves alone calls that send data only to these hosts; a rule that allows is about no other
// calls. The HTTP clients of tools hold a call to the hosts that it was judged by, so a redirect leads to no other.
//
// The question says which result tainted the run, and an approval of it is remembered for tainted runs only.
//
// A denied call is answered with an error, so that the model can try something else; on_deny
// can end the run instead. Tools that are denied regardless of their arguments are hidden from
// the model.
//
// A call that asks is suspended. The person who approves it may have the approval remembered:
// for the run, the thread, the agent ("project") or the user, with the decision's result
//
//	{"remember": {"scope": "thread", "tool": "Bash(npm *)"}}
//
// where tool is one of the patterns that the question offers. It can be omitted.
package permission

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/document"
	"github.com/awaken-go/awaken/internal/egress"
	"github.com/awaken-go/awaken/internal/pattern"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/internal/toolname"
)

// Name is the name of the plugin and of its section.
const Name = "permission"

// Behavior decides how a call is handled.
type Behavior string

// The behaviors of rules.
const (
	Allow Behavior = "allow"
	Ask   Behavior = "ask"
	Deny  Behavior = "deny"
)

// Scope is how long a rule applies.
type Scope string

// The scopes of rules.
const (
	Once    Scope = "once"    // for one call of each run
	Run     Scope = "run"     // until the run ends; documents may also call it session
	Thread  Scope = "thread"  // as long as the thread exists
	Project Scope = "project" // for the agent, for all users
	User    Scope = "user"    // for the user, with all agents
)

// scopes lists all scopes, the narrowest first.
var scopes = []Scope{Once, Run, Thread, Project, User}

// OnDeny is the effect of a denied call on its run.
type OnDeny string

// The effects of a denied call.
const (
	DenyError OnDeny = "error" // the call fails, and the run continues
	DenyBlock OnDeny = "block" // the run ends as blocked
)

// Config is the section "permission".
type Config struct {
	DefaultBehavior Behavior `json:"default_behavior" jsonschema:"behavior of calls that no rule matches: allow, ask or deny"`
	Rules           []Rule   `json:"rules" jsonschema:"deny takes precedence over allow, and allow over ask, in any order"`
	OnDeny          OnDeny   `json:"on_deny" jsonschema:"error fails the call, block ends the run"`
	// Remember lists the scopes that an approval can be remembered for: run, thread, project,
	// user. Nil means all of them, except project in runs that came through a protocol, such
	// as those of a page: one visitor's approval would apply to all users. Listing project
	// permits it there too.
	Remember []Scope `json:"remember,omitempty" jsonschema:"scopes that an approval can be remembered for; default: all, except project for pages"`
}

// Rule applies to the calls that match a pattern.
type Rule struct {
	Tool     string   `json:"tool" jsonschema:"a pattern, such as read_file, mcp__* or Bash(npm *)"`
	Behavior Behavior `json:"behavior"`
	// Scope is how long the rule applies. A rule of a section applies to every run of the
	// agent, except that a rule with scope once is used up by the first call that it decides
	// in a run. "" means project.
	Scope Scope `json:"scope,omitempty"`
	// When limits the rule to some calls. "" means all.
	When Condition `json:"when,omitempty" jsonschema:"tainted: only calls that change something or carry data out, in runs that have read untrusted content"`
	// AllowHosts lists hosts that tainted runs may send data to, such as go.dev, *.go.dev or 10.0.0.1:8080. A rule that asks or denies
	// is not about calls that reach no other; one that allows is only about those.
	AllowHosts []string `json:"allow_hosts,omitempty" jsonschema:"hosts that tainted runs may send data to, such as go.dev or *.go.dev; needs when: tainted"`
}

// equal reports whether two rules are the same.
func (r *Rule) equal(other *Rule) bool {
	return r.Tool == other.Tool && r.Behavior == other.Behavior && r.Scope == other.Scope && r.When == other.When &&
		slices.Equal(r.AllowHosts, other.AllowHosts)
}

// Condition limits a rule to some calls.
type Condition string

// Tainted is the condition that the run has read untrusted content and the call may change something or carry data out.
const Tainted Condition = "tainted"

// DescribeSchema adds constraints that Go types cannot express.
func (*Config) DescribeSchema(s *schema.Node) {
	behaviors := []any{string(Allow), string(Ask), string(Deny)}
	s.Property("default_behavior").Enum(behaviors...)
	s.Property("on_deny").Enum(string(DenyError), string(DenyBlock))
	s.Property("remember").Items().Enum("run", "session", "thread", "project", "user")
	rule := s.Property("rules").Items()
	rule.Property("behavior").Enum(behaviors...)
	rule.Property("when").Enum(string(Tainted))
	rule.Property("scope").Enum("once", "run", "session", "thread", "project", "user")
}

// UnmarshalText accepts session as another name of run.
func (s *Scope) UnmarshalText(text []byte) error {
	if *s = Scope(text); *s == "session" {
		*s = Run
	}
	return nil
}

// Validate reports every mistake in the section. An unreadable rule is an error, because it
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
	_, err := compile(c.Rules, c.DefaultBehavior)
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

// Load reads a Config from a YAML or JSON file with the fields of the section.
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
	// restricts reports that the rule makes calls harder than they are without it. Such a rule
	// applies to a tool by any of its names, and looks for its primary argument in every value of
	// a call.
	restricts bool
	at        int // its place among the rules that it was compiled with; -1 if it was remembered
}

// matches reports whether the rule applies to a call.
func (r *rule) matches(c *pattern.Call) bool {
	if r.restricts {
		return r.pattern.MatchAny(c)
	}
	return r.pattern.Match(c)
}

// concerns reports whether the rule may apply to a call of the tool.
func (r *rule) concerns(t toolname.Tool) bool {
	if r.restricts {
		return r.pattern.Restricts(t)
	}
	return r.pattern.Permits(t)
}

// compile compiles rules. Fallback is the behavior of calls that no rule matches.
func compile(rules []Rule, fallback Behavior) ([]rule, error) {
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
		if r.When != "" && r.When != Tainted {
			errs = append(errs, fmt.Errorf("rules[%d].when is %q, want tainted or nothing", i, r.When))
		}
		if len(r.AllowHosts) > 0 && r.When != Tainted {
			errs = append(errs, fmt.Errorf("rules[%d].allow_hosts is set and when is %q, want tainted", i, r.When))
		}
		for j, host := range r.AllowHosts {
			if err := egress.Check(host); err != nil {
				errs = append(errs, fmt.Errorf("rules[%d].allow_hosts[%d] is %w", i, j, err))
			}
		}
		out = append(out, rule{r, p, r.Behavior == Deny || r.Behavior == Ask && (fallback == Allow || r.When != ""), i})
	}
	return out, errors.Join(errs...)
}

// rank orders behaviors by precedence.
func (b Behavior) rank() int { return slices.Index([]Behavior{Ask, Allow, Deny}, b) }

// strongest returns the rule that decides about a call, or nil: the one whose behavior takes
// precedence, then the most specific, then the first.
func strongest(c *pattern.Call, lists ...[]rule) *rule {
	var best *rule
	for _, rules := range lists {
		for i := range rules {
			r := &rules[i]
			if best != nil && (r.Behavior.rank() < best.Behavior.rank() || r.Behavior == best.Behavior && r.pattern.Compare(best.pattern) <= 0) {
				continue // cannot take precedence
			}
			if r.matches(c) {
				best = r
			}
		}
	}
	return best
}

// New returns the plugin. The rules of base apply to every agent that loads it, in addition to
// those of the agent's section. The other fields of base are the defaults of sections.
// Mistakes in base are reported when an agent is resolved.
func New(base Config) awaken.Plugin {
	base = base.withDefaults()
	s := awaken.NewSection(Name, Config{DefaultBehavior: base.DefaultBehavior, OnDeny: base.OnDeny, Remember: base.Remember, Rules: []Rule{}})
	s.Info = awaken.SectionInfo{DisplayName: "Permissions", Category: "safety", Editor: "permission",
		Description: "Which tool calls are allowed, denied, or need approval."}
	return &plugin{base, s}
}
