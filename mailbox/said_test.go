package mailbox_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/mailbox"
)

// sayAs returns a submission of a client's message.
func sayAs(id, text string) mailbox.Submission {
	s := say("t", text)
	s.Request.Messages[0].ID = id
	s.Said = mailbox.Said{MessageID: id, Content: text, Manner: "plain"}
	return s
}

// edit makes a submission an edit.
func edit(s mailbox.Submission) mailbox.Submission {
	s.Said.Manner, s.Said.Edits, s.Mode = "edit", true, mailbox.ModeInterrupt
	return s
}

func TestSaid_AMessageIsAcceptedOnce(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		tn := b.Tenant("")
		stop := func() {}
		defer func() { stop() }()
		check := func(when string, first *mailbox.Receipt) {
			t.Helper()
			for _, mode := range []mailbox.Mode{mailbox.ModeQueue, mailbox.ModeSteer, mailbox.ModeInterrupt} {
				s := sayAs("m", "hello")
				if s.Mode = mode; mode == mailbox.ModeInterrupt {
					s.Anew = true
				}
				if r := g.submit(tn, s); !r.Duplicate || r.RunID != first.RunID {
					t.Errorf("%s, mode %s: %+v, want the receipt of run %s", when, mode, r, first.RunID)
				}
				s = sayAs("m", "something else")
				s.Mode = mode
				if _, err := tn.Submit(t.Context(), s); !errors.Is(err, awaken.ErrConflict) || !strings.Contains(err.Error(), `"m"`) {
					t.Errorf("%s, mode %s, other content: error is %v, want a conflict that names the id", when, mode, err)
				}
			}
			other := sayAs("m", "hello")
			other.Said.Manner = "otherwise"
			if _, err := tn.Submit(t.Context(), other); !errors.Is(err, awaken.ErrConflict) {
				t.Errorf("%s, another manner: error is %v, want a conflict", when, err)
			}
		}
		first := g.submit(tn, sayAs("m", "hello"))
		check("while it is queued", first)
		stop = work(b)
		time.Sleep(time.Second)
		check("when its run is over", first)
		g.wantRun(tn, first.RunID, awaken.RunDone, awaken.NaturalEnd, "you said hello")
		waits := g.submit(tn, sayAs("m2", "use ask"))
		time.Sleep(time.Second)
		if r := g.submit(tn, sayAs("m2", "use ask")); !r.Duplicate || r.RunID != waits.RunID || g.run(tn, waits.RunID).Status != awaken.RunWaiting {
			t.Errorf("while its run waits: %+v, want the receipt of run %s", r, waits.RunID)
		}
	})
}

func TestSaid_InputOfARunInProgressIsAcceptedOnce(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		g.submit(tn, say("t", "use wait"))
		time.Sleep(time.Second)
		steer := func() mailbox.Submission {
			s := sayAs("m", "steer")
			s.Mode = mailbox.ModeSteer
			return s
		}
		first, second := g.submit(tn, steer()), g.submit(tn, steer())
		items, err := tn.Store.Unread(t.Context(), "t")
		if first.Duplicate || !second.Duplicate || second.RunID != first.RunID || len(items) != 1 || err != nil {
			t.Errorf("%+v and %+v, %d items, %v", first, second, len(items), err)
		}
		time.Sleep(time.Hour)
		if third := g.submit(tn, steer()); !third.Duplicate || third.RunID != first.RunID {
			t.Errorf("after it was read: %+v", third)
		}
	})
}

func TestSaid_EditsReplaceAMessage(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		last := g.submit(tn, sayAs("m", "A")).RunID
		time.Sleep(time.Second)
		g.submit(tn, sayAs("m2", "later"))
		time.Sleep(time.Second)
		for i, text := range []string{"B", "A", "B", "A"} {
			r := g.submit(tn, edit(sayAs("m", text)))
			if r.Duplicate || r.RunID == last {
				t.Fatalf("edit %d: %+v", i, r)
			}
			if again := g.submit(tn, edit(sayAs("m", text))); !again.Duplicate || again.RunID != r.RunID {
				t.Errorf("edit %d, sent again: %+v, want run %s", i, again, r.RunID)
			}
			time.Sleep(time.Second)
			g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "you said "+text)
			last = r.RunID
		}
		if r := g.submit(tn, sayAs("m2", "later")); r.Duplicate { // the edits have removed it
			t.Errorf("a message that is not in the conversation: %+v", r)
		}
		time.Sleep(time.Second)
		view, err := tn.Store.View(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		if msgs := view.Messages(); len(msgs) != 4 || msgs[0].Text() != "A" || msgs[2].Text() != "later" {
			t.Errorf("the conversation is %+v", msgs)
		}
	})
}

