package timeline

import (
	"context"

	"github.com/awaken-go/awaken"
)

// Log lists commits. Stores implement it; package store/storetest tests them.
type Log interface {
	// Commits returns commits of a run in the order they were made. It returns ErrNotFound if the run does not exist.
	Commits(ctx context.Context, runID string, q Query) ([]Commit, error)
}

// Query selects commits of a run.
type Query struct {
	After Place // only commits after this one
	Limit int   // 0 means all
}

// Place identifies a commit of a run by the fence of its owner and its number among the owner's commits. The zero Place is before the first
// commit.
type Place struct {
	Fence  uint64
	Number uint64
}

// before reports whether p is a commit before q.
func (p Place) before(q Place) bool {
	return p.Fence < q.Fence || p.Fence == q.Fence && p.Number < q.Number
}

// Commit describes a commit of a run.
type Commit struct {
	// Place has the fence of the owner that made the commit, and the number of the commit among the owner's commits for the run, from 1.
	Place
	Time int64 // Unix ms
	// First and Last are the sequence numbers of its first and last event. Without events, First is 0 and Last is the end of the thread's
	// log.
	First, Last uint64
	Kinds       Kinds
}

// Kinds is a set of kinds of changes that a commit made durable. It may be empty.
type Kinds uint8

const (
	Start    Kinds = 1 << iota // an activation of the run began
	Intent                     // a call, or a step of one, is about to begin
	Result                     // a call, or a step of one, has its result
	Question                   // a call waits for a decision
	Step                       // a step of the run ended
	Wait                       // the run waits and its activation ended
	End                        // the run ended
)

var kindNames = [...]string{"start", "intent", "result", "question", "step", "wait", "end"}

// Names returns the names of the kinds, as in JSON.
func (k Kinds) Names() []string {
	names := []string{}
	for i, name := range kindNames {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// CallKinds returns the kinds that follow from the ledger records of a commit. A record with steps was committed for its steps, unless the
// call has ended.
func CallKinds(calls []*awaken.CallState) (k Kinds) {
	for _, c := range calls {
		switch {
		case c.Status.Terminal():
			k |= Result
		case c.Status == awaken.CallSuspended && !c.AwaitsChild():
			k |= Question
		case c.Status == awaken.CallRunning && len(c.Steps) == 0:
			k |= Intent
		}
		for _, s := range c.Steps {
			if s.Open() {
				k |= Intent
			} else if s.EndedAt != 0 {
				k |= Result
			}
		}
	}
	return k
}

// EventKinds returns the kinds that follow from the events of a commit.
func EventKinds(entries []awaken.Entry) (k Kinds) {
	for i := range entries {
		switch ev := entries[i].Event.(type) {
		case *awaken.RunStart:
			k |= Start
		case *awaken.StepEnd:
			k |= Step
		case *awaken.RunFinish:
			if ev.Termination.Type == awaken.Suspended {
				k |= Wait
			} else {
				k |= End
			}
		}
	}
	return k
}

// Numbering numbers the commits of a run, which a store passes to it in order, and selects the commits of a query.
type Numbering struct {
	Query
	last Place
	n    int // selected so far
}

// Next returns the place of the next commit, and whether the query selects it. Fence is the fence of the commit, or 0 if the store does not
// know it: then the fence of the previous commit is assumed.
func (b *Numbering) Next(fence uint64) (p Place, selected bool) {
	if fence == 0 || fence == b.last.Fence {
		b.last.Number++
	} else {
		b.last = Place{Fence: fence, Number: 1}
	}
	if selected = b.After.before(b.last) && !b.Full(); selected {
		b.n++
	}
	return b.last, selected
}

// Full reports whether the query's limit is reached.
func (b *Numbering) Full() bool { return b.Limit > 0 && b.n == b.Limit }
