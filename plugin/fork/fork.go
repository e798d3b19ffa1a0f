// Package fork decides the tool calls of a forked run, and of a preview: each gets its recorded result, is refused, or waits for a person.
//
// A fork takes up the conversation of a run before one of its steps, on a thread of its own. Calls before that step are history, and
// never made again. Of the calls that follow, the section "fork" of the agent decides:
//
//	"fork": {
//	  "tools": "recorded",
//	  "results": [{"tool": "pay", "arguments": {"usd": 5}, "result": {"status": "success", "message": "receipt 7"}}]
//	}
//
// A preview tries an agent before it is published. Every agent of its version has the section, so that an agent that takes over or is called does
// not make an effect unasked, either; see [Confined].
//
// An agent with the section loads the plugin. It only ever restricts: other plugins may still refuse or ask.
package fork

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/internal/toolname"
)

// Name is the name of the plugin and of its section.
const Name = "fork"

// Mode says what becomes of a call that has no result in the section.
type Mode string

// The modes.
const (
	Recorded Mode = "recorded"  // it is refused: only what is recorded can be used
	Fixtures Mode = "fixture"   // it is refused: only fixtures can be used, and nothing that is recorded
	Refuse   Mode = "refuse"    // it is refused, even if it is recorded
	ReadOnly Mode = "read_only" // it is made if the tool only reads, and else refused
	Real     Mode = "real"      // it is made if the tool only reads, and else a person is asked
)

// Config is the section "fork".
type Config struct {
	Tools Mode `json:"tools" jsonschema:"enum=recorded,enum=fixture,enum=refuse,enum=read_only,enum=real,description=what becomes of calls without a result"`
	// Results answer calls with the same tool and arguments, instead of the tool. The first one counts.
	Results []Fixture `json:"results,omitempty" jsonschema:"results that answer equal calls instead of their tool"`
	// Preview says that the run tries an agent and is no fork of another run, for the texts that people and models read.
	Preview bool `json:"preview,omitempty" jsonschema:"the run tries an agent, and is no fork of another run"`
}

// Fixture is the result of a call.
type Fixture struct {
	Tool string `json:"tool"`
	// Arguments of the call. Without them, the result applies to every call of the tool.
	Arguments json.RawMessage    `json:"arguments,omitempty"`
	Result    *awaken.ToolResult `json:"result,omitempty"`
	// Exact is the result as a text of JSON, instead: documents do not keep the order of fields and the form of numbers, texts do.
	Exact string `json:"result_json,omitempty"`
}

// Verbatim returns the fixture with the result as a text.
func (f Fixture) Verbatim() (Fixture, error) {
	if f.Result == nil {
		return f, nil
	}
	text, err := json.Marshal(f.Result)
	f.Result, f.Exact = nil, string(text)
	return f, err
}

// result returns the result, or nil if there is none.
func (f *Fixture) result() (*awaken.ToolResult, error) {
	if f.Exact == "" {
		return f.Result, nil
	}
	r := new(awaken.ToolResult)
	if err := json.Unmarshal([]byte(f.Exact), r); err != nil {
		return nil, fmt.Errorf("result_json: %w", err)
	}
	return r, nil
}

// DescribeSchema says what Go types cannot express: results have a form of their own.
func (*Config) DescribeSchema(s *schema.Node) {
	s.Property("results").Items().Property("result_json").Describe("the result as a text of JSON, whose bytes are kept")
	s.Property("results").Items().Property("result").Replace(`{"type": "object", "description": "as in the event tool_call_done: status, message, data, content"}`)
}

// Validate reports every mistake in the section.
func (c *Config) Validate() error { return c.Check("results") }

// Check is Validate for a document in which the results have another name.
func (c *Config) Check(results string) error {
	var bad check.Problems
	bad.OneOf("tools", string(c.Tools), string(Recorded), string(Fixtures), string(Refuse), string(ReadOnly), string(Real))
	for i := range c.Results {
		f := &c.Results[i]
		bad.Prefix = fmt.Sprintf("%s[%d].", results, i)
		bad.NotBlank("tool", f.Tool)
		r, err := f.result()
		bad.When(r == nil && err == nil, "result is missing")
		bad.When(f.Result != nil && f.Exact != "", "result and result_json are both set, want one of them")
		bad.When(err != nil, "%v", err)
		if r != nil {
			bad.OneOf("result.status", string(r.Status), "", string(awaken.ToolSuccess), string(awaken.ToolError))
		}
	}
	return bad.Err()
}