func TestSaid_AnEditReplacesAMessageThatIsBeingAnswered(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		first := g.submit(tn, sayAs("m", "use wait"))
		time.Sleep(time.Second)
		second := g.submit(tn, edit(sayAs("m", "B")))
		third := g.submit(tn, edit(sayAs("m", "C")))
		if again := g.submit(tn, edit(sayAs("m", "C"))); second.RunID == first.RunID || third.RunID == second.RunID || !again.Duplicate || again.RunID != third.RunID {
			t.Errorf("%+v, %+v, %+v and %+v", first, second, third, again)
		}
		time.Sleep(time.Hour)
		g.wantRun(tn, third.RunID, awaken.RunDone, awaken.NaturalEnd, "you said C")
		view, err := tn.Store.View(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		if msgs := view.Messages(); len(msgs) != 2 || msgs[0].Text() != "C" {
			t.Errorf("the conversation is %+v, want the edited message and its answer", msgs)
		}
	})
}

func TestSaid_ARepeatInTimeIsNoRequestForAnotherAnswer(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		s := func() mailbox.Submission {
			s := sayAs("m", "hello")
			s.Said.RepeatFor, s.Mode = 2*time.Second, mailbox.ModeInterrupt
			return s
		}
		first := g.submit(tn, s())
		time.Sleep(time.Second)
		if r := g.submit(tn, s()); !r.Duplicate || r.RunID != first.RunID {
			t.Errorf("after a second: %+v", r)
		}
		time.Sleep(2 * time.Second)
		second := g.submit(tn, s())
		if second.Duplicate || second.RunID == first.RunID {
			t.Errorf("after three seconds: %+v", second)
		}
		if r := g.submit(tn, s()); !r.Duplicate || r.RunID != second.RunID {
			t.Errorf("at once after that: %+v, want run %s", r, second.RunID)
		}
		time.Sleep(time.Second)
		view, err := tn.Store.View(t.Context(), "t")
		if err != nil || len(view.Messages()) != 2 {
			t.Errorf("the conversation is %+v, %v", view.Messages(), err)
		}
	})
}

func TestSaid_OfManyAtOnceOneIsAccepted(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		for round, make := range []func() mailbox.Submission{
			func() mailbox.Submission { return sayAs("m", "A") },
			func() mailbox.Submission { return edit(sayAs("m", "B")) },
			func() mailbox.Submission { return edit(sayAs("m", "A")) },
		} {
			var mu sync.Mutex
			runs, fresh := map[string]bool{}, 0
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					r, err := tn.Submit(t.Context(), make())
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					runs[r.RunID] = true
					if !r.Duplicate {
						fresh++
					}
				})
			}
			wg.Wait()
			if len(runs) != 1 || fresh != 1 {
				t.Errorf("round %d: %d runs, of which %d are new, want one", round, len(runs), fresh)
			}
			time.Sleep(time.Second)
		}
	})
}

func TestSaid_AThreadOfAnotherUserKeepsItsSecret(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		tn := g.box().Tenant("")
		s := sayAs("m", "hello")
		s.Request.UserID = "one"
		g.submit(tn, s)
		for _, text := range []string{"hello", "something else"} {
			s := sayAs("m", text)
			s.Request.UserID, s.Confined = "two", true
			if r, err := tn.Submit(t.Context(), s); !errors.Is(err, awaken.ErrNotFound) {
				t.Errorf("%s: %+v, %v, want ErrNotFound", text, r, err)
			}
		}
	})
}

func TestSaid_TheRunThatRetriesADeadLetterTakesOverItsMessage(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &flakyQueue{Queue: g.queue}
		q.failures.Store(5)
		b := g.box(func(c *mailbox.Config) { c.Queue = q })
		defer work(b)()
		tn := b.Tenant("")
		first := g.submit(tn, sayAs("m", "hello"))
		time.Sleep(time.Hour)
		g.wantDispatch(tn, first.DispatchID, mailbox.DeadLetter)
		if r := g.submit(tn, sayAs("m", "hello")); !r.Duplicate || r.RunID != first.RunID {
			t.Errorf("before the retry: %+v, want run %s", r, first.RunID)
		}
		again, err := tn.RetryDeadLetter(t.Context(), first.DispatchID)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		g.wantRun(tn, again.RunID, awaken.RunDone, awaken.NaturalEnd, "you said hello")
		if r := g.submit(tn, sayAs("m", "hello")); !r.Duplicate || r.RunID != again.RunID {
			t.Errorf("after the retry: %+v, want run %s", r, again.RunID)
		}
	})
}
