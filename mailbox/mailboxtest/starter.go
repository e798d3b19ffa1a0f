package mailboxtest

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// TestStarter runs the cases of [mailbox.Starter], for backends that implement it.
func TestStarter(t *testing.T, open func(t *testing.T) Backend) {
	test(t, open, []area{{"Start", starterCases}})
}

// beginning is a run that a case starts: its dispatch and its first commit.
type beginning struct {
	d *mailbox.Dispatch
	c *awaken.Commit
}

// begin returns the beginning of the run of d with the checkpoint that a store expects, or nil if it expects none.
func (k *kit) begin(s mailbox.Starter, d *mailbox.Dispatch) *beginning {
	k.Helper()
	cp := s.Expected(d.ThreadID)
	if cp == nil {
		return nil
	}
	d.Tenant, d.ClaimToken, d.ClaimedBy, d.Checkpoint = "", "token-"+d.ID, "p", cp
	input := *d.Request.Messages[0]
	input.ID = "message-" + d.ID
	o := ownerOf(k, d, cp)
	c := o.next(func(c *awaken.Commit) {
		c.Messages = []*llm.Message{&input}
		c.Entries = []awaken.Entry{{Cursor: awaken.Cursor{Epoch: c.Fence, Seq: cp.Thread.End.Seq + 1}, RunID: d.RunID, Time: c.Time, Event: &awaken.RunStart{ThreadID: d.ThreadID, RunID: d.RunID}}}
	})
	return &beginning{d, c}
}

// starts starts a run and reports whether the store has.
func (k *kit) starts(s mailbox.Starter, b *beginning, change ...func(*mailbox.Terms)) bool {
	k.Helper()
	if b == nil {
		return false
	}
	terms := mailbox.Terms{Start: &mailbox.ClaimRequest{Consumer: "p", Lease: lease, Limit: 1}}
	for _, f := range change {
		f(&terms)
	}
	ok, err := s.Start(k.Context(), terms, b.d, b.c)
	if err != nil {
		k.Fatalf("start %s: %v", b.d.ID, err)
	}
	return ok
}

// ends ends a run that was started.
func (k *kit) ends(b *beginning) {
	k.Helper()
	o := ownerOf(k, b.d, b.d.Checkpoint)
	o.number = 1
	c := o.next(done, func(c *awaken.Commit) {
		c.Expect++
		c.Messages = []*llm.Message{{ID: "answer-" + b.d.ID, Role: llm.Assistant, Content: []llm.Block{llm.Text("answer to " + b.d.ID)}}}
		c.Entries = []awaken.Entry{{Cursor: awaken.Cursor{Epoch: c.Fence, Seq: b.c.Entries[0].Seq + 1}, RunID: b.d.RunID, Time: c.Time, Event: &awaken.StepStart{}}}
	})
	out, err := k.store.CommitAndSettle(k.Context(), c, mailbox.Settlement{Claim: b.d.Claim(), Status: mailbox.Acked}, nil)
	k.wantSettled(true, out.Settled, err)
}

// texts returns the messages of a thread.
func (k *kit) texts(thread string) (out []string) {
	k.Helper()
	msgs, err := k.store.Messages(k.Context(), thread, awaken.MessageQuery{})
	if err != nil {
		k.Fatal(err)
	}
	for _, m := range msgs {
		out = append(out, m.Message.Text())
	}
	return out
}

// unstarted checks that a refused run has left nothing.
func (k *kit) unstarted(b *beginning, messages ...string) {
	k.Helper()
	if _, err := k.store.Dispatch(k.Context(), b.d.ID); err == nil {
		k.Errorf("dispatch %s is stored", b.d.ID)
	}
	if _, err := k.store.LoadRun(k.Context(), b.d.RunID); err == nil {
		k.Errorf("run %s is stored", b.d.RunID)
	}
	if messages != nil {
		equal(k, "messages", messages, k.texts(b.d.ThreadID))
	}
}

