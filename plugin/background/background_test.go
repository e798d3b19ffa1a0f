package background_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/internal/sectiontest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/background"
	"github.com/awaken-go/awaken/store/memory"
)

// office is a set of agents with a script each, on one store.
type office struct {
	t         *testing.T
	db        *memory.DB
	agents    []*awaken.AgentSpec
	models    []awaken.ModelSpec
	providers map[string]llm.Model
	broken    atomic.Bool // the tool work does not get done

	mu   sync.Mutex
	done []string
}

func newOffice(t *testing.T) *office {
	return &office{t: t, db: memory.NewDB(), providers: map[string]llm.Model{}}
}

func (o *office) agent(id string, turns ...llmtest.Turn) *llmtest.Script {
	s := llmtest.NewScript(turns...).Record()
	o.agents = append(o.agents, &awaken.AgentSpec{ID: id, ModelID: id, PluginIDs: []string{background.PluginID}})
	o.models = append(o.models, awaken.ModelSpec{ID: id, ProviderID: id, UpstreamModel: id})
	o.providers[id] = s
	return s
}

func (o *office) section(agent, section string) {
	for _, a := range o.agents {
		if a.ID == agent {
			a.Sections = map[string]json.RawMessage{background.PluginID: json.RawMessage(section)}
		}
	}
}

func (o *office) note(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.done = append(o.done, fmt.Sprintf(format, args...))
}

func (o *office) wantDone(want ...string) {
	o.t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Equal(o.done, want) {
		o.t.Errorf("done is %q, want %q", o.done, want)
	}
}

type work struct {
	Text    string `json:"text"`
	Seconds int    `json:"seconds,omitempty"`
}

func (o *office) tools() []awaken.Tool {
	do := func(ctx context.Context, call *awaken.ToolCall, in work) (string, error) {
		o.note("began %s", in.Text)
		wait := time.Duration(in.Seconds) * time.Second
		if o.broken.Load() {
			wait = 1000 * time.Hour
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		if in.Text == "bad" {
			return "", errors.New("it does not work")
		}
		o.note("did %s", in.Text)
		return "did " + in.Text, nil
	}
	return []awaken.Tool{
		awaken.NewTool(awaken.ToolSpec{ID: "work", Effect: awaken.Idempotent, Timeout: -1}, do),
		awaken.NewTool(awaken.ToolSpec{ID: "once", Timeout: -1}, do),
		awaken.NewTool(awaken.ToolSpec{ID: "ask"}, func(_ context.Context, call *awaken.ToolCall, in work) (string, error) {
			if call.Resume == nil {
				return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Message: in.Text}})
			}
			o.note("allowed %s", in.Text)
			return "allowed " + in.Text, nil
		}),
		awaken.NewTool(awaken.ToolSpec{ID: "two", Effect: awaken.ReadOnly}, func(_ context.Context, call *awaken.ToolCall, _ struct{}) ([]string, error) {
			var ids []string
			for _, name := range []string{"one", "two"} {
				id, err := background.Spawn(call, background.Task{Name: name, Tool: "work", Arguments: json.RawMessage(`{"text": "` + name + `"}`)})
				if err != nil {
					return nil, err
				}
				ids = append(ids, id)
			}
			_, err := background.Spawn(call, background.Task{Name: "three", Tool: "missing"})
			return ids, errors.Join(nil, wantError(err, `has no tool "missing"`))
		}),
	}
}

func wantError(err error, text string) error {
	if err == nil || !strings.Contains(err.Error(), text) {
		return fmt.Errorf("got %v, want %q in it", err, text)
	}
	return nil
}

func (o *office) runtime() *engine.Runtime {
	o.t.Helper()
	rt, err := engine.New(engine.Config{Agents: o.agents, Models: o.models, Providers: o.providers, Tools: o.tools(), Plugins: []awaken.Plugin{background.New()},
		Store: o.db.Store(""), Now: time.Now})
	if err != nil {
		o.t.Fatal(err)
	}
	return rt
}

