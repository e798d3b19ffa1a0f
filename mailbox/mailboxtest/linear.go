package mailboxtest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/mailbox"
)

// Linearizable lets many goroutines use a queue at once and checks that what they saw
// can be explained by their operations happening one after the other, each at some
// moment between its call and its return. Threads are checked one by one.
func Linearizable(t *testing.T, b Backend) {
	if err := linearizable(t, newKit(t, b), testenv.Times(roundOps, 1_000_000)); err != nil {
		t.Fatal(err)
	}
}

const (
	roundOps     = 2000 // so that the histories stay short enough to be checked fast
	roundThreads = 4
	roundWorkers = 8
)

// linearizable does so many operations, in rounds on threads of their own.
func linearizable(t *testing.T, k *kit, ops int) error {
	kinds := map[string]int{}
	defer func() { t.Logf("checked: %v", kinds) }()
	for round := 0; round*roundOps < ops; round++ {
		h := &history{kit: k, round: round}
		if err := h.make(); err != nil {
			return err
		}
		for _, op := range h.events {
			kinds[op.Input.(*step).outcome()]++
		}
		for thread, events := range h.byThread() {
			result, info := porcupine.CheckOperationsVerbose(threadModel, events, time.Minute)
			if result == porcupine.Ok {
				continue
			}
			file := filepath.Join(t.ArtifactDir(), thread+".html")
			if err := porcupine.VisualizePath(threadModel, info, file); err != nil {
				return err
			}
			return fmt.Errorf("the %d operations on thread %s have no order (%s); go test -artifacts keeps %s", len(events), thread, result, file)
		}
	}
	return nil
}

// The operations of a history. What an operation was told and what it answered are the
// fields of one step; the model needs no more than that.
type step struct {
	kind   string // enqueue, interrupt, cancel, look, claim, renew, settle, reclaim
	thread string
	id     string // of the dispatch
	token  string
	key    string // dedupe key
	steps  int
	status mailbox.Status
	failed bool
	short  bool // the lease is over at once, or the dispatch is put off for good

	ok   bool   // it was queued, not left out; or the claim still held
	flag bool   // of a renewal
	seen string // by a change or a claim
	rank rank   // of what was queued; filled in when all is over
}

// outcome is what kind of thing happened.
func (st *step) outcome() string {
	switch st.kind {
	case "enqueue", "renew", "settle":
		if !st.ok {
			return st.kind + " refused"
		}
	}
	return st.kind
}

// rank is what decides the order of a thread's dispatches.
type rank struct {
	priority int
	created  int64
	id       string
}

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(r.priority, o.priority), cmp.Compare(r.created, o.created), cmp.Compare(r.id, o.id))
}

// entry is a live dispatch of the model.
type entry struct {
	rank
	epoch           uint64
	key             string
	token           string // of its claim, or ""
	short           bool   // its lease is over
	putOff          bool   // it will not be available again
	cancel          bool
	attempts, steps int
	crashes         int
}

func (e entry) String() string {
	return fmt.Sprintf("{%s epoch %d token %q cancel %v attempts %d steps %d crashes %d}",
		e.id, e.epoch, e.token, e.cancel, e.attempts, e.steps, e.crashes)
}

// shown is a stored dispatch as the model would show it.
func shown(d *mailbox.Dispatch) string {
	return entry{
		rank:     rank{id: d.ID},
		epoch:    d.Epoch,
		token:    d.ClaimToken,
		cancel:   d.Cancel,
		attempts: d.Attempts,
		steps:    d.Steps,
		crashes:  d.Crashes,
	}.String()
}

// sequential is a thread of the model: its live dispatches in order.
type sequential struct {
	epoch uint64
	live  []entry
}

func (s sequential) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "epoch %d", s.epoch)
	for _, e := range s.live {
		out.WriteString(" " + e.String())
	}
	return out.String()
}

