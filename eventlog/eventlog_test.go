package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/eventlog/eventlogtest"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

func TestMemory(t *testing.T) {
	eventlogtest.Test(t, func(*testing.T) eventlogtest.Store { return memory.New() })
}

func newRuntime(t *testing.T, store awaken.Store, turns ...llmtest.Turn) *engine.Runtime {
	t.Helper()
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(turns...)},
		Store:     store,
	})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func request() awaken.RunRequest {
	return awaken.RunRequest{ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("go")}}
}

// text is what a reader has seen of the answer.
func text(entries []awaken.Entry) string {
	var sb strings.Builder
	for _, e := range entries {
		if d, ok := e.Event.(*awaken.TextDelta); ok {
			sb.WriteString(d.Delta)
		}
	}
	return sb.String()
}

func TestTail_ManyReadersFollowAnActiveRun(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := memory.New()
		log := eventlog.New(store, nil)
		rt := newRuntime(t, store, llmtest.Turn{Text: strings.SplitAfter("a b c d e f g h i j", " "), DelayMS: 100})
		go func() {
			if _, err := rt.Run(t.Context(), request(), log.Sink(nil)); err != nil {
				t.Error(err)
			}
		}()
		results := make(chan string)
		for i := range 5 {
			go func() {
				time.Sleep(time.Duration(i) * 250 * time.Millisecond) // each joins later
				var got []awaken.Entry
				for e, err := range log.Tail(t.Context(), "t", awaken.Cursor{}, eventlog.Follow{RunID: "r"}) {
					if err != nil {
						t.Error(err)
					}
					got = append(got, e)
				}
				var seqs []uint64
				for _, e := range got {
					seqs = append(seqs, e.Seq)
				}
				results <- fmt.Sprint(text(got), seqs)
			}()
		}
		want := ""
		for range 5 {
			got := <-results
			if want == "" {
				want = got
			}
			if got != want || !strings.HasPrefix(got, "a b c d e f g h i j[1 2 3 ") {
				t.Errorf("a reader got %s, another %s", got, want)
			}
		}
	})
}

func TestTail_SeesDeltasBeforeTheyAreCommitted(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := memory.New()
		log := eventlog.New(store, nil)
		rt := newRuntime(t, store, llmtest.Turn{Text: llmtest.Text{"now ", "later"}, DelayMS: 1000})
		began, seen := time.Now(), false
		go func() { _, _ = rt.Run(t.Context(), request(), log.Sink(nil)) }()
		for e, err := range log.Tail(t.Context(), "t", awaken.Cursor{}, eventlog.Follow{RunID: "r"}) {
			if err != nil {
				t.Fatal(err)
			}
			if d, ok := e.Event.(*awaken.TextDelta); ok && d.Delta == "now " {
				seen = true
				if took := time.Since(began); took != time.Second {
					t.Errorf("the first word came after %s, want when it was said, after 1s", took)
				}
			}
		}
		if !seen {
			t.Error("the first word did not come")
		}
	})
}

func TestTail_ASlowReaderLosesNothingAndDelaysNoOther(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := memory.New()
		log := eventlog.New(store, &eventlog.Options{Buffer: 8})
		words := strings.SplitAfter(strings.Repeat("word ", 100), " ")
		rt := newRuntime(t, store, llmtest.Turn{Text: words, DelayMS: 10})
		began := time.Now()
		done := make(chan time.Duration, 1)
		go func() {
			_, _ = rt.Run(t.Context(), request(), log.Sink(nil))
			done <- time.Since(began)
		}()
		var got []awaken.Entry
		for e, err := range log.Tail(t.Context(), "t", awaken.Cursor{}, eventlog.Follow{RunID: "r"}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
			time.Sleep(50 * time.Millisecond)
		}
		if text(got) != strings.Join(words, "") {
			t.Errorf("the reader got %q", text(got))
		}
		if took := <-done; took > 1100*time.Millisecond {
			t.Errorf("the run took %s, want no longer than without a reader, about 1s", took)
		}
	})
}

