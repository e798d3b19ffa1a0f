// Package mailboxtest checks that a queue keeps the promises of [mailbox.Queue] and
// [mailbox.Store]. Every backend runs it:
//
//	func TestMailbox(t *testing.T) {
//		mailboxtest.Test(t, func(t *testing.T) mailboxtest.Backend { return open(t) })
//	}
package mailboxtest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// Backend is a queue to test. It is empty and not shared.
type Backend struct {
	Queue mailbox.Queue
	// Other is the same queue, opened by another process. Nil if the backend serves only one
	// process.
	Other mailbox.Queue
	// Advance moves the queue's clock forward. The clock also advances by itself.
	Advance func(d time.Duration)
}

// Test runs every case, each on a backend of its own. Open may register clean-up with
// t.Cleanup.
func Test(t *testing.T, open func(t *testing.T) Backend) {
	test(t, open, []area{
		{"Change", changeCases},
		{"Decisions", decisionCases},
		{"Enqueue", enqueueCases},
		{"Terms", termsCases},
		{"Runs", runCases},
		{"List", listCases},
		{"Failures", failureCases},
		{"Recent", recentCases},
		{"Claim", claimCases},
		{"Renew", renewCases},
		{"Settle", settleCases},
		{"Own", ownCases},
		{"CommitAndSettle", commitAndSettleCases},
		{"Reclaim", reclaimCases},
		{"Processes", processCases},
		{"Blame", blameCases},
		{"Purge", purgeCases},
		{"Tenants", tenantCases},
		{"Threads", threadCases},
		{"Listener", listenCases},
		{"Input", inputCases},
		{"Said", saidCases},
		{"Concurrency", concurrencyCases},
	})
	t.Run("Linearizable", func(t *testing.T) { Linearizable(t, open(t)) })
}

// TestEnqueue runs the cases of Enqueue, for backends that have a second way to do it.
func TestEnqueue(t *testing.T, open func(t *testing.T) Backend) {
	test(t, open, []area{{"Enqueue", enqueueCases}, {"Terms", termsCases}, {"Runs", runCases}, {"Said", saidCases}})
}

// area is a part of the interfaces.
type area struct {
	name  string
	cases []testCase
}

func test(t *testing.T, open func(t *testing.T) Backend, areas []area) {
	for _, area := range areas {
		t.Run(area.name, func(t *testing.T) {
			for _, c := range area.cases {
				t.Run(c.promise, func(t *testing.T) { c.check(newKit(t, open(t))) })
			}
		})
	}
}

// testCase checks one promise of the interfaces.
type testCase struct {
	promise string
	check   func(k *kit)
}

// kit is a backend with the helpers that the cases share. A helper that fails ends the test.
type kit struct {
	*testing.T
	Backend
	store mailbox.Handle // of the tenant ""

	mu     sync.Mutex
	joined map[process]bool
}

// process is a consumer that uses a queue.
type process struct {
	queue mailbox.Queue
	id    string
}

func newKit(t *testing.T, b Backend) *kit {
	return &kit{T: t, Backend: b, store: b.Queue.Handle(""), joined: map[process]bool{}}
}

// queues are the processes that use the queue.
func (k *kit) queues() []mailbox.Queue {
	if k.Other == nil {
		return []mailbox.Queue{k.Queue}
	}
	return []mailbox.Queue{k.Queue, k.Other}
}

// lease is longer than any case takes.
const lease = time.Hour

// dispatch is a dispatch as it is handed to Enqueue, with whatever change adds to it.
func dispatch(thread, id string, change ...func(*mailbox.Dispatch)) *mailbox.Dispatch {
	d := &mailbox.Dispatch{ID: id, ThreadID: thread, RunID: "run-" + id, Priority: mailbox.DefaultPriority, MaxAttempts: 5,
		Request: &awaken.RunRequest{AgentID: "agent", ThreadID: thread, RunID: "run-" + id, DispatchID: id, Messages: []*llm.Message{llm.UserText(id)}}}
	for _, f := range change {
		f(d)
	}
	return d
}

