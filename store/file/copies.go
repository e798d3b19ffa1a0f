package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"

	"github.com/awaken-go/awaken"
)

// The folders of the readable copies.
const (
	threadsDir  = "threads"
	messagesDir = "message_records"
	statesDir   = "thread_states"
	runsDir     = "runs"
)

// copies tracks how current the readable copies of a thread are.
type copies struct {
	writing sync.Mutex // held while the copies are written

	// Guarded by table.mu.
	to    int64     // bytes of the journal that the copies cover
	seq   int       // messages that the copies cover
	stale []*runRef // runs whose copies are outdated
}

// mark records that the copy of a run is outdated.
func (c *copies) mark(r *runRef) {
	if !r.stale {
		r.stale = true
		c.stale = append(c.stale, r)
	}
}

// stale reports whether the copies of a thread are outdated. Requires table.mu.
func (t *thread) stale() bool {
	return t.life == alive && t.Touched > 0 && t.copies.to < t.journal.size
}

// copier writes the readable copies.
type copier struct {
	folder *folder
	table  *table
	bodies *bodies
	off    bool // write no copies
	logger *slog.Logger
}

// stale returns the threads whose copies are outdated.
func (c *copier) stale() []*thread {
	if c.off {
		return nil
	}
	c.table.mu.Lock()
	defer c.table.mu.Unlock()
	var out []*thread
	for _, t := range c.table.threads {
		if t.stale() {
			out = append(out, t)
		}
	}
	return out
}

// update brings the copies of a thread up to date. The journal is authoritative, so a
// failure is only logged; the next update retries.
func (c *copier) update(t *thread) {
	if c.off {
		return
	}
	t.copies.writing.Lock()
	defer t.copies.writing.Unlock()
	atProject.Hit()
	if err := c.copyOut(t); err != nil {
		c.logger.Warn("cannot write the copies of a thread", "thread", t.ID, "error", err)
	}
	atProjected.Hit()
}

// copyOut requires t.copies.writing.
func (c *copier) copyOut(t *thread) error {
	var (
		thread *awaken.Thread
		state  map[string]json.RawMessage
		runs   []awaken.Run
		recs   func(from, to int) []awaken.MessageRecord
		seq    int
		size   int64
	)
	var stale []*runRef
	err := c.bodies.with(t, func(b *body) error {
		if !t.stale() {
			return nil
		}
		thread, state, seq, size = t.Export(), maps.Clone(b.State), t.copies.seq, t.journal.size
		recs = b.Records(t.ID)
		stale, t.copies.stale = t.copies.stale, nil
		for _, r := range stale {
			r.stale = false
			runs = append(runs, b.runs[r.id].Run)
		}
		return nil
	})
	if errors.Is(err, awaken.ErrNotFound) {
		return nil // deleted in the meantime
	}
	if err != nil || thread == nil {
		return err
	}
	name := fileName(t.ID)
	for _, r := range recs(seq, thread.MessageCount) {
		err = errors.Join(err, c.copyFile(messagesDir+"/"+name, fmt.Sprintf("%020d", r.Seq), &r))
	}
	for i := range runs {
		err = errors.Join(err, c.copyFile(runsDir, fileName(runs[i].RunID), &runs[i]))
	}
	if len(state) > 0 {
		err = errors.Join(err, c.copyFile(statesDir, name, map[string]any{"extensions": state}))
	} else if rm := c.folder.root.Remove(statesDir + "/" + name + ".json"); rm != nil && !missing(rm) {
		err = errors.Join(err, rm)
	}
	err = errors.Join(err, c.copyFile(threadsDir, name, thread))
	c.table.mu.Lock()
	defer c.table.mu.Unlock()
	if err != nil {
		for _, r := range stale {
			t.copies.mark(r)
		}
		return err
	}
	t.copies.to, t.copies.seq = size, thread.MessageCount
	return nil
}

// copyFile replaces one copy atomically. It does not sync.
func (c *copier) copyFile(dir, name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	path := dir + "/" + name + ".json"
	err = c.folder.root.WriteFile(path+".tmp", append(data, '\n'), fileMode)
	if missing(err) {
		if err := c.folder.root.MkdirAll(dir, dirMode); err != nil {
			return err
		}
		err = c.folder.root.WriteFile(path+".tmp", append(data, '\n'), fileMode)
	}
	if err != nil {
		return err
	}
	return c.folder.root.Rename(path+".tmp", path)
}

// remove removes the copies of a thread. Requires t.copies.writing.
func (c *copier) remove(t *thread) error {
	name := fileName(t.ID)
	err := c.folder.root.RemoveAll(messagesDir + "/" + name)
	paths := []string{threadsDir + "/" + name, statesDir + "/" + name}
	for _, r := range t.runs {
		paths = append(paths, runsDir+"/"+fileName(r.id))
	}
	for _, p := range paths {
		for _, ending := range []string{".json", ".json.tmp"} {
			if rm := c.folder.root.Remove(p + ending); !missing(rm) {
				err = errors.Join(err, rm)
			}
		}
	}
	return err
}