func (o *office) serve() (*mailbox.Tenant, func()) {
	o.t.Helper()
	box, err := mailbox.New(mailbox.Config{Queue: o.db, Lease: 10 * time.Second, Drain: time.Second}, o.runtime().With)
	if err != nil {
		o.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(o.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := box.Work(ctx); err != nil {
			o.t.Error(err)
		}
	}()
	return box.Tenant(""), func() { cancel(); <-done }
}

func (o *office) run(id string) *awaken.Run {
	o.t.Helper()
	r, err := o.db.Store("").LoadRun(o.t.Context(), id)
	if err != nil {
		o.t.Fatal(err)
	}
	return r
}

// task returns the only run other than r.
func (o *office) task() *awaken.Run {
	o.t.Helper()
	all, err := o.db.Store("").ListRuns(o.t.Context(), awaken.RunQuery{})
	if err != nil {
		o.t.Fatal(err)
	}
	for _, r := range all {
		if r.RunID != "r" {
			return r
		}
	}
	o.t.Fatal("there is no task")
	return nil
}

func (o *office) wantRun(id string, status awaken.RunStatus, response string) {
	o.t.Helper()
	if r := o.run(id); r.Status != status || r.FinalOutput != response {
		o.t.Errorf("run %s is %s with %q and %v, want %s with %q", id, r.Status, r.FinalOutput, r.Termination, status, response)
	}
}

func goOn(agent string) awaken.RunRequest {
	return awaken.RunRequest{AgentID: agent, ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("go")}}
}

func last(t *testing.T, s *llmtest.Script, n int) string {
	t.Helper()
	reqs := s.Requests()
	if len(reqs) <= n {
		t.Fatalf("the model was asked %d times, want more than %d", len(reqs), n)
	}
	msgs := reqs[n].Messages
	return msgs[len(msgs)-1].Text()
}

func spawnTool(tool, args string) llmtest.Turn {
	return llmtest.Use("spawn_task", `{"name": "job", "tool": "`+tool+`", "arguments": `+args+`}`)
}

