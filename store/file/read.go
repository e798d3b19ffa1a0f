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

// Thread returns a thread.
func (s *Store) Thread(_ context.Context, id string) (*awaken.Thread, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.find(id)
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
func (s *Store) ListThreads(_ context.Context, q awaken.ThreadQuery) ([]*awaken.Thread, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	all := s.findThreads(q)
	sortNewest(all)
	from, limit := bounds(len(all), q.Offset, q.Limit)
	var out []*awaken.Thread
	s.mu.Lock()
	defer s.mu.Unlock()
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
func (s *Store) findThreads(q awaken.ThreadQuery) (all []listed[*thread]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.threads {
		if t.life == alive && (q.ParentThreadID == "" || t.ParentThreadID == q.ParentThreadID) &&
			(q.ResourceID == "" || t.ResourceID == q.ResourceID) && (!q.Root || t.ParentThreadID == "") {
			all = append(all, listed[*thread]{t.ID, t.touched, t})
		}
	}
	return all
}

// CountThreads returns how many threads q selects, on all pages.
func (s *Store) CountThreads(_ context.Context, q awaken.ThreadQuery) (int, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.life.RUnlock()
	return len(s.findThreads(q)), nil
}

// Messages returns records of a thread's log.
func (s *Store) Messages(_ context.Context, threadID string, q awaken.MessageQuery) ([]awaken.MessageRecord, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	var records func(from, to int) []awaken.MessageRecord
	var n int
	err := s.look(threadID, func(t *thread, b *body) error {
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

// records returns a function that makes records of the log as it is now. The function
// needs no lock.
func (b *body) records(threadID string) func(from, to int) []awaken.MessageRecord {
	log, created := b.view.Log(), b.created[:len(b.created):len(b.created)]
	return func(from, to int) []awaken.MessageRecord {
		out := make([]awaken.MessageRecord, 0, to-from)
		for i := from; i < to; i++ {
			r := awaken.MessageRecord{ThreadID: threadID, Seq: i + 1, Message: log[i], Created: created[i]}
			if md := log[i].Metadata; md != nil {
				r.RunID = md.RunID
			}
			out = append(out, r)
		}
		return out
	}
}

// findRun returns a run that was committed. Requires s.mu.
func (s *Store) findRun(id string) (*runRef, error) {
	if r := s.runs[id]; r != nil && r.at.Len > 0 && r.thread.life == alive {
		return r, nil
	}
	return nil, fmt.Errorf("run %s: %w", id, awaken.ErrNotFound)
}

// LoadRun returns a run.
func (s *Store) LoadRun(_ context.Context, id string) (*awaken.Run, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	return s.loadRun(id)
}

func (s *Store) loadRun(id string) (*awaken.Run, error) {
	s.mu.Lock()
	ref, err := s.findRun(id)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	t, at := ref.thread, ref.at
	if t.body != nil {
		defer s.mu.Unlock()
		out := t.body.runs[id].Run
		return &out, nil
	}
	s.mu.Unlock()
	// One record is enough, and says the same whenever it is read.
	var c struct {
		Run *awaken.Run `json:"run"`
	}
	err = s.readAt(t, at, func(payload []byte) error {
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

// readAt reads one record of a thread's journal.
func (s *Store) readAt(t *thread, at span, fn func(payload []byte) error) error {
	f, err := s.files.get(t)
	if missing(err) {
		return notFound(t.ID) // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	defer s.files.put(t)
	payload, err := readRecord(f, t.path(), at)
	if err != nil {
		return err
	}
	if err := fn(payload); err != nil {
		return &DamagedError{t.path(), at.Off, err}
	}
	return nil
}

// findRuns returns what q selects, in any order.
func (s *Store) findRuns(q awaken.RunQuery) (all []listed[*runRef]) {
	add := func(r *runRef) {
		if r.at.Len > 0 && r.thread.life == alive && (q.Status == "" || r.status == q.Status) {
			all = append(all, listed[*runRef]{r.id, r.born, r})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.ThreadID == "" {
		for _, r := range s.runs {
			add(r)
		}
	} else if t := s.threads[q.ThreadID]; t != nil {
		for _, r := range t.runs {
			add(r)
		}
	}
	return all
}

// CountRuns returns how many runs q selects, on all pages.
func (s *Store) CountRuns(_ context.Context, q awaken.RunQuery) (int, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.life.RUnlock()
	return len(s.findRuns(q)), nil
}

// ListRuns returns runs, the newest first.
func (s *Store) ListRuns(_ context.Context, q awaken.RunQuery) ([]*awaken.Run, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	all := s.findRuns(q)
	sortNewest(all)
	from, limit := bounds(len(all), q.Offset, q.Limit)
	var out []*awaken.Run
	for _, l := range all[from:] {
		if len(out) == limit {
			break
		}
		run, err := s.loadRun(l.id)
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
func (s *Store) Calls(_ context.Context, runID string) ([]*awaken.CallState, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	s.mu.Lock()
	ref, err := s.findRun(runID)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var out []*awaken.CallState
	err = s.look(ref.thread.ID, func(_ *thread, b *body) error {
		r := b.runs[runID]
		if r == nil { // another thread of the same id
			return fmt.Errorf("run %s: %w", runID, awaken.ErrNotFound)
		}
		out = slices.Clone(r.calls)
		return nil
	})
	return out, err
}

// Entries returns entries of a thread's log of events.
func (s *Store) Entries(_ context.Context, threadID string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	var out []awaken.Entry
	full := func(entries []awaken.Entry) bool {
		for i := range entries {
			e := &entries[i]
			if e.Last() > q.After && e.Epoch > q.Epoch && (q.RunID == "" || e.RunID == q.RunID) {
				if out = append(out, *e); q.Limit > 0 && len(out) == q.Limit {
					return true
				}
			}
		}
		return false
	}
	// What is in memory is taken under the lock; at the first block that is not, the
	// blocks from there on are read without it.
	var t *thread
	var toRead []block
	err := s.look(threadID, func(th *thread, b *body) error {
		t = th
		from, _ := slices.BinarySearchFunc(b.blocks, q, func(bl block, q awaken.EntryQuery) int {
			if bl.last > q.After && bl.epoch > q.Epoch {
				return 1
			}
			return -1
		})
		for i := from; i < len(b.blocks); i++ {
			bl := &b.blocks[i]
			switch {
			case q.RunID != "" && bl.runID != "" && bl.runID != q.RunID:
			case bl.entries == nil:
				toRead = slices.Clone(b.blocks[i:])
				return nil
			case full(bl.entries):
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range toRead {
		bl := &toRead[i]
		if q.RunID != "" && bl.runID != "" && bl.runID != q.RunID {
			continue
		}
		if bl.entries == nil {
			if err := s.readBlock(t, bl); err != nil {
				return nil, err
			}
		}
		if full(bl.entries) {
			break
		}
	}
	return out, nil
}

// readBlock reads the entries of a block, and keeps them for the next reader.
func (s *Store) readBlock(t *thread, bl *block) error {
	err := s.readAt(t, bl.at, func(payload []byte) (err error) {
		bl.entries, err = decodeEntries(payload)
		return err
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.body == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(t.body.blocks, bl.at.Off, func(b block, off int64) int { return cmp.Compare(b.at.Off, off) })
	if ok && t.body.blocks[i].entries == nil {
		kept := &t.body.blocks[i]
		kept.entries, kept.size = bl.entries, inMemory*bl.at.Len
		t.body.size, t.body.held = t.body.size+kept.size, min(t.body.held, i)
		s.cache.grow(t, kept.size)
		s.evict()
	}
	return nil
}
