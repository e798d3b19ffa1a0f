package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
)

// ranThread is a thread of a test.
type ranThread struct {
	id, parent, user, agent string
	status                  awaken.RunStatus
	updated                 int64 // Unix ms
	run                     int   // number of its latest run
}

var threadListCases = []testCase{
	{"HaveWhatAPlainFilterSelects", func(t *testing.T, s awaken.Store) {
		rnd := rand.New(rand.NewPCG(4, 19))
		all := someThreads(t, s, rnd, 30, 90)
		for i := range testenv.Times(40, 300) {
			q := someThreadQuery(rnd, all)
			checkThreadList(t, s, fmt.Sprint("query ", i), q, all, 1+rnd.IntN(9))
		}
	}},
	{"AndPagesAreTheSameByPlaceAndByOffset", func(t *testing.T, s awaken.Store) {
		rnd := rand.New(rand.NewPCG(5, 19))
		all := someThreads(t, s, rnd, 12, 40)
		for _, q := range []awaken.ThreadQuery{{}, {AgentID: "a1"}, {Status: awaken.RunDone}, {Text: "thread0"}, {Root: true}} {
			want := plainThreads(q, all)
			for offset := range len(want) + 1 {
				q.Offset, q.Limit = offset, 3
				equal(t, fmt.Sprintf("%+v", q), want[offset:min(offset+3, len(want))], listThreads(t, s, q))
			}
		}
	}},
	{"RepeatNoThreadWhenOthersBecomeActive", func(t *testing.T, s awaken.Store) {
		for i := range 9 {
			acquire(t, s, fmt.Sprint("t", i), fmt.Sprint("r", i)).commit(done)
		}
		at, got := "", []string{}
		for i := 0; i == 0 || at != ""; i++ {
			got = append(got, listThreads(t, s, awaken.ThreadQuery{Limit: 2, At: &at})...)
			acquire(t, s, "t8", fmt.Sprint("again", i)).commit(done) // was on the first page
			acquire(t, s, fmt.Sprint("new", i), fmt.Sprint("new", i)).commit()
		}
		equal(t, "threads on all pages", []string{"t8", "t7", "t6", "t5", "t4", "t3", "t2", "t1", "t0"}, got)
	}},
	{"ContinueBehindAThreadThatWasDeleted", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		for i := range 6 {
			acquire(t, s, fmt.Sprint("t", i), fmt.Sprint("r", i)).commit(done)
		}
		at := ""
		equal(t, "first page", []string{"t5", "t4"}, listThreads(t, s, awaken.ThreadQuery{Limit: 2, At: &at}))
		if err := ed.DeleteThread(t.Context(), "t4", awaken.DetachChildren); err != nil {
			t.Fatal(err)
		}
		equal(t, "second page", []string{"t3", "t2"}, listThreads(t, s, awaken.ThreadQuery{Limit: 2, At: &at}))
	}},
	{"HaveARunningThreadByItsLastStep", func(t *testing.T, s awaken.Store) {
		at := func(minute int) func(c *awaken.Commit) {
			return func(c *awaken.Commit) { c.Time = (runsBegin + int64(minute)*60) * 1000 }
		}
		long := acquire(t, s, "long", "long")
		long.commit(at(0))
		others := testenv.Times(100, 300)
		for i := range others {
			id := fmt.Sprint("t", i)
			acquire(t, s, id, id).commit(at(i+1), done)
		}
		long.commit(at(1000))
		since := int64(runsBegin+999*60) * 1000
		equal(t, "threads since its step", []string{"long"}, listThreads(t, s, awaken.ThreadQuery{Since: since}))
		equal(t, "threads up to its step", others, len(listThreads(t, s, awaken.ThreadQuery{Until: since, Limit: 1000})))
	}},
	{"HaveATitleThatContainsTheText", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		for _, th := range []*awaken.Thread{{ID: "a", Metadata: awaken.ThreadMetadata{Title: "The Answer"}}, {ID: "b", ResourceID: "ticket-7"}, {ID: "c"}} {
			if err := ed.CreateThread(t.Context(), th); err != nil {
				t.Fatal(err)
			}
		}
		equal(t, "by title", []string{"a"}, listThreads(t, s, awaken.ThreadQuery{Text: "ANSWER"}))
		equal(t, "by resource", []string{"b"}, listThreads(t, s, awaken.ThreadQuery{Text: "Ticket"}))
		equal(t, "since they were created", []string{"c", "b", "a"}, listThreads(t, s, awaken.ThreadQuery{Since: time.Now().Add(-time.Hour).UnixMilli()}))
		equal(t, "before that", []string{}, listThreads(t, s, awaken.ThreadQuery{Until: time.Now().Add(-time.Hour).UnixMilli()}))
	}},
	{"KnowTheAgentThatARunWasHandedTo", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit()
		o.commit(func(c *awaken.Commit) { c.Run.AgentID, c.Run.FirstAgentID = "other", "agent" }, done)
		equal(t, "threads of the agent it has", []string{"t"}, listThreads(t, s, awaken.ThreadQuery{AgentID: "other"}))
		equal(t, "threads of the agent it had", []string{}, listThreads(t, s, awaken.ThreadQuery{AgentID: "agent"}))
	}},
	{"KnowWhatTheirRunsCost", func(t *testing.T, s awaken.Store) {
		costs, ok := s.(interface {
			ThreadCosts(ctx context.Context, ids []string) (map[string]float64, error)
		})
		if !ok {
			t.Skip("no costs")
		}
		cost := func(usd float64) func(c *awaken.Commit) { return func(c *awaken.Commit) { c.Run.CostUSD = usd } }
		o := acquire(t, s, "a", "r1")
		o.commit()
		o.commit(waits, cost(0.5))
		o = acquire(t, s, "a", "r1")
		o.commit(cost(0.5))
		o.commit(done, cost(2))
		acquire(t, s, "a", "r2").commit(done, cost(0.25))
		acquire(t, s, "b", "r3").commit(done)
		for i := range 3 { // what a provider that reports nonsense may lead to
			acquire(t, s, "c", fmt.Sprint("dear", i)).commit(done, cost(1e300))
		}
		got, err := costs.ThreadCosts(t.Context(), []string{"a", "b", "c", "none"})
		if err != nil || got["a"] != 2.25 || got["b"] != 0 || got["c"] < 1e9 || len(got) != 3 {
			t.Errorf("the costs are %v, %v", got, err)
		}
	}},
	{"RefuseAPlaceThatNoListReturned", func(t *testing.T, s awaken.Store) {
		for _, at := range []string{"x", ".", "1", "1.", "x.t", "99999999999999999999.t"} {
			if _, err := s.ListThreads(t.Context(), awaken.ThreadQuery{At: new(at)}); !errors.Is(err, awaken.ErrInvalid) {
				t.Errorf("place %q: error is %v, want ErrInvalid", at, err)
			}
		}
	}},
}

