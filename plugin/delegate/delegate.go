// Package delegate lets agents give work to other agents.
//
// Each agent that an agent lists in its delegates is a tool for its model,
// agent_run_<id>, which takes a prompt and returns the other agent's answer. The plugin is
// loaded by itself: an agent need not list it, only have delegates.
//
//	{"id": "editor", "delegates": ["researcher", "writer"], …}
//
// A delegate runs on a thread of its own, below the parent's, in the parent's slot: it is
// a run like any other, stored, with its events, ended when its parent is cancelled, and
// its tokens and costs count as the parent's. What it says is streamed as the output of
// the call. Delegates that are called in one step run at the same time, if the parent's
// tool_execution_mode says so.
//
// When the delegate waits for a person, so does its parent, and the parent shows the
// delegate's tickets as its own: they are decided on the thread that the person looks at,
// however deep the one who asks is. Both cost nothing while they wait.
//
// The run of a delegate has an id that comes from the key of the call. So a parent that
// was cut off finds it and goes on with it, and never starts a second.
//
// Agents that run elsewhere ([engine.Config].Backends) are delegates like the others.
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
)

// PluginID is the name of the plugin and of its section.
const PluginID = "delegate"

// toolPrefix begins the names of the tools; the id of the delegate follows.
const toolPrefix = "agent_run_"

// Config is the section of an agent that has delegates.
type Config struct {
	MaxDepth       int      `json:"max_depth" jsonschema:"how many runs may be below each other under one that has no parent"`
	MaxChildren    int      `json:"max_children" jsonschema:"how many delegates one run may start"`
	MaxDescendants int      `json:"max_descendants" jsonschema:"how many runs there may be in all below one that has no parent"`
	TimeoutSeconds int      `json:"timeout_seconds" jsonschema:"how long one activation of a delegate may take; 0 is as long as it likes"`
	Stream         bool     `json:"stream" jsonschema:"show what delegates say while they say it, as output of the call"`
	Seed           []string `json:"seed,omitempty" jsonschema:"state keys whose values delegates start with"`
}

// Validate says what is wrong with the section.
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
	Section.Info = awaken.SectionInfo{DisplayName: "Delegates", Description: "Gives work to other agents.", Category: "agents"}
}

// Options are what a program may set beyond the section.
type Options struct {
	// Admit is asked before a delegate is started. An error is shown to the model instead,
	// and nothing starts. This is the place for budgets: what the runs above have used is
	// in their records, and what a delegate uses counts as theirs when it is done.
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
		return nil // the registry says so
	}
	for _, id := range r.Agent.Delegates {
		if spec := r.Lookup(id); spec != nil { // else the registry says so
			r.Tool(&tool{Options: p.Options, trees: &p.trees, cfg: cfg, agent: id, about: describe(spec)})
		}
	}
	return nil
}

// describe is what the model is told about an agent.
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
}

var _ awaken.Delegator = (*tool)(nil)

var parameters = json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string","description":"what the agent is to do, with everything it needs to know"}},"required":["prompt"],"additionalProperties":false}`)

func (t *tool) Spec() awaken.ToolSpec {
	s := awaken.ToolSpec{ID: toolPrefix + t.agent, Name: toolPrefix + t.agent, Description: t.about, Parameters: parameters, Category: "delegate",
		Effect:  awaken.Idempotent, // called again, it goes on with the same run
		Timeout: -1, Metadata: map[string]any{"agent_id": t.agent}}
	if t.cfg.TimeoutSeconds > 0 {
		s.Timeout = time.Duration(t.cfg.TimeoutSeconds) * time.Second
	}
	return s
}

// ChildRun is the id of the delegate's run. An agent that runs elsewhere has none here.
func (t *tool) ChildRun(call *awaken.ToolCall) string {
	if call.Host == nil || call.Host.Remote(t.agent) != nil {
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
		return nil, errors.New("delegates need a runtime")
	}
	if remote := call.Host.Remote(t.agent); remote != nil {
		return t.callRemote(ctx, call, remote, in.Prompt)
	}
	return t.callLocal(ctx, call, in.Prompt)
}

