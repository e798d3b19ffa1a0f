// Package background lets agents start work that they do not wait for, and send messages
// to each other.
//
// A task is a run of its own, on a thread below its parent's: of an agent, or of one tool.
// It is started when the commit that holds the start is made, by the queue: so it outlives
// the process, and whoever takes its run up after a crash goes on with it. What a tool that
// was cut off does then is up to its effect: one that is read-only or idempotent is called
// again, and of one that is not the outcome is in doubt and is said to be.
//
// The model has these tools:
//
//	spawn_task     starts an agent or a tool in the background
//	list_tasks     shows the thread's tasks and how they came out
//	await_task     waits for one; the run costs nothing meanwhile
//	cancel_task    ends one, or the task that the agent itself is
//	send_message   writes to the parent, a task, or any thread
//	recover_failed_messages   shows, repeats or drops messages that nobody got
//
// Tools written in Go start tasks with [Spawn]. When a task ends, its parent's model is
// told. A run that has come to its end waits for its tasks; when it ends otherwise (it is
// cancelled, or fails), its tasks are cancelled.
package background

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/builtin"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// PluginID is the name of the plugin and of its section.
const PluginID = "background"

// Config is the section of an agent that has tasks.
type Config struct {
	Agents   []string `json:"agents,omitempty" jsonschema:"agents that tasks may run; without it, the agent's delegates"`
	Tools    []string `json:"tools,omitempty" jsonschema:"tools that tasks may run; without it, all that the agent is offered"`
	Wait     bool     `json:"wait" jsonschema:"a run that has come to its end waits for its tasks"`
	MaxTasks int      `json:"max_tasks" jsonschema:"how many tasks of a thread may go on at the same time"`
	MaxDepth int      `json:"max_depth" jsonschema:"how many runs may be below each other under one that has no parent"`
}

// Validate says what is wrong with the section.
func (c *Config) Validate() error {
	blank := func(id string) bool { return strings.TrimSpace(id) == "" }
	switch {
	case c.MaxTasks < 1:
		return fmt.Errorf("max_tasks is %d, want 1 or more", c.MaxTasks)
	case c.MaxDepth < 1:
		return fmt.Errorf("max_depth is %d, want 1 or more", c.MaxDepth)
	case slices.ContainsFunc(c.Agents, blank):
		return fmt.Errorf("agents[%d] is empty", slices.IndexFunc(c.Agents, blank))
	case slices.ContainsFunc(c.Tools, blank):
		return fmt.Errorf("tools[%d] is empty", slices.IndexFunc(c.Tools, blank))
	}
	return nil
}

// Section is the plugin's section.
var Section = awaken.NewSection(PluginID, Config{Wait: true, MaxTasks: 16, MaxDepth: 5})

func init() {
	Section.Info = awaken.SectionInfo{DisplayName: "Background tasks", Description: "Starts work without waiting for it, and sends messages between agents.", Category: "agents"}
}

// Status is how a task is.
type Status string