// queued is a dispatch as rules put it into a thread.
func queued(t *mailbox.Thread, id string, change ...func(*mailbox.Dispatch)) *mailbox.Dispatch {
	d := dispatch(t.ID, id)
	d.Status, d.Epoch, d.CreatedAt, d.UpdatedAt, d.AvailableAt = mailbox.Queued, t.Epoch, t.Now, t.Now, t.Now
	for _, f := range change {
		f(d)
	}
	return d
}

func priority(p int) func(*mailbox.Dispatch) { return func(d *mailbox.Dispatch) { d.Priority = p } }

func dedupe(key string) func(*mailbox.Dispatch) {
	return func(d *mailbox.Dispatch) { d.DedupeKey = key }
}

func idempotent(key string) func(*mailbox.Dispatch) {
	return func(d *mailbox.Dispatch) { d.IdempotencyKey, d.Digest = key, "digest of "+key }
}

// after makes a dispatch available only then.
func after(delay time.Duration) func(*mailbox.Dispatch) {
	return func(d *mailbox.Dispatch) { d.AvailableAt += delay.Milliseconds() }
}

// enqueue queues dispatches, all of them.
func (k *kit) enqueue(ds ...*mailbox.Dispatch) {
	k.Helper()
	if left, err := k.store.Enqueue(k.Context(), mailbox.Terms{}, ds...); err != nil || len(left) > 0 {
		k.Fatalf("enqueue: left out %v, %v", left, err)
	}
}

// change changes a thread.
func (k *kit) change(thread string, fn func(t *mailbox.Thread)) {
	k.Helper()
	if err := k.store.Change(k.Context(), thread, func(t *mailbox.Thread) error { fn(t); return nil }); err != nil {
		k.Fatalf("change %s: %v", thread, err)
	}
}

// look returns a thread's queue.
func (k *kit) look(thread string) *mailbox.Thread {
	k.Helper()
	var seen *mailbox.Thread
	k.change(thread, func(t *mailbox.Thread) { seen = t })
	return seen
}

// now is the queue's clock.
func (k *kit) now() int64 { k.Helper(); return k.look("the clock").Now }

// claim claims, and returns the dispatches.
func (k *kit) claim(limit int) []*mailbox.Dispatch {
	k.Helper()
	return k.claimFor(limit, lease)
}

// claimAll claims whatever can be claimed, suspects too.
func (k *kit) claimAll() []*mailbox.Dispatch {
	k.Helper()
	ds, _, err := k.claimFrom(k.Queue, mailbox.ClaimRequest{Consumer: "worker", Lease: lease, Limit: 1000, Suspects: 1000})
	if err != nil {
		k.Fatalf("claim: %v", err)
	}
	return ds
}

func (k *kit) claimFor(limit int, lease time.Duration) []*mailbox.Dispatch {
	k.Helper()
	ds, _, err := k.claimFrom(k.Queue, mailbox.ClaimRequest{Consumer: "worker", Lease: lease, Limit: limit})
	if err != nil {
		k.Fatalf("claim: %v", err)
	}
	return ds
}

// claimFrom claims from a queue. A process that the case has not made known joins first, and lives as
// long as the case.
func (k *kit) claimFrom(q mailbox.Queue, r mailbox.ClaimRequest) ([]*mailbox.Dispatch, time.Duration, error) {
	k.mu.Lock()
	p := process{q, r.Consumer}
	if !k.joined[p] {
		if err := q.Join(k.Context(), r.Consumer, century); err != nil {
			k.Error(err)
		}
		k.joined[p] = true
	}
	k.mu.Unlock()
	return q.Claim(k.Context(), r)
}

const century = 100 * 365 * 24 * time.Hour

