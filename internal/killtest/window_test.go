//go:build unix

package killtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/mailbox"
)

// windows are the points between the durable steps of a run that begins where it was accepted: the
// statement that stores and claims its dispatch, the acquisition of its thread, its first commit, those
// of its calls, and the last one, which also settles. A process dies at a random hit up to the number.
var windows = []struct {
	point string
	hits  int
}{
	{"submit.before", 6}, {"submit.accepted", 6}, {"submit.changed", 2}, {"claim.begun", 6}, {"run.acquired", 6}, {"run.opened", 6},
	{"commit.before", 15}, {"commit.after", 15}, {"commit.published", 15}, {"run.started", 6}, {"intent.after", 4}, {"call.after", 4},
	{"park.before", 1}, {"park.after", 1}, {"finish.before", 6}, {"claim.settling", 6}, {"claim.settled", 6}, {"finish.after", 6}, {"claim.over", 6},
}

func windowKills() int { return testenv.Times(12, 1000) }

// campaign kills a server at failpoints while clients use it.
type campaign struct {
	*testing.T
	p     *process
	c     *client
	queue mailbox.Queue  // of the test's own process
	store mailbox.Handle // of the queue
	ids   atomic.Int64

	mu        sync.Mutex
	live      map[string]int // threads in use
	said      map[string][]string
	all       []*transcript
	died      time.Time
	takeovers []time.Duration
}

// TestKill_AtFailpoints kills a server at the points between the durable steps of its runs. While it is
// dead, log, record and dispatch of every run agree; no input is lost or there twice; no effect is made
// twice; all runs end, and what their clients assembled is the log.
func TestKill_AtFailpoints(t *testing.T) {
	for _, store := range rigtest.Sample(rigtest.SQLite) {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Duration(windowKills())*time.Second+2*time.Minute)
			defer cancel()
			k := &campaign{T: t, live: map[string]int{}, said: map[string][]string{}}
			j := newJob(t, store, 10*time.Second)
			j.Liveness = time.Second
			k.p = start(t, j)
			k.c = newClient(k.p)
			k.c.heard = k.heard
			k.queue = j.Store.Use(t)
			k.store = k.queue.Handle("")

			var killing atomic.Bool
			killing.Store(true)
			var wg sync.WaitGroup
			for worker := range 8 {
				wg.Go(func() {
					for i := worker; killing.Load() && ctx.Err() == nil; i++ {
						if err := stories[i%len(stories)](ctx, k, fmt.Sprintf("%d-%d", worker, i/(2*len(stories)))); err != nil {
							t.Errorf("story %d: %v", i%len(stories), err)
							return
						}
					}
				})
			}
			k.p.Kill()
			hit := k.kill(ctx)
			k.p.at = ""
			k.p.Again()
			k.p.Serves()
			last := time.Now()
			killing.Store(false)
			wg.Wait()
			k.report(ctx, hit, time.Since(last))
			replayAll(ctx, t, k.p.job)
		})
	}
}

// kill starts the server and lets it die, at one point after the other, and inspects what it left.
func (k *campaign) kill(ctx context.Context) map[string]int {
	hit := map[string]int{}
	first := rand.IntN(len(windows))
	for i, kills := 0, 0; kills < windowKills() && ctx.Err() == nil && !k.Failed(); i++ {
		w := windows[(first+i)%len(windows)]
		k.p.at = fmt.Sprintf("%s:%d", w.point, 1+rand.IntN(w.hits))
		k.p.Again()
		if killed := k.p.Dies(20 * time.Second); killed {
			hit[w.point]++
			kills++
		} else {
			k.Logf("the server did not come to %s", k.p.at)
		}
		k.mu.Lock()
		k.died = time.Now()
		threads := make([]string, 0, len(k.live))
		for id := range k.live {
			threads = append(threads, id)
		}
		k.mu.Unlock()
		for _, id := range threads {
			k.inspect(ctx, id)
		}
	}
	return hit
}

// heard notes how long a run that the last death interrupted was silent.
func (k *campaign) heard(t *transcript) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !t.accepted.Before(k.died) || t.heard.After(k.died) {
		return
	}
	k.takeovers = append(k.takeovers, time.Since(k.died))
}

