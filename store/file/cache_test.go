package file_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/store/file"
)

// A store with hardly any cache that is closed and killed again and again returns the same
// as one that caches everything.
func TestCache_LosesNothing(t *testing.T) {
	t.Parallel()
	if err := flag.Set("rapid.checks", strconv.Itoa(testenv.Times(30, 100))); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		p := newPair(t, rt)
		defer p.close()
		rt.Repeat(map[string]func(*rapid.T){
			"commit": p.commit, "commit more": p.commit, "and more": p.commit, "post": p.post, "acquire": p.acquire, "interrupt": p.interrupt,
			"fork": p.fork, "delete": p.delete, "metadata": p.metadata, "prune": p.prune, "read": p.read, "entries": p.entries, "reopen": p.reopen, "kill": p.kill, "": func(*rapid.T) {},
		})
		a, b := dumpDir(t, cloned(t, p.dirs[0])), dumpDir(t, cloned(t, p.dirs[1]))
		if a != b {
			rt.Fatalf("they differ:\n%s\n%s", a, b)
		}
	})
}

// pair is two stores that get the same calls.
type pair struct {
	t      *testing.T
	dirs   [2]string
	stores [2]*file.Store
	owners map[string]*owner
	ids    []string
	n      int
}

var opts = [2]*file.Options{{NoCopies: true, Now: noon}, {Cache: 3000, Files: 2, Now: noon}}

func noon() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

func newPair(t *testing.T, rt *rapid.T) *pair {
	p := &pair{t: t, owners: map[string]*owner{}, ids: []string{"a", "b", "c", "d", "e"}}
	for i := range p.dirs {
		p.dirs[i] = t.TempDir()
		p.open(rt, i)
	}
	return p
}

func (p *pair) open(rt *rapid.T, i int) {
	s, err := file.OpenUnsynced(p.dirs[i], opts[i])
	if err != nil {
		rt.Fatal(err)
	}
	p.stores[i] = s
}

func (p *pair) close() {
	for _, s := range p.stores {
		_ = s.Close()
	}
}

func (p *pair) reopen(rt *rapid.T) {
	if err := p.stores[1].Close(); err != nil {
		rt.Fatal(err)
	}
	p.open(rt, 1)
}

// kill continues with a copy of the folder, as a dying process leaves it.
func (p *pair) kill(rt *rapid.T) {
	if rapid.Bool().Draw(rt, "with a new index") {
		if err := p.stores[1].SaveIndex(); err != nil {
			rt.Fatal(err)
		}
	}
	p.dirs[1] = cloned(p.t, p.dirs[1])
	_ = p.stores[1].Close() // the abandoned one
	p.open(rt, 1)
}

// both calls both stores and compares the results.
func (p *pair) both(rt *rapid.T, what string, fn func(ctx context.Context, s *file.Store) (any, error)) error {
	var got [2]string
	var errs [2]error
	for i, s := range p.stores {
		v, err := fn(p.t.Context(), s)
		data, jerr := json.Marshal(v)
		if jerr != nil {
			rt.Fatal(jerr)
		}
		got[i], errs[i] = fmt.Sprint(string(data), err), err
	}
	if got[0] != got[1] {
		rt.Fatalf("%s: one says\n%s\nthe other\n%s", what, got[0], got[1])
	}
	return errs[0]
}

func (p *pair) id(rt *rapid.T) string { return rapid.SampledFrom(p.ids).Draw(rt, "thread") }

func (p *pair) acquire(rt *rapid.T) {
	id := p.id(rt)
	p.n++
	var cp *awaken.Checkpoint
	_ = p.both(rt, "acquire", func(ctx context.Context, s *file.Store) (any, error) {
		var err error
		cp, err = s.Acquire(ctx, id)
		return cp, err
	})
	run := fmt.Sprint("run-", p.n)
	if cp.Run != nil && cp.Run.Status != awaken.RunDone {
		run = cp.Run.RunID
	}
	p.owners[id] = &owner{TB: p.t, cp: cp, count: cp.Thread.MessageCount, seq: cp.Thread.End.Seq, run: awaken.Run{RunID: run, ThreadID: id, AgentID: "a", Status: awaken.RunRunning}}
}

