package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// streamFunc is a model.
type streamFunc func(ctx context.Context, req *llm.Request, yield func(llm.Delta, error) bool)

func (f streamFunc) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { f(ctx, req, yield) }
}

// zbox is a mailbox with another model, tools and plugins.
func zbox(g *rig, m llm.Model, tools []awaken.Tool, plugins []awaken.Plugin, change ...func(*mailbox.Config)) *mailbox.Mailbox {
	g.t.Helper()
	spec := &awaken.AgentSpec{ID: "default", ModelID: "m", ToolExecutionMode: awaken.ParallelStreaming}
	for _, p := range plugins {
		spec.PluginIDs = append(spec.PluginIDs, p.Name())
	}
	rt, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{spec}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": m}, Tools: tools, Plugins: plugins})
	if err != nil {
		g.t.Fatal(err)
	}
	return g.boxWith(rt, change...)
}

func TestWork_APanickingSinkDoesNotKeepARunOpen(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box(func(c *mailbox.Config) {
			c.Sink = func(string) awaken.Sink {
				return awaken.SinkFunc(func(context.Context, awaken.Entry) error { panic("sink") })
			}
		})
		defer work(b)()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "hello"))
		time.Sleep(2 * time.Hour)
		d, _ := tn.Store.Dispatch(t.Context(), r.DispatchID)
		run := g.run(tn, r.RunID)
		if run.Status != awaken.RunDone {
			t.Errorf("after two hours the run is %s, dispatch %s, %d attempts", run.Status, d.Status, d.Attempts)
		}
	})
}

// A goroutine that has ended a run takes the next. Few wait for one, and none when the worker has stopped.
func TestWork_ReusesFewGoroutines(t *testing.T) {
	hands := func() int {
		buf := make([]byte, 4<<20)
		return strings.Count(string(buf[:runtime.Stack(buf, true)]), "mailbox.(*crew).work(")
	}
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box(func(c *mailbox.Config) { c.Concurrency = 200 })
		stop := work(b)
		tn := b.Tenant("")
		synctest.Wait()
		for i := range 10 {
			g.submit(tn, say(fmt.Sprint("one", i), "hello"))
			synctest.Wait()
		}
		if n := hands(); n != 1 {
			t.Errorf("after ten runs, one after another, there are %d goroutines, want 1", n)
		}
		for i := range 100 {
			g.submit(tn, say(fmt.Sprint("many", i), "slow"))
		}
		synctest.Wait()
		if n := hands(); n != 100 {
			t.Errorf("100 runs have %d goroutines", n)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := hands(); n != 32 {
			t.Errorf("after 100 runs at once, %d goroutines wait, want 32", n)
		}
		stop()
		if n := hands(); n != 0 {
			t.Errorf("%d goroutines are left when the worker has stopped", n)
		}
	})
}

// noSettle cannot settle.
type noSettle struct {
	mailbox.Queue
	bad atomic.Bool
	n   atomic.Int64
}

func (q *noSettle) Settle(ctx context.Context, s ...mailbox.Settlement) ([]error, error) {
	if q.bad.Load() {
		q.n.Add(1)
		return nil, errors.New("value too long for type")
	}
	return q.Queue.Settle(ctx, s...)
}

func TestWork_ReturnsWhenNothingCanBeSettled(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &noSettle{Queue: g.queue}
		q.bad.Store(true)
		b := g.box(func(c *mailbox.Config) { c.Queue = q })
		tn := b.Tenant("")
		stop := work(b)
		g.submit(tn, say("t", "hello"))
		time.Sleep(time.Second)
		start := time.Now()
		time.AfterFunc(24*time.Hour, func() { q.bad.Store(false) })
		stop()
		if took := time.Since(start); took > time.Hour {
			t.Errorf("Work took %s to return, with %d tries", took, q.n.Load())
		}
	})
}

