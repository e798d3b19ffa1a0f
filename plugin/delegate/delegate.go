// Package delegate lets agents delegate work to other agents.
//
// Each agent listed in an agent's delegates becomes a tool for its model, agent_run_<id>,
// which takes a prompt and returns the other agent's answer. The plugin applies to every agent
// that has delegates; it need not be listed in plugin_ids.
//
//	{"id": "editor", "delegates": ["researcher", "writer"], …}
//
// A delegate runs on a thread of its own, below the parent's, in the parent's slot. It is a
// run like any other: it is stored and has events, it is cancelled with its parent, and its
// tokens and costs are added to the parent's. Its text is streamed as the output of the call.
// Delegates called in one step run in parallel if the parent's tool_execution_mode allows it.
//
// When a delegate waits for a person, its parent waits too, and shows the delegate's tickets
// as its own. So people decide on the thread that they see, however deep the asking run is.
// Both runs are parked meanwhile.
//
// The id of a delegate's run is derived from the key of the call. So a parent that was
// interrupted finds the run and resumes it, and never starts a second one.
//
// Agents that run elsewhere ([engine.Config].Backends) can be delegates too: their runs are runs of
// this runtime, in which the remote agent takes the place of the model.
package delegate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/plugin/internal/childrun"
)

// PluginID is the name of the plugin and of its section.
const PluginID = "delegate"

// toolPrefix starts the tool names; the delegate's id follows.
const toolPrefix = "agent_run_"

// Config is the section of an agent that has delegates.
type Config struct {
	MaxDepth       int      `json:"max_depth" jsonschema:"maximum depth of runs below the root run"`
	MaxChildren    int      `json:"max_children" jsonschema:"maximum number of delegates that one run may start"`
	MaxDescendants int      `json:"max_descendants" jsonschema:"maximum number of runs below the root run"`
	TimeoutSeconds int      `json:"timeout_seconds" jsonschema:"maximum duration of one activation of a delegate; 0 means no limit"`
	Stream         bool     `json:"stream" jsonschema:"stream the text of delegates as output of the call"`
	Seed           []string `json:"seed,omitempty" jsonschema:"state keys whose values are copied to delegates"`
}

// Validate checks the section.
func (c *Config) Validate() error {
	for _, f := range []struct {
		name string
		n    int
		min  int
	}{{"max_depth", c.MaxDepth, 1}, {"max_children", c.MaxChildren, 1}, {"max_descendants", c.MaxDescendants, 1}, {"timeout_seconds", c.TimeoutSeconds, 0}} {
		if f.n < f.min {
			return fmt.Errorf("%s is %d, want %d or more", f.name, f.n, f.min)
		}
	}
	for i, key := range c.Seed {
		if strings.TrimSpace(key) == "" {
			return fmt.Errorf("seed[%d] is empty", i)
		}
	}
	return nil
}

// Section is the plugin's section.
var Section = awaken.NewSection(PluginID, Config{MaxDepth: 5, MaxChildren: 16, MaxDescendants: 64, Stream: true})

func init() {
	Section.Info = awaken.SectionInfo{DisplayName: "Delegates", Description: "Delegates work to other agents.", Category: "agents"}
}

// Options configures the plugin beyond the section.
type Options struct {
	// Admit, if set, is called before a delegate starts. An error is returned to the model,
	// and the delegate does not start. Use it for budgets: the records of the runs above show
	// what they have used; what a delegate uses is added to them when it ends.
	Admit func(ctx context.Context, call *awaken.ToolCall, agentID string) error
}

// New returns the plugin.
func New(o Options) awaken.Plugin { return &plugin{Options: o} }

type plugin struct {
	Options
	trees trees
}

func (p *plugin) Name() string { return PluginID }

// Applies reports whether an agent has delegates.
func (p *plugin) Applies(spec *awaken.AgentSpec) bool { return len(spec.Delegates) > 0 }

func (p *plugin) Register(r *awaken.Registrar) error {
	r.Section(Section)
	cfg, err := Section.Read(r.Agent)
	if err != nil {
		return nil // the registry reports it
	}
	for _, id := range r.Agent.Delegates {
		if spec := r.Lookup(id); spec != nil { // the registry reports unknown agents
			r.Tool(&tool{Options: p.Options, trees: &p.trees, cfg: cfg, agent: id, about: describe(spec), egress: spec.Egress()})
		}
	}
	return nil
}

// describe returns the tool description for an agent: its description, or else the first line
// of its system prompt.
func describe(spec *awaken.AgentSpec) string {
	if spec.Description != "" {
		return spec.Description
	}
	for line := range strings.Lines(spec.SystemPrompt) {
		if line = strings.TrimSpace(line); line != "" {
			return string([]rune(line)[:min(100, len([]rune(line)))])
		}
	}
	return spec.ID
}

// tool runs one delegate.
type tool struct {
	Options
	trees *trees
	cfg   Config
	agent string
	about string

	egress awaken.Egress // none, or to the server of a remote agent
}

var _ awaken.Delegator = (*tool)(nil)

var parameters = json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string","description":"what the agent is to do, with everything it needs to know"}},"required":["prompt"],"additionalProperties":false}`)

func (t *tool) Spec() awaken.ToolSpec {
	s := awaken.ToolSpec{ID: toolPrefix + t.agent, Name: toolPrefix + t.agent, Description: t.about, Parameters: parameters, Category: "delegate",
		OwnName: t.agent, Aliases: []string{"agent:" + t.agent, "agent/" + t.agent},
		Effect:  awaken.Idempotent, // a repeated call resumes the same run
		Timeout: -1, Metadata: map[string]any{"agent_id": t.agent}, Egress: t.egress}
	if t.cfg.TimeoutSeconds > 0 {
		s.Timeout = time.Duration(t.cfg.TimeoutSeconds) * time.Second
	}
	return s
}

