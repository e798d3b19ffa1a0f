package mailbox_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/memory"
)

// mortal is the store of a process. Nothing that the process does after its death has an effect.
type mortal struct {
	mailbox.Queue
	dead atomic.Bool
	died chan struct{}
}

var errKilled = errors.New("the process is dead")

func (m *mortal) kill() {
	if !m.dead.Swap(true) {
		close(m.died)
	}
}

func alive[T any](m *mortal, do func() (T, error)) (v T, err error) {
	if m.dead.Load() {
		return v, errKilled
	}
	return do()
}

func (m *mortal) Claim(ctx context.Context, r mailbox.ClaimRequest) (ds []*mailbox.Dispatch, next time.Duration, err error) {
	ds, err = alive(m, func() ([]*mailbox.Dispatch, error) {
		ds, n, err := m.Queue.Claim(ctx, r)
		next = n
		return ds, err
	})
	return ds, next, err
}

func (m *mortal) Renew(ctx context.Context, lease time.Duration, claims ...mailbox.Claim) ([]mailbox.Renewal, error) {
	return alive(m, func() ([]mailbox.Renewal, error) { return m.Queue.Renew(ctx, lease, claims...) })
}

func (m *mortal) Settle(ctx context.Context, s ...mailbox.Settlement) ([]error, error) {
	return alive(m, func() ([]error, error) { return m.Queue.Settle(ctx, s...) })
}

func (m *mortal) Reclaim(ctx context.Context, limit int) (int, error) {
	return alive(m, func() (int, error) { return m.Queue.Reclaim(ctx, limit) })
}

func (m *mortal) Join(ctx context.Context, process string, limit time.Duration) error {
	_, err := alive(m, func() (int, error) { return 0, m.Queue.Join(ctx, process, limit) })
	return err
}

func (m *mortal) Beat(ctx context.Context, process string, limit time.Duration) error {
	_, err := alive(m, func() (int, error) { return 0, m.Queue.Beat(ctx, process, limit) })
	return err
}

func (m *mortal) Leave(ctx context.Context, process string) error {
	_, err := alive(m, func() (int, error) { return 0, m.Queue.Leave(ctx, process) })
	return err
}

func (m *mortal) Handle(tenant string) mailbox.Handle { return mortalHandle{m.Queue.Handle(tenant), m} }

type mortalHandle struct {
	mailbox.Handle
	of *mortal
}

func (h mortalHandle) Commit(ctx context.Context, c *awaken.Commit) error {
	_, err := alive(h.of, func() (int, error) { return 0, h.Handle.Commit(ctx, c) })
	return err
}

func (h mortalHandle) CommitAndSettle(
	ctx context.Context, c *awaken.Commit, s mailbox.Settlement, wake *mailbox.Dispatch,
) (mailbox.Settled, error) {
	return alive(h.of, func() (mailbox.Settled, error) { return h.Handle.CommitAndSettle(ctx, c, s, wake) })
}

func (h mortalHandle) Acquire(ctx context.Context, threadID string) (*awaken.Checkpoint, error) {
	return alive(h.of, func() (*awaken.Checkpoint, error) { return h.Handle.Acquire(ctx, threadID) })
}

func (h mortalHandle) Own(ctx context.Context, threadID string, c mailbox.Claim) (cp *awaken.Checkpoint, cancel bool, err error) {
	cp, err = alive(h.of, func() (cp *awaken.Checkpoint, err error) {
		cp, cancel, err = h.Handle.Own(ctx, threadID, c)
		return cp, err
	})
	return cp, cancel, err
}

func (h mortalHandle) Change(ctx context.Context, threadID string, fn func(t *mailbox.Thread) error) error {
	_, err := alive(h.of, func() (int, error) { return 0, h.Handle.Change(ctx, threadID, fn) })
	return err
}

// population is a set of runs and of processes that run them. Some runs kill their process.
type population struct {
	t       *testing.T
	db      *memory.DB
	cfg     mailbox.Config
	restart time.Duration // how long it takes to start a process again
	crowded atomic.Int64  // how often a suspect had company
}

