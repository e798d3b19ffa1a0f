package eventlog_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/bus/bustest"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

// process returns the log of a process that shares a store and a bus with others, until the end of
// the test.
func process(ctx context.Context, m *bustest.Memory, store awaken.EventLog, tenant string, opts eventlog.Options) *eventlog.Log {
	x := bus.NewExchange(m.Join())
	opts.Relay, opts.Tenant = eventlog.NewRelay(x, nil), tenant
	go x.Run(ctx, opts.Relay.Run)
	return eventlog.New(store, &opts)
}

// inProcesses is bubbletest.Test with a context that ends before the bubble does.
func inProcesses(t *testing.T, fn func(t *testing.T, ctx context.Context)) {
	t.Helper()
	bubbletest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		fn(t, ctx)
		cancel()
		time.Sleep(3 * time.Second) // delayed messages arrive
		synctest.Wait()
	})
}

// seen is what a reader has seen, and when.
type seen struct {
	mu      sync.Mutex
	entries []awaken.Entry
	times   []time.Time
}

func watch(ctx context.Context, log *eventlog.Log, thread string, after awaken.Cursor) *seen {
	s := &seen{}
	go func() {
		for e, err := range log.Tail(ctx, thread, after, eventlog.Follow{}) {
			if err != nil {
				return
			}
			s.mu.Lock()
			s.entries, s.times = append(s.entries, e), append(s.times, time.Now())
			s.mu.Unlock()
		}
	}()
	return s
}

func (s *seen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return text(s.entries)
}

// slow is a turn of ten words, one every 100 ms.
func slow() llmtest.Turn {
	return llmtest.Turn{Text: strings.SplitAfter("a b c d e f g h i j", " "), DelayMS: 100}
}

