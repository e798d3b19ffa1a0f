package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"

	tracebody "github.com/awaken-go/awaken/trace/body"
)

const inferencesDir = "inferences"

// inferences implements [tracebody.Store]: for each thread a file with a line for each body. A line that a dying process left half written is skipped.
type inferences struct {
	gate   *gate
	folder *folder
	table  *table

	mu sync.Mutex // held while a file is written, read or removed; taken before table.mu
}

var _ tracebody.Keeper = (*Store)(nil)

// Bodies returns the bodies of the store.
func (s *Store) Bodies() tracebody.Store { return s.inferences }

// storedBody is a line.
type storedBody struct {
	RunID string `json:"run_id"`
	ID    string `json:"id"`
	Data  []byte `json:"data"`
}

func inferencesPath(threadID string) string { return inferencesDir + "/" + fileName(threadID) + ".log" }

// AddBodies stores bodies whose threads exist.
func (s *inferences) AddBodies(_ context.Context, list []tracebody.Stored) (homeless []tracebody.Stored, err error) {
	if err := s.gate.enter(); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	byThread := map[string][]tracebody.Stored{}
	for _, b := range list {
		if !s.exists(b.ThreadID) {
			homeless = append(homeless, b)
			continue
		}
		byThread[b.ThreadID] = append(byThread[b.ThreadID], b)
	}
	for id, own := range byThread {
		if err := s.append(id, own); err != nil {
			return nil, err
		}
	}
	return homeless, nil
}

func (s *inferences) exists(threadID string) bool {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	_, err := s.table.find(threadID)
	return err == nil
}

// append adds lines to the file of a thread.
func (s *inferences) append(threadID string, list []tracebody.Stored) error {
	there, err := s.read(threadID)
	if err != nil {
		return err
	}
	buf := []byte{'\n'} // ends a line that is only half there
	for _, b := range list {
		if slices.ContainsFunc(there, func(x tracebody.Stored) bool { return x.RunID == b.RunID && x.ID == b.ID }) {
			continue
		}
		line, err := json.Marshal(storedBody{b.RunID, b.ID, b.Data})
		if err != nil {
			return err
		}
		buf = append(append(buf, line...), '\n')
	}
	if err := s.folder.root.MkdirAll(inferencesDir, dirMode); err != nil {
		return err
	}
	w, err := s.folder.root.OpenFile(inferencesPath(threadID), os.O_CREATE|os.O_APPEND|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	_, err = w.Write(buf)
	if err == nil {
		err = s.folder.fsync(w)
	}
	return errors.Join(err, w.Close())
}

// read returns the bodies of a thread. Requires mu.
func (s *inferences) read(threadID string) (out []tracebody.Stored, err error) {
	data, err := s.folder.root.ReadFile(inferencesPath(threadID))
	if missing(err) {
		return nil, nil
	}
	for line := range bytes.Lines(data) {
		var b storedBody
		if json.Unmarshal(line, &b) == nil && b.ID != "" {
			out = append(out, tracebody.Stored{ThreadID: threadID, RunID: b.RunID, ID: b.ID, Data: b.Data})
		}
	}
	return out, err
}

// Bodies returns the bodies of a run.
func (s *inferences) Bodies(_ context.Context, threadID, runID string) ([]tracebody.Stored, error) {
	if err := s.gate.enter(); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	out, err := s.read(threadID)
	out = slices.DeleteFunc(out, func(b tracebody.Stored) bool { return b.RunID != runID })
	slices.SortFunc(out, func(a, b tracebody.Stored) int { return strings.Compare(a.ID, b.ID) })
	return out, err
}

// remove removes the bodies of a deleted thread. The caller has entered the gate.
func (s *inferences) remove(threadID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.folder.root.Remove(inferencesPath(threadID)); !missing(err) {
		return err
	}
	return nil
}
