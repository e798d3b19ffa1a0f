// Package background lets agents start tasks without waiting for them, and send messages to
// each other.
//
// A task is a run of its own, on a thread below its parent's. It runs an agent or a single
// tool. The mailbox starts it once the commit that contains the start is made, so a task
// survives the process: after a crash, the next owner of its run resumes it. What happens to
// an interrupted tool call depends on the tool's effect: a read-only or idempotent tool is
// called again, and any other call is in doubt and reported as such.
//
// The model gets these tools:
//
//	spawn_task     starts an agent or a tool in the background
//	list_tasks     lists the thread's tasks and their outcomes
//	await_task     waits for one task; the run is parked meanwhile
//	cancel_task    cancels one task, or the task that the agent itself is
//	send_message   writes to the parent, a task, or any thread
//	recover_failed_messages   lists, resends or drops undelivered messages
//
// Tools written in Go start tasks with [Spawn]. The parent's model is notified when a task
// ends. A run that reaches its natural end waits for its tasks; with [Config.Wait] off, the model
// of the thread's next run is notified instead. If the run ends otherwise, because it is cancelled
// or fails, its tasks are cancelled.
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
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// PluginID is the name of the plugin and of its section.
const PluginID = "background"

// Config is the section of an agent that starts tasks.
type Config struct {
	Agents   []string `json:"agents,omitempty" jsonschema:"agents that tasks may run; default: the agent's delegates"`
	Tools    []string `json:"tools,omitempty" jsonschema:"tools that tasks may run; default: all tools of the agent"`
	Wait     bool     `json:"wait" jsonschema:"a run that reaches its natural end waits for its tasks"`
	MaxTasks int      `json:"max_tasks" jsonschema:"maximum number of tasks of a thread that run at the same time"`
	MaxDepth int      `json:"max_depth" jsonschema:"maximum depth of runs below the root run"`
}

// Validate checks the section.
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

// Status is the state of a task.
type Status string

