// Package changelogtest tests implementations of [changelog.Store].
package changelogtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// Backend is a store to test. It is empty and not shared.
type Backend struct {
	Changes changelog.Store
	// Other is the same log as another process has it. Nil means that there is no other way to it.
	Other changelog.Store
	Store func(tenant string) awaken.Store
	Queue mailbox.Queue // nil if the store has none
	// Config is the configuration; nil if its publications are not in the log.
	Config config.Store
}

// Test tests the promises of a store. Without a queue, the store has only the tenant "".
func Test(t *testing.T, open func(t *testing.T) Backend) {
	cases := map[string]func(k *kit){
		"RunsAndQuestionsAreLogged":            logsRuns,
		"StepsAreNot":                          skipsSteps,
		"PagesAreTheLogInParts":                pages,
		"PagesMayEndBetweenARunAndItsDispatch": parts,
		"APositionThatIsGoneIsRefused":         trims,
		"APositionOfAnotherLogIsRefused":       checks,
		"EveryReaderReadsTheSame":              together,
		"DispatchesAreLogged":                  logsDispatches,
		"TenantsAreApart":                      keepsApart,
		"PublicationsAreOfEveryTenant":         publishes,
		"AChangeHasTheUserOfItsThread":         users,
		"TheLastPositionSurvivesATrim":         trimsAll,
		"AnArgumentIsNotTakenForTicket":        looksLike,
		"DeletedThreadsHaveNoChangesOfOthers":  deletes,
	}
	for promise, check := range cases {
		t.Run(promise, func(t *testing.T) {
			b := open(t)
			k := &kit{T: t, Backend: b}
			k.from = k.horizon()
			check(k)
		})
	}
}

// kit is a backend with what the cases share.
type kit struct {
	*testing.T
	Backend
	from int64 // where the log began
}

func (k *kit) horizon() int64 {
	k.Helper()
	pos, err := k.Changes.Horizon(k.Context())
	if err != nil {
		k.Fatal(err)
	}
	return pos
}

// read reads changes of a tenant until there are n, and checks that they are in order and no more than n.
func (k *kit) read(log changelog.Store, tenant string, n int) []changelog.Change {
	k.Helper()
	out, after := []changelog.Change{}, k.from
	for deadline := time.Now().Add(time.Minute); len(out) < n; {
		page, err := log.Changes(k.Context(), changelog.Query{Tenant: tenant, After: after})
		if err != nil {
			k.Fatal(err)
		}
		for _, c := range page.Changes {
			if c.Pos <= after || c.Pos > page.Upto {
				k.Fatalf("a page from %d to %d has position %d", after, page.Upto, c.Pos)
			}
			after = c.Pos
		}
		if page.Upto < after {
			k.Fatalf("a page behind %d ends at %d", after, page.Upto)
		}
		out, after = append(out, page.Changes...), page.Upto
		if len(page.Changes) == 0 {
			if time.Now().After(deadline) {
				k.Fatalf("the log has %q, want %d changes", summary(out), n)
			}
			time.Sleep(time.Millisecond) // another transaction of the server may be running
		}
	}
	if len(out) > n {
		k.Fatalf("the log has %q, want %d changes", summary(out), n)
	}
	return out
}

// logged checks what the log of a tenant has.
func (k *kit) logged(tenant string, want ...string) []changelog.Change {
	k.Helper()
	out := k.read(k.Changes, tenant, len(want))
	want = append([]string{}, want...) // not nil
	if diff := cmp.Diff(want, summary(out)); diff != "" {
		k.Fatalf("the log of %q (-want +got):\n%s", tenant, diff)
	}
	if k.Other != nil {
		if diff := cmp.Diff(want, summary(k.read(k.Other, tenant, len(want)))); diff != "" {
			k.Fatalf("the log of %q in another process (-want +got):\n%s", tenant, diff)
		}
	}
	return out
}

// summary returns changes as short texts.
func summary(cs []changelog.Change) []string {
	out := []string{}
	for _, c := range cs {
		text := []string{string(c.Kind)}
		for _, part := range []string{c.ThreadID, c.RunID, c.Status, c.ID} {
			if part != "" {
				text = append(text, part)
			}
		}
		for _, t := range c.Tickets {
			text = append(text, fmt.Sprintf("%s=%t", t.ID, t.Open))
		}
		out = append(out, strings.Join(text, " "))
	}
	return out
}

// owner owns a thread.
type owner struct {
	*testing.T
	store  awaken.Store
	cp     *awaken.Checkpoint
	run    awaken.Run
	number uint64
}