// someThreads makes n threads with runs of all kinds. It returns them, the most recently active first.
func someThreads(t *testing.T, s awaken.Store, rnd *rand.Rand, n, runs int) (all []*ranThread) {
	t.Helper()
	users := []string{"", "ann", "bo"}
	for i := range runs {
		k := rnd.IntN(n)
		id := fmt.Sprintf("thread%02d", k)
		at := slices.IndexFunc(all, func(th *ranThread) bool { return th.id == id })
		th := &ranThread{id: id, user: users[k%3], parent: []string{"", "p1", "p2"}[k/3%3]}
		if at >= 0 {
			th = all[at]
			all = slices.Delete(all, at, at+1)
		}
		all = append([]*ranThread{th}, all...)
		o := acquire(t, s, id, fmt.Sprintf("run%03d", i))
		o.run.UserID, o.run.AgentID = th.user, pick(rnd, "a1", "a2", "a\"3'")
		th.run, th.agent, th.status, th.updated = i, o.run.AgentID, awaken.RunRunning, (runsBegin+int64(i*1200+rnd.IntN(100)))*1000
		now := func(c *awaken.Commit) { c.Time = th.updated }
		o.commit(now, func(c *awaken.Commit) { c.ParentThreadID = th.parent })
		for range rnd.IntN(3) {
			th.updated += 1000
			o.commit(now)
		}
		switch rnd.IntN(3) {
		case 0:
			th.status = awaken.RunWaiting
			o.commit(now, waits)
		case 1:
			th.status = awaken.RunDone
			o.commit(now, done)
		}
		if other := all[rnd.IntN(len(all))]; other.status == awaken.RunWaiting && rnd.IntN(2) == 0 { // a run that waited ends
			other.status, other.updated = awaken.RunDone, th.updated+1000
			o := acquire(t, s, other.id, "")
			o.run = *o.cp.Run
			o.commit(done, func(c *awaken.Commit) { c.Time = other.updated })
			at := slices.Index(all, other)
			all = append([]*ranThread{other}, slices.Delete(all, at, at+1)...)
		}
	}
	return all
}