func TestSection_EveryField(t *testing.T) {
	var docs []string
	for _, c := range []struct{ name, section, spawn, want, problem string }{
		{name: "wait", section: `{"wait": true}`, spawn: `{"tool": "work", "arguments": {"text": "x", "seconds": 2}}`, want: `"status":"running"`},
		{name: "wait off", section: `{"wait": false}`, spawn: `{"tool": "work", "arguments": {"text": "x", "seconds": 2}}`, want: `"status":"running"`},
		{name: "agent", section: `{"agents": ["clerk"]}`, spawn: `{"agent": "clerk", "prompt": "x"}`, want: `"status":"running"`},
		{name: "delegates", section: `{}`, spawn: `{"agent": "friend", "prompt": "x"}`, want: `"status":"running"`},
		{name: "no agent", section: `{"agents": ["clerk"]}`, spawn: `{"agent": "friend", "prompt": "x"}`, want: `agent "friend" may not run as a task; available: ["clerk"]`},
		{name: "tool", section: `{"tools": ["work"]}`, spawn: `{"tool": "work", "arguments": {"text": "x"}}`, want: `"status":"running"`},
		{name: "no tool", section: `{"tools": ["work"]}`, spawn: `{"tool": "once", "arguments": {"text": "x"}}`, want: `tool "once" may not run as a task; available: ["work"]`},
		{name: "any tool", section: `{}`, spawn: `{"tool": "once", "arguments": {"text": "x"}}`, want: `"status":"running"`},
		{name: "no such tool", section: `{}`, spawn: `{"tool": "none"}`, want: `agent "default" has no tool "none"`},
		{name: "max_tasks", section: `{"max_tasks": 1}`, spawn: `{"tool": "work", "arguments": {"text": "x", "seconds": 9}}`, want: `[task_limit] 1 tasks are running`},
		{name: "max_depth", section: `{"max_depth": 1}`, spawn: `{"tool": "work", "arguments": {"text": "x"}}`, want: `"status":"running"`},
		{name: "both", section: `{}`, spawn: `{"tool": "work", "agent": "friend", "prompt": "x"}`, want: `needs either an agent or a tool`},
		{name: "neither", section: `{}`, spawn: `{}`, want: `needs either an agent or a tool`},
		{name: "no prompt", section: `{}`, spawn: `{"agent": "friend"}`, want: `prompt is empty`},
		{name: "reserved", section: `{}`, spawn: `{"tool": "work", "name": "parent"}`, want: `name "parent" is reserved`},
		{name: "taken", section: `{}`, spawn: `{"tool": "work", "name": "first", "arguments": {"text": "x", "seconds": 9}}`, want: `name "first" is used by a running task`},
		{name: "tasks 0", section: `{"max_tasks": 0}`, problem: `max_tasks is 0, want 1 or more`},
		{name: "depth 0", section: `{"max_depth": 0}`, problem: `max_depth is 0, want 1 or more`},
		{name: "unknown agent", section: `{"agents": ["unknown"]}`, problem: `agents[0]: agent "unknown" not found`},
		{name: "empty", section: `{"tools": [""]}`, problem: `tools[0] is empty`},
		{name: "typo", section: `{"tool": []}`, problem: `tool`},
	} {
		docs = append(docs, c.section)
		t.Run(c.name, func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				first := llmtest.Call{Name: "spawn_task", Arguments: json.RawMessage(`{"name": "first", "tool": "work", "arguments": {"text": "first", "seconds": 5}}`)}
				second := llmtest.Call{Name: "spawn_task", Arguments: json.RawMessage(c.spawn)}
				turns := llmtest.Turn{ToolCalls: []llmtest.Call{second}}
				if c.name == "max_tasks" || c.name == "taken" {
					turns.ToolCalls = []llmtest.Call{first, second}
				}
				boss := o.agent("default", turns, llmtest.Say("a"), llmtest.Say("b"), llmtest.Say("c"))
				o.agent("clerk", llmtest.Say("clerk done"))
				o.agent("friend", llmtest.Say("friend done"))
				o.agents[0].Delegates = []string{"friend"}
				o.section("default", c.section)
				if c.problem != "" {
					_, err := engine.New(engine.Config{Agents: o.agents, Models: o.models, Providers: o.providers, Tools: o.tools(), Plugins: []awaken.Plugin{background.New()}})
					if err := wantError(err, c.problem); err != nil {
						t.Fatal(err)
					}
					return
				}
				rt := o.runtime()
				res, err := rt.Run(t.Context(), goOn("default"), nil)
				if err != nil {
					t.Fatal(err)
				}
				if waits := res.Status == awaken.RunWaiting; strings.HasPrefix(c.name, "wait") && waits != (c.name == "wait") {
					t.Errorf("the run is %s", res.Status)
				}
				if got := last(t, boss, 1); !strings.Contains(got, c.want) {
					t.Errorf("the model was told %q, want %q in it", got, c.want)
				}
				if err := rt.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
	sectiontest.Covers[background.Config](t, docs...)
}

// L-51: there were no tools to start, list and await tasks.
func TestL51_TheModelStartsListsAndAwaitsTasks(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		boss := o.agent("default", llmtest.Use("spawn_task", `{"name": "letter", "description": "a letter", "agent": "clerk", "prompt": "write"}`),
			llmtest.Use("list_tasks", `{}`), llmtest.Use("await_task", `{"task": "letter"}`), llmtest.Use("list_tasks", `{}`), llmtest.Use("await_task", `{"task": "none"}`), llmtest.Say("all done"))
		o.agent("clerk", llmtest.Turn{Text: llmtest.Text{"Dear Sir"}, DelayMS: 3000})
		o.section("default", `{"agents": ["clerk"]}`)
		q, stop := o.serve()
		defer stop()
		if err := q.Start(t.Context(), goOn("default")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if r := o.run("r"); r.Status != awaken.RunWaiting || r.Waiting.Reason != awaken.WaitBackgroundTasks {
			t.Fatalf("run is %s, %+v", r.Status, r.Waiting)
		}
		time.Sleep(10 * time.Second)
		o.wantRun("r", awaken.RunDone, "all done")
		for n, want := range map[int]string{2: `"status":"running"`, 3: `"result":"Dear Sir"`, 4: `"status":"completed"`, 5: `task "none" not found`} {
			if got := last(t, boss, n); !strings.Contains(got, want) {
				t.Errorf("the model was told %q, want %q in it", got, want)
			}
		}
		if n := boss.Calls(); n != 6 {
			t.Errorf("the model was asked %d times, want 6", n)
		}
	})
}

func TestTask_WakesAndNotifiesItsParent(t *testing.T) {
	for name, c := range map[string]struct{ args, want string }{
		"completed": {`{"text": "it", "seconds": 3}`, `kind="completed"`},
		"failed":    {`{"text": "bad", "seconds": 3}`, `it does not work`},
		"refused":   {`{"txt": "it"}`, `arguments of tool \"work\" do not fit`},
	} {
		t.Run(name, func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				boss := o.agent("default", spawnTool("work", c.args), llmtest.Say("I wait"), llmtest.Say("I know"))
				q, stop := o.serve()
				defer stop()
				req := goOn("default")
				req.UserID = "alice"
				if err := q.Start(t.Context(), req); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Second)
				o.wantRun("r", awaken.RunDone, "I know")
				if got := last(t, boss, 2); !strings.Contains(got, c.want) {
					t.Errorf("the model was told %q, want %q in it", got, c.want)
				}
				if task := o.task(); task.ParentRunID != "r" || task.ParentThreadID != "t" || task.Depth != 1 || task.Mode != "scheduled" || task.UserID != "alice" {
					t.Errorf("the task is %+v", task)
				}
			})
		})
	}
}

