package file

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
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
	return t.Export(), nil
}

// listed is an item of a list with its sort keys.
type listed[T any] struct {
	id   string
	time int64
	item T
}

// place returns the place of the item.
func (l listed[T]) place() threads.Place { return threads.Place{Time: l.time, ID: l.id} }

// sortListed sorts a list, the newest first.
func sortListed[T any](all []listed[T]) {
	slices.SortFunc(all, func(a, b listed[T]) int { return threads.Newest(a.time, b.time, a.id, b.id) })
}

// ListThreads returns threads, the most recently active first.
func (rd *reader) ListThreads(_ context.Context, q awaken.ThreadQuery) ([]*awaken.Thread, error) {
	if err := rd.gate.enter(); err != nil {
		return nil, err
	}
	defer rd.gate.leave()
	all, err := rd.findThreads(&q)
	if err != nil {
		return nil, err
	}
	sortListed(all)
	page, err := threads.Cut(all, q.Offset, q.Limit, q.At, listed[*awaken.Thread].place)
	if err != nil {
		return nil, err
	}
	var out []*awaken.Thread
	for _, l := range page {
		out = append(out, l.item)
	}
	return out, nil
}

// findThreads returns the threads that q selects, unsorted.
func (rd *reader) findThreads(q *awaken.ThreadQuery) ([]listed[*awaken.Thread], error) {
	var all []listed[*awaken.Thread]
	rd.table.mu.Lock()
	for _, t := range rd.table.threads {
		if t.life == alive && threads.Selects(q, &t.Thread) && (q.Status == "" || rd.table.latestIs(t, q.Status)) {
			l := listed[*awaken.Thread]{t.ID, t.Touched, t.Export()}
			if r := rd.table.runs[t.LatestRunID]; threads.ByRun(q) && r != nil {
				l.id, l.time = r.id, r.born
			}
			all = append(all, l)
		}
	}
	rd.table.mu.Unlock()
	if q.AgentID == "" {
		return all, nil
	}
	out := all[:0]
	for _, l := range all {
		if l.item.LatestRunID == "" {
			continue
		}
		run, err := rd.loadRun(l.item.LatestRunID)
		if err != nil && !errors.Is(err, awaken.ErrNotFound) { // it may have been deleted in the meantime
			return nil, err
		}
		if err == nil && run.AgentID == q.AgentID {
			out = append(out, l)
		}
	}
	return out, nil
}

// CountThreads returns how many threads q selects, on all pages.
func (rd *reader) CountThreads(_ context.Context, q awaken.ThreadQuery) (int, error) {
	if err := rd.gate.enter(); err != nil {
		return 0, err
	}
	defer rd.gate.leave()
	if q.At != nil {
		*q.At = ""
	}
	all, err := rd.findThreads(&q)
	return len(all), err
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
		n, records = len(b.Created), b.Records(t.ID)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return records(threads.Bounds(q, n)), nil
}

