package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

// reader implements [awaken.ThreadStore] and [awaken.RunStore].
type reader struct {
	gate   *gate
	table  *table
	bodies *bodies
}

// Thread returns a thread.
func (rd *reader) Thread(_ context.Context, id string) (*awaken.Thread, error) {
	if err := rd.gate.enter(); err != nil {
		return nil, err
	}
	defer rd.gate.leave()
	rd.table.mu.Lock()
	defer rd.table.mu.Unlock()
	t, err := rd.table.find(id)
	if err != nil {
		return nil, err
	}
	return t.export(), nil
}

// listed is something in a list, with what it is sorted by.
type listed[T any] struct {
	id   string
	time int64
	item T
}

// sortNewest sorts the newest first.
func sortNewest[T any](all []listed[T]) {
	slices.SortFunc(all, func(a, b listed[T]) int {
		return cmp.Or(cmp.Compare(b.time, a.time), strings.Compare(a.id, b.id))
	})
}

// bounds returns what to skip and how many to return at most.
func bounds(n, offset, limit int) (int, int) {
	if limit <= 0 {
		limit = 50
	}
	return min(max(offset, 0), n), limit
}

// ListThreads returns threads, the most recently updated first.
func (rd *reader) ListThreads(_ context.Context, q awaken.ThreadQuery) ([]*awaken.Thread, error) {
	if err := rd.gate.enter(); err != nil {
		return nil, err
	}
	defer rd.gate.leave()
	all := rd.findThreads(q)
	sortNewest(all)
	from, limit := bounds(len(all), q.Offset, q.Limit)
	var out []*awaken.Thread
	rd.table.mu.Lock()
	defer rd.table.mu.Unlock()
	for _, l := range all[from:] {
		if len(out) == limit {
			break
		}
		if l.item.life == alive { // it may have been deleted meanwhile
			out = append(out, l.item.export())
		}
	}
	return out, nil
}

// findThreads returns what q selects, in any order.
func (rd *reader) findThreads(q awaken.ThreadQuery) (all []listed[*thread]) {
	rd.table.mu.Lock()
	defer rd.table.mu.Unlock()
	for _, t := range rd.table.threads {
		if t.life == alive && (q.ParentThreadID == "" || t.ParentThreadID == q.ParentThreadID) &&
			(q.ResourceID == "" || t.ResourceID == q.ResourceID) && (!q.Root || t.ParentThreadID == "") {
			all = append(all, listed[*thread]{t.ID, t.touched, t})
		}
	}
	return all
}

// CountThreads returns how many threads q selects, on all pages.
func (rd *reader) CountThreads(_ context.Context, q awaken.ThreadQuery) (int, error) {
	if err := rd.gate.enter(); err != nil {
		return 0, err
	}
	defer rd.gate.leave()
	return len(rd.findThreads(q)), nil
}

// Messages returns records of a thread's log.
func (rd *reader) Messages(_ context.Context, threadID string, q awaken.MessageQuery) ([]awaken.MessageRecord, error) {
	if err := rd.gate.enter(); err != nil {
		return nil, err
	}
	defer rd.gate.leave()
	var records func(from, to int) []awaken.MessageRecord
	var n int
	err := rd.bodies.look(threadID, func(t *thread, b *body) error {
		n, records = len(b.created), b.records(t.ID)
		return nil
	})
	if err != nil {
		return nil, err
	}
	from, to := max(q.After, 0), n
	if q.Before > 0 {
		to = min(to, q.Before-1)
	}
	from = min(from, to)
	if q.Limit > 0 && to-from > q.Limit {
		if q.Last {
			from = to - q.Limit
		} else {
			to = from + q.Limit
		}
	}
	return records(from, to), nil
}

// LoadRun returns a run.
func (rd *reader) LoadRun(_ context.Context, id string) (*awaken.Run, error) {
	if err := rd.gate.enter(); err != nil {
		return nil, err
	}
	defer rd.gate.leave()
	return rd.loadRun(id)
}

func (rd *reader) loadRun(id string) (*awaken.Run, error) {
	rd.table.mu.Lock()
	ref, err := rd.table.findRun(id)
	if err != nil {
		rd.table.mu.Unlock()
		return nil, err
	}
	t, at := ref.thread, ref.at
	if t.body != nil {
		defer rd.table.mu.Unlock()
		out := t.body.runs[id].Run
		return &out, nil
	}
	rd.table.mu.Unlock()
	// One record is enough, and says the same whenever it is read.
	var c struct {
		Run *awaken.Run `json:"run"`
	}
	err = rd.bodies.read(t, at, func(payload []byte) error {
		_, rest, err := decodeSummary(payload)
		if err == nil {
			_, err = decodeContents(rest, &c)
		}
		if err == nil && c.Run == nil {
			err = errLines
		}
		return err
	})
	return c.Run, err
}

// findRuns returns what q selects, in any order.
func (rd *reader) findRuns(q awaken.RunQuery) (all []listed[*runRef]) {
	add := func(r *runRef) {
		if r.at.Len > 0 && r.thread.life == alive && (q.Status == "" || r.status == q.Status) {
			all = append(all, listed[*runRef]{r.id, r.born, r})
		}
	}
	rd.table.mu.Lock()
	defer rd.table.mu.Unlock()
	if q.ThreadID == "" {
		for _, r := range rd.table.runs {
			add(r)
		}
	} else if t := rd.table.threads[q.ThreadID]; t != nil {
		for _, r := range t.runs {
			add(r)
		}
	}
	return all
}

// CountRuns returns how many runs q selects, on all pages.
func (rd *reader) CountRuns(_ context.Context, q awaken.RunQuery) (int, error) {
	if err := rd.gate.enter(); err != nil {
		return 0, err
	}
	defer rd.gate.leave()
	return len(rd.findRuns(q)), nil
}

// ListRuns returns runs, the newest first.
func (rd *reader) ListRuns(_ context.Context, q awaken.RunQuery) ([]*awaken.Run, error) {
	if err := rd.gate.enter(); err != nil {
		return nil, err
	}
	defer rd.gate.leave()
	all := rd.findRuns(q)
	sortNewest(all)
	from, limit := bounds(len(all), q.Offset, q.Limit)
	var out []*awaken.Run
	for _, l := range all[from:] {
		if len(out) == limit {
			break
		}
		run, err := rd.loadRun(l.id)
		switch {
		case err == nil && (q.Status == "" || run.Status == q.Status):
			out = append(out, run)
		case err == nil || errors.Is(err, awaken.ErrNotFound): // it went on, or was deleted, meanwhile
		default:
			return nil, err
		}
	}
	return out, nil
}

// Calls returns the ledger of a run.
func (rd *reader) Calls(_ context.Context, runID string) ([]*awaken.CallState, error) {
	if err := rd.gate.enter(); err != nil {
		return nil, err
	}
	defer rd.gate.leave()
	rd.table.mu.Lock()
	ref, err := rd.table.findRun(runID)
	rd.table.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var out []*awaken.CallState
	err = rd.bodies.look(ref.thread.ID, func(_ *thread, b *body) error {
		r := b.runs[runID]
		if r == nil { // another thread of the same id
			return fmt.Errorf("run %s: %w", runID, awaken.ErrNotFound)
		}
		out = slices.Clone(r.calls)
		return nil
	})
	return out, err
}
