package delegate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/delegate"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/store/memory"
)

// crew is a set of agents with a script each, on one store. Its counters span all processes.
type crew struct {
	t         *testing.T
	db        *memory.DB
	agents    []*awaken.AgentSpec
	providers map[string]llm.Model
	models    []awaken.ModelSpec
	backends  map[string]registry.RemoteBackend
	options   delegate.Options
	hold      chan struct{} // while it is not nil, the tool slow waits for it
	started   chan string   // the tool slow says that it has begun

	mu   sync.Mutex
	done []string // what tools have done
}

func newCrew(t *testing.T) *crew {
	return &crew{t: t, db: memory.NewDB(), providers: map[string]llm.Model{}, started: make(chan string, 16)}
}

// member adds an agent with scripted turns.
func (c *crew) member(id string, delegates []string, turns ...llmtest.Turn) *awaken.AgentSpec {
	return c.memberWith(id, delegates, llmtest.NewScript(turns...))
}

func (c *crew) memberWith(id string, delegates []string, model llm.Model) *awaken.AgentSpec {
	a := &awaken.AgentSpec{ID: id, ModelID: id, SystemPrompt: "You are " + id + ".", Delegates: delegates}
	c.agents = append(c.agents, a)
	c.providers[id] = model
	c.models = append(c.models, awaken.ModelSpec{ID: id, ProviderID: id, UpstreamModel: id})
	return a
}

func (c *crew) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = append(c.done, fmt.Sprintf(format, args...))
}

type text struct {
	Text string `json:"text"`
}

func (c *crew) tools() []awaken.Tool {
	ask := func(ctx context.Context, call *awaken.ToolCall, in text) (string, error) {
		if call.Resume == nil {
			t := awaken.Ticket{Suspension: awaken.Suspension{Message: in.Text}}
			if in.Text == "soon" {
				t.ExpiresIn = time.Hour
			}
			return "", awaken.Suspend(t)
		}
		c.note("paid %s", in.Text)
		return "paid " + in.Text, nil
	}
	return []awaken.Tool{
		fetch, awaken.NewTool(awaken.ToolSpec{ID: "pay"}, ask),
		awaken.NewTool(awaken.ToolSpec{ID: "free"}, func(_ context.Context, _ *awaken.ToolCall, in text) (string, error) {
			c.note("free %s", in.Text)
			return "free " + in.Text, nil
		}),
		awaken.NewTool(awaken.ToolSpec{ID: "slow", Effect: awaken.Idempotent, Timeout: -1}, func(ctx context.Context, call *awaken.ToolCall, _ struct{}) (string, error) {
			c.started <- call.Key
			if c.hold != nil {
				select {
				case <-c.hold:
				case <-ctx.Done():
					return "", context.Cause(ctx)
				}
			}
			c.note("slow")
			return "slow", nil
		}),
	}
}

// runtime returns the runtime of a new process.
func (c *crew) runtime() *engine.Runtime {
	c.t.Helper()
	rt, err := engine.New(engine.Config{Agents: c.agents, Models: c.models, Providers: c.providers, Backends: c.backends, Tools: c.tools(),
		Plugins: []awaken.Plugin{delegate.New(c.options)}, Store: c.db.Store(""), Limits: engine.Limits{ToolGrace: 100 * time.Millisecond}})
	if err != nil {
		c.t.Fatal(err)
	}
	return rt
}

// serve works on the queue, as a server does, until the returned function is called.
func (c *crew) serve() (*mailbox.Tenant, func()) {
	c.t.Helper()
	box, err := mailbox.New(mailbox.Config{Queue: c.db, Lease: 10 * time.Second}, c.runtime().With)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := box.Work(ctx); err != nil {
			c.t.Error(err)
		}
	}()
	return box.Tenant(""), func() { cancel(); <-done }
}

func (c *crew) runs() (all []*awaken.Run) {
	c.t.Helper()
	all, err := c.db.Store("").ListRuns(c.t.Context(), awaken.RunQuery{Limit: 1000})
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

// ends returns the terminations of the runs, by agent.
func (c *crew) ends() map[string]string {
	ends := map[string]string{}
	for _, r := range c.runs() {
		end := string(r.Status)
		if r.Status == awaken.RunDone {
			end = r.Termination.String()
		}
		if ends[r.AgentID] != "" {
			end = ends[r.AgentID] + ", " + end
		}
		ends[r.AgentID] = end
	}
	return ends
}

func say(thread, prompt string) awaken.RunRequest {
	return awaken.RunRequest{AgentID: "root", ThreadID: thread, Messages: []*llm.Message{llm.UserText(prompt)}}
}

// give is a turn that delegates work to an agent.
func give(agent string) llmtest.Turn { return llmtest.Use("agent_run_"+agent, `{"prompt": "do it"}`) }

func calls(cs ...llmtest.Call) llmtest.Turn { return llmtest.Turn{ToolCalls: cs} }

func call(tool, args string) llmtest.Call {
	return llmtest.Call{Name: tool, Arguments: json.RawMessage(args)}
}
