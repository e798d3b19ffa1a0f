package mailbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
)

// The threads of the tables. The clock stands at 5000 and the epoch at 3.

func threadWith(open awaken.RunStatus, live ...*Dispatch) *Thread {
	t := &Thread{ID: "t", Now: 5000, Exists: true, Epoch: 3, Live: live}
	if open != "" {
		t.Open = &awaken.Run{RunID: "open", ThreadID: "t", Status: open, Steps: 7}
	}
	Sort(t.Live)
	return t
}

// one is a live dispatch that starts a run, or wakes the open one.
func one(id, run string, status Status, change ...func(*Dispatch)) *Dispatch {
	d := &Dispatch{ID: id, ThreadID: "t", RunID: run, Status: status, Epoch: 3, Priority: DefaultPriority, CreatedAt: 1000, AvailableAt: 1000,
		Request: &awaken.RunRequest{ThreadID: "t", RunID: run, AgentID: "agent"}}
	if status == Claimed {
		d.ClaimToken = "token"
	}
	for _, f := range change {
		f(d)
	}
	return d
}

func wakes(d *Dispatch)     { d.Request = nil }
func cancelled(d *Dispatch) { d.Cancel = true }
func later(d *Dispatch)     { d.AvailableAt = 9000 }
func keyed(d *Dispatch)     { d.DedupeKey = "key" }

// fresh is the dispatch of a new submission.
func fresh(change ...func(*Dispatch)) *Dispatch {
	return one("new", "run-new", "", append([]func(*Dispatch){func(d *Dispatch) { d.ThreadID, d.Epoch, d.CreatedAt, d.AvailableAt = "", 0, 0, 0 }}, change...)...)
}

// spare is a dispatch without a purpose.
func spare() *Dispatch { return fresh(wakes, func(d *Dispatch) { d.ID, d.RunID = "spare", "" }) }

var items = []awaken.InboxItem{{ID: "i"}}

// recorded is what is to be changed, one thing on each line.
func recorded(t *Thread) string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if t.Create {
		say("make")
	}
	if t.RaiseEpoch {
		say("raise")
	}
	if t.Interrupt {
		say("interrupt")
	}
	for _, d := range t.Put {
		line := fmt.Sprintf("put %s of %s: %s", d.ID, d.RunID, d.Status)
		if d.Cancel {
			line += ", cancel"
		}
		if d.Request == nil {
			line += ", wakes"
		}
		if d.Priority != DefaultPriority {
			line += fmt.Sprintf(", priority %d", d.Priority)
		}
		if d.Epoch != 3 {
			line += fmt.Sprintf(", epoch %d", d.Epoch)
		}
		if d.AvailableAt > t.Now {
			line += fmt.Sprintf(", in %d ms", d.AvailableAt-t.Now)
		}
		say("%s", line)
	}
	for _, r := range t.Runs {
		say("run %s: %s", r.RunID, strings.TrimSpace(string(r.Status)+" "+r.StatusReason))
	}
	for _, it := range t.Post {
		say("post %s", it.ID)
	}
	return strings.Join(out, "\n")
}

func lines(ls ...string) string { return strings.Join(ls, "\n") }

// consistent checks what must hold whatever was recorded.
func consistent(t *testing.T, before []*Dispatch, copies []Dispatch, th *Thread) {
	t.Helper()
	for i, d := range before {
		if diff := cmp.Diff(copies[i], *d, cmp.Comparer(func(a, b *awaken.RunRequest) bool { return a == b })); diff != "" {
			t.Errorf("a live dispatch was changed in place (-before +after):\n%s", diff)
		}
	}
	seen := map[string]bool{}
	for _, d := range th.Put {
		if seen[d.ID] {
			t.Errorf("%s is put twice", d.ID)
		}
		seen[d.ID] = true
		if d.ThreadID != "t" || d.UpdatedAt != th.Now || d.Status.Terminal() != (d.CompletedAt != 0) {
			t.Errorf("put %+v", d)
		}
		if d.Status.Terminal() == slices.Contains(th.Live, d) {
			t.Errorf("%s is %s, but live is %v", d.ID, d.Status, slices.Contains(th.Live, d))
		}
	}
	if !slices.IsSortedFunc(th.Live, (*Dispatch).Before) {
		t.Error("what is live is out of order")
	}
}

