package trace

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
)

// PinKind is the kind of reason to keep a run.
type PinKind string

// The kinds of pins.
const (
	PinDataset  PinKind = "dataset"  // a dataset has a case made from it
	PinEvidence PinKind = "evidence" // an evaluation or a decision about agents refers to it
	PinOperator PinKind = "operator" // a person wants to keep it
)

// Pin is a reason to keep a run. A run has at most one pin of each kind and reference.
type Pin struct {
	Kind   PinKind `json:"kind"`
	Ref    string  `json:"ref,omitempty"` // the ID of the dataset or the evaluation that needs it
	Reason string  `json:"reason,omitempty"`
	By     string  `json:"by,omitempty"`     // who pinned it
	At     int64   `json:"at"`               // Unix ms
	Of     string  `json:"run_id,omitempty"` // the ancestor that was pinned, unless it is this run
}

// PinStore stores pins. Stores of threads implement it.
type PinStore interface {
	LoadRun(ctx context.Context, id string) (*awaken.Run, error)
	ListRuns(ctx context.Context, q awaken.RunQuery) ([]*awaken.Run, error)
	Thread(ctx context.Context, id string) (*awaken.Thread, error)
	UpdateThread(ctx context.Context, id string, fn func(t *awaken.Thread) error) (*awaken.Thread, error)
}

// Pins protects runs from pruning. A pin keeps the thread of the run and the threads of its descendants that exist when the pin is made. It
// does not prevent users from deleting a thread. Pins of one run may be added and removed concurrently.
type Pins struct {
	Store PinStore
	Now   func() time.Time // default time.Now
}

// pinNote returns the name of the note with the pins of a run.
func pinNote(runID string) string { return "pin:" + runID }

// Add pins a run and its descendants. It replaces a pin of the same kind and reference. It returns ErrNotFound if the run does not exist,
// and ErrInvalid if the run has not started or the pin has no valid kind.
func (p Pins) Add(ctx context.Context, runID string, pin Pin) error {
	if pin.Kind != PinDataset && pin.Kind != PinEvidence && pin.Kind != PinOperator {
		return fmt.Errorf("%w: kind is %q, want dataset, evidence or operator", awaken.ErrInvalid, pin.Kind)
	}
	now := time.Now
	if p.Now != nil {
		now = p.Now
	}
	pin.At, pin.Of = now().UnixMilli(), ""
	return p.walk(ctx, runID, func(run *awaken.Run) error {
		if run.StartedAt == 0 {
			return fmt.Errorf("%w: run %s has not started", awaken.ErrInvalid, run.RunID)
		}
		own := pin
		if run.RunID != runID {
			own.Of = runID
		}
		_, err := p.change(ctx, run, func(list []Pin) []Pin {
			return append(slices.DeleteFunc(list, own.same), own)
		})
		return err
	})
}

// Remove removes the pin of a kind and reference from a run and its descendants. It reports whether the run had the pin.
func (p Pins) Remove(ctx context.Context, runID string, kind PinKind, ref string) (had bool, err error) {
	err = p.walk(ctx, runID, func(run *awaken.Run) error {
		pin := Pin{Kind: kind, Ref: ref}
		if run.RunID != runID {
			pin.Of = runID
		}
		n, err := p.change(ctx, run, func(list []Pin) []Pin { return slices.DeleteFunc(list, pin.same) })
		had = had || pin.Of == "" && n > 0
		return err
	})
	return had, err
}

// same reports whether two pins are of one kind, reference and run.
func (p Pin) same(other Pin) bool {
	return p.Kind == other.Kind && p.Ref == other.Ref && p.Of == other.Of
}

// Of returns the pins of a run, oldest first.
func (p Pins) Of(ctx context.Context, run *awaken.Run) ([]Pin, error) {
	t, err := p.Store.Thread(ctx, run.ThreadID)
	if err != nil {
		return nil, err
	}
	return pinsIn(t, run.RunID)
}

// pinsIn returns the pins of a run in the notes of its thread.
func pinsIn(t *awaken.Thread, runID string) (list []Pin, err error) {
	note := t.Notes[pinNote(runID)]
	if note == nil {
		return nil, nil
	}
	if err := json.Unmarshal(note, &list); err != nil {
		return nil, fmt.Errorf("pins of run %s: %w", runID, err)
	}
	return list, nil
}

// change replaces the pins of a run, and returns how many were removed.
func (p Pins) change(ctx context.Context, run *awaken.Run, fn func([]Pin) []Pin) (removed int, err error) {
	_, err = p.Store.UpdateThread(ctx, run.ThreadID, func(t *awaken.Thread) error {
		list, err := pinsIn(t, run.RunID)
		if err != nil {
			return err
		}
		before := len(list)
		list = fn(list)
		removed = before - len(list)
		slices.SortStableFunc(list, func(a, b Pin) int { return cmp.Compare(a.At, b.At) })
		if len(list) == 0 {
			delete(t.Notes, pinNote(run.RunID))
			return nil
		}
		note, err := json.Marshal(list)
		if err != nil {
			return err
		}
		if t.Notes == nil {
			t.Notes = map[string]json.RawMessage{}
		}
		t.Notes[pinNote(run.RunID)] = note
		return nil
	})
	return removed, err
}

// walk calls fn for a run, and then for the runs below it.
func (p Pins) walk(ctx context.Context, runID string, fn func(run *awaken.Run) error) error {
	run, err := p.Store.LoadRun(ctx, runID)
	if err != nil {
		return err
	}
	if err := fn(run); err != nil {
		return err
	}
	return p.below(ctx, run, fn, 0)
}

func (p Pins) below(ctx context.Context, run *awaken.Run, fn func(run *awaken.Run) error, depth int) error {
	if depth == maxDepth {
		return nil
	}
	list := func(ctx context.Context, offset, limit int) ([]*awaken.Run, error) {
		return p.Store.ListRuns(ctx, awaken.RunQuery{ParentRunID: run.RunID, Offset: offset, Limit: limit})
	}
	for child, err := range awaken.Pages(ctx, 100, list) {
		if err != nil {
			return err
		}
		if child.StartedAt == 0 || child.RunID == run.RunID {
			continue
		}
		if err := fn(child); err != nil {
			return err
		}
		if err := p.below(ctx, child, fn, depth+1); err != nil {
			return err
		}
	}
	return nil
}
