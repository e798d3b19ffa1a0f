package mailboxtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// created is the record of the run of a dispatch.
func created(d *mailbox.Dispatch) *awaken.Run { return d.NewRun() }

// ended is the record of a run that was cancelled before it started.
func ended(d *mailbox.Dispatch) *awaken.Run {
	r := d.NewRun()
	r.Status, r.StatusReason, r.FinishedAt = awaken.RunDone, "cancelled", r.CreatedAt+1
	r.Termination = awaken.Termination{Type: awaken.Cancelled}
	return r
}

// shows is what a store shows of a thread and of some dispatches and runs, to be
// compared with what it shows later.
func (k *kit) shows(thread string, dispatches, runs []string) string {
	k.Helper()
	t := k.look(thread)
	out := fmt.Sprintf("made %v, epoch %d, end %v, open %v, live %q\n", t.Exists, t.Epoch, t.End, t.Open != nil, dispatchIDs(t.Live))
	for _, id := range dispatches {
		d, err := k.store.Dispatch(k.Context(), id)
		out += fmt.Sprintf("%s: %+v, found %v\n", id, plain(d), err == nil)
	}
	for _, id := range runs {
		r, err := k.store.LoadRun(k.Context(), id)
		if err == nil {
			out += fmt.Sprintf("%s: %s %s\n", id, r.Status, r.AgentID)
		} else {
			out += fmt.Sprintf("%s: not found %v\n", id, errors.Is(err, awaken.ErrNotFound))
		}
	}
	items, err := k.store.Unread(k.Context(), thread)
	return out + fmt.Sprintf("inbox of %d, found %v\n", len(items), err == nil)
}

