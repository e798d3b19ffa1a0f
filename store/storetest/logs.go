package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
)

// Logs checks that every process reads the same logs, whatever it has read before: two that
// append in turn, and others that begin later. Threads are forked, deleted and created anew, and
// records change the meaning of earlier ones. Open returns the store as another process
// opens it. It must be an [awaken.ThreadEditor].
func Logs(t *testing.T, seed uint64, rounds int, open func() awaken.Store) {
	l := &logs{T: t, rng: rand.New(rand.NewPCG(seed, 0)), handles: []awaken.Store{open(), open()}, want: map[string][]*llm.Message{}}
	for range rounds {
		id := fmt.Sprint("t", l.rng.IntN(4))
		s := l.handles[l.rng.IntN(len(l.handles))]
		editor := s.(awaken.ThreadEditor)
		var err error
		switch _, exists := l.want[id]; {
		case exists && l.rng.IntN(12) == 0:
			err = editor.DeleteThread(t.Context(), id, awaken.DetachChildren)
			delete(l.want, id)
		case !exists && l.rng.IntN(2) == 0:
			from := fmt.Sprint("t", l.rng.IntN(4))
			if base := l.want[from]; base != nil {
				n := l.rng.IntN(len(base) + 1)
				_, err = editor.Fork(t.Context(), from, n, id, nil)
				l.want[id] = slices.Clone(base[:n])
			}
		default:
			l.append(s, id)
		}
		if err != nil {
			t.Fatal(err)
		}
		if l.rng.IntN(max(rounds/4, 1)) == 0 {
			l.handles = append(l.handles, open())
		}
		for _, s := range l.handles {
			l.check(s)
		}
	}
}

type logs struct {
	*testing.T
	rng     *rand.Rand
	handles []awaken.Store
	want    map[string][]*llm.Message // by thread
	n       int                       // of messages and runs that were made
}

// append appends some messages to a thread.
func (l *logs) append(s awaken.Store, id string) {
	l.Helper()
	o := acquire(l.T, s, id, l.id("run"))
	l.same("Acquire", id, o.cp.View)
	var msgs []*llm.Message
	for range 1 + l.rng.IntN(48) {
		msgs = append(msgs, l.message(append(slices.Clone(l.want[id]), msgs...)))
	}
	if len(msgs) == 1 && l.rng.IntN(2) == 0 {
		msgs[0].ID = "" // the store must not give it one
	}
	c := &awaken.Commit{ThreadID: id, Fence: o.cp.Fence, Number: 1, Time: int64(l.n), Expect: len(l.want[id]), Messages: msgs, Run: o.run}
	c.Run.Status, c.Run.Termination, c.Run.FinishedAt = awaken.RunDone, awaken.Termination{Type: awaken.NaturalEnd}, c.Run.CreatedAt
	if err := s.Commit(l.Context(), c); err != nil {
		l.Fatal(err)
	}
	l.want[id] = append(l.want[id], msgs...)
}

func (l *logs) id(kind string) string {
	l.n++
	return fmt.Sprint(kind, l.n)
}

// message returns a message that can follow a log.
func (l *logs) message(log []*llm.Message) *llm.Message {
	m := &llm.Message{ID: l.id("m"), Role: llm.User, Content: []llm.Block{llm.Text("a question, \"quoted\",\tand \u2028 Zürich 🐟")}}
	seq := func() int { return 1 + l.rng.IntN(len(log)) }
	switch l.rng.IntN(16) {
	case 0, 1, 2, 3:
		step := l.n
		m.Role, m.Content, m.Metadata = llm.Assistant, []llm.Block{llm.Thinking("hm", &llm.Opaque{Provider: "p", Signature: "s", Data: json.RawMessage(`{"a":[1]}`)}), llm.Text("an answer")}, &llm.Metadata{RunID: "run", StepIndex: &step}
	case 4, 5, 6:
		m.Role, m.Content = llm.Assistant, []llm.Block{}
		for range 1 + l.rng.IntN(3) {
			m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: l.id("call"), Name: "tool", Arguments: json.RawMessage(`{"x":"<&>","y":1.50}`)})
		}
	case 7, 8, 9, 10:
		if open := llm.Unanswered(log); len(open) > 0 {
			m.Role, m.ToolCallID = llm.ToolRole, open[l.rng.IntN(len(open))].ID
			if l.rng.IntN(4) == 0 {
				m.Visibility = llm.Internal
			}
		}
	case 11:
		m.Content = []llm.Block{llm.Image(llm.URL("https://example.com/fish.png")), llm.Document(llm.Base64("application/pdf", "JVBERi0="), "fish.pdf")}
		m.Metadata = &llm.Metadata{ClientRole: llm.System, Client: json.RawMessage(`{"parts":[null]}`),
			Arrival: &llm.Arrival{Steps: l.n, Point: llm.DuringCalls, After: "call", Resumed: l.rng.IntN(2) == 0}}
	case 12:
		if len(log) > 0 && l.rng.IntN(3) == 0 {
			m.Role, m.Visibility, m.Content, m.Metadata = llm.System, llm.Internal, []llm.Block{}, &llm.Metadata{Rewind: &llm.Rewind{FromSeq: seq()}}
		}
	case 13:
		if len(log) > 0 && l.rng.IntN(3) == 0 {
			from := seq()
			m.Role, m.Metadata = llm.System, &llm.Metadata{Compaction: &llm.Interval{FromSeq: from, ToSeq: from + l.rng.IntN(len(log)-from+1)}}
		}
	}
	return m
}