// stories are what clients do. Each returns when its runs are over.
var stories = []func(ctx context.Context, k *campaign, name string) error{
	func(ctx context.Context, k *campaign, _ string) error { // one turn on a new thread
		return k.chat(ctx, fmt.Sprint("new-", k.ids.Add(1)), "", nil)
	},
	func(ctx context.Context, k *campaign, name string) error { // one turn of a conversation
		return k.chat(ctx, "conversation-"+name, "", nil)
	},
	func(ctx context.Context, k *campaign, name string) error { // tools
		return k.chat(ctx, "tools-"+name, "effect look+put effect", nil)
	},
	func(ctx context.Context, k *campaign, name string) error { // decisions
		return k.chat(ctx, "asks-"+name, "ask effect", nil)
	},
	func(ctx context.Context, k *campaign, name string) error { // a queued run
		thread := "queued-" + name
		text := k.use(thread, "effect")
		tr, err := k.c.follow(ctx, fmt.Sprint("key-", k.ids.Add(1)), thread, text)
		return k.over(thread, tr, err)
	},
	func(ctx context.Context, k *campaign, _ string) error { // an interrupt: the first run ends, the second runs
		thread := fmt.Sprint("interrupted-", k.ids.Add(1))
		var second error
		var wg sync.WaitGroup
		err := k.chat(ctx, thread, "effect long effect", func(*transcript) {
			wg.Go(func() { second = k.chat(ctx, thread, "effect", nil) })
		})
		wg.Wait()
		return errors.Join(err, second)
	},
	func(ctx context.Context, k *campaign, _ string) error { // a cancel
		var cancelled error
		var wg sync.WaitGroup
		err := k.chat(ctx, fmt.Sprint("cancelled-", k.ids.Add(1)), "look long effect", func(t *transcript) {
			wg.Go(func() {
				var a *rigtest.Answer
				if a, cancelled = k.c.Send(ctx, "POST", "/v1/runs/"+t.runID+"/cancel", ""); cancelled == nil {
					cancelled = a.Want(http.StatusAccepted, http.StatusConflict)
				}
			})
		})
		wg.Wait()
		return errors.Join(err, cancelled)
	},
}

// use marks a thread as used, and returns a message for it that no other is equal to.
func (k *campaign) use(thread, words string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	text := strings.TrimSpace(fmt.Sprintf("%s #%d", words, k.ids.Add(1)))
	k.live[thread]++
	k.said[thread] = append(k.said[thread], text)
	return text
}

// chat follows a run that POST /v1/runs starts.
func (k *campaign) chat(ctx context.Context, thread, words string, begun func(t *transcript)) error {
	text := k.use(thread, words)
	tr, err := k.c.chat(ctx, fmt.Sprint("key-", k.ids.Add(1)), thread, text, begun)
	return k.over(thread, tr, err)
}

// over takes a transcript that is complete.
func (k *campaign) over(thread string, tr *transcript, err error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.live[thread]--; k.live[thread] == 0 {
		delete(k.live, thread)
	}
	if err != nil {
		return fmt.Errorf("thread %s: %w", thread, err)
	}
	k.all = append(k.all, tr)
	return nil
}