// try runs a rule on a thread.
func try(t *testing.T, th *Thread, rule func(th *Thread)) string {
	t.Helper()
	before := slices.Clone(th.Live)
	var copies []Dispatch
	for _, d := range before {
		copies = append(copies, *d)
	}
	rule(th)
	consistent(t, before, copies, th)
	return recorded(th)
}

func TestThread_Submit(t *testing.T) {
	t.Parallel()
	start := []string{"make", "put new of run-new: Queued", "run run-new: created"}
	wake := []string{"put new of open: Queued, wakes", "post i"}
	for _, tt := range []struct {
		name   string
		thread *Thread
		submission
		want string
		by   string // the dispatch that will do it
		err  error
	}{
		{name: "to a new thread", thread: &Thread{ID: "t", Now: 5000, Epoch: 3}, want: lines(start...), by: "new"},
		{name: "to an idle thread", thread: threadWith(""), want: lines(start...), by: "new"},
		{name: "behind what is queued", thread: threadWith("", one("a", "run-a", Queued)), want: lines(start...), by: "new"},
		{name: "behind what was claimed and has not started", thread: threadWith("", one("a", "run-a", Claimed)), submission: submission{items: items, live: true},
			want: lines(start...), by: "new"},
		{name: "behind a run that is running", thread: threadWith(awaken.RunRunning, one("a", "open", Claimed)), submission: submission{items: items},
			want: lines(start...), by: "new"},
		{name: "behind a run that was cut off", thread: threadWith(awaken.RunRunning), submission: submission{items: items},
			want: lines(start...), by: "new"},
		{name: "later", thread: threadWith(""), submission: submission{dispatch: fresh(func(d *Dispatch) { d.AvailableAt = 250 })},
			want: lines("make", "put new of run-new: Queued, in 250 ms", "run run-new: created"), by: "new"},

		{name: "a message on a waiting thread", thread: threadWith(awaken.RunWaiting), submission: submission{items: items}, want: lines(wake...), by: "new"},
		{name: "a message on a waiting thread with others queued", thread: threadWith(awaken.RunWaiting, one("a", "run-a", Queued)), submission: submission{items: items},
			want: lines(wake...), by: "new"},
		{name: "a message on a waiting thread whose dispatch is not settled yet", thread: threadWith(awaken.RunWaiting, one("a", "open", Claimed)),
			submission: submission{items: items}, want: lines(wake...), by: "new"},
		{name: "a message on a thread that was woken already", thread: threadWith(awaken.RunWaiting, one("w", "open", Queued, wakes)),
			submission: submission{items: items}, want: "post i", by: "w"},
		{name: "a message on a thread that would be woken later", thread: threadWith(awaken.RunWaiting, one("w", "open", Queued, wakes, later)),
			submission: submission{items: items}, want: lines("put w of open: Queued, wakes", "post i"), by: "w"},
		{name: "a later message leaves the wake-up alone", thread: threadWith(awaken.RunWaiting, one("w", "open", Queued, wakes)),
			submission: submission{dispatch: fresh(func(d *Dispatch) { d.AvailableAt = 250 }), items: items}, want: "post i", by: "w"},
		{name: "a message on a waiting thread that is to be ended", thread: threadWith(awaken.RunWaiting, one("w", "open", Queued, wakes, cancelled)),
			submission: submission{items: items}, want: lines(start...), by: "new"},
		{name: "a message for another agent on a waiting thread", thread: threadWith(awaken.RunWaiting), want: lines(start...), by: "new"},

		{name: "steering a run that is running", thread: threadWith(awaken.RunRunning, one("a", "open", Claimed)), submission: submission{items: items, live: true},
			want: "post i"},
		{name: "steering a run that will be tried again", thread: threadWith(awaken.RunRunning, one("a", "open", Queued, later)),
			submission: submission{items: items, live: true}, want: "post i"},
		{name: "steering a run that was cut off", thread: threadWith(awaken.RunRunning), submission: submission{items: items, live: true},
			want: lines(wake...), by: "new"},
		{name: "steering a run that is about to end", thread: threadWith(awaken.RunRunning, one("a", "open", Claimed, cancelled)),
			submission: submission{items: items, live: true}, want: lines(start...), by: "new"},
		{name: "steering nothing", thread: threadWith(""), submission: submission{items: items, live: true}, want: lines(start...), by: "new"},

		{name: "a decision while the run is parking", thread: threadWith(awaken.RunRunning, one("a", "open", Claimed)),
			submission: submission{dispatch: fresh(wakes), items: items, live: true, runID: "open"}, want: "post i"},
		{name: "a decision right after the run has parked", thread: threadWith(awaken.RunWaiting, one("a", "open", Claimed)),
			submission: submission{dispatch: fresh(wakes), items: items, live: true, runID: "open"}, want: lines(wake...), by: "new"},
		{name: "a decision for a run that waits", thread: threadWith(awaken.RunWaiting),
			submission: submission{dispatch: fresh(wakes), items: items, live: true, runID: "open"}, want: lines(wake...), by: "new"},
		{name: "a decision for another run", thread: threadWith(awaken.RunWaiting),
			submission: submission{dispatch: fresh(wakes), items: items, live: true, runID: "gone"}, err: ErrIdle},
		{name: "a decision for a run that is over", thread: threadWith(""),
			submission: submission{dispatch: fresh(wakes), items: items, live: true, runID: "open"}, err: ErrIdle},
		{name: "a decision for a run that is about to end", thread: threadWith(awaken.RunWaiting, one("w", "open", Queued, wakes, cancelled)),
			submission: submission{dispatch: fresh(wakes), items: items, live: true, runID: "open"}, err: ErrIdle},

		{name: "a dedupe key that is free", thread: threadWith("", one("a", "run-a", Queued)), submission: submission{dispatch: fresh(keyed)}, want: lines(start...), by: "new"},
		{name: "a dedupe key that is taken", thread: threadWith("", one("a", "run-a", Queued, keyed)), submission: submission{dispatch: fresh(keyed)}, err: ErrDuplicate},
		{name: "a dedupe key of what is being worked on", thread: threadWith(awaken.RunRunning, one("a", "open", Claimed, keyed)),
			submission: submission{dispatch: fresh(keyed)}, err: ErrDuplicate},
		{name: "a dedupe key of what is superseded", thread: threadWith("", one("a", "run-a", Queued, keyed)),
			submission: submission{dispatch: fresh(keyed), interrupt: true},
			want:       lines("make", "raise", "put a of run-a: Superseded", "put new of run-new: Queued, epoch 4", "run run-a: done superseded", "run run-new: created"), by: "new"},

		{name: "interrupting a run that is running", thread: threadWith(awaken.RunRunning, one("a", "open", Claimed), one("b", "run-b", Queued)),
			submission: submission{items: items, interrupt: true},
			want: lines("make", "raise", "interrupt", "put a of open: Claimed, cancel", "put b of run-b: Superseded", "put new of run-new: Queued, epoch 4",
				"run run-b: done superseded", "run run-new: created"), by: "new"},
		{name: "interrupting a run that waits", thread: threadWith(awaken.RunWaiting, one("b", "run-b", Queued)), submission: submission{items: items, interrupt: true},
			want: lines("raise", "put b of run-b: Superseded", "put new of open: Queued, wakes, epoch 4", "run run-b: done superseded", "post i"), by: "new"},
		{name: "interrupting a run that was woken", thread: threadWith(awaken.RunWaiting, one("w", "open", Queued, wakes)), submission: submission{items: items, interrupt: true},
			want: lines("raise", "post i"), by: "w"},
		{name: "interrupting nothing", thread: threadWith(""), submission: submission{interrupt: true},
			want: lines("make", "raise", "put new of run-new: Queued, epoch 4", "run run-new: created"), by: "new"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.dispatch == nil {
				tt.dispatch = fresh()
			}
			var got *Dispatch
			var err error
			did := try(t, tt.thread, func(th *Thread) { got, err = th.submit(&tt.submission) })
			if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Fatalf("error is %v, want %v", err, tt.err)
			}
			if err != nil {
				return // nothing is kept
			}
			if diff := cmp.Diff(tt.want, did); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			by := ""
			if got != nil {
				by = got.ID
			}
			if by != tt.by {
				t.Errorf("it is done by %q, want %q", by, tt.by)
			}
			if got != nil && got.RunID == "open" && got.ID == "new" && got.Steps != 7 {
				t.Errorf("the wake-up counts from step %d, want 7", got.Steps)
			}
		})
	}
}