var changeCases = []testCase{
	{"ShowsAMissingThread", func(k *kit) {
		before := time.Now().Add(-time.Minute).UnixMilli()
		t := k.look("t")
		if t.ID != "t" || t.Exists || t.Epoch != 0 || t.End != (awaken.Cursor{}) || t.Open != nil || len(t.Live) != 0 || t.Now < before {
			k.Errorf("got %+v", t)
		}
		if _, err := k.store.Thread(k.Context(), "t"); !errors.Is(err, awaken.ErrNotFound) {
			k.Errorf("looking made the thread: %v", err)
		}
	}},
	{"ShowsTheLiveDispatchesInOrder", func(k *kit) {
		k.enqueue(dispatch("t", "over", priority(0)))
		k.as(k.claimOne("over"), mailbox.Acked)
		k.enqueue(dispatch("t", "late"))
		k.Advance(time.Second)
		k.enqueue(dispatch("t", "later", after(time.Hour)), dispatch("t", "first", priority(1)), dispatch("t", "last", priority(255)), dispatch("other", "x"))
		equal(k, "live", []string{"first", "late", "later", "last"}, dispatchIDs(k.look("t").Live))
		for _, d := range k.claim(2) {
			if d.ThreadID == "t" {
				equal(k, "claimed", "first", d.ID)
			}
		}
		live := k.look("t").Live
		equal(k, "live", []string{"first", "late", "later", "last"}, dispatchIDs(live))
		if live[0].Status != mailbox.Claimed || live[0].ClaimToken == "" || live[0].ClaimedBy != "worker" || live[1].Status != mailbox.Queued {
			k.Errorf("got %+v and %+v", plain(live[0]), plain(live[1]))
		}
	}},
	{"ShowsTheEndOfTheLog", func(k *kit) {
		o := k.acquire("t", "r")
		o.commit(func(c *awaken.Commit) {
			for seq := uint64(1); seq <= 3; seq++ {
				c.Entries = append(c.Entries, awaken.Entry{Cursor: awaken.Cursor{Epoch: o.cp.Fence, Seq: seq}, RunID: "r", Event: &awaken.StepStart{}})
			}
		})
		equal(k, "end", awaken.Cursor{Epoch: o.cp.Fence, Seq: 3}, k.look("t").End)
		equal(k, "end for the next owner", awaken.Cursor{Epoch: k.acquire("t", "r").cp.Fence, Seq: 3}, k.look("t").End)
	}},
	{"ShowsTheOpenRun", func(k *kit) {
		k.enqueue(dispatch("t", "d"))
		if t := k.look("t"); t.Open != nil || !t.Exists {
			k.Errorf("before it started: %+v", t)
		}
		o := k.acquire("t", "run-d")
		if t := k.look("t"); t.Open != nil {
			k.Errorf("before its first commit: %+v", t.Open)
		}
		check := func(want awaken.RunStatus, steps int) {
			k.Helper()
			if open := k.look("t").Open; open == nil || open.RunID != "run-d" || open.Status != want || open.Steps != steps {
				k.Errorf("open run is %+v, want %s", open, want)
			}
		}
		o.commit(func(c *awaken.Commit) { c.Run.Steps = 3 })
		check(awaken.RunRunning, 3)
		o.commit(parks)
		check(awaken.RunWaiting, 3)
		o.commit(func(c *awaken.Commit) { c.Run.Status, c.Run.Waiting, c.Run.Steps = awaken.RunRunning, nil, 4 })
		check(awaken.RunRunning, 4)
		o.commit(done)
		if t := k.look("t"); t.Open != nil {
			k.Errorf("after its end: %+v", t.Open)
		}
	}},
	{"StoresTheChanges", func(k *kit) {
		k.change("t", func(t *mailbox.Thread) {
			t.Create = true
			t.Put = []*mailbox.Dispatch{queued(t, "a"), queued(t, "b", priority(1))}
			t.Runs = []*awaken.Run{created(t.Put[0]), created(t.Put[1])}
			t.Post = []awaken.InboxItem{{ID: "i1", Messages: []*llm.Message{llm.UserText("hello")}}, {ID: "i2", RunID: "run-a", Decision: &awaken.Decision{Target: "c", Action: awaken.ActionCancel}}}
		})
		k.status(mailbox.Queued, "a", "b")
		equal(k, "live", []string{"b", "a"}, dispatchIDs(k.look("t").Live))
		equal(k, "run", awaken.RunCreated, k.run("run-a").Status)
		items, err := k.store.Unread(k.Context(), "t")
		if err != nil || len(items) != 2 || items[0].ID != "i1" || items[0].Messages[0].Text() != "hello" || items[1].Decision == nil || items[1].RunID != "run-a" {
			k.Errorf("inbox is %+v, %v", items, err)
		}
		k.change("t", func(t *mailbox.Thread) { t.Post = []awaken.InboxItem{{ID: "i2"}, {ID: "i3"}} })
		items, err = k.store.Unread(k.Context(), "t")
		if err != nil || len(items) != 3 || items[1].Decision == nil || items[2].ID != "i3" {
			k.Errorf("inbox is %+v, %v: an item must be posted once", items, err)
		}
	}},
	{"StoresEveryField", func(k *kit) {
		want := &mailbox.Dispatch{ID: "d", ThreadID: "t", RunID: "r", Priority: 7, DedupeKey: "dk", Epoch: 3, Status: mailbox.Queued, Cancel: true,
			Revision: 2, Attempts: 4, MaxAttempts: 9, Steps: 5, LastError: "boom", IdempotencyKey: "ik", Digest: "dg",
			Request: &awaken.RunRequest{AgentID: "agent", ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("hello")}, Origin: "mcp", Mode: "scheduled",
				Adapter: "acp", SessionID: "s", UserID: "u", TransportRequestID: "tr", ParentThreadID: "pt", ParentRunID: "pr", ParentToolCallID: "pc", Rewind: "m"}}
		k.change("t", func(t *mailbox.Thread) {
			want.CreatedAt, want.UpdatedAt, want.AvailableAt = t.Now-5, t.Now-4, t.Now-3
			t.Create, t.Put = true, []*mailbox.Dispatch{want}
		})
		same(k, "by id", want, k.get("d"))
		same(k, "live", want, k.look("t").Live[0])
		over := *want
		over.Request, over.Status, over.CompletedAt = nil, mailbox.Superseded, want.CreatedAt+9
		k.change("t", func(t *mailbox.Thread) { t.Put = []*mailbox.Dispatch{&over} })
		same(k, "changed", &over, k.get("d"))
		equal(k, "live", 0, len(k.look("t").Live))
	}},
	{"EditsQueuedDispatches", func(k *kit) {
		k.enqueue(dispatch("t", "a"), dispatch("t", "b"))
		k.change("t", func(t *mailbox.Thread) {
			d := *t.Live[1]
			d.Priority, d.Revision = 1, d.Revision+1
			d.Request = &awaken.RunRequest{AgentID: "agent", ThreadID: "t", Messages: []*llm.Message{llm.UserText("edited")}}
			t.Put = []*mailbox.Dispatch{&d}
		})
		d := k.claimOne("b")
		if d.Revision != 1 || d.Request.Messages[0].Text() != "edited" {
			k.Errorf("got %+v", d)
		}
	}},
	{"FlagsClaimedDispatches", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		d := k.claimOne("a")
		k.change("t", func(t *mailbox.Thread) {
			c := *t.Live[0]
			c.Cancel = true
			t.Put = []*mailbox.Dispatch{&c}
		})
		equal(k, "renewal", mailbox.Renewal{Cancel: true}, k.renew(lease, d.Claim())[0])
		k.as(d, mailbox.Acked)
	}},
	{"CancelsQueuedDispatches", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		k.change("t", func(t *mailbox.Thread) {
			c := *t.Live[0]
			c.Status, c.CompletedAt = mailbox.Cancelled, t.Now
			t.Put, t.Runs = []*mailbox.Dispatch{&c}, []*awaken.Run{ended(&c)}
		})
		k.nothing()
		k.status(mailbox.Cancelled, "a")
		equal(k, "run", awaken.RunDone, k.run("run-a").Status)
	}},
	// Row 2 of the original's list of limits: its stores could not do this.
	{"ThreadRunInputAndDispatchAreOneTransaction", func(k *kit) {
		nothing, oops := k.shows("t", []string{"a"}, []string{"run-a"}), errors.New("oops")
		for _, outcome := range []error{oops, nil} {
			err := k.store.Change(k.Context(), "t", func(t *mailbox.Thread) error {
				everything(t, "a")
				return outcome
			})
			if !errors.Is(err, outcome) {
				k.Fatalf("error is %v, want %v", err, outcome)
			}
			if outcome != nil {
				equal(k, "after a change that failed", nothing, k.shows("t", []string{"a"}, []string{"run-a"}))
			}
		}
		k.status(mailbox.Queued, "a")
		equal(k, "run", awaken.RunCreated, k.run("run-a").Status)
		th, err := k.store.Thread(k.Context(), "t")
		items, unreadErr := k.store.Unread(k.Context(), "t")
		if th == nil || len(items) != 1 || err != nil || unreadErr != nil {
			k.Errorf("thread is %v, inbox is %v, %v, %v", th, items, err, unreadErr)
		}
	}},
	{"ReturnsTheErrorUnwrapped", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		want := k.shows("t", []string{"a", "b"}, []string{"run-a", "run-b"})
		boom := errors.New("boom")
		err := k.store.Change(k.Context(), "t", func(t *mailbox.Thread) error {
			everything(t, "b")
			return boom
		})
		if err != boom { //nolint:errorlint // as it is
			k.Errorf("error is %v", err)
		}
		equal(k, "afterwards", want, k.shows("t", []string{"a", "b"}, []string{"run-a", "run-b"}))
		err = k.store.Change(k.Context(), "new", func(t *mailbox.Thread) error {
			everything(t, "b")
			return boom
		})
		if err != boom { //nolint:errorlint // as it is
			k.Errorf("error is %v", err)
		}
		if _, err := k.store.Thread(k.Context(), "new"); !errors.Is(err, awaken.ErrNotFound) {
			k.Errorf("the thread was made: %v", err)
		}
	}},
	{"RejectsADuplicateKeyAndChangesNothing", func(k *kit) {
		k.enqueue(dispatch("other", "x", idempotent("key")), dispatch("t", "a"))
		for range 2 {
			if d := k.claim(1)[0]; d.ID == "x" {
				k.as(d, mailbox.Acked) // it is taken as long as it is there
			}
		}
		want := k.shows("t", []string{"a", "b", "c"}, []string{"run-a", "run-b", "run-c"})
		err := k.store.Change(k.Context(), "t", func(t *mailbox.Thread) error {
			everything(t, "b")
			t.Put = append(t.Put, queued(t, "c", idempotent("key")))
			return nil
		})
		if !errors.Is(err, mailbox.ErrDuplicate) {
			k.Errorf("error is %v, want ErrDuplicate", err)
		}
		equal(k, "afterwards", want, k.shows("t", []string{"a", "b", "c"}, []string{"run-a", "run-b", "run-c"}))
		err = k.store.Change(k.Context(), "new", func(t *mailbox.Thread) error {
			t.Create, t.Put = true, []*mailbox.Dispatch{queued(t, "c", idempotent("key"))}
			return nil
		})
		if !errors.Is(err, mailbox.ErrDuplicate) {
			k.Errorf("error is %v, want ErrDuplicate", err)
		}
		if _, err := k.store.Thread(k.Context(), "new"); !errors.Is(err, awaken.ErrNotFound) {
			k.Errorf("the thread was made: %v", err)
		}
		// A dispatch's own key is not another's.
		x := k.get("x")
		k.change("other", func(t *mailbox.Thread) { t.Put = []*mailbox.Dispatch{x} })
	}},
	{"RejectsARunOfAnotherThread", func(k *kit) {
		k.acquire("done", "run-a").commit(done)
		k.enqueue(dispatch("queued", "b"))
		for _, run := range []string{"run-a", "run-b"} {
			err := k.store.Change(k.Context(), "t", func(t *mailbox.Thread) error {
				d := queued(t, "c", func(d *mailbox.Dispatch) { d.RunID, d.Request.RunID = run, run })
				t.Create, t.Put, t.Runs = true, []*mailbox.Dispatch{d}, []*awaken.Run{created(d)}
				return nil
			})
			if !errors.Is(err, mailbox.ErrDuplicate) {
				k.Errorf("error is %v, want ErrDuplicate", err)
			}
		}
		if _, err := k.store.Thread(k.Context(), "t"); !errors.Is(err, awaken.ErrNotFound) {
			k.Errorf("the thread was made: %v", err)
		}
		equal(k, "thread", "queued", k.run("run-b").ThreadID)
		equal(k, "status", awaken.RunDone, k.run("run-a").Status)
	}},
	{"RejectsADuplicateID", func(k *kit) {
		k.enqueue(dispatch("other", "x"), dispatch("t", "a"))
		err := k.store.Change(k.Context(), "t", func(t *mailbox.Thread) error {
			everything(t, "b")
			t.Put = append(t.Put, queued(t, "x"))
			return nil
		})
		if !errors.Is(err, mailbox.ErrDuplicate) {
			k.Errorf("error is %v, want ErrDuplicate", err)
		}
		equal(k, "thread of x", "other", k.get("x").ThreadID)
		if _, err := k.store.Dispatch(k.Context(), "b"); !errors.Is(err, awaken.ErrNotFound) {
			k.Errorf("something was changed: %v", err)
		}
	}},
	{"OfAMissingThreadNeedsMake", func(k *kit) {
		for name, fn := range map[string]func(t *mailbox.Thread){
			"put":       func(t *mailbox.Thread) { t.Put = []*mailbox.Dispatch{queued(t, "d")} },
			"post":      func(t *mailbox.Thread) { t.Post = []awaken.InboxItem{{ID: "i"}} },
			"interrupt": func(t *mailbox.Thread) { t.Interrupt = true },
			"raise":     func(t *mailbox.Thread) { t.RaiseEpoch = true },
		} {
			err := k.store.Change(k.Context(), "t", func(t *mailbox.Thread) error { fn(t); return nil })
			if !errors.Is(err, awaken.ErrNotFound) {
				k.Errorf("%s: error is %v, want ErrNotFound", name, err)
			}
		}
		if t := k.look("t"); t.Exists {
			k.Error("the thread was made")
		}
	}},
	{"InterruptRaisesTheGeneration", func(k *kit) {
		o := k.acquire("t", "r")
		o.commit(begins)
		k.change("t", func(t *mailbox.Thread) { t.RaiseEpoch = true })
		o.commit(begins) // the epoch does not matter to it
		k.change("t", func(t *mailbox.Thread) { t.Interrupt = true })
		if err := o.try(begins); !errors.Is(err, awaken.ErrGeneration) {
			k.Errorf("error is %v, want ErrGeneration", err)
		}
		o.commit() // it may still end
		k.acquire("t", "r").commit(begins)
	}},
	{"RaiseRaisesTheEpoch", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		for want := range uint64(3) {
			equal(k, "epoch", want, k.look("t").Epoch)
			k.change("t", func(t *mailbox.Thread) { t.RaiseEpoch = true })
		}
		k.enqueue(dispatch("t", "b"))
		equal(k, "epoch of a", uint64(0), k.get("a").Epoch)
		equal(k, "epoch of b", uint64(3), k.get("b").Epoch)
		k.change("t", func(t *mailbox.Thread) { t.Interrupt = true })
		equal(k, "epoch", uint64(3), k.look("t").Epoch)
		k.change("new", func(t *mailbox.Thread) { t.Create, t.RaiseEpoch = true, true })
		equal(k, "epoch of a new thread", uint64(1), k.look("new").Epoch)
	}},
	{"ReturnsCopies", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		o := k.acquire("t", "r")
		o.commit()
		mine := new(mailbox.Dispatch)
		k.change("t", func(t *mailbox.Thread) {
			spoil(t.Live[0])
			t.Open.Status, t.Epoch, t.Live = awaken.RunDone, 99, nil
			*mine = *queued(t, "b")
			t.Put = []*mailbox.Dispatch{mine}
		})
		spoil(mine)
		spoil(k.get("a"))
		t := k.look("t")
		if t.Epoch != 0 || t.Open == nil || t.Open.Status != awaken.RunRunning {
			k.Errorf("got %+v", t)
		}
		unspoilt(k, t.Live...)
		claimed := k.claimOne("a")
		spoil(claimed)
		list, err := k.store.Dispatches(k.Context(), mailbox.Query{})
		if err != nil || len(list) != 2 {
			k.Fatalf("%d dispatches, %v", len(list), err)
		}
		unspoilt(k, list...)
		spoil(list[0])
		unspoilt(k, k.get("a"), k.get("b"))
	}},
}