func TestTail_EndsWithItsContext(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		log := eventlog.New(memory.New(), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for range log.Tail(ctx, "absent", awaken.Cursor{}, eventlog.Follow{}) {
			t.Error("got an entry of a thread that does not exist")
		}
	})
}

func TestTail_SeesWhatAnotherProcessCommits(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := memory.New()
		here, there := eventlog.New(store, nil), eventlog.New(store, nil)
		rt := newRuntime(t, store, llmtest.Turn{Text: llmtest.Text{"far ", "away"}, DelayMS: 5000})
		go func() { _, _ = rt.Run(t.Context(), request(), there.Sink(nil)) }()
		var got []awaken.Entry
		for e, err := range here.Tail(t.Context(), "t", awaken.Cursor{}, eventlog.Follow{RunID: "r"}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if text(got) != "far away" {
			t.Errorf("got %q, want far away", text(got))
		}
	})
}

// Row 20 of the original's list of limits: what was known of a stream was lost with the
// process that streamed it. Here a stream is rebuilt from the log, from any cursor.
func TestTail_AReaderIsRebuiltFromTheLogAfterARestart(t *testing.T) {
	store := memory.New()
	use := llmtest.Use("nothing", `{"a":"some long argument"}`)
	use.Text = strings.SplitAfter("let me look that up", " ")
	rt := newRuntime(t, store, use, llmtest.Turn{Text: strings.SplitAfter("a b c d e f g h i j", " ")})
	var live []awaken.Entry
	first := eventlog.New(store, nil)
	_, err := rt.Run(t.Context(), request(), first.Sink(awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
		live = append(live, e)
		return nil
	})))
	if err != nil {
		t.Fatal(err)
	}
	for i := range live {
		again := eventlog.New(store, nil) // another process
		n := i
		for e, err := range again.Tail(t.Context(), "t", awaken.Cursor{Epoch: live[i].Epoch, Seq: live[i].Seq - 1}, eventlog.Follow{RunID: "r"}) {
			if err != nil {
				t.Fatal(err)
			}
			want, _ := awaken.AppendEvent(nil, live[n].Event)
			got, _ := awaken.AppendEvent(nil, e.Event)
			if e.Cursor != live[n].Cursor || string(got) != string(want) {
				t.Fatalf("from event %d on, event %d is %s %s, want %s %s", i, n, e.Cursor, got, live[n].Cursor, want)
			}
			n++
		}
		if n != len(live) {
			t.Fatalf("from event %d on there are %d, want %d", i, n-i, len(live)-i)
		}
	}
}

func TestTail_EndsWhenTheThreadIsRemoved(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := memory.New()
		log := eventlog.New(store, nil)
		if _, err := newRuntime(t, store, llmtest.Turn{Text: llmtest.Text{"hello"}}).Run(t.Context(), request(), log.Sink(nil)); err != nil {
			t.Fatal(err)
		}
		var ended atomic.Int64
		for range 100 {
			go func() {
				for _, err := range log.Tail(t.Context(), "t", awaken.Cursor{}, eventlog.Follow{}) {
					if err != nil {
						if !errors.Is(err, awaken.ErrNotFound) {
							t.Errorf("error is %v, want ErrNotFound", err)
						}
						ended.Add(1)
					}
				}
			}()
		}
		ctx, cancel := context.WithCancel(t.Context())
		waits := true
		go func() {
			for _, err := range log.Tail(ctx, "other", awaken.Cursor{}, eventlog.Follow{}) {
				t.Errorf("a thread that does not exist yet: %v", err)
			}
			waits = false
		}()
		time.Sleep(time.Minute)
		if n := ended.Load(); n != 0 {
			t.Fatalf("%d readers ended before", n)
		}
		if err := store.DeleteThread(t.Context(), "t", awaken.RejectChildren); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if n := ended.Load(); n != 100 || !waits {
			t.Errorf("%d of 100 readers have ended, and the one of another thread waits: %v", n, waits)
		}
		cancel()
		synctest.Wait()
	})
}
