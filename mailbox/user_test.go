package mailbox_test

import (
	"errors"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/mailbox"
)

func TestSubmit_AnotherUsersMessageDoesNotGoToTheOpenRun(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		s := say("t", "use ask")
		s.Request.UserID = "alice"
		first := g.submit(tn, s)
		time.Sleep(time.Second)
		g.wantRun(tn, first.RunID, awaken.RunWaiting, "", "")
		s = say("t", "hello")
		s.Request.UserID = "bob"
		second := g.submit(tn, s)
		time.Sleep(time.Minute)
		if second.RunID == first.RunID {
			t.Error("the message went to the run of another user")
		}
		if run := g.wantRun(tn, second.RunID, awaken.RunDone, awaken.NaturalEnd, "you said hello"); run.UserID != "bob" {
			t.Errorf("the run is of user %q", run.UserID)
		}
	})
}

func TestSubmit_ConfinedToThreadsOfItsUser(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		for _, owner := range []string{"", "alice"} {
			s := say("of "+owner, "hello")
			s.Request.UserID = owner
			g.submit(tn, s)
			time.Sleep(time.Second)
			for _, user := range []string{"", "alice", "bob"} {
				for _, mode := range []mailbox.Mode{mailbox.ModeQueue, mailbox.ModeSteer, mailbox.ModeInterrupt} {
					s := say("of "+owner, "hello again")
					s.Request.UserID, s.Mode, s.Confined = user, mode, true
					if _, err := tn.Submit(t.Context(), s); errors.Is(err, awaken.ErrNotFound) != (user != owner) {
						t.Errorf("a thread of %q, a %s submission of %q: error is %v", owner, mode, user, err)
					}
					time.Sleep(time.Second) // a run in progress would take the input of the next one
				}
			}
			n, err := tn.Store.CountRuns(t.Context(), awaken.RunQuery{ThreadID: "of " + owner})
			if n != 4 || err != nil {
				t.Errorf("a thread of %q has %d runs, %v", owner, n, err)
			}
		}
	})
}

func TestSubmit_RejectsARunOfAnotherThread(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		s := say("t", "use wait")
		s.Request.RunID = "r"
		g.submit(tn, s)
		time.Sleep(time.Second)
		s = say("mine", "hello")
		s.Request.RunID = "r"
		if _, err := tn.Submit(t.Context(), s); !errors.Is(err, awaken.ErrConflict) {
			t.Errorf("error is %v, want ErrConflict", err)
		}
		time.Sleep(time.Hour)
		g.wantRun(tn, "r", awaken.RunDone, awaken.NaturalEnd, "got waited")
	})
}
