package eventlog_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

// fakeLog is a store of single entries.
type fakeLog struct {
	mu      sync.Mutex
	entries []awaken.Entry
	calls   atomic.Int64
	before  func(q awaken.EntryQuery)
}

func (f *fakeLog) add(epoch, seq uint64, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entries = append(f.entries, awaken.Entry{Cursor: awaken.Cursor{Epoch: epoch, Seq: seq}, RunID: "r", Event: &awaken.TextDelta{Delta: text}})
}

func (f *fakeLog) Entries(_ context.Context, _ string, q awaken.EntryQuery) (out []awaken.Entry, err error) {
	f.calls.Add(1)
	if f.before != nil {
		f.before(q)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.entries {
		if e.Last() > q.After && e.Epoch > q.Epoch {
			if out = append(out, e); q.Limit > 0 && len(out) == q.Limit {
				break
			}
		}
	}
	return out, nil
}

// The one that polls for all is slow, and holds up all.

func TestTail_ASlowPollerDelaysNoOther(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := memory.New()
		here := eventlog.New(store, nil)
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		go func() {
			for range here.Tail(ctx, "t", awaken.Cursor{}, eventlog.Follow{}) {
				<-release // a client that does not read
			}
		}()
		synctest.Wait()
		var finished atomic.Bool
		go func() {
			for e := range here.Tail(ctx, "t", awaken.Cursor{}, eventlog.Follow{}) {
				if _, ok := e.Event.(*awaken.RunFinish); ok {
					finished.Store(true)
				}
			}
		}()
		synctest.Wait()
		rt := newRuntime(t, store, llmtest.Turn{Text: llmtest.Text{"far ", "away"}, DelayMS: 5000})
		if _, err := rt.Run(t.Context(), request(), nil); err != nil { // in another process
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if !finished.Load() {
			t.Error("an hour after the run's end the other reader has not seen it")
		}
		close(release)
		cancel()
		synctest.Wait()
	})
}

// An owner takes over between the two questions that a reader asks the store.

func TestTail_SeesATakeOverBetweenTwoReads(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		f := &fakeLog{}
		for seq := uint64(1); seq <= 4; seq++ {
			f.add(1, seq, fmt.Sprint("a", seq, " "))
		}
		// The reader has seen up to 1-6 in a process that was lost; only 4 were committed.
		once := false
		f.before = func(q awaken.EntryQuery) {
			if q.After == 6 && !once {
				once = true
				for seq := uint64(5); seq <= 8; seq++ {
					f.add(2, seq, fmt.Sprint("b", seq, " "))
				}
			}
		}
		log := eventlog.New(f, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		seen := []string{"a1 ", "a2 ", "a3 ", "a4 ", "x5 ", "x6 "} // by Seq-1
		for e, err := range log.Tail(ctx, "t", awaken.Cursor{Epoch: 1, Seq: 6}, eventlog.Follow{}) {
			if err != nil {
				t.Fatal(err)
			}
			switch ev := e.Event.(type) {
			case *awaken.StreamReset:
				seen = seen[:e.Seq]
			case *awaken.TextDelta:
				seen = append(seen, ev.Delta)
			}
		}
		if got := strings.Join(seen, ""); got != "a1 a2 a3 a4 b5 b6 b7 b8 " {
			t.Errorf("the reader has %q", got)
		}
	})
}

// A reader that is behind asks the store twice for every delta.

type counting struct {
	*memory.Store
	n *atomic.Int64
}

func (c counting) Entries(ctx context.Context, id string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	c.n.Add(1)
	return c.Store.Entries(ctx, id, q)
}

func TestTail_AReaderThatIsBehindDoesNotPollForEveryDelta(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		store := memory.New()
		log := eventlog.New(counting{store, &n}, nil)
		words := strings.SplitAfter(strings.Repeat("word ", 5000), " ")
		rt := newRuntime(t, store, llmtest.Turn{Text: words, DelayMS: 1})
		go func() { _, _ = rt.Run(t.Context(), request(), log.Sink(nil)) }()
		time.Sleep(2 * time.Second) // joins when the beginning of the step has left the buffer
		for range log.Tail(t.Context(), "t", awaken.Cursor{}, eventlog.Follow{RunID: "r"}) {
		}
		if got := n.Load(); got > 500 {
			t.Errorf("one reader asked the store %d times in 3 seconds", got)
		}
	})
}

// A buffer of one entry grows without limit.

func TestTail_BufferOfOne(t *testing.T) {
	l := eventlog.New(&fakeLog{}, &eventlog.Options{Buffer: 1})
	s := l.Sink(nil)
	_ = s.Emit(t.Context(), awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: 1}, Event: &awaken.RunStart{ThreadID: "t", RunID: "r"}})
	for i := range 10000 {
		_ = s.Emit(t.Context(), awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: uint64(i + 2)}, Event: &awaken.TextDelta{}})
	}
	n := 0
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for range l.Tail(ctx, "t", awaken.Cursor{}, eventlog.Follow{}) {
		n++
	}
	if n > 2 {
		t.Errorf("%d entries are kept with a buffer of 1", n)
	}
}

// However many readers have to look into the store, few do at a time.

type crowdedLog struct {
	*memory.Store
	now, most *atomic.Int64
}

func (c crowdedLog) Entries(ctx context.Context, id string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	n := c.now.Add(1)
	defer c.now.Add(-1)
	for {
		if m := c.most.Load(); n <= m || c.most.CompareAndSwap(m, n) {
			break
		}
	}
	time.Sleep(10 * time.Millisecond)
	return c.Store.Entries(ctx, id, q)
}

func TestTail_FewReadersAskTheStoreAtATime(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		log := eventlog.New(crowdedLog{memory.New(), &now, &most}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		for i := range 500 {
			go func() {
				for range log.Tail(ctx, fmt.Sprint("t", i), awaken.Cursor{}, eventlog.Follow{}) {
				}
			}()
		}
		<-ctx.Done()
		synctest.Wait()
		if n := most.Load(); n == 0 || n > 8 {
			t.Errorf("%d readers asked the store at the same time, want at most 8", n)
		}
	})
}
