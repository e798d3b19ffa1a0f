package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
)

func TestActiveRuns_AThreadHasOneRunAtATime(t *testing.T) {
	var ar activeRuns
	one, two := &activeRun{runID: "one"}, &activeRun{runID: "two"}
	if err := ar.claim("t", one); err != nil {
		t.Fatal(err)
	}
	if err := ar.claim("t", two); !errors.Is(err, awaken.ErrBusy) || err.Error() != "thread t: "+awaken.ErrBusy.Error()+": run one" {
		t.Errorf("a second claim of the thread: %v", err)
	}
	if err := ar.claim("u", two); err != nil {
		t.Errorf("a claim of another thread: %v", err)
	}
	ar.release("t", one)
	if err := ar.claim("t", &activeRun{}); err != nil {
		t.Errorf("a claim after the release: %v", err)
	}
}

func TestActiveRuns_AreFoundByRunAndByThread(t *testing.T) {
	var ar activeRuns
	a := &activeRun{runID: "first"}
	if err := ar.claim("t", a); err != nil {
		t.Fatal(err)
	}
	ar.rename(a, "r")
	for id, want := range map[string]struct {
		thread   string
		isThread bool
	}{"r": {"t", false}, "t": {"", true}, "first": {"", false}} {
		if thread, isThread := ar.find(id); thread != want.thread || isThread != want.isThread {
			t.Errorf("find(%q) = %q, %v, want %q, %v", id, thread, isThread, want.thread, want.isThread)
		}
	}
}

func TestActiveRuns_YieldReachesEveryRunBelow(t *testing.T) {
	var ar activeRuns
	tree := map[string]*activeRun{"top": {}, "child": {parent: "top"}, "grandchild": {parent: "child"}, "other": {}}
	for thread, a := range tree {
		if err := ar.claim(thread, a); err != nil {
			t.Fatal(err)
		}
	}
	ar.yield("top")
	ar.yield("not there")
	for thread, a := range tree {
		if got, want := a.yield.Load(), thread != "other"; got != want {
			t.Errorf("%s yields: %v, want %v", thread, got, want)
		}
	}
}

func TestActiveRuns_NotifyWakesAListenerOnce(t *testing.T) {
	var ar activeRuns
	a := &activeRun{}
	if err := ar.claim("t", a); err != nil {
		t.Fatal(err)
	}
	ar.notify("t") // while the run does not listen
	if !a.posted.Load() {
		t.Error("a run that does not listen does not know that something was posted")
	}
	if wake := ar.listen(a, false); len(wake) != 0 {
		t.Error("a run is woken by what was posted before it listened: its commits tell it")
	}
	ar.notify("t")
	ar.notify("t")
	if wake := ar.listen(a, true); len(wake) != 1 {
		t.Errorf("%d wake-ups, want 1", len(wake))
	}
}

func TestActiveRuns_CancelSaysWhetherThereIsARun(t *testing.T) {
	var ar activeRuns
	ctx, cancel := context.WithCancelCause(t.Context())
	a := &activeRun{cancel: cancel}
	if err := ar.claim("t", a); err != nil {
		t.Fatal(err)
	}
	if ar.cancel("u") || !ar.cancel("t") {
		t.Error("cancel does not tell a thread with a run from one without")
	}
	if !a.cancelled || !errors.Is(context.Cause(ctx), awaken.ErrCancelled) {
		t.Errorf("the run is cancelled: %v, by %v", a.cancelled, context.Cause(ctx))
	}
}

func TestActiveRuns_WaitReturnsWhenTheThreadIsReleased(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		var ar activeRuns
		a := &activeRun{}
		if err := ar.claim("t", a); err != nil {
			t.Fatal(err)
		}
		waited := make(chan error, 2)
		for range 2 {
			go func() { waited <- ar.wait(t.Context(), "t") }()
		}
		synctest.Wait()
		if len(waited) != 0 {
			t.Fatal("wait returned while the run is active")
		}
		ar.release("t", a)
		for range 2 {
			if err := <-waited; err != nil {
				t.Error(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		if err := ar.claim("t", &activeRun{}); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := ar.wait(ctx, "t"); !errors.Is(err, context.Canceled) {
			t.Errorf("a wait that is cancelled: %v", err)
		}
	})
}