// Section returns the section of the previewed agent, which may be nil, or the section of a preview in which calls that are not read-only wait for a person.
func Section(previewed *awaken.AgentSpec) (json.RawMessage, error) {
	if previewed != nil && previewed.Sections[Name] != nil {
		return previewed.Sections[Name], nil
	}
	return json.Marshal(Config{Tools: Real, Preview: true})
}

// Confined returns a copy of an agent with a section of another one.
func Confined(spec *awaken.AgentSpec, section json.RawMessage) *awaken.AgentSpec {
	out := *spec
	out.Sections = maps.Clone(spec.Sections)
	if out.Sections == nil {
		out.Sections = map[string]json.RawMessage{}
	}
	out.Sections[Name] = section
	return &out
}

// New returns the plugin.
func New() awaken.Plugin {
	s := awaken.NewSection(Name, Config{Tools: Recorded})
	s.Info = awaken.SectionInfo{DisplayName: "Fork", Category: "safety", Description: "What becomes of the tool calls of a run that is forked from another one."}
	return &plugin{s}
}

type plugin struct {
	section *awaken.Section[Config]
}

func (p *plugin) Name() string { return Name }

// Applies makes agents with the section load the plugin.
func (p *plugin) Applies(spec *awaken.AgentSpec) bool { return spec.Sections[Name] != nil }

func (p *plugin) Register(r *awaken.Registrar) error {
	r.Section(p.section)
	if r.Agent.Sections[Name] == nil {
		return nil
	}
	cfg, err := p.section.Read(r.Agent)
	if err != nil {
		return nil // the registry reports an invalid section
	}
	names := r.Names
	r.Gate(func(_ context.Context, h *awaken.HookCall) (awaken.Verdict, error) {
		return cfg.judge(h.Tool, names.Tool(h.Tool.Tool)), nil
	})
	r.Review("fixture_matches_nothing", func(map[string]json.RawMessage) []string { return cfg.strays(names) })
	return nil
}

// strays reports the results whose tool means none, or several.
func (c *Config) strays(names *toolname.Names) (out []string) {
	for i := range c.Results {
		name := c.Results[i].Tool
		text := ""
		switch ids := names.IDs(func(t toolname.Tool) bool { return t.Named(name) }); {
		case len(ids) > 0:
			continue
		case names.Shared(name) != nil:
			text = fmt.Sprintf("results[%d].tool %q is the name of several tools; want one of their ids: %q", i, name, names.Shared(name))
		default:
			text = fmt.Sprintf("results[%d].tool %s", i, names.Doubt(name, name).Text)
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// judge decides about a call of a tool.
func (c *Config) judge(call *awaken.ToolCall, tool toolname.Tool) awaken.Verdict {
	if c.Tools != Refuse {
		for i := range c.Results {
			if f := &c.Results[i]; tool.Named(f.Tool) && (f.Arguments == nil || sameJSON(f.Arguments, call.Args)) {
				res, err := f.result()
				if err != nil {
					continue // Validate has refused it
				}
				own := *res
				own.ToolName = call.Tool
				return awaken.Answer(&own)
			}
		}
	}
	reads, what := call.Effect == awaken.ReadOnly, "fork"
	if c.Preview {
		what = "preview"
	}
	switch {
	case c.Tools == Real && !reads:
		return awaken.SuspendCall(awaken.Ticket{Suspension: awaken.Suspension{ID: "fork_" + call.ID, Action: "tool:ForkConfirm",
			Message: fmt.Sprintf("This run is a %s. Make the call of '%s' for real?", what, call.Tool)}})
	case (c.Tools == Real || c.Tools == ReadOnly) && reads:
		return awaken.Allow()
	}
	return awaken.Answer(awaken.ErrorResult("not_recorded", fmt.Sprintf("this run is a %s, in which calls are not made, and no result of this call of %q is recorded", what, call.Tool)))
}

// sameJSON reports whether two documents are equal, whatever the order of their fields.
func sameJSON(a, b json.RawMessage) bool {
	x, errX := canonical(a)
	y, errY := canonical(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func canonical(data json.RawMessage) ([]byte, error) {
	if len(data) == 0 {
		return []byte("{}"), nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