// deadly is a model that kills its process when it is asked to, and otherwise takes its time.
type deadly struct{ of *mortal }

// Stream understands "poison DELAY" and "innocent DELAY STEPS".
func (m deadly) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var kind, delay string
		var steps, answered int
		for _, msg := range req.Messages.All() {
			switch msg.Role {
			case llm.User:
				_, _ = fmt.Sscan(msg.Text(), &kind, &delay, &steps)
			case llm.ToolRole:
				answered++
			}
		}
		pause, err := time.ParseDuration(delay)
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			yield(llm.Delta{}, ctx.Err())
			return
		}
		if kind == "poison" {
			m.of.kill()
			<-ctx.Done()
			yield(llm.Delta{}, ctx.Err())
			return
		}
		if answered+1 < steps {
			id := fmt.Sprint("call", answered)
			_ = yield(llm.Delta{Kind: llm.ToolCallStart, ID: id, Name: "next"}, nil) &&
				yield(llm.Delta{Kind: llm.ToolCallDelta, ID: id, Text: "{}"}, nil) &&
				yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse}, nil)
			return
		}
		_ = yield(llm.Delta{Kind: llm.TextDelta, Text: "done"}, nil) && yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

// life runs one process after the other until ctx is done. External kills end one of them from outside.
func (p *population) life(ctx context.Context, kills <-chan struct{}) {
	for ctx.Err() == nil {
		of := &mortal{Queue: p.db, died: make(chan struct{})}
		rt, err := engine.New(engine.Config{
			Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
			Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
			Providers: map[string]llm.Model{"p": deadly{of}},
			Tools: []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "next", Effect: awaken.ReadOnly},
				func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return "go on", nil })},
		})
		if err != nil {
			p.t.Error(err)
			return
		}
		cfg := p.cfg
		cfg.Queue, cfg.Observer = of, &company{p: p, of: of}
		box, err := mailbox.New(cfg, rt.With)
		if err != nil {
			p.t.Error(err)
			return
		}
		cfg.Observer.(*company).box = box
		stop := work(box)
		select {
		case <-of.died:
		case <-kills:
			of.kill()
		case <-ctx.Done():
		}
		stop()
		if ctx.Err() == nil {
			time.Sleep(p.restart)
		}
	}
}

// company is an observer that looks whether a suspect that was claimed has company.
type company struct {
	p   *population
	of  *mortal
	box *mailbox.Mailbox
}

func (c *company) Claimed(d *mailbox.Dispatch, _ time.Duration) {
	if d.Suspect() && c.box.Active() != 1 && !c.of.dead.Load() {
		c.p.crowded.Add(1)
	}
}
func (c *company) Settled(*mailbox.Dispatch, mailbox.Status, time.Duration) {}
func (c *company) Operated(string, time.Duration, error)                    {}

