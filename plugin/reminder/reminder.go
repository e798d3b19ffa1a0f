// Package reminder adds messages for the model after tool calls that match a rule: for example
// to run the checks after an edit.
//
//	cfg.Plugins = append(cfg.Plugins, reminder.New(reminder.Config{}))
//
// An agent that lists "reminder" in plugin_ids has its rules in the section of the same name:
//
//	"reminder": {
//	  "rules": [{
//	    "tool": "Edit(file_path ~ '*.toml')",
//	    "output": {"status": "success"},
//	    "message": {"target": "suffix_system", "content": "Run cargo check.", "cooldown_turns": 3}
//	  }]
//	}
//
// Every rule that matches a call adds its message to the next request to the model. The
// message is not stored in the conversation.
package reminder

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/internal/document"
	"github.com/awaken-go/awaken/internal/glob"
	"github.com/awaken-go/awaken/internal/pattern"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/internal/strict"
)

// Name is the name of the plugin and of its section.
const Name = "reminder"

// Config is the section "reminder".
type Config struct {
	Rules []Rule `json:"rules" jsonschema:"every rule that matches a call adds its message to the next request"`
}

// Rule adds a message after calls that match a pattern.
type Rule struct {
	// Name defaults to the rule's index and pattern. A rule of a section replaces the plugin's
	// rule of the same name.
	Name    string  `json:"name,omitempty"`
	Tool    string  `json:"tool" jsonschema:"a pattern, such as Edit(file_path ~ '*.toml')"`
	Output  Output  `json:"output,omitzero" jsonschema:"condition on the result: any, or a status and content"`
	Message Message `json:"message"`
}

// Output is a condition on a result. The zero Output matches every final result. In JSON it
// may be the string "any".
type Output struct {
	Status  Status  `json:"status,omitempty"`
	Content Content `json:"content,omitzero"`
}

// Status is a condition on the outcome of a call.
type Status string

// The statuses of results.
const (
	Any     Status = "any" // success or error; the default
	Success Status = "success"
	Error   Status = "error"
	Pending Status = "pending" // the call is suspended
)

// Content is a condition on the content of a result. The zero Content matches everything. In
// JSON it may be a string, the glob.
type Content struct {
	Glob   string  `json:"-"` // matched against the message, the data and the text of the result
	Fields []Field `json:"fields,omitempty"`
}

// Field is a condition on a field of the result's data.
type Field struct {
	Path  string `json:"path" jsonschema:"names separated by dots, such as error.code or items[0].id"`
	Op    string `json:"op,omitempty" jsonschema:"glob (the default), exact, regex, not_glob, not_exact or not_regex"`
	Value string `json:"value"`
}

// Message is the message to the model.
type Message struct {
	Target  Target `json:"target" jsonschema:"position in the request: system, suffix_system, session or conversation"`
	Content string `json:"content"`
	// CooldownTurns is how many steps pass before the message is repeated. 0 repeats it at
	// every match.
	CooldownTurns int `json:"cooldown_turns,omitempty"`
}

// Target is the position of a message in the request.
type Target string

// The positions of messages.
const (
	System       Target = "system"        // after the system prompt
	SuffixSystem Target = "suffix_system" // at the very end
	Session      Target = "session"       // after the instructions
	Conversation Target = "conversation"  // before the history
)

var targets = map[Target]awaken.ContextTarget{System: awaken.TargetSystem, SuffixSystem: awaken.TargetSuffix,
	Session: awaken.TargetSession, Conversation: awaken.TargetConversation}

// UnmarshalJSON accepts "any", or an object.
func (o *Output) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		if s != string(Any) {
			return fmt.Errorf(`output is %q, want "any" or an object with status and content`, s)
		}
		*o = Output{}
		return nil
	}
	type plain Output
	return strict.Into((*plain)(o), "output", data)
}

// UnmarshalJSON accepts a glob, or an object with fields.
func (c *Content) UnmarshalJSON(data []byte) error {
	*c = Content{}
	if json.Unmarshal(data, &c.Glob) == nil {
		return nil
	}
	type plain Content
	if err := strict.Into((*plain)(c), "content", data); err != nil {
		return err
	}
	if len(c.Fields) == 0 {
		return errors.New("content: fields is missing or empty")
	}
	return nil
}