// The states of a task. All but Running are final.
const (
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Info is a thread's record of one of its tasks.
type Info struct {
	ID          string `json:"task_id"` // also the id of its run and of its thread
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Type        string `json:"task_type"` // sub_agent or tool
	Agent       string `json:"agent_id,omitempty"`
	Tool        string `json:"tool,omitempty"`
	Status      Status `json:"status"`
	Result      string `json:"result,omitempty"`
	Error       string `json:"error,omitempty"`
	CreatedAt   int64  `json:"created_at" time:"ms"` // Unix time in milliseconds
	CompletedAt int64  `json:"completed_at,omitempty" time:"ms"`

	// The run and the call that started it.
	RunID  string `json:"run_id"`
	CallID string `json:"call_id,omitempty"`
}

// complete sets when the task ended, in milliseconds. The time of a run is rounded to seconds, and so
// may be before the start.
func (t *Info) complete(at int64) { t.CompletedAt = max(t.CreatedAt, at) }

// maxEnded is how many ended tasks a thread keeps.
const maxEnded = 64

// Tasks holds the tasks of a thread, by id.
var Tasks = state.NewKey("background_task_state", func(tasks map[string]Info, t Info) map[string]Info {
	next := map[string]Info{}
	maps.Copy(next, tasks)
	next[t.ID] = t
	ended := slices.DeleteFunc(slices.Collect(maps.Values(next)), func(t Info) bool { return t.Status == Running })
	if len(ended) > maxEnded {
		slices.SortFunc(ended, func(a, b Info) int { return cmp.Compare(a.CompletedAt, b.CompletedAt) })
		for _, t := range ended[:len(ended)-maxEnded] {
			delete(next, t.ID)
		}
	}
	return next
}, state.Options{Scope: state.Thread, Merge: state.Commutative})

// sorted returns the tasks, oldest first.
func sorted(tasks map[string]Info) []Info {
	return slices.SortedFunc(maps.Values(tasks), func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// find returns the task with a name or id. Among tasks of the same name, it prefers a running
// one, then the latest.
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

// Task is work to do in the background. It names either an agent or a tool.
type Task struct {
	Name        string // unique among running tasks
	Description string

	Agent  string // needs a Prompt
	Prompt string

	Tool      string // a tool of the agent that starts the task
	Arguments json.RawMessage
}

var reserved = []string{"parent", "self", "all", "broadcast"}

// check validates a task.
func (t *Task) check(tasks map[string]Info) error {
	switch {
	case (t.Agent == "") == (t.Tool == ""):
		return errors.New("a task needs either an agent or a tool")
	case t.Agent != "" && strings.TrimSpace(t.Prompt) == "":
		return errors.New("prompt is empty")
	case len(t.Arguments) > 0 && !json.Valid(t.Arguments):
		return errors.New("arguments are not JSON")
	case slices.Contains(reserved, t.Name):
		return fmt.Errorf("name %q is reserved; reserved names: %q", t.Name, reserved)
	}
	if old, ok := find(tasks, t.Name); ok && old.Status == Running {
		return fmt.Errorf("name %q is used by a running task", t.Name)
	}
	return nil
}

// Spawn starts a task once the result of the call is committed, and returns its id. A call
// that starts several tasks must give them different names. The agent must load the plugin.
func Spawn(call *awaken.ToolCall, t Task) (id string, err error) {
	if err := t.check(Tasks.Get(call)); err != nil {
		return "", err
	}
	if call.Host == nil {
		return "", errors.New("tasks need a runtime: the call has no host")
	}
	id = awaken.ChildID(call.Key + "/task/" + t.Name)
	req := &awaken.RunRequest{ThreadID: id, RunID: id, ParentThreadID: call.Run.ThreadID, ParentRunID: call.Run.RunID, ParentToolCallID: call.ID,
		SessionID: call.Run.SessionID, UserID: call.Run.UserID, Origin: "subagent", Mode: "scheduled", Adapter: call.Run.Adapter, Depth: call.Run.Depth + 1,
		ResolutionID: call.Host.ResolutionID()}
	info := Info{ID: id, Name: t.Name, Description: t.Description, Status: Running, CreatedAt: call.Host.Now().UnixMilli(), RunID: call.Run.RunID, CallID: call.ID}
	if t.Agent != "" {
		if call.Host.Agent(t.Agent) == nil {
			return "", fmt.Errorf("agent %q not found", t.Agent)
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
		return nil // the registry reports it
	}
	for i, id := range cfg.Agents {
		if r.Lookup(id) == nil {
			return fmt.Errorf("agents[%d]: agent %q not found", i, id)
		}
	}
	if cfg.Agents == nil {
		cfg.Agents = r.Agent.Delegates
	}
	r.Handle(builtin.ChildDone.Handler(done))
	r.On(awaken.PhaseStepEnd, cfg.pending)
	r.On(awaken.PhaseRunEnd, leave)
	r.Tool(cfg.tools(r.Lookup)...)
	return nil
}

// done records the outcome of a task.
func done(_ context.Context, h *awaken.HookCall, rep awaken.ChildReport) error {
	t, ok := Tasks.Get(h)[rep.RunID]
	if !ok || t.Status != Running {
		return nil
	}
	t.Status, t.Result, t.Error = outcome(rep.Termination, rep.Response)
	t.complete(rep.FinishedAt * 1000)
	Tasks.Update(h, t)
	return nil
}

// outcome converts the termination of a task's run.
func outcome(t awaken.Termination, response string) (s Status, result, problem string) {
	switch t.Type {
	case awaken.Cancelled:
		return Cancelled, "", ""
	case awaken.Failed, awaken.Blocked:
		return Failed, response, t.String()
	}
	return Completed, response, ""
}

// running returns the run's tasks that have not ended, oldest first.
func running(h *awaken.HookCall) []Info {
	return slices.DeleteFunc(sorted(Tasks.Get(h)), func(t Info) bool { return t.Status != Running || t.RunID != h.Run.RunID })
}

// pending records whether the run has to wait for its tasks.
func (c Config) pending(_ context.Context, h *awaken.HookCall) error {
	wait := c.Wait && len(running(h)) > 0
	if wait != builtin.PendingWork.Get(h) {
		builtin.PendingWork.Update(h, wait)
	}
	return nil
}

// leave cancels the tasks of a run that did not end naturally: no run is left to receive their
// results.
func leave(_ context.Context, h *awaken.HookCall) error {
	life := builtin.RunLifecycle.Get(h)
	if life.StatusReason == "natural" {
		return nil
	}
	for _, t := range running(h) {
		t.Status = Cancelled
		t.complete(life.UpdatedAt)
		Tasks.Update(h, t)
		awaken.Send(h, awaken.Outgoing{Cancel: t.ID})
	}
	return nil
}