// ChildRun returns the id of the delegate's run.
func (t *tool) ChildRun(call *awaken.ToolCall) string {
	if call.Host == nil {
		return ""
	}
	return awaken.ChildID(call.Key)
}

func (t *tool) Call(ctx context.Context, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	var in struct {
		Prompt string `json:"prompt"`
	}
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	if strings.TrimSpace(in.Prompt) == "" {
		return nil, errors.New("prompt is empty")
	}
	if call.Host == nil {
		return nil, errors.New("delegates need a runtime: the call has no host")
	}
	return t.run(ctx, call, in.Prompt)
}

// run starts the delegate's run, or resumes it.
func (t *tool) run(ctx context.Context, call *awaken.ToolCall, prompt string) (*awaken.ToolResult, error) {
	child := childrun.Child{Call: call, Name: fmt.Sprintf("Agent '%s'", t.agent), Sink: func() awaken.Sink { return t.sink(call) }, Start: func(ctx context.Context) (awaken.RunRequest, error) {
		req, err := t.start(call, prompt)
		if err != nil {
			return req, err
		}
		return req, t.admit(ctx, call)
	}}
	run, err := child.Run(ctx)
	if err != nil {
		return nil, err
	}
	out, err := t.result(call, run)
	if out != nil && out.Status == awaken.ToolError && ctx.Err() != nil {
		out.Message += ": " + context.Cause(ctx).Error()
	}
	return out, err
}

// start returns the request that starts the delegate.
func (t *tool) start(call *awaken.ToolCall, prompt string) (awaken.RunRequest, error) {
	req := childrun.Below(call)
	req.AgentID, req.Messages = t.agent, []*llm.Message{llm.UserText(prompt)}
	if len(t.cfg.Seed) == 0 {
		return req, nil
	}
	values, err := call.Export()
	if err != nil {
		return req, err
	}
	req.Seed = map[string]json.RawMessage{}
	for _, key := range t.cfg.Seed {
		if v, ok := values[key]; ok {
			req.Seed[key] = v
		}
	}
	return req, nil
}

// admit returns an error if the delegate must not start. It depends only on stored data, so a
// repeated call gets the same answer.
func (t *tool) admit(ctx context.Context, call *awaken.ToolCall) error {
	if call.Run.Depth >= t.cfg.MaxDepth {
		return limit("the maximum depth of %d runs", t.cfg.MaxDepth)
	}
	earlier, err := t.earlier(ctx, call)
	if err != nil {
		return err
	}
	if earlier >= t.cfg.MaxChildren {
		return limit("the maximum of %d delegates of one run", t.cfg.MaxChildren)
	}
	if t.Admit != nil {
		if err := t.Admit(ctx, call, t.agent); err != nil {
			return err
		}
	}
	return t.enter(ctx, call)
}

func limit(format string, n int) error {
	return fmt.Errorf("[delegation_limit] "+format+" is reached: do the work yourself, or continue without it", n)
}

// earlier counts the delegates that the run started before this call.
func (t *tool) earlier(ctx context.Context, call *awaken.ToolCall) (n int, err error) {
	calls, err := call.Host.Store().Calls(ctx, call.Run.RunID)
	if errors.Is(err, awaken.ErrNotFound) {
		return 0, nil // the run is ephemeral
	}
	for _, c := range calls {
		if c.Key == call.Key {
			break
		}
		if strings.HasPrefix(c.ToolName, toolPrefix) && c.Child != "" {
			n++
		}
	}
	return n, err
}

// result converts the ended run of a delegate to the result of the call.
func (t *tool) result(call *awaken.ToolCall, child *awaken.Run) (*awaken.ToolResult, error) {
	call.Spend(child.Total())
	res := &awaken.ToolResult{Status: awaken.ToolSuccess, Metadata: map[string]any{"child_run_id": child.RunID, "child_thread_id": child.ThreadID}}
	status, progress := "completed", "done"
	switch child.Termination.Type {
	case awaken.Stopped:
		status = "stopped"
	case awaken.Cancelled:
		status, progress, res.Status, res.Message = "cancelled", "failed", awaken.ToolError, fmt.Sprintf("agent %q was cancelled", t.agent)
	case awaken.Failed, awaken.Blocked:
		status, progress, res.Status, res.Message = "failed", "failed", awaken.ToolError, fmt.Sprintf("agent %q failed: %s", t.agent, child.Termination)
	}
	var err error
	if res.Data, err = json.Marshal(struct {
		AgentID  string `json:"agent_id"`
		Status   string `json:"status"`
		Response string `json:"response"`
		Steps    int    `json:"steps"`
	}{child.AgentID, status, child.FinalOutput, child.Steps}); err != nil {
		return nil, err
	}
	call.Progress(awaken.Progress{Status: progress, Message: t.agent})
	return child.ChildResult(res), nil
}

// sink streams the delegate's text as output of the call.
func (t *tool) sink(call *awaken.ToolCall) awaken.Sink {
	call.Progress(awaken.Progress{Status: "running", Message: t.agent})
	if !t.cfg.Stream {
		return nil
	}
	return awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
		if d, ok := e.Event.(*awaken.TextDelta); ok {
			call.Output(d.Delta)
		}
		return nil
	})
}