func acquire(t *testing.T, s awaken.Store, thread, run string) *owner {
	t.Helper()
	cp, err := s.Acquire(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	return &owner{T: t, store: s, cp: cp, run: awaken.Run{RunID: run, ThreadID: thread, AgentID: "agent", Origin: "user", CreatedAt: 1_700_000_000}}
}

// next returns the next commit, with a status of the run and records of calls.
func (o *owner) next(status awaken.RunStatus, calls ...*awaken.CallState) *awaken.Commit {
	o.number++
	o.run.Status, o.run.Waiting = status, nil
	switch status {
	case awaken.RunWaiting:
		o.run.Waiting = &awaken.Waiting{Reason: awaken.WaitToolPermission, TicketIDs: []string{}, Tickets: []awaken.WaitingTicket{}}
	case awaken.RunDone:
		o.run.Termination, o.run.FinishedAt = awaken.Termination{Type: awaken.NaturalEnd}, o.run.CreatedAt+9
	}
	return &awaken.Commit{ThreadID: o.run.ThreadID, Fence: o.cp.Fence, Number: o.number, Generation: o.cp.Generation, Time: time.Now().UnixMilli(), Run: o.run, Calls: calls}
}

func (o *owner) commit(status awaken.RunStatus, calls ...*awaken.CallState) {
	o.Helper()
	if err := o.store.Commit(o.Context(), o.next(status, calls...)); err != nil {
		o.Fatal(err)
	}
}

// call returns a record of a call with a question.
func call(run, id string, status awaken.CallStatus) *awaken.CallState {
	return &awaken.CallState{CallID: id, ToolName: "pay", Arguments: json.RawMessage(`{}`), Status: status, RunID: run, UpdatedAt: 5,
		Ticket: &awaken.Ticket{Suspension: awaken.Suspension{ID: "ask-" + id, Action: "tool:pay"}}}
}

func logsRuns(k *kit) {
	s := k.Store("")
	o := acquire(k.T, s, "t", "r")
	o.commit(awaken.RunRunning)
	o.commit(awaken.RunRunning, call("r", "c1", awaken.CallSuspended))
	o.commit(awaken.RunWaiting, call("r", "c2", awaken.CallSuspended))
	d := &awaken.Decision{Target: "ask-c1", Action: awaken.ActionResume, UpdatedAt: 1, Actor: &awaken.Actor{User: "ada"}}
	item := awaken.InboxItem{ID: "decision:r:ask-c1", RunID: "r", Decision: d, Decided: call("r", "c1", awaken.CallSuspended).Decided("t", d)}
	for range 2 { // one of them has no effect
		if err := s.Post(k.Context(), "t", item); err != nil {
			k.Fatal(err)
		}
	}
	o.commit(awaken.RunRunning, call("r", "c1", awaken.CallResuming))
	o.commit(awaken.RunDone, call("r", "c1", awaken.CallSucceeded), call("r", "c2", awaken.CallCancelled))
	got := k.read(k.Changes, "", 8)
	for i := range got[1:] { // the order of what one commit changes is not promised
		if got[i].Kind == changelog.Run && got[i].Status != "running" && got[i+1].Kind == changelog.Tickets {
			got[i], got[i+1] = got[i+1], got[i]
		}
	}
	if diff := cmp.Diff([]string{"run t r running", "ticket t r ask-c1=true", "ticket t r ask-c2=true", "run t r waiting", "decision t r ask-c1",
		"run t r running", "ticket t r ask-c1=false ask-c2=false", "run t r done"}, summary(got)); diff != "" {
		k.Fatalf("the log (-want +got):\n%s", diff)
	}
	now := time.Now().UnixMilli()
	for _, c := range got {
		if c.Kind != changelog.Decision && (c.At < now-600_000 || c.At > now+600_000) {
			k.Errorf("%s was at %d, and now it is %d", c.Kind, c.At, now)
		}
	}
	if r := got[len(got)-1].Run; r == nil || r.Status != awaken.RunDone || r.AgentID != "agent" || r.RunID != "r" || r.ThreadID != "t" {
		k.Errorf("the run that is done has the record %+v", r)
	}
	if d := got[4].Decided; d == nil || d.Action != awaken.ActionResume || d.Actor == nil || d.Actor.User != "ada" || d.TicketID != "ask-c1" {
		k.Errorf("the decision has the record %+v", d)
	}
	want := changelog.Ticket{ID: "ask-c1", ToolCallID: "c1", ToolName: "pay", Open: true}
	if diff := cmp.Diff([]changelog.Ticket{want}, got[1].Tickets); diff != "" {
		k.Errorf("the question (-want +got):\n%s", diff)
	}
}

// deletes deletes a thread; another one may get its place in the store, and not its place in the log.
func deletes(k *kit) {
	s := k.Store("")
	o := acquire(k.T, s, "t", "r")
	o.commit(awaken.RunRunning)
	o.commit(awaken.RunDone, call("r", "mine", awaken.CallSucceeded))
	if err := s.(awaken.ThreadEditor).DeleteThread(k.Context(), "t", awaken.RejectChildren); err != nil {
		k.Fatal(err)
	}
	o = acquire(k.T, s, "u", "r2")
	o.commit(awaken.RunRunning)
	o.commit(awaken.RunDone, call("r2", "theirs", awaken.CallSucceeded))
	var got []changelog.Change
	for after, deadline, open := k.from, time.Now().Add(time.Minute), 2; open > 0; time.Sleep(time.Millisecond) { // until both changes of the last commit are there
		if time.Now().After(deadline) {
			k.Fatalf("the log has %q", summary(got))
		}
		page, err := k.Changes.Changes(k.Context(), changelog.Query{After: after})
		if err != nil {
			k.Fatal(err)
		}
		got, after = append(got, page.Changes...), page.Upto
		for _, c := range page.Changes {
			if c.ThreadID == "u" && (c.Status == "done" || c.Kind == changelog.Tickets) {
				open--
			}
		}
	}
	for _, c := range got {
		for _, ticket := range c.Tickets {
			if (ticket.ToolCallID == "theirs") != (c.ThreadID == "u") {
				k.Errorf("thread %s has the question of call %s", c.ThreadID, ticket.ToolCallID)
			}
		}
		if c.Deleted && c.ThreadID != "t" {
			k.Errorf("thread %s is said to be deleted", c.ThreadID)
		}
		if c.ThreadID == "t" && c.UserID == "" && !c.Deleted && k.Other != nil {
			k.Errorf("%s %s of a deleted thread is said to be of the user that has no name", c.Kind, c.Status)
		}
	}
}

func skipsSteps(k *kit) {
	o := acquire(k.T, k.Store(""), "t", "r")
	for range 20 {
		o.commit(awaken.RunRunning)
	}
	o.commit(awaken.RunDone)
	k.logged("", "run t r running", "run t r done")
}

func looksLike(k *kit) {
	o := acquire(k.T, k.Store(""), "t", "r")
	o.commit(awaken.RunRunning)
	o.commit(awaken.RunRunning, &awaken.CallState{CallID: "c", ToolName: "pay", Arguments: json.RawMessage(`{"ticket":{"id":1}}`), Status: awaken.CallRunning, RunID: "r"})
	o.commit(awaken.RunDone)
	k.logged("", "run t r running", "run t r done")
}

// dispatch is a dispatch that starts a run.
func dispatch(thread, id string) *mailbox.Dispatch {
	return &mailbox.Dispatch{ID: id, ThreadID: thread, RunID: "run-" + id, Priority: mailbox.DefaultPriority, MaxAttempts: 5,
		Request: &awaken.RunRequest{AgentID: "agent", ThreadID: thread, RunID: "run-" + id, DispatchID: id, UserID: "ada", Messages: []*llm.Message{llm.UserText(id)}}}
}

func (k *kit) enqueue(tenant string, ds ...*mailbox.Dispatch) {
	k.Helper()
	if left, err := k.Queue.Handle(tenant).Enqueue(k.Context(), mailbox.Terms{}, ds...); err != nil || len(left) > 0 {
		k.Fatalf("enqueue: %v, left %v", err, left)
	}
}

func (k *kit) claim() *mailbox.Dispatch {
	k.Helper()
	ds, _, err := k.Queue.Claim(k.Context(), mailbox.ClaimRequest{Consumer: "worker", Lease: time.Hour, Limit: 1, Suspects: 1})
	if err != nil || len(ds) != 1 {
		k.Fatalf("claimed %v, %v", ds, err)
	}
	return ds[0]
}

func (k *kit) needsQueue() mailbox.Queue {
	if k.Queue == nil {
		k.Skip("the store has no queue")
	}
	if err := k.Queue.Join(k.Context(), "worker", time.Hour); err != nil {
		k.Fatal(err)
	}
	return k.Queue
}

func logsDispatches(k *kit) {
	q := k.needsQueue()
	k.enqueue("", dispatch("t", "d"))
	d := k.claim()
	if errs, err := q.Settle(k.Context(), mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Queued, Failed: true, Error: "no"}); err != nil || errs[0] != nil {
		k.Fatal(errs, err)
	}
	d = k.claim()
	o := acquire(k.T, k.Store(""), "t", "run-d")
	o.run.DispatchID = "d"
	o.commit(awaken.RunRunning)
	if _, err := q.Handle("").CommitAndSettle(k.Context(), o.next(awaken.RunDone), mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked}, nil); err != nil {
		k.Fatal(err)
	}
	k.enqueue("", dispatch("t", "e"))
	if err := q.Handle("").Change(k.Context(), "t", func(t *mailbox.Thread) error { // cancelled before it began
		e := t.Live[0]
		run := e.NewRun()
		run.Status, run.StatusReason, run.FinishedAt, run.Termination = awaken.RunDone, "cancelled", run.CreatedAt+1, awaken.Termination{Type: awaken.Cancelled}
		e.Status, e.CompletedAt = mailbox.Cancelled, t.Now
		t.Put, t.Runs = append(t.Put, e), append(t.Runs, run)
		return nil
	}); err != nil {
		k.Fatal(err)
	}
	got := k.read(k.Changes, "", 10)
	want := []string{"run t run-d created", "dispatch t run-d Queued d", "dispatch t run-d Queued d", "run t run-d running", "run t run-d done", "dispatch t run-d Acked d",
		"run t run-e created", "dispatch t run-e Queued e"}
	if diff := cmp.Diff(want, summary(got[:8])); diff != "" {
		k.Fatalf("the log (-want +got):\n%s", diff)
	}
	last := strings.Join(summary(got[8:]), ", ")
	if !strings.Contains(last, "run t run-e done") || !strings.Contains(last, "dispatch t run-e Cancelled e") {
		k.Errorf("the log ends with %s", last)
	}
}