// claimOne claims the dispatch of that id, which is the only one available.
func (k *kit) claimOne(id string) *mailbox.Dispatch {
	k.Helper()
	ds := k.claim(10)
	if len(ds) != 1 || ds[0].ID != id {
		k.Fatalf("claimed %q, want only %q", dispatchIDs(ds), id)
	}
	return ds[0]
}

// nothing checks that nothing is available.
func (k *kit) nothing() {
	k.Helper()
	if ds := k.claim(10); len(ds) > 0 {
		k.Errorf("claimed %q, want nothing", dispatchIDs(ds))
	}
}

// trySettle settles a claim and returns what became of it.
func (k *kit) trySettle(s mailbox.Settlement) error {
	k.Helper()
	errs, err := k.Queue.Settle(k.Context(), s)
	if err != nil || len(errs) != 1 {
		k.Fatalf("settle %s: %v, %v", s.ID, errs, err)
	}
	return errs[0]
}

func (k *kit) settle(s mailbox.Settlement) {
	k.Helper()
	if err := k.trySettle(s); err != nil {
		k.Fatalf("settle %s: %v", s.ID, err)
	}
}

// as settles a claim with a status.
func (k *kit) as(d *mailbox.Dispatch, status mailbox.Status) {
	k.Helper()
	k.settle(mailbox.Settlement{Claim: d.Claim(), Status: status})
}

func (k *kit) renew(lease time.Duration, held ...mailbox.Claim) []mailbox.Renewal {
	k.Helper()
	out, err := k.Queue.Renew(k.Context(), lease, held...)
	if err != nil || len(out) != len(held) {
		k.Fatalf("renew: %v, %v", out, err)
	}
	return out
}

func (k *kit) reclaim(limit int) int {
	k.Helper()
	n, err := k.Queue.Reclaim(k.Context(), limit)
	if err != nil {
		k.Fatalf("reclaim: %v", err)
	}
	return n
}

// get returns a dispatch.
func (k *kit) get(id string) *mailbox.Dispatch {
	k.Helper()
	d, err := k.store.Dispatch(k.Context(), id)
	if err != nil {
		k.Fatalf("dispatch %s: %v", id, err)
	}
	return d
}

// status checks how dispatches are.
func (k *kit) status(want mailbox.Status, ids ...string) {
	k.Helper()
	for _, id := range ids {
		if d := k.get(id); d.Status != want {
			k.Errorf("dispatch %s is %s, want %s", id, d.Status, want)
		}
	}
}

func (k *kit) list(q mailbox.Query) []string {
	k.Helper()
	ds, err := k.store.Dispatches(k.Context(), q)
	if err != nil {
		k.Fatalf("dispatches: %v", err)
	}
	return dispatchIDs(ds)
}

func (k *kit) run(id string) *awaken.Run {
	k.Helper()
	r, err := k.store.LoadRun(k.Context(), id)
	if err != nil {
		k.Fatalf("run %s: %v", id, err)
	}
	return r
}

// runs lists the ids of runs.
func (k *kit) runs(q awaken.RunQuery) []string {
	k.Helper()
	runs, err := k.store.ListRuns(k.Context(), q)
	if err != nil {
		k.Fatal(err)
	}
	ids := []string{}
	for _, r := range runs {
		ids = append(ids, r.RunID)
	}
	return ids
}

func dispatchIDs(ds []*mailbox.Dispatch) []string {
	out := []string{}
	for _, d := range ds {
		out = append(out, d.ID)
	}
	return out
}

// owner has acquired a thread and commits a run on it.
type owner struct {
	*kit
	cp     *awaken.Checkpoint
	run    awaken.Run
	number uint64
}

func (k *kit) acquire(thread, runID string) *owner {
	k.Helper()
	cp, err := k.store.Acquire(k.Context(), thread)
	if err != nil {
		k.Fatalf("acquire %s: %v", thread, err)
	}
	return &owner{kit: k, cp: cp, run: awaken.Run{RunID: runID, ThreadID: thread, AgentID: "agent", Origin: "user",
		Status: awaken.RunRunning, CreatedAt: 1_700_000_000}}
}