func (s sequential) equal(o sequential) bool {
	return s.epoch == o.epoch && slices.Equal(s.live, o.live)
}

// find returns the place of a dispatch, or -1.
func (s sequential) find(id string) int {
	return slices.IndexFunc(s.live, func(e entry) bool { return e.id == id })
}

// claimed returns the place of the dispatch that is claimed, or -1.
func (s sequential) claimed() int {
	return slices.IndexFunc(s.live, func(e entry) bool { return e.token != "" })
}

// with returns the thread with a dispatch changed, or without it if to is nil.
func (s sequential) with(i int, to *entry) sequential {
	out := sequential{epoch: s.epoch, live: slices.Clone(s.live)}
	if to == nil {
		out.live = slices.Delete(out.live, i, i+1)
	} else {
		out.live[i] = *to
	}
	return out
}

// apply returns the states that a step may lead to: none if it cannot have happened.
func (s sequential) apply(st *step) []sequential {
	is := func(ok bool, next sequential) []sequential {
		if !ok {
			return nil
		}
		return []sequential{next}
	}
	switch st.kind {
	case "enqueue":
		if st.key != "" && slices.ContainsFunc(s.live, func(e entry) bool { return e.key == st.key }) {
			return is(!st.ok, s)
		}
		e := entry{rank: st.rank, epoch: s.epoch, key: st.key, putOff: st.short}
		at, _ := slices.BinarySearchFunc(s.live, e, func(a, b entry) int { return a.compare(b.rank) })
		return is(st.ok, sequential{epoch: s.epoch, live: slices.Insert(slices.Clone(s.live), at, e)})
	case "look":
		return is(st.seen == s.String(), s)
	case "interrupt":
		next := sequential{epoch: s.epoch + 1}
		for _, e := range s.live {
			if e.token != "" {
				e.cancel = true
				next.live = append(next.live, e)
			}
		}
		return is(st.seen == s.String(), next)
	case "cancel":
		i := s.find(st.id)
		switch {
		case i < 0:
			return is(st.seen == s.String(), s)
		case s.live[i].token == "":
			return is(st.seen == s.String(), s.with(i, nil))
		}
		e := s.live[i]
		e.cancel = true
		return is(st.seen == s.String(), s.with(i, &e))
	case "claim":
		first := slices.IndexFunc(s.live, func(e entry) bool { return !e.putOff })
		if first < 0 || s.claimed() >= 0 || s.live[first].id != st.id {
			return nil
		}
		e := s.live[first]
		e.token, e.short = st.token, st.short
		return is(st.seen == e.String(), s.with(first, &e))
	case "reclaim":
		// Whether it was in time for this thread cannot be known.
		i := s.claimed()
		if i < 0 || !s.live[i].short {
			return []sequential{s}
		}
		e := s.live[i]
		e.token, e.short = "", false
		e.crashes++ // and no attempt: none is left
		return []sequential{s, s.with(i, &e)}
	}
	i := s.find(st.id)
	if i < 0 || s.live[i].token != st.token {
		return is(!st.ok, s)
	}
	e := s.live[i]
	if st.steps > e.steps {
		e.steps, e.attempts, e.crashes = st.steps, 0, 0
	}
	if st.kind == "renew" {
		e.short = st.short
		return is(st.ok && st.flag == e.cancel, s.with(i, &e))
	}
	if st.status != mailbox.Queued {
		return is(st.ok, s.with(i, nil))
	}
	e.token, e.putOff = "", st.short
	if st.failed {
		e.attempts++
	}
	return is(st.ok, s.with(i, &e))
}

var threadModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{sequential{}} },
	Step: func(state, input, _ any) []any {
		var out []any
		for _, next := range state.(sequential).apply(input.(*step)) {
			out = append(out, next)
		}
		return out
	},
	Equal:             func(a, b any) bool { return a.(sequential).equal(b.(sequential)) },
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", *input.(*step)) },
	DescribeState:     func(state any) string { return state.(sequential).String() },
}).ToModel()

