package remote_test

import (
	"context"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// serve works on the queue, as a server does, until the returned function is called.
func (s *side) serve() (*mailbox.Tenant, func()) {
	s.t.Helper()
	box, err := mailbox.New(mailbox.Config{Queue: s.db, Poll: 10 * time.Millisecond, Drain: 50 * time.Millisecond, Lease: time.Minute}, s.runtime().With)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := box.Work(ctx); err != nil {
			s.t.Error(err)
		}
	}()
	stop := func() { cancel(); <-done }
	s.t.Cleanup(stop)
	return box.Tenant(""), stop
}

func TestQueue_AProcessThatStopsLeavesItsTaskToTheNext(t *testing.T) {
	slow := make(chan struct{})
	srv, s := newTheirs(t, slow), newSide(t)
	s.far("far", srv.URL+"/v1/a2a", "slow", "")
	one, stop := s.serve()
	r, err := one.Submit(t.Context(), mailbox.Submission{Request: say("far", "t", "hi")})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the task works", func() bool {
		runs := srv.runs()
		return len(runs) == 1 && runs[0].Status == awaken.RunRunning
	})
	stop()
	if runs := srv.runs(); runs[0].Status != awaken.RunRunning {
		t.Fatalf("the task is %s after its client's process stopped", runs[0].Status)
	}
	close(slow)
	two, _ := s.serve()
	eventually(t, "the run is done", func() bool {
		run, err := two.Store.LoadRun(t.Context(), r.RunID)
		return err == nil && run.Status == awaken.RunDone
	})
	if run, err := two.Store.LoadRun(t.Context(), r.RunID); err != nil || run.FinalOutput != protocoltest.SlowText {
		t.Errorf("got %+v, %v", run, err)
	}
	if sent := srv.sent(); len(sent) != 1 {
		t.Errorf("sent %v, want one message", sent)
	}
}

func TestQueue_DecisionsAndCancelsReachATaskThatWaits(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		srv, s := newTheirs(t, nil), newSide(t)
		s.far("far", srv.URL+"/v1/a2a", "again", "")
		tenant, _ := s.serve()
		r, err := tenant.Submit(t.Context(), mailbox.Submission{Request: say("far", "t", "hi")})
		if err != nil {
			t.Fatal(err)
		}
		var run *awaken.Run
		is := func(status awaken.RunStatus) func() bool {
			return func() bool {
				run, err = tenant.Store.LoadRun(t.Context(), r.RunID)
				return err == nil && run.Status == status
			}
		}
		eventually(t, "the run waits", is(awaken.RunWaiting))
		if cancels {
			err = tenant.Cancel(t.Context(), r.RunID)
		} else {
			_, err = tenant.Decide(t.Context(), r.RunID, run.Waiting.Tickets[0].Approve())
		}
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the run is done", is(awaken.RunDone))
		eventually(t, "the task is done", func() bool { return srv.runs()[0].Status == awaken.RunDone })
		if got := srv.runs()[0].Termination.Type; (got == awaken.Cancelled) != cancels || run.Termination.Type != got {
			t.Errorf("cancels %v: the task ended with %s, the run with %s", cancels, got, run.Termination.Type)
		}
	}
}