func users(k *kit) {
	k.needsQueue()
	k.enqueue("", dispatch("t", "d"))
	for _, c := range k.logged("", "run t run-d created", "dispatch t run-d Queued d") {
		if c.UserID != "ada" {
			k.Errorf("%s is of user %q, want ada", c.Kind, c.UserID)
		}
	}
}

func keepsApart(k *kit) {
	k.needsQueue()
	k.enqueue("one", dispatch("t", "d"))
	k.enqueue("two", dispatch("t", "e"))
	k.enqueue("one", dispatch("t2", "f"))
	k.logged("one", "run t run-d created", "dispatch t run-d Queued d", "run t2 run-f created", "dispatch t2 run-f Queued f")
	k.logged("two", "run t run-e created", "dispatch t run-e Queued e")
	k.logged("")
}

func publishes(k *kit) {
	if k.Config == nil {
		k.Skip("publications are not in the log")
	}
	o := acquire(k.T, k.Store(""), "t", "r")
	o.commit(awaken.RunRunning)
	for n := range int64(2) {
		if err := k.Config.Apply(k.Context(), &config.Change{Publish: &config.Publication{Number: n + 1, Base: n},
			SetHead: &config.Head{Live: n + 1}}); err != nil {
			k.Fatal(err)
		}
	}
	o.commit(awaken.RunDone)
	k.logged("", "run t r running", "publication live 1", "publication live 2", "run t r done")
	k.logged("other", "publication live 1", "publication live 2")
}