func TestThread_Cancel(t *testing.T) {
	t.Parallel()
	end := "put spare of open: Queued, cancel, wakes, priority 0"
	for _, tt := range []struct {
		name   string
		thread *Thread
		id     string
		want   string // "" means that there was nothing to end
	}{
		{name: "a queued dispatch by its id", thread: threadWith("", one("a", "run-a", Queued), one("b", "run-b", Queued)), id: "a",
			want: lines("put a of run-a: Cancelled", "run run-a: done cancelled")},
		{name: "a queued run by its id", thread: threadWith(awaken.RunRunning, one("o", "open", Claimed), one("b", "run-b", Queued)), id: "run-b",
			want: lines("put b of run-b: Cancelled", "run run-b: done cancelled")},
		{name: "a dispatch that was put off", thread: threadWith("", one("a", "run-a", Queued, later)), id: "run-a",
			want: lines("put a of run-a: Cancelled, in 4000 ms", "run run-a: done cancelled")},
		{name: "a run that was claimed and has not started", thread: threadWith("", one("a", "run-a", Claimed)), id: "run-a",
			want: lines("interrupt", "put a of run-a: Claimed, cancel")},
		{name: "a run that is running", thread: threadWith(awaken.RunRunning, one("o", "open", Claimed), one("b", "run-b", Queued)), id: "open",
			want: lines("interrupt", "put o of open: Claimed, cancel", end)},
		{name: "a run that will be tried again", thread: threadWith(awaken.RunRunning, one("o", "open", Queued)), id: "open",
			want: "put o of open: Queued, cancel, priority 0"},
		{name: "a run that was cut off", thread: threadWith(awaken.RunRunning), id: "open", want: end},
		{name: "a run that waits", thread: threadWith(awaken.RunWaiting, one("b", "run-b", Queued)), id: "open", want: end},
		{name: "a run that was woken", thread: threadWith(awaken.RunWaiting, one("w", "open", Queued, wakes)), id: "open",
			want: "put w of open: Queued, cancel, wakes, priority 0"},
		{name: "a run twice", thread: threadWith(awaken.RunRunning, one("o", "open", Claimed, cancelled)), id: "open",
			want: lines("interrupt", "put o of open: Claimed, cancel", end)},
		{name: "a thread that runs ends its run", thread: threadWith(awaken.RunRunning, one("o", "open", Claimed), one("b", "run-b", Queued)), id: "t",
			want: lines("interrupt", "put o of open: Claimed, cancel", end)},
		{name: "a thread that waits ends its run", thread: threadWith(awaken.RunWaiting, one("b", "run-b", Queued)), id: "t", want: end},
		{name: "a thread that is queued ends what comes first", thread: threadWith("", one("a", "run-a", Queued), one("b", "run-b", Queued)), id: "t",
			want: lines("put a of run-a: Cancelled", "run run-a: done cancelled")},
		{name: "a wake-up whose run is over", thread: threadWith("", one("w", "gone", Queued, wakes)), id: "gone", want: "put w of gone: Cancelled, wakes"},
		{name: "an idle thread", thread: threadWith(""), id: "t"},
		{name: "a run that is over", thread: threadWith(awaken.RunRunning, one("o", "open", Claimed)), id: "gone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var found bool
			did := try(t, tt.thread, func(th *Thread) { found = th.cancel(tt.id, spare()) })
			if diff := cmp.Diff(tt.want, did); diff != "" || found != (tt.want != "") {
				t.Errorf("found %v, changes (-want +got):\n%s", found, diff)
			}
		})
	}
}