func TestSpawn_FromATool(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.agent("default", llmtest.Use("two", `{}`), llmtest.Say("I wait"), llmtest.Say("one of them"), llmtest.Say("both"))
		rt := o.runtime()
		if _, err := rt.Run(t.Context(), goOn("default"), nil); err != nil {
			t.Fatal(err)
		}
		if err := rt.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := o.run("r"); r.Status != awaken.RunDone {
			t.Errorf("the run is %s", r.Status)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if slices.Sort(o.done); !slices.Equal(o.done, []string{"began one", "began two", "did one", "did two"}) {
			t.Errorf("done is %q", o.done)
		}
	})
}

// L-50: tasks were lost when the process ended.
func TestL50_ATaskSurvivesItsProcess(t *testing.T) {
	for tool, c := range map[string]struct {
		did  []string
		told string
	}{
		"work": {[]string{"began it", "began it", "did it"}, "did it"}, // idempotent: done again, with the same key
		"once": {[]string{"began it"}, "whether it took effect is not known"},
	} {
		t.Run(tool, func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				boss := o.agent("default", spawnTool(tool, `{"text": "it"}`), llmtest.Say("I wait"), llmtest.Say("I know"))
				o.broken.Store(true)
				q, stop := o.serve()
				if err := q.Start(t.Context(), goOn("default")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				stop()
				o.broken.Store(false)
				_, stop = o.serve()
				defer stop()
				time.Sleep(time.Minute)
				o.wantRun("r", awaken.RunDone, "I know")
				o.wantDone(c.did...)
				if got := last(t, boss, 2); !strings.Contains(got, c.told) {
					t.Errorf("the model was told %q, want %q in it", got, c.told)
				}
			})
		})
	}
}

// L-66: cancelling a root run left its tasks running.
func TestL66_CancellingARunCancelsItsTasks(t *testing.T) {
	for name, when := range map[string]struct {
		turn llmtest.Turn
		args string
	}{
		"while it waits":             {llmtest.Say("I wait"), `{"text": "it", "seconds": 100}`},
		"while it works":             {llmtest.Turn{Text: llmtest.Text{"slowly"}, DelayMS: 50_000}, `{"text": "it", "seconds": 100}`},
		"while it awaits":            {llmtest.Use("await_task", `{"task": "job"}`), `{"text": "it", "seconds": 100}`},
		"while a task has not begun": {llmtest.Say("I wait"), `{"text": "it", "seconds": 100}`},
	} {
		t.Run(name, func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				o.agent("default", spawnTool("work", when.args), when.turn)
				q, stop := o.serve()
				defer stop()
				if err := q.Start(t.Context(), goOn("default")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				if err := q.Cancel(t.Context(), "r"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(30 * time.Second)
				if r, task := o.run("r"), o.task(); r.Termination.Type != awaken.Cancelled || task.Termination.Type != awaken.Cancelled {
					t.Errorf("the run is %s %v, its task %s %v", r.Status, r.Termination, task.Status, task.Termination)
				}
				o.wantDone("began it")
			})
		})
	}
}