// Whatever poison there is among the runs of however many processes: it is given up after its
// attempts, and no other run is, even if processes are killed from outside as well.
func TestWork_BlamesOnlyTheGuilty(t *testing.T) {
	t.Parallel()
	if err := flag.Set("rapid.checks", strconv.Itoa(testenv.Times(10, 400))); err != nil { // one takes up to a second
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		replicas := rapid.IntRange(1, 3).Draw(rt, "replicas")
		attempts := rapid.SampledFrom([]int{1, 3, 5}).Draw(rt, "attempts")
		concurrency := rapid.SampledFrom([]int{1, 4, 32}).Draw(rt, "concurrency")
		lease := rapid.SampledFrom([]time.Duration{2 * time.Second, 30 * time.Second}).Draw(rt, "lease")
		deadly := []time.Duration{0, 10 * time.Millisecond, 3 * time.Second, 45 * time.Second}
		poisons := rapid.SliceOfN(rapid.SampledFrom(deadly), 0, 4).Draw(rt, "poisons")
		harmless := []time.Duration{0, time.Millisecond, time.Second, 20 * time.Second}
		innocents := rapid.SliceOfN(rapid.SampledFrom(harmless), 1, 24).Draw(rt, "innocents")
		kills := rapid.SliceOfN(rapid.IntRange(0, 60_000), 0, min(attempts-1, 2)).Draw(rt, "kills")
		var failure string
		bubbletest.Test(t, func(t *testing.T) {
			p := &population{t: t, db: memory.NewDB(), restart: time.Second, cfg: mailbox.Config{Concurrency: concurrency, MaxAttempts: attempts, Lease: lease, Drain: time.Second}}
			ctx, cancel := context.WithCancel(t.Context())
			external := make(chan struct{})
			done := make(chan struct{}, replicas)
			for range replicas {
				go func() { p.life(ctx, external); done <- struct{}{} }()
			}
			client, err := mailbox.New(mailbox.Config{Queue: p.db, MaxAttempts: attempts}, (&rig{t: t}).runtime().With)
			if err != nil {
				t.Fatal(err)
			}
			tn := client.Tenant("")
			submit := func(kind string, delays []time.Duration, steps int) (ids []string) {
				for i, d := range delays {
					r, err := tn.Submit(ctx, mailbox.Submission{Request: awaken.RunRequest{ThreadID: fmt.Sprint(kind, i), AgentID: "default",
						Messages: []*llm.Message{llm.UserText(fmt.Sprint(kind, " ", d, " ", steps))}}})
					if err != nil {
						t.Fatal(err)
					}
					ids = append(ids, r.DispatchID)
				}
				return ids
			}
			bad := submit("poison", poisons, 0)
			good := submit("innocent", innocents, 2)
			for _, at := range kills {
				go func() {
					select {
					case <-time.After(time.Duration(at) * time.Millisecond):
					case <-ctx.Done():
						return
					}
					select {
					case external <- struct{}{}:
					case <-ctx.Done():
					}
				}()
			}
			failure = p.outcome(tn, bad, good)
			cancel()
			for range replicas {
				<-done
			}
		})
		if failure != "" {
			rt.Fatal(failure)
		}
	})
}

// outcome waits until every run is over, and returns what is wrong with how they ended.
func (p *population) outcome(tn *mailbox.Tenant, bad, good []string) string {
	start, most := time.Now(), 0
	for over := 0; over < len(bad)+len(good); {
		if time.Since(start) > 6*time.Hour {
			return fmt.Sprintf("%d of %d runs are over after %s", over, len(bad)+len(good), time.Since(start))
		}
		time.Sleep(time.Second)
		over = 0
		for _, id := range append(append([]string{}, bad...), good...) {
			d, err := tn.Store.Dispatch(p.t.Context(), id)
			if err != nil {
				return err.Error()
			}
			if most = max(most, d.Attempts); d.Attempts > d.MaxAttempts {
				return fmt.Sprintf("%s has %d attempts of %d", d.ThreadID, d.Attempts, d.MaxAttempts)
			}
			if d.Status.Terminal() {
				over++
			}
		}
	}
	var wrong []string
	for i, id := range append(append([]string{}, bad...), good...) {
		d, err := tn.Store.Dispatch(p.t.Context(), id)
		if err != nil {
			return err.Error()
		}
		switch {
		case i < len(bad) && (d.Status != mailbox.DeadLetter || d.Attempts != d.MaxAttempts):
			wrong = append(wrong, fmt.Sprintf("%s is %s after %d attempts of %d", d.ThreadID, d.Status, d.Attempts, d.MaxAttempts))
		case i >= len(bad) && d.Status != mailbox.Acked:
			wrong = append(wrong, fmt.Sprintf("%s is %s after %d attempts and %d crashes: %s", d.ThreadID, d.Status, d.Attempts, d.Crashes, d.LastError))
		}
	}
	if n := p.crowded.Load(); n > 0 {
		wrong = append(wrong, fmt.Sprintf("%d suspects had company", n))
	}
	return strings.Join(wrong, "\n")
}
