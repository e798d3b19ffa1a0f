package background

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state/builtin"
)

// What the model reads about tools whose targets it has to write.
const (
	aboutCancel = `Cancels a background task: {"target": {"relation": "child", "name": "<name or id>"}}, ` +
		`or the task that you are: {"target": {"relation": "self"}}.`
	aboutSend = `Sends a message to the agent that started you ({"relation": "parent"}), ` +
		`to a task of yours ({"relation": "child", "name": "<name or id>"}) ` +
		`or to the agent of a thread ({"relation": "agent", "thread_id": "<id>"}). It is delivered later, at least once.`
)

// tools returns the tools that the model is offered. What they record is committed with their
// results, so repeating a call is harmless.
func (c Config) tools(lookup func(agentID string) *awaken.AgentSpec) []awaken.Tool {
	spec := func(id, description string) awaken.ToolSpec {
		return awaken.ToolSpec{
			ID:          id,
			Description: description,
			Category:    "background",
			Effect:      awaken.ReadOnly,
			Egress:      awaken.Egress{None: true},
		}
	}
	return []awaken.Tool{
		spawnTool{awaken.NewTool(spec("spawn_task", c.about()), c.spawn), lookup},
		awaken.NewTool(spec("list_tasks", "Lists the background tasks of this conversation and their outcomes."), list),
		awaitTool{awaken.NewTool(spec("await_task", "Waits until a background task has ended, and returns its result."), await)},
		awaken.NewTool(spec("cancel_task", aboutCancel), cancel),
		sendTool{awaken.NewTool(spec("send_message", aboutSend), send), c.Agents, lookup},
		awaken.NewTool(spec("recover_failed_messages", "Lists messages that could not be delivered, sends them again, or drops them."), recoverFailed),
	}
}

// about returns the description of spawn_task.
func (c Config) about() string {
	text := "Starts a task in the background: give either agent and prompt, or tool and arguments. You are told when it ends."
	if len(c.Agents) > 0 {
		text += " Agents: " + strings.Join(c.Agents, ", ") + "."
	}
	if len(c.Tools) > 0 {
		text += " Tools: " + strings.Join(c.Tools, ", ") + "."
	}
	return text
}

type spawnArgs struct {
	Name        string          `json:"name,omitempty" jsonschema:"a short name to refer to the task by"`
	Description string          `json:"description,omitempty" jsonschema:"what the task is for"`
	Agent       string          `json:"agent,omitempty" jsonschema:"agent that runs the task"`
	Prompt      string          `json:"prompt,omitempty" jsonschema:"what the agent is to do, with everything it needs to know"`
	Tool        string          `json:"tool,omitempty" jsonschema:"tool that runs the task"`
	Arguments   json.RawMessage `json:"arguments,omitempty" jsonschema:"arguments of the tool"`
}

type spawned struct {
	TaskID string `json:"task_id"`
	Name   string `json:"name,omitempty"`
	Status Status `json:"status"`
}

func (c Config) spawn(_ context.Context, call *awaken.ToolCall, in spawnArgs) (*spawned, error) {
	live := 0
	for _, t := range Tasks.Get(call) {
		if t.Status == Running {
			live++
		}
	}
	switch {
	case in.Agent != "" && !slices.Contains(c.Agents, in.Agent):
		return nil, fmt.Errorf("agent %q may not run as a task; available: %q", in.Agent, c.Agents)
	case in.Tool != "" && c.Tools != nil && !slices.Contains(c.Tools, in.Tool):
		return nil, fmt.Errorf("tool %q may not run as a task; available: %q", in.Tool, c.Tools)
	case live >= c.MaxTasks:
		return nil, fmt.Errorf("[task_limit] %d tasks are running, which is the limit: wait for one, or cancel it", live)
	case call.Run.Depth >= c.MaxDepth:
		return nil, fmt.Errorf("[task_limit] the maximum depth of %d runs is reached: do the work yourself", c.MaxDepth)
	}
	id, err := Spawn(call, Task(in))
	if err != nil {
		return nil, err
	}
	return &spawned{TaskID: id, Name: in.Name, Status: Running}, nil
}

// look returns the current task, which may be ahead of the state, and its run if it has
// started.
func look(ctx context.Context, call *awaken.ToolCall, t Info) (Info, *awaken.Run, error) {
	run, err := call.Host.Store().LoadRun(ctx, t.ID)
	if errors.Is(err, awaken.ErrNotFound) {
		return t, nil, nil // not started yet
	}
	if err != nil {
		return t, nil, err
	}
	call.ReadTainted(run.Taint) // its report may not have arrived yet
	if t.Status == Running && run.Status == awaken.RunDone {
		t.Status, t.Result, t.Error = outcome(run.Termination, run.FinalOutput)
		t.complete(run.FinishedAt)
	}
	return t, run, nil
}

func list(ctx context.Context, call *awaken.ToolCall, _ struct{}) (map[string][]Info, error) {
	tasks := append([]Info{}, sorted(Tasks.Get(call))...)
	for i := range tasks {
		var err error
		if tasks[i], _, err = look(ctx, call, tasks[i]); err != nil {
			return nil, err
		}
	}
	return map[string][]Info{"tasks": tasks}, nil
}

type awaitArgs struct {
	Task string `json:"task" jsonschema:"name or id of the task"`
}

// awaitTool is the tool await_task. Decisions on its calls go to the task's run.
type awaitTool struct{ awaken.Tool }

// ChildRun returns the run of the task that the call waits for.
func (awaitTool) ChildRun(call *awaken.ToolCall) string {
	var in awaitArgs
	if json.Unmarshal(call.Args, &in) != nil {
		return ""
	}
	t, _ := find(Tasks.Get(call), in.Task)
	return t.ID
}