func TestCancelTask(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		boss := o.agent("default", spawnTool("work", `{"text": "it", "seconds": 100}`),
			llmtest.Use("cancel_task", `{"target": {"relation": "child", "name": "job"}}`),
			llmtest.Turn{ToolCalls: []llmtest.Call{{Name: "list_tasks"}}, DelayMS: 5000}, // meanwhile the task ends, and says so
			llmtest.Use("cancel_task", `{"target": {"relation": "child", "name": "job"}}`),
			llmtest.Use("cancel_task", `{"target": {"relation": "child", "name": "none"}}`),
			llmtest.Use("cancel_task", `{"target": {"relation": "cousin"}}`), llmtest.Say("it is over"))
		q, stop := o.serve()
		defer stop()
		if err := q.Start(t.Context(), goOn("default")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		o.wantRun("r", awaken.RunDone, "it is over")
		if task := o.task(); task.Termination.Type != awaken.Cancelled {
			t.Errorf("the task is %s %v", task.Status, task.Termination)
		}
		var told strings.Builder
		for _, m := range boss.Requests()[6].Messages {
			told.WriteString(m.Text() + "\n")
		}
		for _, want := range []string{`"status":"accepted"`, `kind="cancelled"`, `"status":"cancelled"`, `task_is_cancelled`, `task_not_found`, `target.relation is "cousin"`} {
			if !strings.Contains(told.String(), want) {
				t.Errorf("the model was told %q, want %q in it", told.String(), want)
			}
		}
	})
}

func TestCancelTask_Self(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.agent("default", llmtest.Use("spawn_task", `{"agent": "clerk", "prompt": "x"}`), llmtest.Say("I wait"), llmtest.Say("it gave up"))
		o.agent("clerk", llmtest.Use("cancel_task", `{"target": {"relation": "self"}}`), llmtest.Turn{Text: llmtest.Text{"never"}, DelayMS: 100_000})
		o.section("default", `{"agents": ["clerk"]}`)
		q, stop := o.serve()
		defer stop()
		if err := q.Start(t.Context(), goOn("default")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		o.wantRun("r", awaken.RunDone, "it gave up")
	})
}

// A question of a task is asked by the run that awaits it, and answered there.
func TestAwaitTask_AQuestionOfTheTaskIsAnsweredByItsParent(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.agent("default", spawnTool("ask", `{"text": "May I?"}`), llmtest.Use("await_task", `{"task": "job"}`), llmtest.Say("done"))
		q, stop := o.serve()
		if err := q.Start(t.Context(), goOn("default")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		stop()
		q, stop = o.serve()
		defer stop()
		r := o.run("r")
		if r.Waiting == nil || len(r.Waiting.Tickets) != 1 || r.Waiting.Tickets[0].Reason != "May I?" {
			t.Fatalf("run is %s, %+v", r.Status, r.Waiting)
		}
		if _, err := q.Decide(t.Context(), "r", r.Waiting.Tickets[0].Approve()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		o.wantRun("r", awaken.RunDone, "done")
		o.wantDone("allowed May I?")
	})
}