// everything records a change of every kind, with a dispatch of that id.
func everything(t *mailbox.Thread, id string) {
	d := queued(t, id)
	t.Create, t.Interrupt, t.RaiseEpoch = true, true, true
	t.Put, t.Runs, t.Post = []*mailbox.Dispatch{d}, []*awaken.Run{created(d)}, []awaken.InboxItem{{ID: "item of " + id}}
	if len(t.Live) > 0 {
		c := *t.Live[0]
		c.Cancel = true
		t.Put = append(t.Put, &c)
	}
}

// spoil changes a dispatch that belongs to the caller.
func spoil(d *mailbox.Dispatch) {
	d.Priority, d.LastError, d.ThreadID = 1, "spoilt", "spoilt"
	if d.Request != nil {
		d.Request.AgentID = "spoilt"
		d.Request.Messages[0] = llm.UserText("spoilt")
	}
}

func unspoilt(t testing.TB, ds ...*mailbox.Dispatch) {
	t.Helper()
	for _, d := range ds {
		if d.Priority != mailbox.DefaultPriority || d.LastError != "" || d.ThreadID != "t" || d.Request.AgentID != "agent" || d.Request.Messages[0].Text() != d.ID {
			t.Errorf("the stored dispatch changed: %+v", d)
		}
	}
}