// starter returns the store as a Starter, with a process that lives.
func (k *kit) starter() mailbox.Starter {
	k.Helper()
	k.join("p")
	s, ok := k.store.(mailbox.Starter)
	if !ok {
		k.Fatalf("%T is no mailbox.Starter", k.store)
	}
	return s
}

var starterCases = []testCase{
	{"AcceptsClaimsOwnsAndBeginsANewThread", func(k *kit) {
		s := k.starter()
		b := k.begin(s, dispatch("t", "a", of("anna"), says("m"), idempotent("key")))
		if !k.starts(s, b) {
			k.Fatal("not started")
		}
		d := k.get("a")
		if d.Status != mailbox.Claimed || d.ClaimToken != "token-a" || d.ClaimedBy != "p" || d.IdempotencyKey != "key" || d.LeaseUntil != d.CreatedAt+lease.Milliseconds() {
			k.Errorf("stored %+v", plain(d))
		}
		equal(k, "returned", []int64{d.CreatedAt, d.UpdatedAt, d.AvailableAt, d.LeaseUntil, int64(d.Epoch)},
			[]int64{b.d.CreatedAt, b.d.UpdatedAt, b.d.AvailableAt, b.d.LeaseUntil, int64(b.d.Epoch)})
		equal(k, "end", awaken.Cursor{}, b.d.End)
		equal(k, "run", awaken.RunRunning, k.run("run-a").Status)
		th, err := k.store.Thread(k.Context(), "t")
		if err != nil || th.UserID != "anna" || th.OpenRunID != "run-a" || th.MessageCount != 1 || th.Metadata.CreatedAt == 0 {
			k.Errorf("thread %+v, %v", th, err)
		}
		equal(k, "messages", []string{"a"}, k.texts("t"))
		equal(k, "runs", []string{"run-a"}, k.runs(awaken.RunQuery{}))
		equal(k, "renewal", []mailbox.Renewal{{}}, k.renew(lease, b.d.Claim()))
		k.ends(b)
		equal(k, "messages", []string{"a", "answer to a"}, k.texts("t"))
		k.status(mailbox.Acked, "a")
		equal(k, "live", 0, len(k.look("t").Live))
	}},
	{"ContinuesAThreadThatTheProcessKnows", func(k *kit) {
		s := k.starter()
		for i, id := range []string{"a", "b", "c"} {
			b := k.begin(s, dispatch("t", id))
			equal(k, "view", 2*i, len(b.d.Checkpoint.View))
			if !k.starts(s, b) {
				k.Fatalf("%s is not started", id)
			}
			if i > 0 {
				equal(k, "end", awaken.Cursor{Epoch: b.c.Fence - 1, Seq: uint64(2 * i)}, b.d.End)
			}
			k.ends(b)
		}
		equal(k, "messages", []string{"a", "answer to a", "b", "answer to b", "c", "answer to c"}, k.texts("t"))
	}},
	{"ExpectsWhatAcquireReturns", func(k *kit) {
		s := k.starter()
		b := k.begin(s, dispatch("t", "a", of("anna")))
		k.starts(s, b)
		k.ends(b)
		expected := s.Expected("t")
		cp, err := k.other().Acquire(k.Context(), "t")
		if err != nil {
			k.Fatal(err)
		}
		for _, c := range []*awaken.Checkpoint{expected, cp} { // what a new run does not read, and times of the first commit's clock
			c.Index, c.Calls, c.RunState, c.Thread.Metadata, c.Thread.End.Epoch = nil, nil, nil, awaken.ThreadMetadata{}, 0
		}
		equal(k, "checkpoint", cp, expected)
	}},
	{"ARepeatedCallChangesNothing", func(k *kit) {
		s := k.starter()
		b := k.begin(s, dispatch("t", "a"))
		again := &beginning{new(mailbox.Dispatch), b.c}
		*again.d = *b.d
		if !k.starts(s, b) {
			k.Fatal("not started")
		}
		if ok, err := s.Start(k.Context(), mailbox.Terms{Start: &mailbox.ClaimRequest{Consumer: "p", Lease: lease}}, again.d, again.c); err != nil {
			k.Errorf("repeated: %t, %v", ok, err)
		}
		equal(k, "messages", []string{"a"}, k.texts("t"))
	}},
	{"ALostFenceDiscardsWhatIsKnown", func(k *kit) {
		s := k.starter()
		first := k.begin(s, dispatch("t", "a"))
		k.starts(s, first)
		k.ends(first)
		b := k.begin(s, dispatch("t", "b"))
		if _, err := k.other().Acquire(k.Context(), "t"); err != nil { // by another owner
			k.Fatal(err)
		}
		if k.starts(s, b) {
			k.Error("started on a thread that another process owns")
		}
		k.unstarted(b, "a", "answer to a")
	}},
	{"AnEditOfTheThreadDiscardsWhatIsKnown", func(k *kit) {
		s := k.starter()
		first := k.begin(s, dispatch("t", "a"))
		k.starts(s, first)
		k.ends(first)
		b := k.begin(s, dispatch("t", "b"))
		editor, ok := k.store.(awaken.ThreadEditor)
		if !ok {
			k.Fatalf("%T is no awaken.ThreadEditor", k.store)
		}
		if _, err := editor.UpdateThread(k.Context(), "t", func(t *awaken.Thread) error { t.Metadata.Title = "new"; return nil }); err != nil {
			k.Fatal(err)
		}
		if k.starts(s, b) {
			k.Error("started with metadata that are not the thread's")
		}
		k.unstarted(b, "a", "answer to a")
	}},
	{"AnItemInTheInboxAndAnInterruptDiscardWhatIsKnown", func(k *kit) {
		s := k.starter()
		for i, change := range []func(thread string){
			func(thread string) {
				k.change(thread, func(t *mailbox.Thread) {
					t.Post = append(t.Post, awaken.InboxItem{ID: "i", Messages: []*llm.Message{llm.UserText("posted")}})
				})
			},
			func(thread string) {
				if _, err := k.store.Interrupt(k.Context(), thread); err != nil {
					k.Fatal(err)
				}
			},
		} {
			thread := number("t", i)
			first := k.begin(s, dispatch(thread, number("a", i)))
			k.starts(s, first)
			k.ends(first)
			b := k.begin(s, dispatch(thread, number("b", i)))
			change(thread)
			if k.starts(s, b) {
				k.Errorf("%s: started", thread)
			}
			k.unstarted(b)
		}
	}},
	{"LeavesWhatEnqueueWouldNotClaim", func(k *kit) {
		s := k.starter()
		k.enqueue(dispatch("queued", "q", priority(200)), dispatch("keyed", "keyed", idempotent("key"), priority(200)), dispatch("said", "said", says("m"), priority(200)))
		k.acquire("runs", "r").commit(begins)
		for i, d := range []*mailbox.Dispatch{
			dispatch("queued", "1"),                 // its thread has a dispatch
			dispatch("new", "2", idempotent("key")), // its key is in use
			dispatch("said", "3", says("m")),        // so is its message
			dispatch("runs", "4"),                   // its thread has an open run
			dispatch("new", "5", priority(200)),     // another dispatch comes first
			dispatch("new", "q"),                    // its id is in use
			dispatch("new", "7", func(d *mailbox.Dispatch) { d.RunID, d.Request.RunID = "r", "r" }),         // so is its run
			dispatch("new", "8", func(d *mailbox.Dispatch) { d.RunID, d.Request.RunID = "run-q", "run-q" }), // and this one
		} {
			if d.ThreadID == "new" {
				d.ThreadID, d.Request.ThreadID = number("new", i), number("new", i)
			}
			if k.starts(s, k.begin(s, d)) {
				k.Errorf("%d: dispatch %s is started", i, d.ID)
			}
			if _, err := k.store.Thread(k.Context(), d.ThreadID); err == nil && d.ThreadID == number("new", i) {
				k.Errorf("%d: thread %s was made", i, d.ThreadID)
			}
		}
		k.status(mailbox.Queued, "q", "keyed", "said")
		if !k.starts(s, k.begin(s, dispatch("free", "free"))) {
			k.Error("a dispatch that none precedes is not started")
		}
	}},
	{"ConfinedToThreadsOfTheUser", func(k *kit) {
		s := k.starter()
		first := k.begin(s, dispatch("t", "a", of("anna")))
		k.starts(s, first)
		k.ends(first)
		confined := func(t *mailbox.Terms) { t.Confined = true }
		b := k.begin(s, dispatch("t", "b", of("bob")))
		if k.starts(s, b, confined) {
			k.Error("started for another user")
		}
		k.unstarted(b, "a", "answer to a")
		if !k.starts(s, k.begin(s, dispatch("t", "c", of("anna"))), confined) {
			k.Error("not started for the user of the thread")
		}
	}},
	{"ADeadProcessStartsNothing", func(k *kit) {
		s := k.starter()
		b := k.begin(s, dispatch("t", "a"))
		k.Advance(2 * silence)
		if k.starts(s, b) {
			k.Error("started by a dead process")
		}
		k.unstarted(b)
	}},
	{"ANewThreadBeginsBehindARemovedOne", func(k *kit) {
		s := k.starter()
		first := k.begin(s, dispatch("t", "a"))
		k.starts(s, first)
		k.ends(first)
		editor := k.store.(awaken.ThreadEditor)
		if err := editor.DeleteThread(k.Context(), "t", awaken.DetachChildren); err != nil {
			k.Fatal(err)
		}
		for range 2 { // the process finds out that the thread, and then that its fence, is another
			if b := k.begin(s, dispatch("t", "b")); k.starts(s, b) && b.c.Fence <= first.c.Fence {
				k.Errorf("fence %d, after %d of a removed thread", b.c.Fence, first.c.Fence)
			}
		}
	}},
	{"OneOfManyStartsAThread", func(k *kit) {
		s := k.starter()
		const clients = 8
		var wg sync.WaitGroup
		var won atomic.Int64
		begun := make([]*beginning, clients) // before one has started, so that each has reason to try
		for i := range begun {
			begun[i] = k.begin(s, dispatch("t", number("d", i)))
		}
		for _, b := range begun {
			wg.Go(func() {
				if ok, err := s.Start(k.Context(), mailbox.Terms{Start: &mailbox.ClaimRequest{Consumer: "p", Lease: lease}}, b.d, b.c); err != nil {
					k.Error(err)
				} else if ok {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		equal(k, "started", int64(1), won.Load())
		equal(k, "messages", 1, len(k.texts("t")))
	}},
	{"ManyThreadsAtOnce", func(k *kit) {
		s := k.starter()
		const runs = 40
		var wg sync.WaitGroup
		var mu sync.Mutex
		var left []*beginning
		for i := range runs {
			b := k.begin(s, dispatch(number("t", i), number("d", i)))
			wg.Go(func() {
				ok, err := s.Start(k.Context(), mailbox.Terms{Start: &mailbox.ClaimRequest{Consumer: "p", Lease: lease}}, b.d, b.c)
				if err != nil {
					k.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if !ok {
					left = append(left, b)
				}
			})
		}
		wg.Wait()
		equal(k, "left", 0, len(left))
		ids := k.runs(awaken.RunQuery{Limit: 2 * runs})
		slices.Sort(ids)
		equal(k, "runs", runs, len(slices.Compact(ids)))
	}},
	{"IsReclaimedWithItsProcess", func(k *kit) {
		s := k.starter()
		b := k.begin(s, dispatch("t", "a"))
		k.starts(s, b)
		k.Advance(silence + time.Second)
		equal(k, "reclaimed", 1, k.reclaim(10))
		d := k.claimOne("a")
		equal(k, "fresh", false, d.Fresh)
		equal(k, "run", awaken.RunRunning, k.run("run-a").Status)
		o := k.owns(d)
		equal(k, "view", 1, len(o.cp.View))
	}},
}

// other returns the store as another process has it, or the same one if there is no other.
func (k *kit) other() mailbox.Handle {
	if k.Other != nil {
		return k.Other.Handle("")
	}
	return k.store
}