func (p *pair) commit(rt *rapid.T) {
	o := p.owners[p.id(rt)]
	if o == nil {
		p.acquire(rt)
		return
	}
	p.n++
	var said []string
	for i := range rapid.IntRange(0, 3).Draw(rt, "messages") {
		said = append(said, fmt.Sprint(p.n, "/", i, strings.Repeat("x", rapid.IntRange(0, 300).Draw(rt, "length"))))
	}
	status := rapid.IntRange(0, 2).Draw(rt, "status")
	read := rapid.Bool().Draw(rt, "read")
	rest := rapid.Bool().Draw(rt, "rest")
	seq := o.seq
	err := p.both(rt, "commit", func(ctx context.Context, s *file.Store) (any, error) {
		o.seq = seq
		c := o.next([]func(*awaken.Commit){nil, waits, done}[status], said...)
		c.RequireEmptyInbox, c.Time = rest, int64(p.n)
		if read {
			items, err := s.Unread(ctx, c.ThreadID)
			if err != nil && !errors.Is(err, awaken.ErrNotFound) {
				return nil, err
			}
			for _, it := range items {
				c.Read = append(c.Read, it.ID)
			}
		}
		if p.n%5 == 0 {
			c.State = append(c.State, state.Change{Key: "mine"})
		}
		err := s.Commit(ctx, c)
		return c.Unread, err
	})
	if err != nil {
		o.seq = seq
		return
	}
	o.number, o.count = o.number+1, o.count+len(said)
	if status == 2 {
		delete(p.owners, o.cp.Thread.ID)
	}
}

func (p *pair) post(rt *rapid.T) {
	id, item := p.id(rt), fmt.Sprint("item-", rapid.IntRange(0, 20).Draw(rt, "item"))
	_ = p.both(rt, "post", func(ctx context.Context, s *file.Store) (any, error) {
		return nil, s.Post(ctx, id, awaken.InboxItem{ID: item}, awaken.InboxItem{ID: item + "b"})
	})
}

func (p *pair) interrupt(rt *rapid.T) {
	id := p.id(rt)
	_ = p.both(rt, "interrupt", func(ctx context.Context, s *file.Store) (any, error) { return s.Interrupt(ctx, id) })
}

func (p *pair) fork(rt *rapid.T) {
	from, to, seq := p.id(rt), p.id(rt), rapid.IntRange(0, 6).Draw(rt, "seq")
	_ = p.both(rt, "fork", func(ctx context.Context, s *file.Store) (any, error) { return s.Fork(ctx, from, seq, to, nil) })
}

func (p *pair) delete(rt *rapid.T) {
	id := p.id(rt)
	how := rapid.SampledFrom([]awaken.ChildStrategy{awaken.DetachChildren, awaken.CascadeChildren, awaken.RejectChildren}).Draw(rt, "children")
	_ = p.both(rt, "delete", func(ctx context.Context, s *file.Store) (any, error) { return nil, s.DeleteThread(ctx, id, how) })
}

func (p *pair) metadata(rt *rapid.T) {
	id := p.id(rt)
	p.n++
	custom := map[string]json.RawMessage{"n": json.RawMessage(fmt.Sprint(p.n))}
	_ = p.both(rt, "metadata", func(ctx context.Context, s *file.Store) (any, error) {
		_, err := s.UpdateThread(ctx, id, func(th *awaken.Thread) error {
			th.Metadata.Title, th.Metadata.Custom = "title", custom
			return nil
		})
		return nil, err
	})
}

func (p *pair) prune(rt *rapid.T) {
	before := time.UnixMilli(int64(p.n - 20))
	_ = p.both(rt, "prune", func(ctx context.Context, s *file.Store) (any, error) { return s.Prune(ctx, before) })
}

func (p *pair) read(rt *rapid.T) {
	id := p.id(rt)
	q := awaken.MessageQuery{After: rapid.IntRange(0, 5).Draw(rt, "after"), Limit: rapid.IntRange(0, 3).Draw(rt, "limit"), Last: rapid.Bool().Draw(rt, "last")}
	_ = p.both(rt, "messages", func(ctx context.Context, s *file.Store) (any, error) { return s.Messages(ctx, id, q) })
	_ = p.both(rt, "thread", func(ctx context.Context, s *file.Store) (any, error) { return s.Thread(ctx, id) })
	_ = p.both(rt, "threads", func(ctx context.Context, s *file.Store) (any, error) {
		return s.ListThreads(ctx, awaken.ThreadQuery{Offset: q.After})
	})
	_ = p.both(rt, "runs", func(ctx context.Context, s *file.Store) (any, error) {
		return s.ListRuns(ctx, awaken.RunQuery{Offset: q.After, Limit: q.Limit})
	})
	_ = p.both(rt, "runs of a thread", func(ctx context.Context, s *file.Store) (any, error) {
		runs, err := s.ListRuns(ctx, awaken.RunQuery{ThreadID: id, Status: awaken.RunDone})
		for _, r := range runs {
			if _, err := s.Calls(ctx, r.RunID); err != nil {
				return nil, err
			}
		}
		return runs, err
	})
}