// someThreadQuery returns a query with a few conditions, which mostly select some of the threads.
func someThreadQuery(rnd *rand.Rand, all []*ranThread) (q awaken.ThreadQuery) {
	for range 1 + rnd.IntN(3) {
		th := pick(rnd, all...)
		switch rnd.IntN(9) {
		case 0:
			q.ParentThreadID = th.parent
		case 1:
			q.Status = th.status
		case 2:
			q.Owner = new(th.user)
		case 3:
			q.AgentID = th.agent
		case 4:
			q.Root = true
		case 5:
			q.Since = th.updated + int64(rnd.IntN(3)-1)
		case 6:
			q.Until = th.updated + int64(rnd.IntN(3)-1)
		case 7:
			q.Text = pick(rnd, "THREAD1", "0", "nothing at all")
		case 8:
			q.Status = pick(rnd, awaken.RunRunning, awaken.RunWaiting, awaken.RunCreated)
		}
	}
	return q
}

// plainThreads returns the ids of the threads that a query selects.
func plainThreads(q awaken.ThreadQuery, all []*ranThread) []string {
	out := []string{}
	if (q.AgentID != "" || q.Status == awaken.RunRunning || q.Status == awaken.RunWaiting) && q.ParentThreadID == "" && (q.Owner == nil || *q.Owner == "") && q.Since == 0 {
		all = slices.SortedFunc(slices.Values(all), func(a, b *ranThread) int { return b.run - a.run })
	}
	for _, th := range all {
		switch {
		case q.ParentThreadID != "" && th.parent != q.ParentThreadID, q.Root && th.parent != "", q.Status != "" && th.status != q.Status,
			q.Owner != nil && th.user != *q.Owner, q.AgentID != "" && th.agent != q.AgentID,
			q.Since > 0 && th.updated < q.Since, q.Until > 0 && th.updated >= q.Until,
			q.Text != "" && !strings.Contains(th.id, strings.ToLower(q.Text)):
		default:
			out = append(out, th.id)
		}
	}
	return out
}

// checkThreadList checks a list with pages of a size, and its number.
func checkThreadList(t *testing.T, s awaken.Store, what string, q awaken.ThreadQuery, all []*ranThread, size int) {
	t.Helper()
	want, got, at := plainThreads(q, all), []string{}, ""
	what = fmt.Sprintf("%s %+v", what, q)
	for q.At, q.Limit = &at, size; ; {
		got = append(got, listThreads(t, s, q)...)
		if at == "" {
			break
		}
	}
	equal(t, what, want, got)
	n, err := s.CountThreads(t.Context(), q)
	if err != nil || n != len(want) || at != "" {
		t.Errorf("%s: the number is %d and the place %q, %v, want %d", what, n, at, err, len(want))
	}
	q.At = nil
	if n, err := s.CountThreads(t.Context(), q); err != nil || n != len(want) {
		t.Errorf("%s: the number is %d, %v, want %d", what, n, err, len(want))
	}
}