func TestThread_Interrupt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		thread     *Thread
		spareless  bool
		want       string
		superseded int
		found      bool
	}{
		{name: "an idle thread", thread: threadWith(""), want: "raise"},
		{name: "what is queued", thread: threadWith("", one("a", "run-a", Queued), one("b", "run-b", Queued, later)), found: true, superseded: 2,
			want: lines("raise", "put a of run-a: Superseded", "put b of run-b: Superseded, in 4000 ms", "run run-a: done superseded", "run run-b: done superseded")},
		{name: "what runs", thread: threadWith(awaken.RunRunning, one("o", "open", Claimed), one("b", "run-b", Queued)), found: true, superseded: 1,
			want: lines("raise", "interrupt", "put b of run-b: Superseded", "put o of open: Claimed, cancel", "put spare of open: Queued, cancel, wakes, priority 0", "run run-b: done superseded")},
		{name: "what was claimed and has not started", thread: threadWith("", one("a", "run-a", Claimed)), found: true,
			want: lines("raise", "interrupt", "put a of run-a: Claimed, cancel")},
		{name: "what was cut off", thread: threadWith(awaken.RunRunning), found: true,
			want: lines("raise", "put spare of open: Queued, cancel, wakes, priority 0")},
		{name: "what was cut off, without a spare", thread: threadWith(awaken.RunRunning), spareless: true, want: "raise"},
		{name: "what will be tried again", thread: threadWith(awaken.RunRunning, one("o", "open", Queued)), spareless: true, found: true,
			want: lines("raise", "put o of open: Queued, cancel, priority 0")},
		{name: "what waits", thread: threadWith(awaken.RunWaiting), found: true,
			want: lines("raise", "put spare of open: Queued, cancel, wakes, priority 0")},
		{name: "what waits, without a spare", thread: threadWith(awaken.RunWaiting), spareless: true, want: "raise"},
		{name: "what was woken", thread: threadWith(awaken.RunWaiting, one("w", "open", Queued, wakes)), found: true,
			want: lines("raise", "put w of open: Queued, cancel, wakes, priority 0")},
		{name: "what was woken, without a spare", thread: threadWith(awaken.RunWaiting, one("w", "open", Queued, wakes), one("b", "run-b", Queued)), spareless: true,
			found: true, superseded: 1, want: lines("raise", "put b of run-b: Superseded", "run run-b: done superseded")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := spare()
			if tt.spareless {
				s = nil
			}
			var superseded int
			var found bool
			did := try(t, tt.thread, func(th *Thread) { superseded, _, found = th.interrupt(s) })
			if diff := cmp.Diff(tt.want, did); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if superseded != tt.superseded || found != tt.found {
				t.Errorf("superseded %d and found %v, want %d and %v", superseded, found, tt.superseded, tt.found)
			}
		})
	}
}