// View returns the view of a thread's log.
func (rd *reader) View(_ context.Context, threadID string) (*awaken.View, error) {
	if err := rd.gate.enter(); err != nil {
		return nil, err
	}
	defer rd.gate.leave()
	var view awaken.View
	err := rd.bodies.look(threadID, func(_ *thread, b *body) error {
		view = b.View
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &view, nil
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
	// Records never change, so this one can be read without a lock.
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

// findRuns returns the runs that q may select by their status, thread, user and pins, the newest first.
func (rd *reader) findRuns(q awaken.RunQuery) (all []listed[*runRef]) {
	add := func(r *runRef) {
		if r.at.Len > 0 && r.thread.life == alive && (q.Status == "" || r.status == q.Status) && (q.Owner == nil || r.thread.UserID == *q.Owner) &&
			(!q.Pinned || threads.IsPinned(r.thread.Notes, r.id)) {
			all = append(all, listed[*runRef]{r.id, r.born, r})
		}
	}
	rd.table.mu.Lock()
	defer rd.table.mu.Unlock()
	if q.RunIDs != nil {
		for _, id := range threads.Distinct(q.RunIDs) {
			if r := rd.table.runs[id]; r != nil {
				add(r)
			}
		}
	} else if q.ThreadID == "" {
		for _, r := range rd.table.runs {
			add(r)
		}
	} else if t := rd.table.threads[q.ThreadID]; t != nil {
		for _, r := range t.runs {
			add(r)
		}
	}
	sortListed(all)
	return all
}

// CountRuns returns how many runs q selects, on all pages.
func (rd *reader) CountRuns(_ context.Context, q awaken.RunQuery) (int, error) {
	if err := rd.gate.enter(); err != nil {
		return 0, err
	}
	defer rd.gate.leave()
	all := rd.findRuns(q)
	if q.At != nil {
		*q.At = ""
	}
	if !filtered(q) {
		return len(all), nil
	}
	n := 0
	for i, l := range all {
		if q.At != nil && i == threads.MostCounted {
			*q.At = "more"
			break
		}
		run, err := rd.selected(&q, l.id)
		if err != nil {
			return 0, err
		}
		if run != nil {
			n++
		}
	}
	return n, nil
}

// filtered reports whether q selects runs by more than their status, thread, user and pins.
func filtered(q awaken.RunQuery) bool {
	q.ThreadID, q.Status, q.Owner, q.Pinned, q.Offset, q.Limit, q.At = "", "", nil, false, 0, 0, nil
	return !reflect.ValueOf(q).IsZero()
}

// selected returns a run if q selects it, or nil. A run that was deleted meanwhile is not selected.
func (rd *reader) selected(q *awaken.RunQuery, id string) (*awaken.Run, error) {
	run, err := rd.loadRun(id)
	if errors.Is(err, awaken.ErrNotFound) || err == nil && !threads.SelectsRun(q, run) {
		return nil, nil
	}
	if err != nil || q.Tool == "" && !q.InDoubt {
		return run, err
	}
	calls, err := rd.calls(id)
	if errors.Is(err, awaken.ErrNotFound) || err == nil && !threads.SelectsCalls(q, calls) {
		return nil, nil
	}
	return run, err
}

// ListRuns returns runs, the newest first.
func (rd *reader) ListRuns(_ context.Context, q awaken.RunQuery) ([]*awaken.Run, error) {
	if err := rd.gate.enter(); err != nil {
		return nil, err
	}
	defer rd.gate.leave()
	var from threads.Place
	if q.At != nil {
		var err error
		if from, err = threads.ParsePlace(*q.At); err != nil {
			return nil, err
		}
		*q.At = ""
	}
	offset, limit := threads.Page(q.Offset, q.Limit)
	all := rd.findRuns(q)
	if !filtered(q) && q.At == nil { // each is on the list
		all, offset = all[min(offset, len(all)):], 0
	}
	var out []*awaken.Run
	var last threads.Place
	for _, l := range all {
		if !from.Before(l.time, l.id) {
			continue
		}
		run, err := rd.selected(&q, l.id)
		switch {
		case err != nil:
			return nil, err
		case run == nil:
		case offset > 0:
			offset--
		case len(out) == limit:
			if q.At != nil {
				*q.At = last.String()
			}
			return out, nil
		default:
			out, last = append(out, run), threads.Place{Time: l.time, ID: l.id}
		}
		if len(out) == limit && q.At == nil {
			break
		}
	}
	return out, nil
}

// Calls returns the call ledger of a run.
func (rd *reader) Calls(_ context.Context, runID string) ([]*awaken.CallState, error) {
	if err := rd.gate.enter(); err != nil {
		return nil, err
	}
	defer rd.gate.leave()
	return rd.calls(runID)
}

func (rd *reader) calls(runID string) ([]*awaken.CallState, error) {
	rd.table.mu.Lock()
	ref, err := rd.table.findRun(runID)
	rd.table.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var out []*awaken.CallState
	err = rd.bodies.look(ref.thread.ID, func(_ *thread, b *body) error {
		r := b.runs[runID]
		if r == nil { // a new thread with the same id
			return threads.RunNotFound(runID)
		}
		out = slices.Clone(r.Calls)
		return nil
	})
	rd.table.mu.Lock()
	defer rd.table.mu.Unlock()
	return rd.table.decided.Settled(runID, out), err
}