func TestSendMessage_BetweenParentAndTask(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		boss := o.agent("default", llmtest.Use("spawn_task", `{"name": "clerk", "agent": "clerk", "prompt": "x"}`),
			llmtest.Use("send_message", `{"to": {"relation": "child", "name": "clerk"}, "message": "hurry"}`), llmtest.Say("I wait"),
			llmtest.Say("I hear"), llmtest.Say("it is done"))
		clerk := o.agent("clerk", llmtest.Use("work", `{"text": "it", "seconds": 5}`), llmtest.Use("send_message", `{"to": {"relation": "parent"}, "message": "nearly there"}`),
			llmtest.Turn{Text: llmtest.Text{"finished"}, DelayMS: 5000})
		o.section("default", `{"agents": ["clerk"]}`)
		q, stop := o.serve()
		defer stop()
		if err := q.Start(t.Context(), goOn("default")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		o.wantRun("r", awaken.RunDone, "it is done")
		all := ""
		for _, m := range clerk.Requests()[2].Messages {
			all += m.Text() + "\n"
		}
		if strings.Count(all, "hurry") != 1 {
			t.Errorf("the task was told %q", all)
		}
		if got := last(t, boss, 3); !strings.Contains(got, `"content":"nearly there"`) || !strings.Contains(got, `"from":"clerk"`) {
			t.Errorf("the parent was told %q", got)
		}
	})
}

// flaky is a queue that fails once, and then does everything twice.
type flaky struct {
	awaken.Queue
	failures atomic.Int64
}

func (f *flaky) Deliver(ctx context.Context, threadID string, item awaken.InboxItem, agentID string) error {
	if f.failures.Add(-1) >= 0 {
		return errors.New("the line is dead")
	}
	if err := f.Queue.Deliver(ctx, threadID, item, agentID); err != nil {
		return err
	}
	return f.Queue.Deliver(ctx, threadID, item, agentID)
}

func TestSendMessage_IsDeliveredAtLeastOnceAndCountsOnce(t *testing.T) {
	for name, failures := range map[string]int64{"at once": 0, "after some failures": 3, "by the next run": 50} {
		t.Run(name, func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				o.agent("default", llmtest.Use("send_message", `{"to": {"relation": "agent", "thread_id": "there"}, "message": "hello"}`), llmtest.Say("sent"), llmtest.Say("again"))
				there := o.agent("other", llmtest.Say("first"), llmtest.Say("second"), llmtest.Say("third"))
				q, stop := o.serve()
				defer stop()
				f := &flaky{Queue: q}
				rt := o.runtime().With(o.db.Store(""), nil, f)
				if _, err := rt.Run(t.Context(), awaken.RunRequest{AgentID: "other", ThreadID: "there", Messages: []*llm.Message{llm.UserText("hi")}}, nil); err != nil {
					t.Fatal(err)
				}
				f.failures.Store(failures)
				if _, err := rt.Run(t.Context(), goOn("default"), nil); err != nil {
					t.Fatal(err)
				}
				if f.failures.Load() > 0 {
					f.failures.Store(0)
					if _, err := rt.Run(t.Context(), awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("more")}}, nil); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(10 * time.Second)
				n := 0
				msgs, err := o.db.Store("").Messages(t.Context(), "there", awaken.MessageQuery{})
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range msgs {
					n += strings.Count(m.Message.Text(), "hello")
				}
				if n != 1 || there.Calls() != 2 {
					t.Errorf("the message is there %d times, and the agent was asked %d times", n, there.Calls())
				}
			})
		})
	}
}

func TestSendMessage_UndeliveredMessagesAreKept(t *testing.T) {
	o := newOffice(t)
	boss := o.agent("default", llmtest.Use("send_message", `{"to": {"relation": "agent", "thread_id": "nowhere"}, "message": "hello"}`),
		llmtest.Use("recover_failed_messages", `{"action": "list"}`), llmtest.Use("recover_failed_messages", `{"action": "replay"}`),
		llmtest.Use("recover_failed_messages", `{"action": "list"}`), llmtest.Use("recover_failed_messages", `{"action": "clear"}`), llmtest.Use("recover_failed_messages", `{"action": "list"}`),
		llmtest.Use("recover_failed_messages", `{"action": "burn"}`), llmtest.Say("done"))
	if _, err := o.runtime().Run(t.Context(), goOn("default"), nil); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{1: `"status":"queued"`, 2: `"thread_id":"nowhere"`, 4: `"thread_id":"nowhere"`, 6: `{"messages":[]}`, 7: `action is "burn"`} {
		if got := last(t, boss, n); !strings.Contains(got, want) {
			t.Errorf("answer %d is %q, want %q in it", n, got, want)
		}
	}
}