func pages(k *kit) {
	s := k.Store("")
	for i := range 7 {
		o := acquire(k.T, s, fmt.Sprint("t", i), fmt.Sprint("r", i))
		o.commit(awaken.RunRunning)
		o.commit(awaken.RunDone)
	}
	all := k.read(k.Changes, "", 14)
	end := k.horizon()
	for limit := 1; limit < 16; limit++ {
		after, got := k.from, []changelog.Change{}
		for {
			page, err := k.Changes.Changes(k.Context(), changelog.Query{After: after, Upto: end, Limit: limit})
			if err != nil {
				k.Fatal(err)
			}
			if len(page.Changes) > limit {
				k.Fatalf("a page of %d has %d changes", limit, len(page.Changes))
			}
			got, after = append(got, page.Changes...), page.Upto
			if !page.More {
				break
			}
		}
		if diff := cmp.Diff(summary(all), summary(got)); diff != "" || after != end {
			k.Fatalf("pages of %d end at %d, want %d (-want +got):\n%s", limit, after, end, diff)
		}
	}
	page, err := k.Changes.Changes(k.Context(), changelog.Query{After: all[3].Pos, Upto: all[9].Pos})
	if err != nil || len(page.Changes) != 6 || page.Upto != all[9].Pos || page.More {
		k.Errorf("the changes behind the fourth, up to the tenth, are %v, %v", page, err)
	}
}