func await(ctx context.Context, call *awaken.ToolCall, in awaitArgs) (Info, error) {
	t, ok := find(Tasks.Get(call), in.Task)
	if !ok {
		return t, fmt.Errorf("task %q not found; list_tasks lists the tasks", in.Task)
	}
	t, run, err := look(ctx, call, t)
	if err != nil {
		return t, err
	}
	if t.Status != Running {
		return t, nil
	}
	ticket := awaken.Ticket{Child: t.ID, Suspension: awaken.Suspension{ID: "await_task:" + call.ID, Action: "await_task", Message: fmt.Sprintf("Waiting for task %q", in.Task)}}
	if run != nil {
		ticket.Tickets = run.ChildTickets()
	}
	return t, awaken.Suspend(ticket)
}

// address identifies a task or an agent, relative to the caller.
type address struct {
	Relation string `json:"relation" jsonschema:"parent, child, self or agent"`
	Name     string `json:"name,omitempty" jsonschema:"name or id of a task of yours"`
	ThreadID string `json:"thread_id,omitempty"`
	AgentID  string `json:"agent_id,omitempty"`
}

type cancelArgs struct {
	Target address `json:"target"`
}

type cancelled struct {
	Status string `json:"status"` // accepted or failed
	TaskID string `json:"root_task_id,omitempty"`
	Count  int    `json:"cancelled_count"`
	Error  string `json:"error,omitempty"`
}

func cancel(_ context.Context, call *awaken.ToolCall, in cancelArgs) (*cancelled, error) {
	switch in.Target.Relation {
	case "self":
		awaken.Send(call, awaken.Outgoing{Cancel: call.Run.RunID})
		return &cancelled{Status: "accepted", TaskID: call.Run.RunID, Count: 1}, nil
	case "child":
		t, ok := find(Tasks.Get(call), in.Target.Name)
		switch {
		case !ok:
			return &cancelled{Status: "failed", Error: "task_not_found"}, nil
		case t.Status != Running:
			return &cancelled{Status: "failed", TaskID: t.ID, Error: "task_is_" + string(t.Status)}, nil
		}
		awaken.Send(call, awaken.Outgoing{Cancel: t.ID})
		return &cancelled{Status: "accepted", TaskID: t.ID, Count: 1}, nil
	}
	return nil, fmt.Errorf("target.relation is %q, want self or child", in.Target.Relation)
}

type sendArgs struct {
	To      address `json:"to"`
	Message string  `json:"message"`
}

type receipt struct {
	ID     string `json:"message_id"`
	Status string `json:"status"` // queued or failed
	Error  string `json:"error,omitempty"`
}

func send(ctx context.Context, call *awaken.ToolCall, in sendArgs) (*receipt, error) {
	if strings.TrimSpace(in.Message) == "" {
		return nil, errors.New("message is empty")
	}
	r := &receipt{ID: awaken.ChildID(call.Key + "/message"), Status: "queued"}
	out := awaken.Outgoing{AgentID: in.To.AgentID}
	fail := func(code string) (*receipt, error) {
		r.Status, r.Error = "failed", code
		return r, nil
	}
	switch in.To.Relation {
	case "parent":
		if out.ThreadID = call.Run.ParentThreadID; out.ThreadID == "" {
			return fail("recipient_unavailable")
		}
	case "child":
		t, ok := find(Tasks.Get(call), in.To.Name)
		if !ok {
			return fail("recipient_not_found")
		}
		t, _, err := look(ctx, call, t)
		if err != nil {
			return nil, err
		}
		if t.Status != Running {
			return fail("recipient_unavailable")
		}
		out.ThreadID = t.ID
	case "agent":
		if out.ThreadID = in.To.ThreadID; out.ThreadID == "" {
			return nil, errors.New("to.thread_id is empty")
		}
		if out.ThreadID == call.Run.ThreadID {
			return nil, errors.New("to.thread_id is the sender's own thread")
		}
		known, err := call.Host.HasAgent(ctx, &awaken.RunRequest{AgentID: in.To.AgentID, ThreadID: out.ThreadID})
		if err != nil {
			return nil, err
		}
		if !known {
			return fail("recipient_not_found")
		}
	default:
		return nil, fmt.Errorf("to.relation is %q, want parent, child or agent", in.To.Relation)
	}
	text, err := json.Marshal(map[string]string{"from": call.Run.AgentID, "from_thread_id": call.Run.ThreadID, "message_id": r.ID, "content": in.Message})
	if err != nil {
		return nil, err
	}
	out.Item = &awaken.InboxItem{ID: r.ID, Messages: []*llm.Message{{ID: r.ID, Role: llm.User, Visibility: llm.Internal,
		Content: []llm.Block{llm.Text("<agent-message>" + string(text) + "</agent-message>")}}}}
	awaken.Send(call, out)
	return r, nil
}

type recoverArgs struct {
	Action string `json:"action" jsonschema:"list, replay or clear"`
}

func recoverFailed(_ context.Context, call *awaken.ToolCall, in recoverArgs) (map[string]any, error) {
	failed := builtin.FailedDeliveries.Get(call)
	list := []map[string]string{}
	for _, f := range failed {
		if f.Item == nil {
			continue
		}
		list = append(list, map[string]string{"message_id": f.Item.ID, "thread_id": f.ThreadID, "error": f.Error})
		if in.Action == "replay" {
			awaken.Send(call, f.Outgoing)
		}
	}
	switch in.Action {
	case "list":
	case "replay", "clear":
		builtin.FailedDeliveries.Clear(call)
	default:
		return nil, fmt.Errorf("action is %q, want list, replay or clear", in.Action)
	}
	return map[string]any{"messages": list}, nil
}