// MarshalJSON writes the form that UnmarshalJSON accepts.
func (c Content) MarshalJSON() ([]byte, error) {
	if len(c.Fields) == 0 {
		return json.Marshal(c.Glob)
	}
	type plain Content
	return json.Marshal(plain(c))
}

// IsZero reports whether the content matches everything.
func (c Content) IsZero() bool { return c.Glob == "" && len(c.Fields) == 0 }

// DescribeSchema adds constraints that Go types cannot express.
func (*Config) DescribeSchema(s *schema.Node) {
	rule := s.Property("rules").Items()
	rule.Property("output").Replace(`{"anyOf": [
		{"enum": ["any"]},
		{"type": "object", "additionalProperties": false, "properties": {
			"status": {"type": "string", "enum": ["any", "success", "error", "pending"]},
			"content": {"anyOf": [
				{"type": "string"},
				{"type": "object", "additionalProperties": false, "required": ["fields"], "properties": {"fields": {"type": "array", "minItems": 1, "items": {
					"type": "object", "additionalProperties": false, "required": ["path", "value"], "properties": {
						"path": {"type": "string"}, "value": {"type": "string"},
						"op": {"type": "string", "enum": ["glob", "exact", "regex", "not_glob", "not_exact", "not_regex"]}}}}}}]}}}]}`)
	message := rule.Property("message")
	message.Property("target").Enum("system", "suffix_system", "session", "conversation")
	message.Property("cooldown_turns").Min(0)
}

// Validate reports every mistake in the rules.
func (c *Config) Validate() error {
	_, err := compile(c.Rules)
	return err
}

// Load reads a Config from a YAML or JSON file with the fields of the section.
func Load(name string) (Config, error) {
	var c Config
	if err := document.Load(name, &c); err != nil {
		return Config{}, fmt.Errorf("reminders: %w", err)
	}
	if err := c.Validate(); err != nil {
		return Config{}, fmt.Errorf("reminders: %s: %w", name, err)
	}
	return c, nil
}

// rule is a compiled rule.
type rule struct {
	Rule
	pattern *pattern.Pattern
	glob    *glob.Pattern // nil matches every text
	fields  []*pattern.Condition
}

func compile(rules []Rule) ([]rule, error) {
	var out []rule
	var bad check.Problems
	for i, r := range rules {
		bad.Prefix = fmt.Sprintf("rules[%d].", i)
		if r.Name == "" {
			r.Name = fmt.Sprintf("rule-%d-%s", i, r.Tool)
		} else if slices.ContainsFunc(out, func(o rule) bool { return o.Name == r.Name }) {
			bad.Add("name %q is used by another rule", r.Name)
		}
		c := rule{Rule: r}
		var err error
		if c.pattern, err = pattern.Compile(r.Tool); err != nil {
			bad.Add("tool: %w", err)
		}
		bad.OneOf("output.status", string(r.Output.Status), "", string(Any), string(Success), string(Error), string(Pending))
		if g := r.Output.Content.Glob; g != "" {
			if c.glob, err = glob.CompileRule(g); err != nil {
				bad.Add("output.content: glob %q: %w", g, err)
			}
		}
		for j, f := range r.Output.Content.Fields {
			cond, err := pattern.NewCondition(f.Path, cmp.Or(f.Op, "glob"), f.Value)
			if err != nil {
				bad.Add("output.content.fields[%d]: %w", j, err)
			}
			c.fields = append(c.fields, cond)
		}
		bad.OneOf("message.target", string(r.Message.Target), string(System), string(SuffixSystem), string(Session), string(Conversation))
		bad.NotBlank("message.content", r.Message.Content)
		bad.NotNegative("message.cooldown_turns", r.Message.CooldownTurns)
		out = append(out, c)
	}
	return out, bad.Err()
}

// New returns the plugin. The rules of base apply to every agent that loads it, before those
// of the agent's section. Mistakes in base are reported when an agent is resolved.
func New(base Config) awaken.Plugin {
	s := awaken.NewSection(Name, Config{Rules: []Rule{}})
	s.Info = awaken.SectionInfo{DisplayName: "Reminders", Category: "context", Editor: "reminder",
		Description: "Messages for the model after certain tool calls."}
	return &plugin{base, s}
}