const (
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Info is what a thread knows about one of its tasks.
type Info struct {
	ID          string `json:"task_id"` // of its run, and of its thread
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Type        string `json:"task_type"` // sub_agent or tool
	Agent       string `json:"agent_id,omitempty"`
	Tool        string `json:"tool,omitempty"`
	Status      Status `json:"status"`
	Result      string `json:"result,omitempty"`
	Error       string `json:"error,omitempty"`
	CreatedAt   int64  `json:"created_at"` // unix ms
	CompletedAt int64  `json:"completed_at,omitempty"`

	// Who started it.
	RunID  string `json:"run_id"`
	CallID string `json:"call_id,omitempty"`
}

// maxOver is how many tasks that are over a thread remembers.
const maxOver = 64

// Tasks are the tasks of a thread, by id.
var Tasks = state.NewKey("background_task_state", func(tasks map[string]Info, t Info) map[string]Info {
	next := map[string]Info{}
	maps.Copy(next, tasks)
	next[t.ID] = t
	over := slices.DeleteFunc(slices.Collect(maps.Values(next)), func(t Info) bool { return t.Status == Running })
	if len(over) > maxOver {
		slices.SortFunc(over, func(a, b Info) int { return cmp.Compare(a.CompletedAt, b.CompletedAt) })
		for _, t := range over[:len(over)-maxOver] {
			delete(next, t.ID)
		}
	}
	return next
}, state.Options{Scope: state.Thread, Merge: state.Commutative})

// sorted returns tasks, the oldest first.
func sorted(tasks map[string]Info) []Info {
	return slices.SortedFunc(maps.Values(tasks), func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// find returns the task of a name or id: one that goes on, or else the latest.
func find(tasks map[string]Info, name string) (Info, bool) {
	if t, ok := tasks[name]; ok {
		return t, true
	}
	var found Info
	for _, t := range sorted(tasks) {
		if t.Name == name && name != "" && found.Status != Running {
			found = t
		}
	}
	return found, found.ID != ""
}

// Task is work to be done in the background: an agent's, or a tool's.
type Task struct {
	Name        string // among the tasks that go on, only one has it
	Description string

	Agent  string // with a Prompt
	Prompt string

	Tool      string // of the agent that starts the task
	Arguments json.RawMessage
}

var reserved = []string{"parent", "self", "all", "broadcast"}

// check says what is wrong with a task.
func (t *Task) check(tasks map[string]Info) error {
	switch {
	case (t.Agent == "") == (t.Tool == ""):
		return errors.New("a task is of an agent or of a tool: name one of them")
	case t.Agent != "" && strings.TrimSpace(t.Prompt) == "":
		return errors.New("prompt is empty")
	case len(t.Arguments) > 0 && !json.Valid(t.Arguments):
		return errors.New("arguments are not JSON")
	case slices.Contains(reserved, t.Name):
		return fmt.Errorf("name %q is reserved, as are %q", t.Name, reserved)
	}
	if old, ok := find(tasks, t.Name); ok && old.Status == Running {
		return fmt.Errorf("name %q is that of a task that goes on", t.Name)
	}
	return nil
}

// Spawn starts a task, once the result of the call is committed, and returns its id. A call
// that starts several gives them names. The agent needs the plugin.
func Spawn(call *awaken.ToolCall, t Task) (id string, err error) {
	if err := t.check(Tasks.Get(call)); err != nil {
		return "", err
	}
	if call.Host == nil {
		return "", errors.New("tasks need a runtime")
	}
	id = awaken.ChildID(call.Key + "/task/" + t.Name)
	req := &awaken.RunRequest{ThreadID: id, RunID: id, ParentThreadID: call.Run.ThreadID, ParentRunID: call.Run.RunID, ParentToolCallID: call.ID,
		SessionID: call.Run.SessionID, UserID: call.Run.UserID, Origin: "subagent", Mode: "scheduled", Adapter: call.Run.Adapter, Depth: call.Run.Depth + 1,
		ResolutionID: call.Host.ResolutionID()}
	info := Info{ID: id, Name: t.Name, Description: t.Description, Status: Running, CreatedAt: call.Host.Now().UnixMilli(), RunID: call.Run.RunID, CallID: call.ID}
	if t.Agent != "" {
		if call.Host.Agent(t.Agent) == nil {
			return "", fmt.Errorf("agent %q is not defined", t.Agent)
		}
		info.Type, info.Agent = "sub_agent", t.Agent
		req.AgentID, req.Messages = t.Agent, []*llm.Message{llm.UserText(t.Prompt)}
	} else {
		if !slices.Contains(call.Host.ToolIDs(call.Agent.ID), t.Tool) {
			return "", fmt.Errorf("agent %q has no tool %q", call.Agent.ID, t.Tool)
		}
		info.Type, info.Tool = "tool", t.Tool
		req.AgentID, req.Call = call.Agent.ID, &awaken.PlannedCall{Tool: t.Tool, Arguments: t.Arguments}
	}
	Tasks.Update(call, info)
	awaken.Send(call, awaken.Outgoing{Start: req})
	return id, nil
}

// New returns the plugin.
func New() awaken.Plugin { return plugin{} }

type plugin struct{}

func (plugin) Name() string { return PluginID }

func (plugin) Register(r *awaken.Registrar) error {
	r.Section(Section)
	r.Key(Tasks)
	cfg, err := Section.Read(r.Agent)
	if err != nil {
		return nil // the registry says so
	}
	for i, id := range cfg.Agents {
		if r.Lookup(id) == nil {
			return fmt.Errorf("agents[%d] is %q, which is not defined", i, id)
		}
	}
	if cfg.Agents == nil {
		cfg.Agents = r.Agent.Delegates
	}
	r.Handle(builtin.ChildDone.Handler(done))
	r.On(awaken.PhaseStepEnd, cfg.pending)
	r.On(awaken.PhaseRunEnd, leave)
	r.Tool(cfg.tools()...)
	return nil
}

// done notes how a task came out.
func done(_ context.Context, h *awaken.HookCall, rep awaken.ChildReport) error {
	t, ok := Tasks.Get(h)[rep.RunID]
	if !ok || t.Status != Running {
		return nil
	}
	t.Status, t.Result, t.Error = outcome(rep.Termination, rep.Response)
	t.CompletedAt = builtin.RunLifecycle.Get(h).UpdatedAt
	Tasks.Update(h, t)
	return nil
}

// outcome is how a task is whose run ended.
func outcome(t awaken.Termination, response string) (s Status, result, problem string) {
	switch t.Type {
	case awaken.Cancelled:
		return Cancelled, "", ""
	case awaken.Failed, awaken.Blocked:
		return Failed, response, t.String()
	}
	return Completed, response, ""
}

// running are the run's tasks that go on, the oldest first.
func running(h *awaken.HookCall) []Info {
	return slices.DeleteFunc(sorted(Tasks.Get(h)), func(t Info) bool { return t.Status != Running || t.RunID != h.Run.RunID })
}

// pending says whether the run has to wait for tasks of its own.
func (c Config) pending(_ context.Context, h *awaken.HookCall) error {
	wait := c.Wait && len(running(h)) > 0
	if wait != builtin.PendingWork.Get(h) {
		builtin.PendingWork.Update(h, wait)
	}
	return nil
}

// leave ends the tasks of a run that was ended: nobody would learn what comes of them.
func leave(_ context.Context, h *awaken.HookCall) error {
	life := builtin.RunLifecycle.Get(h)
	if life.StatusReason == "natural" {
		return nil
	}
	for _, t := range running(h) {
		t.Status, t.CompletedAt = Cancelled, life.UpdatedAt
		Tasks.Update(h, t)
		awaken.Send(h, awaken.Outgoing{Cancel: t.ID})
	}
	return nil
}