// check compares what a process reads with what was written.
func (l *logs) check(s awaken.Store) {
	l.Helper()
	id := fmt.Sprint("t", l.rng.IntN(4))
	want, exists := l.want[id]
	if !exists {
		return
	}
	switch l.rng.IntN(3) {
	case 0:
		view, err := s.View(l.Context(), id)
		if err != nil {
			l.Fatal(err)
		}
		l.same("View", id, view.Messages())
		return
	case 1:
		cp, err := s.Acquire(l.Context(), id)
		if err != nil {
			l.Fatal(err)
		}
		l.same("Acquire", id, cp.View)
		return
	}
	q := awaken.MessageQuery{After: l.rng.IntN(len(want) + 1), Limit: l.rng.IntN(40), Last: l.rng.IntN(2) == 0}
	recs, err := s.Messages(l.Context(), id, q)
	if err != nil {
		l.Fatal(err)
	}
	for _, r := range recs {
		if diff := cmp.Diff(text(l.T, want[r.Seq-1]), text(l.T, r.Message)); diff != "" {
			l.Fatalf("message %d of thread %s (-want +got):\n%s", r.Seq, id, diff)
		}
	}
	if n := len(want) - q.After; q.Limit == 0 && len(recs) != n || q.Limit > 0 && len(recs) != min(q.Limit, n) {
		l.Fatalf("%d messages after %d, limit %d, of %d", len(recs), q.After, q.Limit, len(want))
	}
}

// same compares the view of a thread with that of what was written.
func (l *logs) same(how, id string, got []*llm.Message) {
	l.Helper()
	var view awaken.View
	view.Append(l.want[id]...)
	if diff := cmp.Diff(text(l.T, view.Messages()...), text(l.T, got...)); diff != "" {
		l.Fatalf("%s: view of thread %s (-want +got):\n%s", how, id, diff)
	}
}

// text returns messages as JSON, one in a line.
func text(t *testing.T, msgs ...*llm.Message) (out []string) {
	t.Helper()
	for _, m := range msgs {
		data, err := m.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(data))
	}
	return out
}

// LongAcquire checks that acquiring a thread of 10,000 messages takes as many allocations and
// bytes as acquiring one of 100, once the process has read both.
func LongAcquire(t *testing.T, s awaken.Store) {
	costsTheSame(t, s, func(id string, n int) {
		if cp, err := s.Acquire(t.Context(), id); err != nil || len(cp.View) != n {
			t.Fatal(err)
		}
	})
}

// LongPage checks the same of a page of messages, which get reads.
func LongPage(t *testing.T, s awaken.Store, get func(thread string, n int)) {
	costsTheSame(t, s, func(id string, _ int) { get(id, 50) })
}