func TestSendMessage_ErrorsNameTheProblem(t *testing.T) {
	for args, want := range map[string]string{
		`{"to": {"relation": "parent"}, "message": "x"}`:                                         "recipient_unavailable",
		`{"to": {"relation": "child", "name": "none"}, "message": "x"}`:                          "recipient_not_found",
		`{"to": {"relation": "agent"}, "message": "x"}`:                                          "to.thread_id is empty",
		`{"to": {"relation": "agent", "thread_id": "t"}, "message": "x"}`:                        "to.thread_id is the sender's own thread",
		`{"to": {"relation": "agent", "thread_id": "x", "agent_id": "unknown"}, "message": "x"}`: "recipient_not_found",
		`{"to": {"relation": "uncle"}, "message": "x"}`:                                          `to.relation is "uncle"`,
		`{"to": {"relation": "parent"}, "message": " "}`:                                         "message is empty",
	} {
		o := newOffice(t)
		boss := o.agent("default", llmtest.Use("send_message", args), llmtest.Say("done"))
		if _, err := o.runtime().Run(t.Context(), goOn("default"), nil); err != nil {
			t.Fatal(err)
		}
		if got := last(t, boss, 1); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", args, got, want)
		}
	}
}

func TestWait_Off(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.agent("default", spawnTool("work", `{"text": "it", "seconds": 3}`), llmtest.Say("not my business"))
		o.section("default", `{"wait": false}`)
		rt := o.runtime()
		res, err := rt.Run(t.Context(), goOn("default"), nil)
		if err != nil || res.Status != awaken.RunDone {
			t.Fatalf("got %+v, %v", res, err)
		}
		if err := rt.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.wantDone("began it", "did it")
	})
}

// A task that outlives its run is reported to the thread's next run, with or without a queue.
func TestWait_OffTellsTheNextRun(t *testing.T) {
	for _, queued := range []bool{false, true} {
		bubbletest.Test(t, func(t *testing.T) {
			o := newOffice(t)
			boss := o.agent("default", spawnTool("work", `{"text": "it", "seconds": 3}`), llmtest.Say("not my business"), llmtest.Use("list_tasks", "{}"), llmtest.Say("I know"))
			o.section("default", `{"wait": false}`)
			next := awaken.RunRequest{AgentID: "default", ThreadID: "t", RunID: "r2", Messages: []*llm.Message{llm.UserText("and?")}}
			for _, req := range []awaken.RunRequest{goOn("default"), next} {
				if queued {
					q, stop := o.serve()
					if err := q.Start(t.Context(), req); err != nil {
						t.Fatal(err)
					}
					time.Sleep(20 * time.Second)
					stop()
					continue
				}
				rt := o.runtime()
				if _, err := rt.Run(t.Context(), req, nil); err != nil {
					t.Fatal(err)
				}
				if err := rt.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			o.wantRun("r2", awaken.RunDone, "I know")
			told := ""
			for _, m := range boss.Requests()[2].Messages {
				told += m.Text()
			}
			if !strings.Contains(told, `kind="completed"`) || !strings.Contains(told, "did it") {
				t.Errorf("queued: %v: the next run was told %q", queued, told)
			}
			var list struct{ Tasks []background.Info }
			if err := json.Unmarshal([]byte(last(t, boss, 3)), &list); err != nil || len(list.Tasks) != 1 {
				t.Fatalf("%v in %s", err, last(t, boss, 3))
			}
			if task := list.Tasks[0]; task.Status != background.Completed || task.CompletedAt < task.CreatedAt {
				t.Errorf("the task is %+v", task)
			}
			if r := o.run("r2"); r.ChildCostUSD != 0 || r.ChildUsage != (llm.Usage{}) {
				t.Errorf("the next run is charged for the task: %+v", r.ChildUsage)
			}
		})
	}
}