func (p *pair) entries(rt *rapid.T) {
	id := p.id(rt)
	q := awaken.EntryQuery{After: rapid.Uint64Range(0, 20).Draw(rt, "after"), Epoch: rapid.Uint64Range(0, 3).Draw(rt, "epoch"), Limit: rapid.IntRange(0, 3).Draw(rt, "limit")}
	_ = p.both(rt, "entries", func(ctx context.Context, s *file.Store) (any, error) { return s.Entries(ctx, id, q) })
	q.RunID = fmt.Sprint("run-", rapid.IntRange(0, 20).Draw(rt, "run"))
	_ = p.both(rt, "entries of a run", func(ctx context.Context, s *file.Store) (any, error) { return s.Entries(ctx, id, q) })
}

func TestCache_IsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const limit = 200 << 10
	s := quick(t, dir, &file.Options{Cache: limit, NoCopies: true})
	large := strings.Repeat("x", 4000)
	for i := range 100 {
		o := acquire(t, s, fmt.Sprint("t", i), fmt.Sprint("r", i))
		for n := range 5 {
			o.commit(nil, fmt.Sprint(large, n))
		}
		if n, size := s.Loaded(); size > limit || n == 0 {
			t.Fatalf("%d threads in memory take %d bytes", n, size)
		}
	}
	for i := range 100 {
		if got := texts(t, s, fmt.Sprint("t", i)); len(got) != 5 || got[4] != large+"4" {
			t.Fatalf("thread %d has %d messages", i, len(got))
		}
		if n, size := s.Loaded(); size > limit || n == 0 {
			t.Fatalf("%d threads in memory take %d bytes", n, size)
		}
	}
	// A thread that is larger than the whole cache keeps no events in it.
	o := acquire(t, s, "huge", "huge")
	for n := range 200 {
		o.commit(func(c *awaken.Commit) { c.State, c.Calls = nil, nil }, fmt.Sprint(large, n))
	}
	if n, size := s.Loaded(); n != 1 || size > 200*2*(4000+800) {
		t.Errorf("%d threads in memory take %d bytes", n, size)
	}
	entries, err := s.Entries(t.Context(), "huge", awaken.EntryQuery{})
	if err != nil || len(entries) != 200 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}

// Writers, readers, forks and deletions at once with a tiny cache, for the race detector.
func TestStore_ManyAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, &file.Options{Cache: 20 << 10, Files: 4})
	ctx := context.Background()
	ok := func(err error) {
		for _, fine := range []error{awaken.ErrNotFound, awaken.ErrFenced, awaken.ErrConflict, awaken.ErrUnread} {
			if errors.Is(err, fine) {
				return
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(w)))
			own := fmt.Sprint("own", w)
			cp, err := s.Acquire(ctx, own)
			if err != nil {
				t.Error(err)
				return
			}
			for n := range 60 {
				c := &awaken.Commit{ThreadID: own, Fence: cp.Fence, Number: uint64(n + 1), Time: 1, Expect: n, Run: awaken.Run{RunID: own, ThreadID: own, Status: awaken.RunRunning}}
				o := &owner{TB: t, cp: cp, count: n, number: uint64(n), seq: uint64(n), run: c.Run}
				change := func(*awaken.Commit) {}
				if n%10 == 9 {
					change = waits
				}
				if err := s.Commit(ctx, o.next(change, fmt.Sprint(own, n))); err != nil {
					t.Errorf("%s, commit %d: %v", own, n, err)
					return
				}
				shared := fmt.Sprint("shared", rng.IntN(4))
				switch rng.IntN(10) {
				case 0:
					_, err = s.Fork(ctx, own, rng.IntN(n+1), shared, nil)
				case 1:
					err = s.DeleteThread(ctx, shared, []awaken.ChildStrategy{awaken.DetachChildren, awaken.CascadeChildren, awaken.RejectChildren}[rng.IntN(3)])
				case 2:
					_, err = s.Acquire(ctx, shared)
				case 3:
					err = s.Post(ctx, shared, awaken.InboxItem{ID: fmt.Sprint(w, n)})
				case 4:
					_, err = s.Entries(ctx, fmt.Sprint("own", rng.IntN(8)), awaken.EntryQuery{After: uint64(rng.IntN(50))})
				case 5:
					_, err = s.ListRuns(ctx, awaken.RunQuery{})
				case 6:
					_, err = s.Messages(ctx, fmt.Sprint("own", rng.IntN(8)), awaken.MessageQuery{})
				case 7:
					_, err = s.ListThreads(ctx, awaken.ThreadQuery{})
				case 8:
					_, err = s.Prune(ctx, time.UnixMilli(500))
				case 9:
					err = s.SaveIndex()
				}
				ok(err)
			}
		})
	}
	wg.Wait()
	closing(t, s)
	s = quick(t, dir, nil)
	for w := range 8 {
		if got := texts(t, s, fmt.Sprint("own", w)); len(got) != 60 {
			t.Errorf("thread %d has %d messages", w, len(got))
		}
	}
	closing(t, s)
	checkCopies(t, dir)
}