func TestRelay_AReaderElsewhereSeesDeltasBeforeTheyAreCommitted(t *testing.T) {
	inProcesses(t, func(t *testing.T, ctx context.Context) {
		store, m := memory.New(), bustest.NewMemory(7999, bustest.Faults{})
		here, there := process(ctx, m, store, "", eventlog.Options{}), process(ctx, m, store, "", eventlog.Options{})
		early := watch(ctx, there, "t", awaken.Cursor{})
		time.Sleep(time.Second)
		var committed time.Time
		go func() {
			rt := newRuntime(t, store, slow())
			if _, err := rt.Run(t.Context(), request(), here.Sink(nil)); err != nil {
				t.Error(err)
			}
			committed = time.Now()
		}()
		time.Sleep(550 * time.Millisecond)
		late := watch(ctx, there, "t", awaken.Cursor{})
		time.Sleep(100 * time.Millisecond)
		for name, s := range map[string]*seen{"the first reader": early, "a reader that joins in the middle of a step": late} {
			if got := s.text(); !strings.HasPrefix(got, "a b c d e ") {
				t.Errorf("in the middle of the step, %s has %q, want its beginning", name, got)
			}
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := early.text(); got != "a b c d e f g h i j" || late.text() != got {
			t.Errorf("the readers have %q and %q", got, late.text())
		}
		for i, e := range early.entries {
			if e.Seq != uint64(i+1) {
				t.Fatalf("entry %d is %s", i, e.Cursor)
			}
			// The last one is committed a moment later.
			if d, ok := e.Event.(*awaken.TextDelta); ok && d.Delta != "j" && !early.times[i].Before(committed) {
				t.Errorf("delta %s arrived with the commit", e.Cursor)
			}
		}
		if last := early.times[len(early.times)-1]; last.Sub(committed) > 100*time.Millisecond {
			t.Errorf("the end arrived %s after it was committed", last.Sub(committed))
		}
	})
}

func TestRelay_AProcessThatJoinsInTheMiddleGetsTheStepsBeginning(t *testing.T) {
	inProcesses(t, func(t *testing.T, ctx context.Context) {
		store, m := memory.New(), bustest.NewMemory(7999, bustest.Faults{})
		here := process(ctx, m, store, "", eventlog.Options{})
		go func() { _, _ = newRuntime(t, store, slow()).Run(t.Context(), request(), here.Sink(nil)) }()
		time.Sleep(550 * time.Millisecond)
		there := process(ctx, m, store, "", eventlog.Options{})
		s := watch(ctx, there, "t", awaken.Cursor{})
		time.Sleep(100 * time.Millisecond)
		if got := s.text(); !strings.HasPrefix(got, "a b c d e ") {
			t.Errorf("a process that has just started has %q, want the beginning of the step", got)
		}
		time.Sleep(2 * time.Second)
	})
}

func TestRelay_NothingIsSentWithoutReadersElsewhere(t *testing.T) {
	inProcesses(t, func(t *testing.T, ctx context.Context) {
		store, m := memory.New(), bustest.NewMemory(7999, bustest.Faults{})
		here, there := process(ctx, m, store, "", eventlog.Options{}), process(ctx, m, store, "", eventlog.Options{})
		time.Sleep(time.Second) // they have greeted each other, and will again after five seconds
		sent := func(run string) int {
			before, _ := m.Sent()
			go func() {
				req := request()
				req.RunID = run
				_, _ = newRuntime(t, store, slow()).Run(t.Context(), req, here.Sink(nil))
			}()
			time.Sleep(time.Millisecond)
			for range here.Tail(t.Context(), "t", awaken.Cursor{}, eventlog.Follow{RunID: run}) {
			}
			time.Sleep(100 * time.Millisecond)
			after, _ := m.Sent()
			return after - before
		}
		if n := sent("r1"); n != 0 {
			t.Errorf("%d messages about a run that only readers of its process follow, want none", n)
		}
		watch(ctx, there, "t", awaken.Cursor{})
		time.Sleep(100 * time.Millisecond)
		if n := sent("r2"); n == 0 {
			t.Error("no message about a run that a reader elsewhere follows: the test proves nothing")
		}
	})
}

// A delta that is too long for the bus is sent to none, is not asked for again and again, and delays only
// what follows it in its step.
func TestRelay_ADeltaThatIsTooLongIsFoundInTheStore(t *testing.T) {
	inProcesses(t, func(t *testing.T, ctx context.Context) {
		store, m := memory.New(), bustest.NewMemory(7999, bustest.Faults{})
		here, there := process(ctx, m, store, "", eventlog.Options{}), process(ctx, m, store, "", eventlog.Options{})
		s := watch(ctx, there, "t", awaken.Cursor{})
		time.Sleep(time.Second)
		turn := slow()
		turn.Text[3] = strings.Repeat("long", 300_000)
		for range 100 {
			turn.Text = append(turn.Text, "more ")
		}
		go func() { _, _ = newRuntime(t, store, turn).Run(t.Context(), request(), here.Sink(nil)) }()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if got, want := s.text(), strings.Join(turn.Text, ""); got != want {
			t.Errorf("the reader has %d bytes, want %d", len(got), len(want))
		}
		if _, bytes := m.Sent(); bytes > 200_000 {
			t.Errorf("%d bytes were sent", bytes)
		}
	})
}

func TestRelay_ReadersOfAnotherTenantGetNothing(t *testing.T) {
	inProcesses(t, func(t *testing.T, ctx context.Context) {
		stores, m := [2]*memory.Store{memory.New(), memory.New()}, bustest.NewMemory(7999, bustest.Faults{})
		here, mine := process(ctx, m, stores[0], "one", eventlog.Options{}), process(ctx, m, stores[0], "one", eventlog.Options{})
		other := process(ctx, m, stores[1], "two", eventlog.Options{})
		a, b := watch(ctx, mine, "t", awaken.Cursor{}), watch(ctx, other, "t", awaken.Cursor{})
		time.Sleep(time.Second)
		go func() { _, _ = newRuntime(t, stores[0], slow()).Run(t.Context(), request(), here.Sink(nil)) }()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if a.text() == "" || len(b.entries) != 0 {
			t.Errorf("the tenant's reader has %q, that of another %d entries", a.text(), len(b.entries))
		}
	})
}

func TestRelay_AReaderDoesNotAskTheStoreForEveryDelta(t *testing.T) {
	inProcesses(t, func(t *testing.T, ctx context.Context) {
		var reads atomic.Int64
		store, m := memory.New(), bustest.NewMemory(7999, bustest.Faults{})
		here, there := process(ctx, m, store, "", eventlog.Options{}), process(ctx, m, counting{store, &reads}, "", eventlog.Options{})
		s := watch(ctx, there, "t", awaken.Cursor{})
		time.Sleep(time.Second)
		reads.Store(0)
		rt := newRuntime(t, store, llmtest.Turn{Text: strings.SplitAfter(strings.Repeat("word ", 2000), " "), DelayMS: 2})
		if _, err := rt.Run(t.Context(), request(), here.Sink(nil)); err != nil { // 4 s
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		if got := s.text(); len(got) != 10000 {
			t.Errorf("the reader has %d bytes", len(got))
		}
		if n := reads.Load(); n > 30 {
			t.Errorf("the reader asked the store %d times in 4 seconds", n)
		}
	})
}

// While the bus is cut, readers see what is committed; afterwards they see deltas again.

func TestRelay_RecoversAfterTheBusWasCut(t *testing.T) {
	inProcesses(t, func(t *testing.T, ctx context.Context) {
		store, m := memory.New(), bustest.NewMemory(7999, bustest.Faults{})
		here, there := process(ctx, m, store, "", eventlog.Options{}), process(ctx, m, store, "", eventlog.Options{})
		s := watch(ctx, there, "t", awaken.Cursor{})
		time.Sleep(time.Second)
		go func() { _, _ = newRuntime(t, store, slow()).Run(t.Context(), request(), here.Sink(nil)) }()
		time.Sleep(250 * time.Millisecond)
		m.Cut(true)
		time.Sleep(300 * time.Millisecond)
		m.Cut(false)
		time.Sleep(250 * time.Millisecond)
		if got := s.text(); !strings.HasPrefix(got, "a b c d e f g ") {
			t.Errorf("after the bus was cut in the middle of a step, the reader has %q", got)
		}
		time.Sleep(2 * time.Second)
		if got := s.text(); got != "a b c d e f g h i j" {
			t.Errorf("the reader has %q", got)
		}
	})
}

// world is a thread whose owners come and go in several processes.
type world struct {
	*testing.T
	ctx     context.Context
	rand    *rand.Rand
	logs    []*eventlog.Log
	owner   *eventlog.Sink
	epoch   uint64
	seq     uint64
	pending []awaken.Entry // not committed

	mu     sync.Mutex
	stored []awaken.Entry
}

func (w *world) Entries(_ context.Context, _ string, q awaken.EntryQuery) (out []awaken.Entry, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.stored {
		if e.Seq > q.After && e.Epoch > q.Epoch {
			if out = append(out, e); q.Limit > 0 && len(out) == q.Limit {
				break
			}
		}
	}
	return out, nil
}

// emit makes the owner do something.
func (w *world) emit(ev awaken.Event) awaken.Entry {
	w.seq++
	e := awaken.Entry{Cursor: awaken.Cursor{Epoch: w.epoch, Seq: w.seq}, RunID: "r", Event: ev}
	w.pending = append(w.pending, e)
	return e
}

func (w *world) publish(e awaken.Entry) { _ = w.owner.Emit(w.ctx, e) }

// commit stores what is pending and an event that says so.
func (w *world) commit(ev awaken.Event) {
	e := w.emit(ev)
	w.mu.Lock()
	w.stored = append(w.stored, w.pending...)
	w.pending = nil
	w.mu.Unlock()
	w.publish(e)
}

// takeOver gives the thread a new owner. What the old one did not commit is lost; it may learn of
// that later, and do more meanwhile.
func (w *world) takeOver() {
	if old := w.owner; old != nil {
		stale := awaken.Cursor{Epoch: w.epoch, Seq: w.seq}
		for range w.rand.IntN(4) {
			stale.Seq++
			_ = old.Emit(w.ctx, awaken.Entry{Cursor: stale, RunID: "r", Event: &awaken.TextDelta{Delta: "lost"}})
		}
		time.AfterFunc(time.Duration(w.rand.IntN(200))*time.Millisecond, old.Close)
	}
	w.epoch++
	w.seq -= uint64(len(w.pending))
	w.pending = nil
	w.owner = w.logs[w.rand.IntN(len(w.logs))].Sink(nil)
	w.commit(&awaken.RunStart{ThreadID: "t", RunID: "r"})
}

func (w *world) step() {
	switch n := w.rand.IntN(100); {
	case n < 70:
		w.publish(w.emit(&awaken.TextDelta{Delta: fmt.Sprintf("%d-%d ", w.epoch, w.seq+1)}))
	case n < 80:
		w.commit(&awaken.StepEnd{})
	case n < 85:
		w.takeOver()
	default:
		time.Sleep(time.Duration(w.rand.IntN(60)) * time.Millisecond)
	}
}

// check compares what a reader has, after resets, with the log.
func (w *world) check(name string, after awaken.Cursor, s *seen) {
	w.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	at := after.Seq
	var got []string
	for _, e := range s.entries {
		if reset, ok := e.Event.(*awaken.StreamReset); ok {
			for len(got) > 0 && at > e.Seq {
				at, got = at-1, got[:len(got)-1]
			}
			if at = e.Seq; reset.Cursor == "" {
				w.Fatalf("%s: a reset without a cursor", name)
			}
			continue
		}
		if e.Seq != at+1 {
			w.Fatalf("%s: after %d comes %s", name, at, e.Cursor)
		}
		at, got = e.Seq, append(got, fmt.Sprint(e.Cursor, e.Event.Type(), text([]awaken.Entry{e})))
	}
	var want []string
	for _, e := range w.stored {
		if e.Seq > at-uint64(len(got)) {
			want = append(want, fmt.Sprint(e.Cursor, e.Event.Type(), text([]awaken.Entry{e})))
		}
	}
	if slices.Equal(got, want) {
		return
	}
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	w.Fatalf("%s, from %s, has %d entries, the log %d; after %v it has %v, the log %v", name, after, len(got), len(want),
		want[max(0, i-3):i], got[i:min(len(got), i+5)], want[i:min(len(want), i+5)])
}

// Whatever the bus does, and whichever process owns the thread, every reader ends up with the log.

func TestRelay_EveryTranscriptEqualsTheLog(t *testing.T) {
	faults := map[string]bustest.Faults{
		"none":    {},
		"loses":   {Lose: 200},
		"repeats": {Repeat: 300},
		"delays":  {Delay: 300, For: 500 * time.Millisecond},
		"all":     {Lose: 100, Repeat: 100, Delay: 200, For: 2 * time.Second},
		"nothing": {Lose: 1000},
	}
	for name, f := range faults {
		for seed := range uint64(8) {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				f.Seed = seed
				inProcesses(t, func(t *testing.T, ctx context.Context) {
					w := &world{T: t, ctx: ctx, rand: rand.New(rand.NewPCG(seed, 7))}
					m := bustest.NewMemory(300+w.rand.IntN(8000), f)
					for range 3 {
						w.logs = append(w.logs, process(ctx, m, w, "", eventlog.Options{Buffer: 4 + w.rand.IntN(60), Page: 16}))
					}
					w.takeOver()
					type reading struct {
						name  string
						after awaken.Cursor
						*seen
					}
					var all []reading
					for i := range 400 {
						w.step()
						if i%40 == 0 {
							p := w.rand.IntN(3)
							var after awaken.Cursor
							if len(all) > 0 && w.rand.IntN(2) == 0 { // a reader that resumes where another is
								o := all[w.rand.IntN(len(all))]
								o.mu.Lock()
								if n := len(o.entries); n > 0 {
									after = o.entries[n-1].Cursor
								}
								o.mu.Unlock()
							}
							all = append(all, reading{fmt.Sprintf("reader %d in process %d", i/40, p), after, watch(ctx, w.logs[p], "t", after)})
						}
					}
					w.commit(&awaken.RunFinish{ThreadID: "t", RunID: "r", Termination: awaken.Termination{Type: awaken.NaturalEnd}})
					time.Sleep(10 * time.Second)
					for _, r := range all {
						w.check(r.name, r.after, r.seen)
					}
				})
			})
		}
	}
}

