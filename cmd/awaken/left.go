package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
)

// left is what an earlier process left on the thread of a session.
type left struct {
	thread string              // its id, "" for a new one
	known  bool                // it has had a run, so it has an agent
	open   *awaken.Run         // waits or was cut off; nil if there is none
	begun  []*awaken.CallState // calls of open that are not over
}

// lookAt finds out what there is on the thread that the command line names.
func lookAt(ctx context.Context, store awaken.Store, f *runFlags) (*left, error) {
	var t *awaken.Thread
	var err error
	switch {
	case f.resume:
		t, err = newestThread(ctx, store)
	case f.thread != "":
		t, err = store.Thread(ctx, f.thread)
		if errors.Is(err, awaken.ErrNotFound) {
			return &left{thread: f.thread}, nil
		}
	default:
		return &left{}, nil
	}
	if err != nil {
		return nil, err
	}
	l := &left{thread: t.ID, known: t.LatestRunID != ""}
	if t.OpenRunID == "" {
		return l, nil
	}
	if l.open, err = store.LoadRun(ctx, t.OpenRunID); err != nil {
		return nil, err
	}
	calls, err := store.Calls(ctx, t.OpenRunID)
	if err != nil {
		return nil, err
	}
	for _, c := range calls {
		if !c.Status.Terminal() {
			l.begun = append(l.begun, c)
		}
	}
	return l, nil
}

// waits reports whether the run that was left waits for decisions.
func (l *left) waits() bool {
	return l.open != nil && l.open.Status == awaken.RunWaiting && l.open.Waiting != nil && len(l.open.Waiting.Tickets) > 0
}

// announce tells the person what was left and what happens to it now. That a call may
// have taken effect is said in any case.
func (l *left) announce(s *session, prompt, quiet bool) {
	if l.open == nil {
		return
	}
	if p, ok := s.print.(*humanPrinter); ok {
		for _, c := range l.begun {
			p.names[c.CallID] = c.ToolName
		}
	}
	cutOff := l.open.Status != awaken.RunWaiting
	switch {
	case quiet:
	case cutOff && prompt:
		s.complain("the last run on this thread was cut off; it goes on with the new message")
	case cutOff:
		s.complain("the last run on this thread was cut off; going on with it")
	case l.waits() && prompt:
		for i := range l.open.Waiting.Tickets {
			s.complain("no longer waiting for a decision, because of the new message: " + showCall(&l.open.Waiting.Tickets[i]))
		}
	}
	for _, c := range l.begun {
		if c.Status == awaken.CallRunning && c.Effect == awaken.Effectful {
			s.complain(fmt.Sprintf("in doubt: %s %s had begun and may have taken effect", c.ToolName, compact(c.Arguments)))
		}
	}
}
