package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/awaken-go/awaken"
)

// The folders of the copies for people.
const (
	threadsDir  = "threads"
	messagesDir = "message_records"
	statesDir   = "thread_states"
	runsDir     = "runs"
)

// stale returns the threads whose copies are older than their journals.
func (s *Store) stale() []*thread {
	if s.opts.NoCopies {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*thread
	for _, t := range s.threads {
		if t.stale() {
			out = append(out, t)
		}
	}
	return out
}

// project brings the copies of a thread up to date. The journal is the truth, so a copy
// that cannot be written is only logged; the next time it is tried again.
func (s *Store) project(t *thread) {
	if s.opts.NoCopies {
		return
	}
	t.copying.Lock()
	defer t.copying.Unlock()
	atProject.Hit()
	if err := s.copyOut(t); err != nil {
		s.opts.Logger.Warn("the copies of a thread could not be written", "thread", t.ID, "error", err)
	}
	atProjected.Hit()
}

// copyOut requires t.copying.
func (s *Store) copyOut(t *thread) error {
	var (
		thread *awaken.Thread
		state  map[string]json.RawMessage
		runs   []awaken.Run
		recs   func(from, to int) []awaken.MessageRecord
		seq    int
		size   int64
	)
	var stale []*runRef
	err := s.withBody(t, func(b *body) error {
		if !t.stale() {
			return nil
		}
		thread, state, seq, size = t.export(), maps.Clone(b.state), t.copiedSeq, t.size
		recs = b.records(t.ID)
		stale, t.staleRuns = t.staleRuns, nil
		for _, r := range stale {
			r.stale = false
			runs = append(runs, b.runs[r.id].Run)
		}
		return nil
	})
	if errors.Is(err, awaken.ErrNotFound) {
		return nil // it was deleted meanwhile
	}
	if err != nil || thread == nil {
		return err
	}
	name := fileName(t.ID)
	for _, r := range recs(seq, thread.MessageCount) {
		err = errors.Join(err, s.copyFile(messagesDir+"/"+name, fmt.Sprintf("%020d", r.Seq), &r))
	}
	for i := range runs {
		err = errors.Join(err, s.copyFile(runsDir, fileName(runs[i].RunID), &runs[i]))
	}
	if len(state) > 0 {
		err = errors.Join(err, s.copyFile(statesDir, name, map[string]any{"extensions": state}))
	} else if rm := s.root.Remove(statesDir + "/" + name + ".json"); rm != nil && !missing(rm) {
		err = errors.Join(err, rm)
	}
	err = errors.Join(err, s.copyFile(threadsDir, name, thread))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		for _, r := range stale {
			t.markStale(r)
		}
		return err
	}
	t.copiedTo, t.copiedSeq = size, thread.MessageCount
	return nil
}

// copyFile writes one copy. It is whole whenever somebody looks, but not synced.
func (s *Store) copyFile(dir, name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	path := dir + "/" + name + ".json"
	err = s.root.WriteFile(path+".tmp", append(data, '\n'), fileMode)
	if missing(err) {
		if err := s.root.MkdirAll(dir, dirMode); err != nil {
			return err
		}
		err = s.root.WriteFile(path+".tmp", append(data, '\n'), fileMode)
	}
	if err != nil {
		return err
	}
	return s.root.Rename(path+".tmp", path)
}

// removeCopies requires t.copying.
func (s *Store) removeCopies(t *thread) error {
	name := fileName(t.ID)
	err := s.root.RemoveAll(messagesDir + "/" + name)
	paths := []string{threadsDir + "/" + name, statesDir + "/" + name}
	for _, r := range t.runs {
		paths = append(paths, runsDir+"/"+fileName(r.id))
	}
	for _, p := range paths {
		for _, ending := range []string{".json", ".json.tmp"} {
			if rm := s.root.Remove(p + ending); !missing(rm) {
				err = errors.Join(err, rm)
			}
		}
	}
	return err
}