// history is one round: what was done, and when.
type history struct {
	*kit
	round int
	clock atomic.Int64 // counts calls and returns

	mu     sync.Mutex
	events []porcupine.Operation
	held   []*mailbox.Dispatch // claims, and what once was one
	ids    []*step             // what was queued
}

// do does something and records it with the steps that it turned out to be.
func (h *history) do(worker int, fn func() ([]*step, error)) error {
	call := h.clock.Add(1)
	steps, err := fn()
	back := h.clock.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, st := range steps {
		h.events = append(h.events, porcupine.Operation{ClientId: worker, Input: st, Call: call, Return: back})
		if st.kind == "enqueue" && st.ok {
			h.ids = append(h.ids, st)
		}
	}
	return err
}

func (h *history) thread(i int) string { return fmt.Sprintf("round%04d-t%d", h.round, i) }

// make lets the workers work, and cleans up after them.
func (h *history) make() error {
	errs := make([]error, roundWorkers)
	h.together(roundWorkers, func(i int, q mailbox.Queue) {
		rnd := rand.New(rand.NewPCG(uint64(h.round), uint64(i)))
		for n := range roundOps / roundWorkers {
			if errs[i] = h.one(i, n, q, rnd); errs[i] != nil {
				return
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, st := range h.ids { // the order of a thread depends on when the store says they were queued
		d, err := h.store.Dispatch(h.Context(), st.id)
		if err != nil {
			return err
		}
		st.rank = rank{d.Priority, d.CreatedAt, d.ID}
	}
	for i := range roundThreads {
		var claims []mailbox.Settlement
		err := h.store.Change(h.Context(), h.thread(i), func(t *mailbox.Thread) error {
			claims = nil
			for _, d := range t.Live {
				if d.Status == mailbox.Claimed {
					claims = append(claims, mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked})
					continue
				}
				c := *d
				c.Status, c.CompletedAt = mailbox.Cancelled, t.Now
				t.Put = append(t.Put, &c)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if _, err := h.Queue.Settle(h.Context(), claims...); err != nil {
			return err
		}
	}
	return nil
}

// one does one operation.
func (h *history) one(worker, n int, q mailbox.Queue, rnd *rand.Rand) error {
	st := &step{thread: h.thread(rnd.IntN(roundThreads)), short: rnd.IntN(4) == 0}
	s := q.Handle("")
	switch what := rnd.IntN(100); {
	case what < 25:
		st.kind, st.id, st.short = "enqueue", fmt.Sprintf("r%d-%d-%d", h.round, worker, n), rnd.IntN(10) == 0
		if rnd.IntN(5) == 0 {
			st.key = number("key", rnd.IntN(2))
		}
		d := dispatch(st.thread, st.id, priority(rnd.IntN(3)), dedupe(st.key))
		d.MaxAttempts = 0 // whether a claim was alone depends on other threads
		if st.short {
			d.AvailableAt = forever.Milliseconds()
		}
		return h.do(worker, func() ([]*step, error) {
			left, err := s.Enqueue(h.Context(), mailbox.Terms{}, d)
			st.ok = len(left) == 0
			return []*step{st}, err
		})
	case what < 37:
		st.kind = []string{"look", "look", "cancel", "cancel", "cancel", "interrupt"}[rnd.IntN(6)]
		if d := h.claimed(rnd); d != nil && rnd.IntN(2) == 0 {
			st.id, st.thread = d.ID, d.ThreadID
		}
		return h.do(worker, func() ([]*step, error) {
			err := s.Change(h.Context(), st.thread, func(t *mailbox.Thread) error { st.change(t); return nil })
			if errors.Is(err, awaken.ErrNotFound) { // it has not been made yet
				return nil, nil
			}
			return []*step{st}, err
		})
	case what < 64:
		lease := forever
		if st.short {
			lease = 0
		}
		return h.do(worker, func() ([]*step, error) {
			ds, _, err := h.claimFrom(q, mailbox.ClaimRequest{Consumer: number("w", worker), Lease: lease, Limit: 1 + rnd.IntN(3), Suspects: 3})
			var steps []*step
			for _, d := range ds {
				steps = append(steps, &step{kind: "claim", thread: d.ThreadID, id: d.ID, token: d.ClaimToken, short: st.short, seen: shown(d)})
			}
			h.mu.Lock()
			h.held = append(h.held, ds...)
			h.mu.Unlock()
			return steps, err
		})
	case what < 67:
		return h.do(worker, func() ([]*step, error) {
			_, err := q.Reclaim(h.Context(), 100)
			var steps []*step
			for i := range roundThreads {
				steps = append(steps, &step{kind: "reclaim", thread: h.thread(i)})
			}
			return steps, err
		})
	}
	d := h.claimed(rnd)
	if d == nil {
		return nil
	}
	held := d.Claim()
	held.Steps = rnd.IntN(4)
	st.thread, st.id, st.token, st.steps = d.ThreadID, d.ID, d.ClaimToken, held.Steps
	if rnd.IntN(4) == 0 {
		st.kind = "renew"
		lease := forever
		if st.short {
			lease = 0
		}
		return h.do(worker, func() ([]*step, error) {
			out, err := q.Renew(h.Context(), lease, held)
			if err == nil {
				st.ok, st.flag = !out[0].Lost, out[0].Cancel
			}
			return []*step{st}, err
		})
	}
	st.kind, st.status, st.failed = "settle", []mailbox.Status{mailbox.Acked, mailbox.Queued, mailbox.DeadLetter}[rnd.IntN(3)], rnd.IntN(2) == 0
	set := mailbox.Settlement{Claim: held, Status: st.status, Failed: st.failed}
	if st.short {
		set.Delay = forever
	}
	return h.do(worker, func() ([]*step, error) {
		errs, err := q.Settle(h.Context(), set)
		if err == nil {
			if st.ok = errs[0] == nil; !st.ok && !errors.Is(errs[0], awaken.ErrFenced) {
				err = errs[0]
			}
		}
		if st.ok && rnd.IntN(4) > 0 { // some are settled again, in vain
			h.mu.Lock()
			h.held = slices.DeleteFunc(h.held, func(o *mailbox.Dispatch) bool { return o == d })
			h.mu.Unlock()
		}
		return []*step{st}, err
	})
}

// forever is longer than a test takes.
const forever = 1000 * time.Hour

// claimed returns one of the claims, rather a late one, or nil.
func (h *history) claimed(rnd *rand.Rand) *mailbox.Dispatch {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.held) == 0 {
		return nil
	}
	return h.held[len(h.held)-1-rnd.IntN(min(len(h.held), roundThreads))]
}

// change is what the steps look, cancel and interrupt do to a thread.
func (st *step) change(t *mailbox.Thread) {
	s := sequential{epoch: t.Epoch}
	var seen strings.Builder
	seen.WriteString(s.String())
	for _, d := range t.Live {
		seen.WriteString(" " + shown(d))
		if st.kind == "look" || st.kind == "cancel" && st.id != d.ID {
			continue
		}
		c := *d
		if c.Status == mailbox.Queued {
			c.Status, c.CompletedAt = mailbox.Cancelled, t.Now
		} else {
			c.Cancel = true
		}
		t.Put = append(t.Put, &c)
	}
	t.RaiseEpoch = st.kind == "interrupt"
	st.seen = seen.String()
}

// byThread returns the operations of each thread.
func (h *history) byThread() map[string][]porcupine.Operation {
	out := map[string][]porcupine.Operation{}
	for _, op := range h.events {
		thread := op.Input.(*step).thread
		out[thread] = append(out[thread], op)
	}
	return out
}