// callLocal starts the delegate's run, or goes on with it.
func (t *tool) callLocal(ctx context.Context, call *awaken.ToolCall, prompt string) (*awaken.ToolResult, error) {
	req := awaken.RunRequest{Attended: true}
	host := call.Host
	child, err := host.Store().LoadRun(ctx, awaken.ChildID(call.Key))
	switch {
	case errors.Is(err, awaken.ErrNotFound):
		if req, err = t.start(call, prompt); err != nil {
			return nil, err
		}
		if err := t.admit(ctx, call); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case child.Status == awaken.RunDone:
		return t.result(call, child)
	case child.Status == awaken.RunWaiting:
		wanted, err := t.wanted(ctx, host, child)
		if err != nil {
			return nil, err
		}
		if !wanted {
			return nil, t.wait(child)
		}
		fallthrough
	default:
		req.Continue = child.RunID
	}
	res, err := host.Run(ctx, req, t.sink(call))
	if res == nil && !elsewhere(err) {
		return nil, err
	}
	child, loadErr := host.Store().LoadRun(context.WithoutCancel(ctx), awaken.ChildID(call.Key))
	switch {
	case errors.Is(loadErr, awaken.ErrNotFound) && res != nil: // nothing is stored
		child = ephemeral(res, err)
	case loadErr != nil:
		return nil, errors.Join(err, loadErr)
	}
	if child.Status == awaken.RunDone {
		out, err := t.result(call, child)
		if out != nil && out.Status == awaken.ToolError && ctx.Err() != nil {
			out.Message += ": " + context.Cause(ctx).Error()
		}
		return out, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, t.wait(child)
}

// elsewhere reports whether somebody else goes on with the run, and will say so.
func elsewhere(err error) bool {
	return errors.Is(err, awaken.ErrBusy) || errors.Is(err, awaken.ErrFenced) || errors.Is(err, awaken.ErrConflict)
}

// ephemeral is the record of a run that was not stored.
func ephemeral(res *awaken.RunResult, err error) *awaken.Run {
	run := &awaken.Run{RunID: res.RunID, ThreadID: res.ThreadID, AgentID: res.AgentID, Status: res.Status, Termination: res.Termination,
		FinalOutput: res.Response, Waiting: res.Waiting, Steps: res.Steps, Usage: res.Usage, CostUSD: res.CostUSD,
		ChildUsage: res.ChildUsage, ChildCostUSD: res.ChildCostUSD}
	if err != nil {
		run.ErrorPayload = &awaken.Error{Message: err.Error()}
	}
	return run
}

// start is the request that starts the delegate.
func (t *tool) start(call *awaken.ToolCall, prompt string) (awaken.RunRequest, error) {
	id := awaken.ChildID(call.Key)
	req := awaken.RunRequest{AgentID: t.agent, ThreadID: id, RunID: id, Messages: []*llm.Message{llm.UserText(prompt)}, Attended: true,
		ParentThreadID: call.Run.ThreadID, ParentRunID: call.Run.RunID, ParentToolCallID: call.ID, SessionID: call.Run.SessionID, UserID: call.Run.UserID,
		Origin: "subagent", Adapter: call.Run.Adapter, Depth: call.Run.Depth + 1, ResolutionID: call.Host.ResolutionID()}
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

// admit says why the delegate must not be started, if so. What it says depends only on
// what is stored, so that it says the same when it is asked again.
func (t *tool) admit(ctx context.Context, call *awaken.ToolCall) error {
	if call.Run.Depth >= t.cfg.MaxDepth {
		return limit("runs may be %d deep below each other", t.cfg.MaxDepth)
	}
	earlier, err := t.earlier(ctx, call)
	if err != nil {
		return err
	}
	if earlier >= t.cfg.MaxChildren {
		return limit("a run may start %d delegates", t.cfg.MaxChildren)
	}
	if t.Admit != nil {
		if err := t.Admit(ctx, call, t.agent); err != nil {
			return err
		}
	}
	return t.enter(ctx, call)
}

func limit(format string, n int) error {
	return fmt.Errorf("[delegation_limit] "+format+", and that is reached: do it yourself, or without it", n)
}

// earlier counts the delegates that the run started before this call.
func (t *tool) earlier(ctx context.Context, call *awaken.ToolCall) (n int, err error) {
	calls, err := call.Host.Store().Calls(ctx, call.Run.RunID)
	if errors.Is(err, awaken.ErrNotFound) {
		return 0, nil // nothing is stored
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

// wanted reports whether there is a reason to go on with a delegate that waits.
func (t *tool) wanted(ctx context.Context, host awaken.Host, child *awaken.Run) (bool, error) {
	if r := child.Waiting.Reason; r == awaken.WaitBudget || r == awaken.WaitPin {
		return true, nil // there may be money again, or its version
	}
	items, err := host.Store().Unread(ctx, child.ThreadID)
	if err != nil || len(items) > 0 {
		return true, err
	}
	for _, ticket := range child.Waiting.Tickets {
		if ticket.ExpiresAt > 0 && ticket.ExpiresAt <= host.Now().UnixMilli() {
			return true, nil
		}
	}
	return false, nil
}

// wait suspends the call until the delegate gets further.
func (t *tool) wait(child *awaken.Run) error {
	action, message := "suspended", "waits for a decision"
	switch {
	case child.Status != awaken.RunWaiting:
		action, message = "running", "is at work"
	case child.Waiting.Reason == awaken.WaitUserInput:
		action = "input_required"
	case child.Waiting.Reason == awaken.WaitBudget:
		action, message = "budget_exhausted", "waits: "+child.Waiting.Message
	case child.Waiting.Reason == awaken.WaitPin:
		action, message = "pin_unavailable", "waits: "+child.Waiting.Message
	case child.Waiting.Reason == awaken.WaitBackgroundTasks:
		action, message = "running", "waits for its tasks"
	}
	ticket := awaken.Ticket{
		Suspension: awaken.Suspension{ID: "delegate_run:" + child.RunID, Action: "agent_delegate:" + action,
			Message: fmt.Sprintf("Agent '%s' %s", t.agent, message)},
		Child:   child.RunID,
		Tickets: child.ChildTickets(),
	}
	if child.Waiting != nil {
		ticket.Budget = child.Waiting.Budget
	}
	return awaken.Suspend(ticket)
}

// result is what the parent's model is told.
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
	return res, nil
}

// sink shows what the delegate says as output of the call.
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

// callRemote runs an agent that runs elsewhere. Its run has the id that a local one would
// have; what it waits for is asked as the call's own question, one after the other.
func (t *tool) callRemote(ctx context.Context, call *awaken.ToolCall, remote awaken.Runner, prompt string) (*awaken.ToolResult, error) {
	req, err := t.start(call, prompt)
	if err != nil {
		return nil, err
	}
	if call.Resume != nil {
		d := call.Resume.Decision
		d.Target = strings.TrimPrefix(call.Resume.SuspensionID, remotePrefix(call))
		req.Continue, req.RunID, req.Messages, req.Decisions = req.RunID, "", nil, []awaken.Decision{d}
	} else if err := t.admit(ctx, call); err != nil {
		return nil, err
	}
	res, err := remote.Run(ctx, req, t.sink(call))
	switch {
	case res == nil:
		return nil, fmt.Errorf("agent %q: %w", t.agent, err)
	case res.Status == awaken.RunWaiting && res.Waiting != nil && len(res.Waiting.Tickets) > 0:
		first := res.Waiting.Tickets[0]
		question := awaken.Suspension{Action: "agent_delegate:input_required", Message: first.Reason}
		if first.Suspension != nil {
			question = *first.Suspension
		}
		question.ID = remotePrefix(call) + first.TicketID
		return nil, awaken.Suspend(awaken.Ticket{Suspension: question, ResumeMode: awaken.ReplayToolCall}) // the decision goes there
	case res.Status == awaken.RunWaiting:
		return nil, fmt.Errorf("agent %q waits, and does not say for what", t.agent)
	}
	return t.result(call, ephemeral(res, err))
}

func remotePrefix(call *awaken.ToolCall) string { return "delegate_tool:" + call.ID + ":" }