// owns acquires the thread of a claimed dispatch for its worker.
func (k *kit) owns(d *mailbox.Dispatch) *owner {
	k.Helper()
	cp, _, err := k.store.Own(k.Context(), d.ThreadID, d.Claim())
	if err != nil {
		k.Fatalf("own %s: %v", d.ThreadID, err)
	}
	return ownerOf(k, d, cp)
}

func ownerOf(k *kit, d *mailbox.Dispatch, cp *awaken.Checkpoint) *owner {
	return &owner{kit: k, cp: cp, run: awaken.Run{RunID: d.RunID, ThreadID: d.ThreadID, AgentID: "agent", Origin: "user",
		Status: awaken.RunRunning, CreatedAt: 1_700_000_000}}
}

// try commits the run as change makes it.
func (o *owner) try(change ...func(c *awaken.Commit)) error {
	c := o.next(change...)
	err := o.store.Commit(o.Context(), c)
	if err == nil {
		o.number++
		o.run = c.Run
	}
	return err
}

// next returns the next commit as change makes it.
func (o *owner) next(change ...func(c *awaken.Commit)) *awaken.Commit {
	c := &awaken.Commit{ThreadID: o.run.ThreadID, Fence: o.cp.Fence, Number: o.number + 1, Generation: o.cp.Generation,
		Time: 1_700_000_000_000, Expect: o.cp.Thread.MessageCount, Run: o.run}
	for _, f := range change {
		f(c)
	}
	return c
}

// settle commits the run as change makes it, and settles.
func (o *owner) settle(s mailbox.Settlement, wake *mailbox.Dispatch, change ...func(c *awaken.Commit)) (settled bool, err error) {
	c := o.next(change...)
	out, err := o.store.CommitAndSettle(o.Context(), c, s, wake)
	if err == nil {
		o.number++
		o.run = c.Run
	}
	return out.Settled, err
}

func (o *owner) commit(change ...func(c *awaken.Commit)) {
	o.Helper()
	if err := o.try(change...); err != nil {
		o.Fatalf("commit on %s: %v", o.run.ThreadID, err)
	}
}

// Changes to a commit.

func begins(c *awaken.Commit) { c.Begins = true }

// parks makes the commit park its run.
func parks(c *awaken.Commit) {
	c.RequireEmptyInbox = true
	c.Run.Status = awaken.RunWaiting
	c.Run.Waiting = &awaken.Waiting{Reason: awaken.WaitToolPermission, TicketIDs: []string{}, Tickets: []awaken.WaitingTicket{}}
}

// done makes the commit the last of its run.
func done(c *awaken.Commit) {
	c.Run.Status, c.Run.Termination, c.Run.FinishedAt = awaken.RunDone, awaken.Termination{Type: awaken.NaturalEnd}, c.Run.CreatedAt+9
	c.Run.Waiting = nil
}

// equal compares two values.
func equal(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// same compares two dispatches, and their requests by their JSON.
func same(t testing.TB, what string, want, got *mailbox.Dispatch) {
	t.Helper()
	equal(t, what, plain(want), plain(got))
	w, err := json.Marshal(want.Request)
	if err != nil {
		t.Fatal(err)
	}
	g, err := json.Marshal(got.Request)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "request "+what, string(w), string(g))
}

// plain is a dispatch without its request, and without what only a claim says of it.
func plain(d *mailbox.Dispatch) mailbox.Dispatch {
	if d == nil {
		return mailbox.Dispatch{}
	}
	out := *d
	out.Request, out.Fresh, out.Checkpoint = nil, false, nil
	return out
}

// between checks a time that was taken between two others.
func between(t testing.TB, what string, at, from, to int64) {
	t.Helper()
	if at < from || at > to {
		t.Errorf("%s is %d, want %d to %d", what, at, from, to)
	}
}

// number makes ids that sort as they are counted.
func number(prefix string, i int) string { return fmt.Sprintf("%s%04d", prefix, i) }