func TestThread_EndsRunsThatNeverStarted(t *testing.T) {
	t.Parallel()
	th := threadWith("", one("a", "run-a", Queued))
	th.end(th.Live[0], Cancelled, "cancelled")
	r := th.Runs[0]
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	if r.Status != awaken.RunDone || r.Termination.Type != awaken.Cancelled || r.StatusReason != "cancelled" || r.CreatedAt != 1000 || r.FinishedAt != 5000 || r.AgentID != "agent" {
		t.Errorf("got %+v", r)
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	first := func(d *Dispatch) { d.Priority = 0 }
	for _, tt := range []struct {
		name string
		live []*Dispatch
		want string
	}{
		{name: "nothing"},
		{name: "the oldest", live: []*Dispatch{one("b", "b", Queued), one("a", "a", Queued)}, want: "a"},
		{name: "the most urgent", live: []*Dispatch{one("a", "a", Queued), one("b", "b", Queued, first)}, want: "b"},
		{name: "what is available before what is urgent", live: []*Dispatch{one("b", "b", Queued, first, later), one("a", "a", Queued)}, want: "a"},
		{name: "what will be available first", live: []*Dispatch{one("a", "a", Queued, func(d *Dispatch) { d.AvailableAt = 9999 }), one("b", "b", Queued, later)}, want: "b"},
		{name: "nothing of a thread that is claimed", live: []*Dispatch{one("b", "b", Queued, first), one("a", "a", Claimed)}},
		{name: "nothing that is over", live: []*Dispatch{one("a", "a", Acked)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if d := Ready(tt.live, 5000); d != nil {
				got = d.ID
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