func costsTheSame(t *testing.T, s awaken.Store, read func(id string, n int)) {
	measure := func(n int) spent {
		id := fmt.Sprint("long", n)
		NewLong(t, s, id).Grow(n/2, 50)
		read(id, n)
		const times = 10
		least := spent{allocs: math.Inf(1), bytes: math.Inf(1)}
		for range 20 { // the store may still have something to do
			cost := spentBy(func() {
				for range times {
					read(id, n)
				}
			})
			least.allocs, least.bytes = min(least.allocs, cost.allocs/times), min(least.bytes, cost.bytes/times)
			time.Sleep(10 * time.Millisecond)
		}
		return least
	}
	most := testenv.Times(3000, 10_000)
	short, long := measure(100), measure(most)
	t.Logf("100 messages: %.0f allocations, %.0f bytes; %d messages: %.0f, %.0f", short.allocs, short.bytes, most, long.allocs, long.bytes)
	if long.allocs > 1.2*short.allocs || long.bytes > 1.3*short.bytes {
		t.Errorf("reading a long thread takes %.2f times as many allocations and %.2f times as many bytes", long.allocs/short.allocs, long.bytes/short.bytes)
	}
}

// NewLogs checks that a process that has read a thread's log does not take it for the log of a thread
// that another process created after the first one was deleted, even if both have the same number of
// messages with the same ids and times. Open returns the store as another process opens it.
func NewLogs(t *testing.T, open func() awaken.Store) {
	here, there := open(), open()
	write := func(s awaken.Store, id, say string) {
		o := acquire(t, s, id, "run of "+id+say)
		c := &awaken.Commit{ThreadID: id, Fence: o.cp.Fence, Number: 1, Time: 1, Run: o.run}
		c.Run.Status, c.Run.Termination, c.Run.FinishedAt = awaken.RunDone, awaken.Termination{Type: awaken.NaturalEnd}, c.Run.CreatedAt
		for i := range 100 {
			c.Messages = append(c.Messages, &llm.Message{ID: fmt.Sprint("m", i), Role: llm.User, Content: []llm.Block{llm.Text(say)}})
		}
		if err := s.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	check := func(id, want string) {
		t.Helper()
		recs, err := here.Messages(t.Context(), id, awaken.MessageQuery{})
		if err != nil || len(recs) != 100 {
			t.Fatalf("%d messages, %v", len(recs), err)
		}
		cp, err := here.Acquire(t.Context(), id)
		if err != nil || len(cp.View) != 100 {
			t.Fatalf("a view of %d messages, %v", len(cp.View), err)
		}
		for i, m := range cp.View {
			if m.Text() != want || recs[i].Message.Text() != want {
				t.Fatalf("message %d of thread %s: the view has %q, the log %q, want %q", i, id, m.Text(), recs[i].Message.Text(), want)
			}
		}
	}
	remove := func(id string) {
		if err := there.(awaken.ThreadEditor).DeleteThread(t.Context(), id, awaken.DetachChildren); err != nil {
			t.Fatal(err)
		}
	}
	write(here, "t", "old")
	check("t", "old")
	remove("t")
	write(there, "t", "new")
	check("t", "new")
	// A fork that is made anew has not been acquired in between.
	write(here, "u", "other")
	for _, say := range []string{"t", "u", "t"} {
		if _, err := there.(awaken.ThreadEditor).Fork(t.Context(), say, 100, "fork", nil); err != nil {
			t.Fatal(err)
		}
		check("fork", map[string]string{"t": "new", "u": "other"}[say])
		remove("fork")
	}
	remove("t")
	if _, err := here.Messages(t.Context(), "t", awaken.MessageQuery{}); !errors.Is(err, awaken.ErrNotFound) {
		t.Fatalf("messages of a deleted thread: %v", err)
	}
}

// ReadTogether checks that a log can be read while it grows.
func ReadTogether(t *testing.T, s awaken.Store) {
	l := NewLong(t, s, "t")
	l.Grow(50, 50)
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for last := 0; ; {
				select {
				case <-done:
					return
				default:
				}
				recs, err := s.Messages(t.Context(), "t", awaken.MessageQuery{})
				if err != nil || len(recs) < last {
					t.Errorf("%d messages after %d, %v", len(recs), last, err)
					return
				}
				if last = len(recs); recs[last-1].Message.ID != fmt.Sprintf("a%06d", last/2-1) {
					t.Errorf("message %d is %s", last, recs[last-1].Message.ID)
					return
				}
			}
		})
	}
	for range 30 {
		cp, err := s.Acquire(t.Context(), "t")
		if err != nil || len(cp.View) != 2*l.Turns || cp.View[len(cp.View)-1].ID != fmt.Sprintf("a%06d", l.Turns-1) {
			t.Errorf("a view of %d messages, want %d, %v", len(cp.View), 2*l.Turns, err)
		}
		l.cp, l.n = cp, 1000*cp.Fence
		l.Commit(1)
	}
	close(done)
	wg.Wait()
}