func TestWork_WorkersDoNotDrainEachOther(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box(func(c *mailbox.Config) { c.Drain = time.Hour })
		stop1 := work(b)
		tn := b.Tenant("")
		g.submit(tn, say("x", "use wait")) // of the first Work; keeps it draining for ten minutes
		time.Sleep(time.Second)
		stop2 := work(b)
		go stop1()
		time.Sleep(time.Second)
		r := g.submit(tn, say("y", "use effect"))
		time.Sleep(time.Minute)
		d, _ := tn.Store.Dispatch(t.Context(), r.DispatchID)
		run := g.run(tn, r.RunID)
		t.Logf("run %s, dispatch %s attempts %d", run.Status, d.Status, d.Attempts)
		if run.Status != awaken.RunDone {
			t.Errorf("the run of the second Work is %s", run.Status)
		}
		time.Sleep(time.Hour)
		stop2()
	})
}

func TestWork_ACutOffRunResumesBeforeAnUrgentOne(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box(func(c *mailbox.Config) { c.Drain = time.Second })
		stop := work(b)
		tn := b.Tenant("")
		r1 := g.submit(tn, say("t", "use wait"))
		time.Sleep(time.Second)
		stop()
		s := say("t", "urgent")
		p := 0
		s.Priority = &p
		r2 := g.submit(tn, s)
		b2 := g.box()
		defer work(b2)()
		time.Sleep(2 * time.Hour)
		tn = b2.Tenant("")
		g.wantRun(tn, r1.RunID, awaken.RunDone, awaken.NaturalEnd, "got waited")
		g.wantRun(tn, r2.RunID, awaken.RunDone, awaken.NaturalEnd, "you said urgent")
	})
}

// lossyHandle cannot commit the end of a run, as often as lossy says.
type lossyHandle struct {
	mailbox.Handle
	lossy *atomic.Int64
}

func (h lossyHandle) Commit(ctx context.Context, c *awaken.Commit) error {
	if c.Run.Status == awaken.RunDone && h.lossy.Add(-1) >= 0 {
		return errors.New("the disk is full")
	}
	return h.Handle.Commit(ctx, c)
}

func (h lossyHandle) CommitAndSettle(ctx context.Context, c *awaken.Commit, s mailbox.Settlement, wake *mailbox.Dispatch) (mailbox.Settled, error) {
	if c.Run.Status == awaken.RunDone && h.lossy.Add(-1) >= 0 {
		return mailbox.Settled{}, errors.New("the disk is full")
	}
	return h.Handle.CommitAndSettle(ctx, c, s, wake)
}

type lossyQueue struct {
	mailbox.Queue
	lossy atomic.Int64
}

func (q *lossyQueue) Handle(tenant string) mailbox.Handle {
	return lossyHandle{q.Queue.Handle(tenant), &q.lossy}
}

func TestWork_AnEndThatIsNotStoredIsNotPublished(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &lossyQueue{Queue: g.queue}
		q.lossy.Store(2) // the commit and its repetition
		g.queue = q
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "hello"))
		var ends []*awaken.RunFinish
		text := ""
		for e, err := range tn.Log.Tail(t.Context(), "t", r.After, eventlog.Follow{RunID: r.RunID}) {
			if err != nil {
				t.Fatal(err)
			}
			switch ev := e.Event.(type) {
			case *awaken.StreamReset:
				text = ""
			case *awaken.TextDelta:
				text += ev.Delta
			case *awaken.RunFinish:
				ends = append(ends, ev)
			}
		}
		if len(ends) != 1 || ends[0].Termination.Type != awaken.NaturalEnd || text != "you said hello" {
			t.Errorf("%d ends, %q", len(ends), text)
		}
		synctest.Wait()
		if d := g.wantDispatch(tn, r.DispatchID, mailbox.Acked); d.LastError == "" {
			t.Error("nothing went wrong on the way")
		}
		awakentest.CheckEvents(t, g.log(tn, "t"))
	})
}
