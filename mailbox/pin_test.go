package mailbox_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
)

// version is a registry whose tool wait says its id, as every process makes it.
func version(t *testing.T, id string) *registry.Registry {
	t.Helper()
	reg, err := registry.New(registry.Config{Builtin: builtin.For, ID: id,
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": model{}},
		Tools: []awaken.Tool{
			awaken.NewTool(awaken.ToolSpec{ID: "ask"}, func(_ context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
				if c.Resume != nil {
					return "version " + id, nil
				}
				return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "ask"}, ExpiresIn: time.Hour})
			}),
			awaken.NewTool(awaken.ToolSpec{ID: "wait", Effect: awaken.ReadOnly, Timeout: time.Hour}, func(ctx context.Context, _ *awaken.ToolCall, _ struct{}) (string, error) {
				select {
				case <-time.After(10 * time.Minute):
					return "version " + id, nil
				case <-ctx.Done():
					return "", context.Cause(ctx)
				}
			}),
		}})
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// versioned returns a mailbox of a process that has these versions.
func (g *rig) versioned(ids ...string) (*mailbox.Mailbox, *awakentest.Versions) {
	g.t.Helper()
	v := awakentest.NewVersions()
	for _, id := range ids {
		v.Publish(version(g.t, id))
	}
	rt, err := engine.New(engine.Config{Versions: v})
	if err != nil {
		g.t.Fatal(err)
	}
	return g.boxWith(rt), v
}

func TestPin_ARecoveredRunKeepsItsVersion(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		one, v := g.versioned("1")
		v.Divert(func(th *awaken.Thread) *registry.Registry {
			if th.LatestRunID != "" {
				t.Errorf("thread %s had run %s before its first", th.ID, th.LatestRunID)
			}
			return nil
		})
		tn := one.Tenant("")
		stop := work(one)
		r := g.submit(tn, say("t", "use wait"))
		time.Sleep(time.Minute)
		later := g.submit(tn, say("u", "use wait")) // accepted, and started on what is live then
		stop()                                      // in the middle of the call
		two, _ := g.versioned("1", "2")
		defer work(two)()
		time.Sleep(time.Hour)
		if run := g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "got version 1"); run.ResolutionID != "1" {
			t.Errorf("the run is pinned to %q, want 1", run.ResolutionID)
		}
		g.wantRun(tn, later.RunID, awaken.RunDone, awaken.NaturalEnd, "got version ")
	})
}

func TestPin_ARunIsPinnedWhenItStarts(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		one, _ := g.versioned("1")
		tn := one.Tenant("")
		r := g.submit(tn, say("t", "use wait"))
		s := say("u", "use wait")
		s.Request.ResolutionID = "1"
		named := g.submit(tn, s)
		if run := g.run(tn, r.RunID); run.Status != awaken.RunCreated || run.ResolutionID != "" {
			t.Errorf("a run that was accepted is %s, pinned to %q", run.Status, run.ResolutionID)
		}
		if run := g.run(tn, named.RunID); run.ResolutionID != "1" {
			t.Errorf("a run that names version 1 is pinned to %q", run.ResolutionID)
		}
		two, _ := g.versioned("1", "2")
		defer work(two)()
		time.Sleep(time.Hour)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "got version 2")
		g.wantRun(tn, named.RunID, awaken.RunDone, awaken.NaturalEnd, "got version 1")
	})
}

func TestPin_ARunWaitsForAWorkerThatHasItsVersion(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		one, _ := g.versioned("1")
		tn := one.Tenant("")
		stop := work(one)
		r := g.submit(tn, say("t", "use ask"))
		time.Sleep(time.Second)
		stop()
		two, v := g.versioned("1", "2")
		v.Lose("1", errors.New("no connection"))
		tn = two.Tenant("")
		defer work(two)()
		d, err := tn.Decide(t.Context(), r.RunID, awaken.Decision{Target: "call-ask", Action: awaken.ActionResume})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		check := func() {
			t.Helper()
			synctest.Wait() // a worker may be trying again at this very moment
			run := g.wantRun(tn, r.RunID, awaken.RunWaiting, "", "")
			if run.Waiting == nil || run.Waiting.Reason != awaken.WaitPin || run.ResolutionID != "1" {
				t.Errorf("the run waits for %+v, pinned to %q", run.Waiting, run.ResolutionID)
			}
			if d := g.wantDispatch(tn, d.DispatchID, mailbox.Queued); d.Attempts != 0 || d.LastError != run.Waiting.Message {
				t.Errorf("the dispatch has %d attempts and the error %q", d.Attempts, d.LastError)
			}
		}
		check()
		n := len(g.log(tn, "t"))
		time.Sleep(2 * time.Hour) // longer than it takes to use up the attempts, and than the call may wait
		check()
		if again := len(g.log(tn, "t")); again != n {
			t.Errorf("the log grew from %d to %d entries without a request", n, again)
		}
		if _, err := tn.Continue(t.Context(), r.RunID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		check()
		if again := len(g.log(tn, "t")); again == n {
			t.Error("who asked was not told")
		}
		v.Lose("1", nil)
		time.Sleep(2 * time.Minute) // it is tried every minute
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "got version 1")
	})
}

func TestPin_ANewRunWaitsForItsVersionInTheQueue(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		box, v := g.versioned("1", "2")
		v.Lose("1", errors.New("no connection"))
		tn := box.Tenant("")
		defer work(box)()
		s, gone := say("t", "use wait"), say("u", "use wait")
		s.Request.ResolutionID, gone.Request.ResolutionID = "1", "9"
		r, never := g.submit(tn, s), g.submit(tn, gone)
		time.Sleep(2 * time.Hour)
		synctest.Wait() // a worker may be trying again at this very moment
		if d := g.wantDispatch(tn, r.DispatchID, mailbox.Queued); d.Attempts != 0 {
			t.Errorf("the dispatch has %d attempts", d.Attempts)
		}
		g.wantRun(tn, r.RunID, awaken.RunCreated, "", "")
		g.wantRun(tn, never.RunID, awaken.RunDone, awaken.Failed, "") // there is no such version
		v.Lose("1", nil)
		time.Sleep(time.Hour)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "got version 1")
	})
}