// Segments checks that a process reads a long log from its segments, that it reads the messages that no
// segment holds from the commits, and that it reports a damaged segment and writes it anew. Open returns
// the store as another process opens it. Exec executes a statement on the database, in which {p} is the prefix, and
// returns how many rows it changed.
func Segments(t *testing.T, open func(logger *slog.Logger) awaken.Store, exec func(query string) int64) {
	const turns, whole = 500, 768 // of the 1000 messages, that many are in segments
	quiet := slog.New(slog.DiscardHandler)
	first := open(quiet)
	l := NewLong(t, first, "t")
	l.Grow(100, 1)
	view := func(s awaken.Store, id string, n int) (texts []string) {
		t.Helper()
		cp, err := s.Acquire(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.View(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if texts = text(t, cp.View...); len(texts) != n || !slices.Equal(texts, text(t, v.Log()...)) {
			t.Fatalf("the view of thread %s has %d messages, the log %d, want %d", id, len(texts), len(v.Log()), n)
		}
		return texts
	}
	view(first, "t", 200)
	l.cp, _ = first.Acquire(t.Context(), "t")
	l.n = 1000
	l.Grow(turns, 1)
	want := view(first, "t", 2*turns) // what it knew and what it has read since
	written := func(n int64) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); exec("UPDATE {p}_segments SET upto = upto WHERE length(data) > 1000") != n; {
			if time.Now().After(deadline) {
				t.Fatalf("%d segments, want %d", exec("UPDATE {p}_segments SET upto = upto"), n)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	written(3)
	if got := view(open(quiet), "t", 2*turns); !slices.Equal(want, got) {
		t.Error("another process reads another log")
	}
	// Damage, in the last and the first segment.
	for _, upto := range []int{768, 256} {
		if n := exec(fmt.Sprintf("UPDATE {p}_segments SET data = substr(data, 1, 100) WHERE upto = %d", upto)); n != 1 {
			t.Fatalf("%d segments up to %d", n, upto)
		}
		report := &strings.Builder{}
		if got := view(open(slog.New(slog.NewTextHandler(report, nil))), "t", 2*turns); !slices.Equal(want, got) {
			t.Errorf("a process reads another log if the segment up to %d is damaged", upto)
		}
		if !strings.Contains(report.String(), fmt.Sprint("upto=", upto)) {
			t.Errorf("it does not report the damage: %q", report)
		}
		written(3)
	}
	// A page and a fork use what they share.
	editor := first.(awaken.ThreadEditor)
	if _, err := editor.Fork(t.Context(), "t", 600, "fork", nil); err != nil {
		t.Fatal(err)
	}
	// Without the rows of the commits, there are only the segments.
	if n := exec(fmt.Sprintf("UPDATE {p}_commits SET messages = NULL WHERE upto <= %d", 512)); n == 0 {
		t.Fatal("there are no commits")
	}
	if got := view(open(quiet), "t", 2*turns); !slices.Equal(want, got) {
		t.Error("a process does not read the segments")
	}
	if got := view(open(quiet), "fork", 600); !slices.Equal(want[:600], got) {
		t.Error("a fork does not read the segments that it shares")
	}
	if err := editor.DeleteThread(t.Context(), "fork", awaken.DetachChildren); err != nil {
		t.Fatal(err)
	}
	// A process of the version before removes a thread, but not its segments.
	for _, table := range []string{"threads", "commits", "runs", "state"} {
		exec("DELETE FROM {p}_" + table)
	}
	written(3)
	l = NewLong(t, first, "t")
	l.n = 2000
	l.Grow(250, 1)
	for _, s := range []awaken.Store{open(quiet), first} {
		if got := view(s, "t", 500); !strings.Contains(got[1], "run-002001") {
			t.Errorf("the new thread has the old segments: %s", got[1])
		}
	}
	if err := editor.DeleteThread(t.Context(), "t", awaken.DetachChildren); err != nil {
		t.Fatal(err)
	}
	written(0)
}