func trims(k *kit) {
	s := k.Store("")
	acquire(k.T, s, "t", "r").commit(awaken.RunRunning)
	acquire(k.T, s, "t2", "r2").commit(awaken.RunRunning)
	got := k.read(k.Changes, "", 2)
	if n, err := k.Changes.TrimChanges(k.Context(), time.Hour); err != nil || n != 0 {
		k.Fatalf("removed %d, %v", n, err)
	}
	k.read(k.Changes, "", 2)
	for n := 0; n == 0; time.Sleep(time.Millisecond) { // until the clock has advanced
		var err error
		if n, err = k.Changes.TrimChanges(k.Context(), 0); err != nil {
			k.Fatal(err)
		}
	}
	_, err := k.Changes.Changes(k.Context(), changelog.Query{After: k.from})
	if !errors.Is(err, changelog.ErrGone) {
		k.Errorf("reading from the beginning: %v", err)
	}
	if _, err := k.Changes.Changes(k.Context(), changelog.Query{After: got[1].Pos}); err != nil {
		k.Errorf("reading behind the last: %v", err)
	}
	if _, err := k.Changes.Changes(k.Context(), changelog.Query{After: got[1].Pos + 1_000_000}); !errors.Is(err, changelog.ErrGone) {
		k.Errorf("reading behind what is not there: %v", err)
	}
}

func trimsAll(k *kit) {
	o := acquire(k.T, k.Store(""), "t", "r")
	o.commit(awaken.RunRunning)
	last := k.read(k.Changes, "", 1)[0].Pos
	time.Sleep(2 * time.Millisecond)
	if _, err := k.Changes.TrimChanges(k.Context(), 0); err != nil {
		k.Fatal(err)
	}
	o.commit(awaken.RunDone)
	k.from = last
	k.logged("", "run t r done")
}

// together has threads write at the same time as readers read, some of them through another process.
func together(k *kit) {
	const writers, readers = 8, 4
	runs := testenv.Times(3, 12)
	var write, read sync.WaitGroup
	errs := make(chan error, writers+2*readers)
	for w := range writers {
		write.Go(func() {
			for i := range runs {
				s := k.Store("")
				thread, run := fmt.Sprint("t", w), fmt.Sprint("r", w, "-", i)
				cp, err := s.Acquire(k.Context(), thread)
				if err != nil {
					errs <- err
					return
				}
				o := &owner{T: k.T, store: s, cp: cp, run: awaken.Run{RunID: run, ThreadID: thread, AgentID: "agent", Origin: "user", CreatedAt: 1_700_000_000}}
				for _, status := range []awaken.RunStatus{awaken.RunRunning, awaken.RunWaiting, awaken.RunRunning, awaken.RunDone} {
					if err := s.Commit(k.Context(), o.next(status)); err != nil {
						errs <- err
						return
					}
				}
			}
		})
	}
	logs := []changelog.Store{k.Changes}
	if k.Other != nil {
		logs = append(logs, k.Other)
	}
	got := make([][]string, len(logs)*readers)
	ctx, cancel := context.WithTimeout(k.Context(), time.Minute)
	defer cancel()
	for i := range got {
		read.Go(func() {
			for after := k.from; len(got[i]) < writers*runs*4; {
				page, err := logs[i%len(logs)].Changes(ctx, changelog.Query{After: after, Limit: 1 + 7*i})
				if err != nil {
					errs <- fmt.Errorf("reader %d has %d changes: %w", i, len(got[i]), err)
					return
				}
				got[i], after = append(got[i], summary(page.Changes)...), page.Upto
			}
		})
	}
	write.Wait()
	read.Wait()
	close(errs)
	for err := range errs {
		k.Fatal(err)
	}
	for i := range got {
		if diff := cmp.Diff(got[0], got[i]); diff != "" {
			k.Fatalf("reader %d has another log than the first:\n%s", i, diff)
		}
	}
	of := map[string][]string{}
	for _, text := range got[0] {
		thread := strings.Fields(text)[1]
		of[thread] = append(of[thread], text)
	}
	for w := range writers {
		var want []string
		for i := range runs {
			for _, status := range []string{"running", "waiting", "running", "done"} {
				want = append(want, fmt.Sprintf("run t%d r%d-%d %s", w, w, i, status))
			}
		}
		if diff := cmp.Diff(want, of[fmt.Sprint("t", w)]); diff != "" {
			k.Errorf("the changes of thread t%d are not in the order of its commits (-want +got):\n%s", w, diff)
		}
	}
}
