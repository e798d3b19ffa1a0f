package delegate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/delegate"
)

// mortal is the store of a process that dies at its nth commit, right before or right after
// it. From then on nothing it does has any effect.
type mortal struct {
	awaken.Store
	after bool

	mu   sync.Mutex
	left int
	dead bool
}

var errDead = fmt.Errorf("%w: the process is dead", awaken.ErrFenced)

func (m *mortal) Commit(ctx context.Context, c *awaken.Commit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	if m.left--; m.left > 0 {
		return m.Store.Commit(ctx, c)
	}
	m.dead = true
	if m.after {
		if err := m.Store.Commit(ctx, c); err != nil {
			return err
		}
	}
	return errDead
}

func (m *mortal) alive() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	return nil
}

func (m *mortal) Acquire(ctx context.Context, threadID string) (*awaken.Checkpoint, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	return m.Store.Acquire(ctx, threadID)
}

func (m *mortal) Post(ctx context.Context, threadID string, items ...awaken.InboxItem) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Store.Post(ctx, threadID, items...)
}

// stepwise adds an agent whose model repeats itself after a crash: its answer depends only on
// the request.
func (c *crew) stepwise(id string, delegates []string, turns ...llmtest.Turn) {
	c.memberWith(id, delegates, llmtest.NewRules(llmtest.Rule{
		Match: func(*llm.Request) bool { return true },
		Turn: func(req *llm.Request) llmtest.Turn {
			n := 0
			for _, m := range req.Messages.All() {
				if m.Role == llm.Assistant {
					n++
				}
			}
			return turns[min(n, len(turns)-1)]
		},
	}))
}

// A process dies at any commit of any of the three runs, and another one resumes the root. In
// all cases there is one run of each agent, and each effect happens once.
func TestCrash_AtEveryCommitOfEveryRun(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			c := newCrew(t)
			c.stepwise("root", []string{"mid"}, give("mid"), llmtest.Say("root done"))
			c.stepwise("mid", []string{"leaf"}, calls(call("slow", `{}`), call("agent_run_leaf", `{"prompt": "x"}`)), llmtest.Say("mid done"))
			c.stepwise("leaf", nil, llmtest.Use("pay", `{"text": "rent"}`), llmtest.Say("leaf done"))
			first := &mortal{Store: c.db.Store(""), left: n, after: after}
			c.live(t, first)
			died := first.alive() != nil
			c.live(t, c.db.Store(""))
			wantEnds(t, c, map[string]string{"root": natural, "mid": natural, "leaf": natural})
			keys := map[string]bool{}
			for len(c.started) > 0 {
				keys[<-c.started] = true
			}
			c.mu.Lock()
			paid := slices.Index(c.done, "paid rent") >= 0
			c.mu.Unlock()
			doubt := false
			for _, r := range c.runs() {
				log, err := c.db.Store("").Messages(t.Context(), r.ThreadID, awaken.MessageQuery{})
				if err != nil {
					t.Fatal(err)
				}
				users := 0
				for _, m := range log {
					if m.Message.Role == llm.User {
						users++
					}
					doubt = doubt || strings.Contains(m.Message.Text(), "in_doubt")
				}
				if users != 1 {
					t.Errorf("after %d commits (%v): agent %s was asked %d times", n, after, r.AgentID, users)
				}
			}
			if len(keys) != 1 || !paid && !doubt {
				t.Errorf("after %d commits (%v): slow has the keys %v, paid is %v, in doubt is %v", n, after, keys, paid, doubt)
			}
			if n := strings.Count(strings.Join(c.done, ","), "paid rent"); n > 1 {
				t.Errorf("after %d commits (%v): paid %d times", n, after, n)
			}
			if t.Failed() {
				t.FailNow()
			}
			if !died {
				t.Logf("%d commits", n-1)
				if n < 12 {
					t.Errorf("it took only %d commits", n-1)
				}
				break
			}
		}
	}
}

// live is the life of a process: it starts or resumes the root, and approves everything.
func (c *crew) live(t *testing.T, store awaken.Store) {
	t.Helper()
	rt, err := engine.New(engine.Config{Agents: c.agents, Models: c.models, Providers: c.providers, Tools: c.tools(),
		Plugins: []awaken.Plugin{delegate.New(c.options)}, Store: store, Limits: engine.Limits{ToolGrace: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		run, err := store.LoadRun(t.Context(), "r")
		switch {
		case errors.Is(err, awaken.ErrNotFound):
			_, err = rt.Run(t.Context(), withID(say("t", "go"), "r"), nil)
		case err == nil && run.Status == awaken.RunDone:
			return
		case err == nil && run.Status == awaken.RunWaiting:
			var ds []awaken.Decision
			for _, ticket := range run.Waiting.Tickets {
				d := ticket.Approve()
				d.ID = "yes"
				ds = append(ds, d)
			}
			err = rt.Decide(t.Context(), "r", ds...)
			if err == nil || errors.Is(err, awaken.ErrDecided) {
				_, err = rt.Resume(t.Context(), "r", nil)
			}
		case err == nil:
			_, err = rt.Run(t.Context(), awaken.RunRequest{Continue: "r"}, nil)
		}
		if errors.Is(err, errDead) || errors.Is(err, awaken.ErrFenced) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the run does not come to an end")
}