// A reader that takes the place of another one at once gets the step's beginning too, although its process
// was sent it before.

func TestRelay_AReaderThatReplacesAnotherGetsTheStepsBeginning(t *testing.T) {
	inProcesses(t, func(t *testing.T, ctx context.Context) {
		store, m := memory.New(), bustest.NewMemory(7999, bustest.Faults{})
		here, there := process(ctx, m, store, "", eventlog.Options{}), process(ctx, m, store, "", eventlog.Options{})
		first, leave := context.WithCancel(ctx)
		watch(first, there, "t", awaken.Cursor{})
		time.Sleep(time.Second)
		go func() { _, _ = newRuntime(t, store, slow()).Run(t.Context(), request(), here.Sink(nil)) }()
		time.Sleep(550 * time.Millisecond)
		leave()
		synctest.Wait()
		s := watch(ctx, there, "t", awaken.Cursor{})
		time.Sleep(300 * time.Millisecond)
		if got := s.text(); !strings.HasPrefix(got, "a b c d e ") {
			t.Errorf("in the middle of the step, the reader has %q, want its beginning", got)
		}
		time.Sleep(2 * time.Second)
	})
}

// partingBus notes what happens last.
type partingBus struct {
	mu     sync.Mutex
	begun  chan struct{}
	events []string
}

func (b *partingBus) note(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, what)
}

func (b *partingBus) Limit() int { return 7999 }

func (b *partingBus) Publish(_ context.Context, messages ...bus.Message) error {
	for _, m := range messages {
		if strings.Contains(m.Text, `"bye"`) {
			time.Sleep(100 * time.Millisecond)
			b.note("bye")
		}
	}
	return nil
}

func (b *partingBus) Subscribe(ctx context.Context, _ string, fn func(string)) error {
	fn("")
	close(b.begun)
	<-ctx.Done()
	b.note("subscription ends")
	return context.Cause(ctx)
}

// A bus closes its connections when its subscription ends. Taking leave must not open them again.

func TestRelay_TakesItsLeaveBeforeItStopsListening(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		b := &partingBus{begun: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			x := bus.NewExchange(b)
			x.Run(ctx, eventlog.NewRelay(x, nil).Run)
		}()
		<-b.begun
		cancel()
		<-done
		if got := strings.Join(b.events, ", "); got != "bye, subscription ends" {
			t.Errorf("at the end: %s", got)
		}
	})
}
