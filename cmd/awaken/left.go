package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
)

// left is the state in which an earlier process left the thread of a session.
type left struct {
	thread string              // its id; "" for a new thread
	known  bool                // it had a run, so it has an agent
	open   *awaken.Run         // the run that waits or was cut off, or nil
	begun  []*awaken.CallState // unfinished calls of open
}

// lookAt returns the state of the thread that the command line selects.
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

// waits reports whether the open run waits for decisions.
func (l *left) waits() bool {
	return l.open != nil && l.open.Status == awaken.RunWaiting && l.open.Waiting != nil && len(l.open.Waiting.Tickets) > 0
}

// announce tells the user what was left and what happens to it now. It reports calls that may
// have taken effect even if quiet.
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
		s.complain("the last run on this thread was cut off; resuming it with the new message")
	case cutOff:
		s.complain("the last run on this thread was cut off; resuming it")
	case l.waits() && prompt:
		for i := range l.open.Waiting.Tickets {
			s.complain("the new message withdraws a call that was waiting for a decision: " + showCall(&l.open.Waiting.Tickets[i]))
		}
	}
	for _, c := range l.begun {
		if c.Doubt.Open() || c.Status == awaken.CallRunning && c.Effect != awaken.ReadOnly {
			s.complain(fmt.Sprintf("in doubt: %s %s had started and may have taken effect", c.ToolName, compact(c.Arguments)))
		}
	}
}
