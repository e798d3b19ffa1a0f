package mailbox_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// What a cancelled run did not take in waits for the expiry of a ticket of a run
// that ended long before.
func TestHard_LeftInputDoesNotWaitForTheWakeUpOfADoneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		tn := b.Tenant("")
		g.submit(tn, say("t", "use expire"))
		r2 := g.submit(tn, say("t", "use wait"))
		defer work(b)()
		time.Sleep(time.Second)
		g.wantRun(tn, r2.RunID, awaken.RunRunning, "", "")
		s := say("t", "do not lose me")
		s.Mode, s.Boundary = mailbox.ModeSteer, awaken.OnNaturalEnd
		g.submit(tn, s)
		if err := tn.Cancel(t.Context(), r2.RunID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		if items, _ := tn.Store.Unread(t.Context(), "t"); len(items) != 0 {
			ds, _ := tn.Store.Dispatches(t.Context(), mailbox.Query{ThreadID: "t", Statuses: []mailbox.Status{mailbox.Queued}})
			for _, d := range ds {
				t.Logf("queued: run %s, in %s", d.RunID, time.Until(time.UnixMilli(d.AvailableAt)))
			}
			t.Errorf("half an hour later %d inputs are unread", len(items))
		}
	})
}

// What a cancelled run did not take in is left to a queued run, which is cancelled too.
func TestHard_LeftInputOutlivesTheQueuedRunItWasLeftTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		tn := b.Tenant("")
		r1 := g.submit(tn, say("t", "use wait"))
		s2 := say("t", "later")
		s2.Delay = time.Minute
		r2 := g.submit(tn, s2)
		defer work(b)()
		time.Sleep(time.Second)
		s := say("t", "do not lose me")
		s.Mode, s.Boundary = mailbox.ModeSteer, awaken.OnNaturalEnd
		g.submit(tn, s)
		if err := tn.Cancel(t.Context(), r1.RunID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := tn.Cancel(t.Context(), r2.RunID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if items, _ := tn.Store.Unread(t.Context(), "t"); len(items) != 0 {
			t.Errorf("an hour later %d inputs are unread", len(items))
		}
	})
}

// After an Interrupt, which ends everything, nothing runs.
func TestHard_NothingRunsAfterAnInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		tn := b.Tenant("")
		g.submit(tn, say("t", "use wait"))
		defer work(b)()
		time.Sleep(time.Second)
		s := say("t", "use effect")
		s.Mode, s.Boundary = mailbox.ModeSteer, awaken.OnNaturalEnd
		g.submit(tn, s)
		if _, err := tn.Interrupt(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n := g.effects.Load(); n != 0 {
			t.Errorf("%d effects after an acknowledged interrupt, of input that came before it", n)
		}
	})
}

// Retrying a dead letter whose run had started says everything twice.
func TestHard_TwoWorksDoNotDrainEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box(func(c *mailbox.Config) { c.Drain = time.Hour })
		stop1 := work(b)
		tn := b.Tenant("")
		g.submit(tn, say("x", "use wait")) // of the first Work; keeps it draining for ten minutes
		time.Sleep(time.Second)
		stop2 := work(b)
		go stop1()
		time.Sleep(time.Second)
		r := g.submit(tn, say("y", "use effect"))
		time.Sleep(time.Minute)
		d, _ := tn.Store.Dispatch(t.Context(), r.DispatchID)
		run := g.run(tn, r.RunID)
		t.Logf("run %s, dispatch %s attempts %d", run.Status, d.Status, d.Attempts)
		if run.Status != awaken.RunDone {
			t.Errorf("the run of the second Work is %s", run.Status)
		}
		time.Sleep(time.Hour)
		stop2()
	})
}