// inspect checks what a server that is dead left of a thread. What it had sent to the database may
// still be under way, so inspect looks again before it complains.
func (k *campaign) inspect(ctx context.Context, thread string) {
	k.Helper()
	var bad []string
	for range 4 {
		var err error
		if bad, err = k.torn(ctx, thread); err != nil {
			k.Errorf("inspect thread %s: %v", thread, err)
			return
		}
		if len(bad) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	k.Errorf("killed at %s: thread %s is torn:\n%s", k.p.at, thread, strings.Join(bad, "\n"))
}

// torn returns how log, records and dispatches of a thread contradict each other.
func (k *campaign) torn(ctx context.Context, thread string) (bad []string, err error) {
	th, err := k.store.Thread(ctx, thread)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ds, err := k.store.Dispatches(ctx, mailbox.Query{ThreadID: thread, Limit: 1000})
	if err != nil {
		return nil, err
	}
	runs, err := k.store.ListRuns(ctx, awaken.RunQuery{ThreadID: thread, Limit: 1000})
	if err != nil {
		return nil, err
	}
	entries, err := k.store.Entries(ctx, thread, awaken.EntryQuery{})
	if err != nil {
		return nil, err
	}
	complain := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	ends, last := map[string]int{}, map[string]bool{} // by run: ends in the log; whether the last entry is one
	for i, e := range entries {
		if i > 0 && (e.Seq <= entries[i-1].Last() || e.Epoch < entries[i-1].Epoch) {
			complain("entry %s follows %s", e.Cursor, entries[i-1].Cursor)
		}
		fin, ok := e.Event.(*awaken.RunFinish)
		if last[e.RunID] = ok && fin.Termination.Type != awaken.Suspended; last[e.RunID] {
			ends[e.RunID]++
		}
	}
	live, claimed := map[string]*mailbox.Dispatch{}, 0
	for _, d := range ds {
		if !d.Status.Terminal() {
			live[d.RunID] = d
		}
		if d.Status == mailbox.Claimed {
			claimed++
		}
		if d.Status == mailbox.DeadLetter {
			complain("dispatch %s is a dead letter: %s", d.ID, d.LastError)
		}
	}
	if claimed > 1 {
		complain("%d dispatches are claimed", claimed)
	}
	for _, r := range runs {
		d := live[r.RunID]
		if open := r.Status == awaken.RunRunning || r.Status == awaken.RunWaiting; open != (th.OpenRunID == r.RunID) {
			complain("run %s is %s, the thread's open run is %q", r.RunID, r.Status, th.OpenRunID)
		}
		if (r.Status == awaken.RunCreated || r.Status == awaken.RunRunning) && d == nil {
			complain("run %s is %s and has no live dispatch", r.RunID, r.Status)
		}
		done := r.Status == awaken.RunDone
		if done && d != nil && !(d.Cancel && r.StartedAt == 0) {
			complain("run %s is done and has a %s dispatch", r.RunID, d.Status)
		}
		if want := done && r.StartedAt != 0; want != last[r.RunID] || ends[r.RunID] > 1 {
			complain("run %s is %s, and the log has %d ends", r.RunID, r.Status, ends[r.RunID])
		}
	}
	return bad, nil
}

// report checks what has become of all runs.
func (k *campaign) report(ctx context.Context, hit map[string]int, settled time.Duration) {
	rigtest.Until(k, "what was cancelled before it started is taken in", rigtest.Patience, func() bool {
		counts, err := k.queue.Counts(ctx)
		if err != nil {
			k.Fatal(err)
		}
		return counts[mailbox.Queued]+counts[mailbox.Claimed] == 0
	})
	resets, cuts := 0, 0
	for _, tr := range k.all {
		if !k.neverStarted(ctx, tr) {
			check(ctx, k.T, k.c, tr)
		}
		resets += tr.resets
		cuts += tr.cuts
	}
	left := 0
	for thread, texts := range k.said {
		k.inspect(ctx, thread)
		if th, err := k.store.Thread(ctx, thread); err != nil || th.OpenRunID != "" {
			k.Errorf("thread %s has an open run, %v", thread, err)
		}
		msgs, err := k.store.Messages(ctx, thread, awaken.MessageQuery{})
		if err != nil {
			k.Error(err)
		}
		for _, text := range texts {
			n := 0
			for _, m := range msgs {
				if m.Message.Text() == text {
					n++
				}
			}
			switch {
			case n == 1:
			case n == 0 && k.suspected(ctx, thread, text):
				left++
			default:
				k.Errorf("thread %s has message %q %d times", thread, text, n)
			}
		}
	}
	effects := made(k.T, k.p.job.Effects)
	at := func(q float64) time.Duration { return rigtest.Quantile(k.takeovers, q).Round(time.Millisecond) }
	kills := 0
	for _, w := range windows {
		kills += hit[w.point]
		k.Logf("%4d kills at %s", hit[w.point], w.point)
	}
	k.Logf("%d inputs of runs that were cancelled before they started, and had killed processes, are in their dispatches alone", left)
	k.Logf("%s: %d kills, %d runs followed to their end, streams broken %d times, %d resets, %d effects made once; "+
		"%d runs were interrupted by a death and heard of again after %s (median), %s (p99), %s (most), with the start of the process; all over %s after the last start",
		k.p.job.Store.Kind, kills, len(k.all), cuts, resets, effects, len(k.takeovers), at(.5), at(.99), at(1), settled.Round(time.Millisecond))
	if len(k.all) < 8 || cuts == 0 || effects == 0 || len(k.takeovers) == 0 {
		k.Errorf("too little happened to show anything: %d runs, %d cuts, %d effects", len(k.all), cuts, effects)
	}
}

// neverStarted reports whether a run was ended before it started. Its client has seen one event, made of
// its record; what the log has since was written when its turn came.
func (k *campaign) neverStarted(ctx context.Context, tr *transcript) bool {
	if len(tr.events) != 1 {
		return false
	}
	ev, err := awaken.UnmarshalEvent([]byte(tr.events[0].data))
	fin, ok := ev.(*awaken.RunFinish)
	if err != nil || !ok {
		return false
	}
	run, err := k.store.LoadRun(ctx, tr.runID)
	if err != nil || run.Status != awaken.RunDone || run.Termination.Type != fin.Termination.Type {
		k.Errorf("run %s ended as %+v for its client; its record is %+v, %v", tr.runID, fin.Termination, run, err)
	}
	return true
}

// suspected reports whether a message is in the dispatch of a run that was ended before it started, and
// that may have killed its processes: such input is not taken into the thread.
func (k *campaign) suspected(ctx context.Context, thread, text string) bool {
	ds, err := k.store.Dispatches(ctx, mailbox.Query{ThreadID: thread, Limit: 1000})
	if err != nil {
		k.Error(err)
	}
	for _, d := range ds {
		if d.Request == nil || len(d.Request.Messages) != 1 || d.Request.Messages[0].Text() != text {
			continue
		}
		run, err := k.store.LoadRun(ctx, d.RunID)
		return err == nil && run.Status == awaken.RunDone && run.StartedAt == 0 && run.Termination.Type == awaken.Cancelled && d.Status.Terminal() && d.Suspect()
	}
	return false
}
