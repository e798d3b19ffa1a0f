package mailboxtest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// leaves checks which dispatches Enqueue leaves out.
func (k *kit) leaves(want []int, ds ...*mailbox.Dispatch) {
	k.Helper()
	left, err := k.store.Enqueue(k.Context(), mailbox.Terms{}, ds...)
	if err != nil {
		k.Fatal(err)
	}
	equal(k, "left out", want, append([]int{}, left...))
}

var enqueueCases = []testCase{
	{"QueuesWithTheStoresClock", func(k *kit) {
		before := k.now()
		k.enqueue(dispatch("t", "a", idempotent("key"), dedupe("dk"), priority(3)), dispatch("t", "b", after(time.Hour)))
		now := k.now()
		a, b := k.get("a"), k.get("b")
		between(k, "created_at", a.CreatedAt, before, now)
		between(k, "updated_at", a.UpdatedAt, before, now)
		between(k, "available_at", a.AvailableAt, before, now)
		between(k, "available_at of b", b.AvailableAt, before+time.Hour.Milliseconds(), now+time.Hour.Milliseconds())
		want := dispatch("t", "a", idempotent("key"), dedupe("dk"), priority(3))
		want.Status, want.CreatedAt, want.UpdatedAt, want.AvailableAt = mailbox.Queued, a.CreatedAt, a.UpdatedAt, a.AvailableAt
		same(k, "dispatch", want, a)
	}},
	{"IgnoresTheGivenStatus", func(k *kit) {
		k.enqueue(dispatch("t", "a", func(d *mailbox.Dispatch) { d.Status, d.Epoch, d.CreatedAt = mailbox.Acked, 9, 77 }))
		d := k.get("a")
		if d.Status != mailbox.Queued || d.Epoch != 0 || d.CreatedAt == 77 || d.CompletedAt != 0 {
			k.Errorf("got %+v", plain(d))
		}
		k.claimOne("a")
	}},
	{"AcceptsNoDispatches", func(k *kit) { k.enqueue() }},
	{"CreatesTheThreadAndTheRun", func(k *kit) {
		before := k.now()
		k.enqueue(dispatch("t", "a", func(d *mailbox.Dispatch) {
			q := d.Request
			q.ParentThreadID, q.ParentRunID, q.ParentToolCallID, q.SessionID, q.UserID, q.TransportRequestID = "pt", "pr", "pc", "s", "u", "tr"
			q.Origin, q.Mode, q.Adapter = "mcp", "scheduled", "acp"
		}))
		t, err := k.store.Thread(k.Context(), "t")
		if err != nil {
			k.Fatal(err)
		}
		between(k, "created_at", t.Metadata.CreatedAt, before, k.now())
		between(k, "updated_at", t.Metadata.UpdatedAt, before, k.now())
		if t.OpenRunID != "" || t.LatestRunID != "" || t.MessageCount != 0 {
			k.Errorf("got %+v", t)
		}
		equal(k, "run", k.get("a").NewRun(), k.run("run-a"))
	}},
	{"QueuesABatch", func(k *kit) {
		var ds []*mailbox.Dispatch
		want := []string{}
		for i := range 1000 {
			ds = append(ds, dispatch(number("t", i/10), number("d", i)))
			if i < 10 {
				want = append(want, number("d", i))
			}
		}
		k.enqueue(ds...)
		equal(k, "dispatches of a thread", want, k.list(mailbox.Query{ThreadID: number("t", 0)}))
		counts, err := k.Queue.Counts(k.Context())
		if err != nil || counts[mailbox.Queued] != 1000 {
			k.Errorf("counts are %v, %v", counts, err)
		}
	}},
	{"SkipsDispatchesOfAThreadWithAWaitingRun", func(k *kit) {
		k.acquire("waits", "r1").commit(parks)
		k.acquire("runs", "r2").commit()
		k.acquire("done", "r3").commit(done)
		k.leaves([]int{1}, dispatch("runs", "a"), dispatch("waits", "b"), dispatch("done", "c"), dispatch("new", "d"))
		equal(k, "dispatches", []string{}, k.list(mailbox.Query{ThreadID: "waits"}))
		k.status(mailbox.Queued, "a", "c", "d")
		if _, err := k.store.LoadRun(k.Context(), "run-b"); !errors.Is(err, awaken.ErrNotFound) {
			k.Errorf("the run of what was left out was recorded: %v", err)
		}
	}},
	{"SkipsADuplicateID", func(k *kit) {
		k.enqueue(dispatch("t", "a"), dispatch("t", "over"))
		k.as(k.claimOne("a"), mailbox.Acked)
		k.leaves([]int{0, 1, 3}, dispatch("t", "a"), dispatch("u", "over"), dispatch("u", "b"), dispatch("v", "b"))
		equal(k, "thread", "t", k.get("over").ThreadID)
		equal(k, "thread", "u", k.get("b").ThreadID)
		k.status(mailbox.Acked, "a")
	}},
	{"SkipsADuplicateDedupeKey", func(k *kit) {
		k.enqueue(dispatch("t", "a", dedupe("key")))
		k.leaves([]int{0, 3}, dispatch("t", "b", dedupe("key")), dispatch("t", "c", dedupe("other")), dispatch("u", "d", dedupe("key")),
			dispatch("u", "e", dedupe("key")), dispatch("t", "f"), dispatch("t", "g"))
		for _, d := range k.claim(10) {
			if d.ThreadID == "t" {
				k.leaves([]int{0}, dispatch("t", "h", dedupe("key"))) // a claimed one is live
				k.as(d, mailbox.Acked)
			}
		}
		k.leaves([]int{}, dispatch("t", "h", dedupe("key"))) // one that is over is not
	}},
	{"SkipsADuplicateIdempotencyKey", func(k *kit) {
		k.enqueue(dispatch("t", "a", idempotent("key")))
		k.leaves([]int{0, 2}, dispatch("u", "b", idempotent("key")), dispatch("u", "c", idempotent("k2")), dispatch("v", "d", idempotent("k2")))
		for _, d := range k.claim(10) {
			k.as(d, mailbox.Acked)
		}
		k.leaves([]int{0}, dispatch("u", "e", idempotent("key"))) // as long as the dispatch is there
		if _, err := k.store.PurgeDispatches(k.Context(), mailbox.Query{}); err != nil {
			k.Fatal(err)
		}
		k.leaves([]int{}, dispatch("u", "e", idempotent("key")))
	}},
	{"DoesNotTouchSkippedDispatches", func(k *kit) {
		k.acquire("t", "r").commit(parks)
		d := dispatch("t", "a", after(time.Minute))
		k.leaves([]int{0}, d)
		same(k, "dispatch", dispatch("t", "a", after(time.Minute)), d)
	}},
	{"StoresACopy", func(k *kit) {
		d := dispatch("t", "a")
		k.enqueue(d)
		spoil(d)
		unspoilt(k, k.get("a"))
	}},
	{"SkipsARunThatExists", func(k *kit) {
		k.acquire("t", "run-a").commit(done)
		k.acquire("u", "run-b").commit(parks)
		k.leaves([]int{0, 1, 2}, dispatch("t", "a"), dispatch("new", "b"), dispatch("new", "c", func(d *mailbox.Dispatch) { d.RunID = "run-a" }))
		equal(k, "status", awaken.RunDone, k.run("run-a").Status)
		equal(k, "status", awaken.RunWaiting, k.run("run-b").Status)
		if _, err := k.store.Thread(k.Context(), "new"); !errors.Is(err, awaken.ErrNotFound) {
			k.Errorf("what was left out created its thread: %v", err)
		}
		k.leaves([]int{}, dispatch("new", "d"), dispatch("t", "e"))
	}},
	{"SkipsARunThatIsQueued", func(k *kit) {
		again := func(thread, id string) *mailbox.Dispatch {
			return dispatch(thread, id, func(d *mailbox.Dispatch) { d.RunID = "run-a" })
		}
		k.enqueue(dispatch("t", "a"))
		k.leaves([]int{0, 1, 3}, again("t", "b"), again("u", "c"), dispatch("u", "d"), again("v", "e"))
		k.leaves([]int{0, 2, 4, 5, 6}, again("u", "f"), dispatch("w", "g"), again("w", "h"), dispatch("w", "i"), again("x", "j"), again("y", "k"), again("z", "l"))
		equal(k, "thread of the run", "t", k.run("run-a").ThreadID)
		for _, thread := range []string{"v", "x", "y", "z"} {
			if _, err := k.store.Thread(k.Context(), thread); !errors.Is(err, awaken.ErrNotFound) {
				k.Errorf("what was left out created thread %s: %v", thread, err)
			}
		}
		equal(k, "claimed", []string{"a", "d", "g"}, dispatchIDs(k.claim(10)))
		k.leaves([]int{0}, again("u", "m")) // a claimed one is live
	}},
	{"SubmittedFindsTheKey", func(k *kit) {
		k.enqueue(dispatch("t", "a", idempotent("key")), dispatch("t", "b"))
		find := func(key string) *mailbox.Dispatch {
			k.Helper()
			d, err := k.store.Submitted(k.Context(), key)
			if err != nil {
				k.Fatalf("submitted %q: %v", key, err)
			}
			return d
		}
		same(k, "dispatch", k.get("a"), find("key"))
		k.as(k.claimOne("a"), mailbox.Acked)
		same(k, "when it is over", k.get("a"), find("key"))
		k.change("u", func(t *mailbox.Thread) {
			t.Create, t.Put = true, []*mailbox.Dispatch{queued(t, "c", idempotent("other"))}
		})
		equal(k, "digest", "digest of other", find("other").Digest)
		for _, key := range []string{"", "ghost"} {
			if _, err := k.store.Submitted(k.Context(), key); !errors.Is(err, awaken.ErrNotFound) {
				k.Errorf("submitted %q: error is %v, want ErrNotFound", key, err)
			}
		}
	}},
	{"KeepsUnusualIDsApart", func(k *kit) {
		ids := []string{"a", "A", "a ", "é", "e\u0301", "日本語", "🙂", `'";--`, `\`, "%", "_", "a/b", "..", "tab\tand\nline", strings.Repeat("long", 250)}
		for _, id := range ids {
			k.enqueue(&mailbox.Dispatch{ID: id, ThreadID: id, RunID: id, MaxAttempts: 1, DedupeKey: id, IdempotencyKey: id, Digest: id,
				Request: &awaken.RunRequest{AgentID: "agent", ThreadID: id}})
		}
		seen := map[string]bool{}
		for _, d := range k.claim(100) {
			if d.ThreadID != d.ID || d.RunID != d.ID || d.DedupeKey != d.ID || d.IdempotencyKey != d.ID || d.Digest != d.ID || d.Request.ThreadID != d.ID {
				k.Errorf("got %+v", d)
			}
			seen[d.ID] = true
			k.settle(mailbox.Settlement{Claim: d.Claim(), Status: mailbox.DeadLetter, Error: d.ID})
		}
		for _, id := range ids {
			if !seen[id] {
				k.Errorf("%q was not claimed", id)
			}
			if d := k.get(id); d.Status != mailbox.DeadLetter || d.LastError != id {
				k.Errorf("got %+v", plain(d))
			}
			d, err := k.store.Submitted(k.Context(), id)
			if err != nil || d.ID != id {
				k.Errorf("submitted %q: %v", id, err)
			}
			equal(k, "dispatches of the thread", []string{id}, k.list(mailbox.Query{ThreadID: id}))
			equal(k, "dispatches of the run", []string{id}, k.list(mailbox.Query{RunID: id}))
			equal(k, "run", id, k.run(id).ThreadID)
		}
	}},
	{"KeepsLargeRequests", func(k *kit) {
		text := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
		k.enqueue(dispatch("t", "a", func(d *mailbox.Dispatch) { d.Request.Messages = []*llm.Message{llm.UserText(text)} }))
		if got := k.claimOne("a").Request.Messages[0].Text(); got != text {
			k.Errorf("got %d bytes, want %d", len(got), len(text))
		}
	}},
}

var runCases = []testCase{
	{"CreatedAreVisibleButNotOpen", func(k *kit) {
		k.acquire("t", "before").commit(entries(3), done)
		k.enqueue(dispatch("t", "a"))
		k.change("t", func(t *mailbox.Thread) {
			d := queued(t, "b")
			t.Put, t.Runs = []*mailbox.Dispatch{d}, []*awaken.Run{created(d)}
		})
		for _, id := range []string{"run-a", "run-b"} {
			if r := k.run(id); r.Status != awaken.RunCreated || r.AgentID != "agent" || r.Origin != "user" || r.ThreadID != "t" {
				k.Errorf("got %+v", r)
			}
		}
		runs, err := k.store.ListRuns(k.Context(), awaken.RunQuery{ThreadID: "t", Status: awaken.RunCreated})
		if err != nil || len(runs) != 2 || runs[0].RunID != "run-b" || runs[1].RunID != "run-a" {
			k.Errorf("runs are %v, %v", runs, err)
		}
		th, err := k.store.Thread(k.Context(), "t")
		if err != nil || th.OpenRunID != "" || th.LatestRunID != "before" {
			k.Errorf("thread is %+v, %v", th, err)
		}
		if cp := k.acquire("t", "run-a").cp; cp.Run == nil || cp.Run.RunID != "before" {
			k.Errorf("the next owner finds %+v", cp.Run)
		}
		if open := k.look("t").Open; open != nil {
			k.Errorf("open is %+v", open)
		}
		if calls, err := k.store.Calls(k.Context(), "run-a"); err != nil || len(calls) != 0 {
			k.Errorf("ledger is %v, %v", calls, err)
		}
		if events, err := k.store.Entries(k.Context(), "t", awaken.EntryQuery{RunID: "run-a"}); err != nil || len(events) != 0 {
			k.Errorf("events are %v, %v", events, err)
		}
	}},
	{"AreFoundBeforeTheyStart", func(k *kit) {
		k.enqueue(dispatch("t", "a", of("anna"), func(d *mailbox.Dispatch) {
			d.Request.SessionID, d.Request.ParentRunID, d.Request.Depth, d.Request.ResolutionID, d.Request.Mode = "session", "parent", 2, "7", "scheduled"
		}))
		k.change("u", func(t *mailbox.Thread) {
			d := queued(t, "b", of("anna"))
			t.Create, t.UserID, t.Put, t.Runs = true, "anna", []*mailbox.Dispatch{d}, []*awaken.Run{created(d)}
		})
		check := func(when string) {
			k.Helper()
			for _, id := range []string{"a", "b"} {
				equal(k, "run "+id+" "+when, k.get(id).NewRun(), k.run("run-"+id))
				equal(k, "dispatches of run "+id+" "+when, []string{id}, k.list(mailbox.Query{RunID: "run-" + id}))
				if calls, err := k.store.Calls(k.Context(), "run-"+id); err != nil || len(calls) != 0 {
					k.Errorf("%s: the ledger is %v, %v", when, calls, err)
				}
			}
			anna, bob := "anna", "bob"
			for _, q := range []struct {
				awaken.RunQuery
				want []string
			}{
				{awaken.RunQuery{}, []string{"run-b", "run-a"}},
				{awaken.RunQuery{Status: awaken.RunCreated}, []string{"run-b", "run-a"}},
				{awaken.RunQuery{Status: awaken.RunRunning}, []string{}},
				{awaken.RunQuery{ThreadID: "t"}, []string{"run-a"}},
				{awaken.RunQuery{Owner: &anna, Status: awaken.RunCreated}, []string{"run-b", "run-a"}},
				{awaken.RunQuery{Owner: &bob}, []string{}},
				{awaken.RunQuery{ThreadID: "ghost"}, []string{}},
			} {
				equal(k, fmt.Sprintf("%+v %s", q.RunQuery, when), q.want, k.runs(q.RunQuery))
			}
			if u, ok := k.store.(awaken.UsageReader); ok {
				totals, err := u.UsageTotals(k.Context(), awaken.UsageQuery{})
				if err != nil || len(totals) != 1 || totals[0].AgentID != "agent" || totals[0].Runs != 2 {
					k.Errorf("%s: usage is %+v, %v", when, totals, err)
				}
			}
		}
		check("while it is queued")
		k.claim(2)
		check("once it is claimed")
	}},
	{"KeepTheirPlaceInLists", func(k *kit) {
		for i := range 3 {
			k.acquire(number("own", i), number("own-", i)).commit(done)
			k.enqueue(dispatch(number("t", i), number("d", i)), dispatch("same", number("e", i)))
		}
		want := k.runs(awaken.RunQuery{})
		equal(k, "runs", []string{"run-e0002", "run-d0002", "own-0002", "run-e0001", "run-d0001", "own-0001", "run-e0000", "run-d0000", "own-0000"}, want)
		check := func(when string) {
			k.Helper()
			var got []string
			for offset := 0; offset < len(want); offset += 2 {
				got = append(got, k.runs(awaken.RunQuery{Offset: offset, Limit: 2})...)
			}
			equal(k, "runs page by page "+when, want, got)
			equal(k, "behind the end", []string{}, k.runs(awaken.RunQuery{Offset: len(want)}))
			n, err := k.store.CountRuns(k.Context(), awaken.RunQuery{})
			if err != nil || n != len(want) {
				k.Errorf("%s: %d runs, %v, want %d", when, n, err, len(want))
			}
		}
		check("before any starts")
		second := k.acquire("t0001", "run-d0001")
		second.commit()
		check("after the second has started")
		k.acquire("t0000", "run-d0000").commit(done)
		check("after the first has ended")
		second.commit(done)
		check("after the second has ended")
		k.change("same", func(t *mailbox.Thread) { t.Runs = append(t.Runs, ended(t.Live[1])) })
		check("after one was cancelled")
		equal(k, "created", []string{"run-e0002", "run-d0002", "run-e0000"}, k.runs(awaken.RunQuery{Status: awaken.RunCreated}))
		n, err := k.store.CountRuns(k.Context(), awaken.RunQuery{Status: awaken.RunCreated, ThreadID: "same"})
		if err != nil || n != 2 {
			k.Errorf("%d are created, %v, want 2", n, err)
		}
	}},
	{"OfTwoDispatchesAreListedOnce", func(k *kit) {
		again := func(d *mailbox.Dispatch) { d.RunID, d.Request.RunID = "run-a", "run-a" }
		k.enqueue(dispatch("t", "a"))
		for _, id := range []string{"b", "c"} {
			k.change("t", func(t *mailbox.Thread) {
				d := queued(t, id, again)
				t.Put, t.Runs = []*mailbox.Dispatch{d}, []*awaken.Run{created(d)}
			})
		}
		equal(k, "runs", []string{"run-a"}, k.runs(awaken.RunQuery{}))
		equal(k, "dispatches", []string{"a", "b", "c"}, k.list(mailbox.Query{RunID: "run-a"}))
		k.acquire("t", "run-a").commit(done)
		equal(k, "runs", []string{"run-a"}, k.runs(awaken.RunQuery{}))
		equal(k, "status", awaken.RunDone, k.run("run-a").Status)
	}},
	{"AreFreshUntilTheyStart", func(k *kit) {
		k.enqueue(dispatch("t", "a"), dispatch("started", "b"), dispatch("busy", "c"))
		k.acquire("started", "run-b").commit()
		k.acquire("busy", "other").commit()
		ds := k.claim(3)
		for _, d := range ds {
			if d.Fresh && d.ID != "a" {
				k.Errorf("dispatch %s is fresh", d.ID)
			}
			k.settle(mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Queued, Failed: true})
		}
		for _, d := range k.claim(3) {
			if d.Fresh {
				k.Errorf("dispatch %s is fresh although an earlier owner may have started its run", d.ID)
			}
		}
	}},
	{"AreReplacedByTheFirstCommit", func(k *kit) {
		k.enqueue(dispatch("t", "a"), dispatch("t", "b"))
		o := k.acquire("t", "run-a")
		if o.cp.Run != nil {
			k.Errorf("the owner finds %+v", o.cp.Run)
		}
		o.commit(func(c *awaken.Commit) { c.Run.Steps = 1 })
		th, err := k.store.Thread(k.Context(), "t")
		if err != nil || th.OpenRunID != "run-a" || th.LatestRunID != "run-a" {
			k.Errorf("thread is %+v, %v", th, err)
		}
		equal(k, "run", &o.run, k.run("run-a"))
		equal(k, "the other", awaken.RunCreated, k.run("run-b").Status)
		runs, err := k.store.ListRuns(k.Context(), awaken.RunQuery{ThreadID: "t"})
		if err != nil || len(runs) != 2 || runs[0].RunID != "run-b" {
			k.Errorf("runs are %v, %v: starting makes a run no newer", runs, err)
		}
		o.commit(done)
		equal(k, "status", awaken.RunDone, k.run("run-a").Status)
	}},
	{"AreWrittenOnlyOverCreatedOnes", func(k *kit) {
		k.enqueue(dispatch("t", "a"), dispatch("t", "b"), dispatch("t", "c"))
		running := k.acquire("t", "run-a")
		running.commit()
		k.change("t", func(t *mailbox.Thread) {
			for _, d := range t.Live {
				t.Runs = append(t.Runs, ended(d))
			}
			fresh := dispatch("t", "d")
			t.Runs = append(t.Runs, ended(fresh))
		})
		equal(k, "a run that has started", awaken.RunRunning, k.run("run-a").Status)
		for _, id := range []string{"run-b", "run-c", "run-d"} {
			if r := k.run(id); r.Status != awaken.RunDone || r.Termination.Type != awaken.Cancelled || r.StatusReason != "cancelled" {
				k.Errorf("got %+v", r)
			}
		}
		k.change("t", func(t *mailbox.Thread) {
			for _, d := range t.Live {
				t.Runs = append(t.Runs, created(d))
			}
		})
		equal(k, "a run that has ended", awaken.RunDone, k.run("run-b").Status)
		th, err := k.store.Thread(k.Context(), "t")
		if err != nil || th.OpenRunID != "run-a" || th.LatestRunID != "run-a" {
			k.Errorf("thread is %+v, %v", th, err)
		}
		if open := k.look("t").Open; open == nil || open.RunID != "run-a" {
			k.Errorf("open is %+v", open)
		}
	}},
}

var threadCases = []testCase{
	{"AreCreatedOnce", func(k *kit) {
		o := k.acquire("t", "r")
		o.commit(done)
		want, err := k.store.Thread(k.Context(), "t")
		if err != nil {
			k.Fatal(err)
		}
		k.Advance(time.Minute)
		k.enqueue(dispatch("t", "a"))
		k.change("t", func(t *mailbox.Thread) { t.Create = true })
		got, err := k.store.Thread(k.Context(), "t")
		if err != nil {
			k.Fatal(err)
		}
		equal(k, "created_at", want.Metadata.CreatedAt, got.Metadata.CreatedAt)
		equal(k, "latest run", "r", got.LatestRunID)
	}},
	{"AreListedOnceCreated", func(k *kit) {
		before := k.now()
		k.enqueue(dispatch("a", "a"))
		k.change("b", func(t *mailbox.Thread) { t.Create = true })
		list, err := k.store.ListThreads(k.Context(), awaken.ThreadQuery{})
		if err != nil || len(list) != 2 {
			k.Fatalf("%d threads, %v", len(list), err)
		}
		for _, t := range list {
			between(k, "created_at", t.Metadata.CreatedAt, before, k.now())
			between(k, "updated_at", t.Metadata.UpdatedAt, before, k.now())
		}
		if msgs, err := k.store.Messages(k.Context(), "b", awaken.MessageQuery{}); err != nil || len(msgs) != 0 {
			k.Errorf("messages are %v, %v", msgs, err)
		}
	}},
	{"BelongToTheUserOfTheFirstDispatch", func(k *kit) {
		by := func(user string) func(*mailbox.Dispatch) {
			return func(d *mailbox.Dispatch) { d.Request.UserID = user }
		}
		check := func(thread, want string) {
			k.Helper()
			th, err := k.store.Thread(k.Context(), thread)
			if err != nil || th.UserID != want {
				k.Errorf("thread is %+v, %v, want user %q", th, err, want)
			}
			k.change(thread, func(t *mailbox.Thread) { equal(k, "user in a change", want, t.UserID) })
		}
		k.enqueue(dispatch("a", "a", by("alice")), dispatch("a", "a2", by("bob")), dispatch("b", "b", by("bob")), dispatch("c", "c"), dispatch("d", "d", by("a\x00b")))
		k.enqueue(dispatch("c", "c2", by("bob")), dispatch("b", "b2"))
		k.change("e", func(t *mailbox.Thread) { t.Create, t.UserID, t.Put = true, "eve", []*mailbox.Dispatch{queued(t, "e")} })
		k.change("e", func(t *mailbox.Thread) { t.Create, t.UserID = true, "bob" }) // it exists
		k.acquire("c", "run-c").commit(func(c *awaken.Commit) { c.Run.UserID = "bob" })
		for thread, user := range map[string]string{"a": "alice", "b": "bob", "c": "", "d": "a\x00b", "e": "eve"} {
			check(thread, user)
		}
	}},
	{"LearnTheirParentFromTheFirstCommit", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		o := k.acquire("t", "run-a")
		o.commit(func(c *awaken.Commit) { c.ParentThreadID = "parent" })
		th, err := k.store.Thread(k.Context(), "t")
		if err != nil || th.ParentThreadID != "parent" {
			k.Errorf("thread is %+v, %v", th, err)
		}
	}},
	{"WithLiveDispatchesAreNotDeleted", func(k *kit) {
		e := k.editor()
		k.enqueue(dispatch("t", "a"), dispatch("t", "b"))
		refused := func() {
			k.Helper()
			for _, how := range []awaken.ChildStrategy{awaken.DetachChildren, awaken.RejectChildren, awaken.CascadeChildren} {
				if err := e.DeleteThread(k.Context(), "t", how); !errors.Is(err, awaken.ErrConflict) {
					k.Errorf("%q: error is %v, want ErrConflict", how, err)
				}
			}
		}
		refused()
		k.as(k.claimOne("a"), mailbox.Acked)
		b := k.claimOne("b")
		refused()
		k.as(b, mailbox.Acked)
		if err := e.DeleteThread(k.Context(), "t", awaken.DetachChildren); err != nil {
			k.Fatal(err)
		}
		equal(k, "dispatches", []string{}, k.list(mailbox.Query{}))
		if _, err := k.store.LoadRun(k.Context(), "run-a"); !errors.Is(err, awaken.ErrNotFound) {
			k.Errorf("the run is still there: %v", err)
		}
		k.enqueue(dispatch("t", "a")) // everything is as if it had never been
		equal(k, "epoch", uint64(0), k.look("t").Epoch)
	}},
	{"WithLiveDescendantsAreNotDeleted", func(k *kit) {
		e := k.editor()
		k.acquire("t", "r").commit(done)
		k.acquire("kid", "rk").commit(done, func(c *awaken.Commit) { c.ParentThreadID = "t" })
		k.acquire("grandkid", "rg").commit(done, func(c *awaken.Commit) { c.ParentThreadID = "kid" })
		k.enqueue(dispatch("grandkid", "a"))
		if err := e.DeleteThread(k.Context(), "t", awaken.CascadeChildren); !errors.Is(err, awaken.ErrConflict) {
			k.Errorf("error is %v, want ErrConflict", err)
		}
		for _, id := range []string{"t", "kid", "grandkid"} {
			if _, err := k.store.Thread(k.Context(), id); err != nil {
				k.Errorf("thread %s: %v", id, err)
			}
		}
		k.as(k.claimOne("a"), mailbox.Acked)
		if err := e.DeleteThread(k.Context(), "t", awaken.CascadeChildren); err != nil {
			k.Error(err)
		}
		equal(k, "dispatches", []string{}, k.list(mailbox.Query{}))
	}},
	{"WithLiveDispatchesAreNotPruned", func(k *kit) {
		e := k.editor()
		k.enqueue(dispatch("a", "a"), dispatch("b", "b"), dispatch("c", "c"))
		for _, d := range k.claim(2) {
			k.as(d, mailbox.Acked)
		}
		later := time.UnixMilli(k.now()).Add(time.Hour)
		if n, err := e.Prune(k.Context(), later); err != nil || n != 2 {
			k.Errorf("pruned %d, %v, want 2", n, err)
		}
		left := k.claim(3)
		if len(left) != 1 {
			k.Fatalf("claimed %q", dispatchIDs(left))
		}
		if n, err := e.Prune(k.Context(), later); err != nil || n != 0 {
			k.Errorf("pruned %d, %v, want none", n, err)
		}
		equal(k, "dispatches", dispatchIDs(left), k.list(mailbox.Query{}))
		k.as(left[0], mailbox.Acked)
		if n, err := e.Prune(k.Context(), later); err != nil || n != 1 {
			k.Errorf("pruned %d, %v, want 1", n, err)
		}
		equal(k, "dispatches", []string{}, k.list(mailbox.Query{}))
	}},
}

// editor returns the store's ThreadEditor.
func (k *kit) editor() awaken.ThreadEditor {
	e, ok := k.store.(awaken.ThreadEditor)
	if !ok {
		k.Skip("the store is no ThreadEditor")
	}
	return e
}
