//go:build unix

package crashtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/trace/timeline"
	"github.com/awaken-go/awaken/trace/timeline/timelinetest"
)

// witnessed is a store whose commits are noted in a file, which outlives the process.
type witnessed struct {
	store
	path    string
	witness *timelinetest.Witness
}

func (j job) witnessed(s store) witnessed {
	return witnessed{s, j.commits(), new(timelinetest.Witness)}
}

// commits is the file with the notes of commits.
func (j job) commits() string { return filepath.Join(j.Dir, "commits") }

// Pipelined forwards to the store.
func (w witnessed) Pipelined() bool {
	p, ok := w.store.(awaken.Pipelined)
	return ok && p.Pipelined()
}

// Commit notes a commit once it was made. A process that is killed in between leaves one without a
// note.
func (w witnessed) Commit(ctx context.Context, c *awaken.Commit) error {
	err := w.store.Commit(ctx, c)
	if err != nil || c.Run.RunID != runID {
		return err
	}
	w.witness.Saw(c)
	made := w.witness.Made(runID)
	line, err := json.Marshal(made[len(made)-1])
	if err != nil {
		return err
	}
	f, err := os.OpenFile(w.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// checkTimeline checks that the timeline of the run has the commits and owners that its processes noted,
// and at most one more of each process: the one that it was killed after.
func checkTimeline(ctx context.Context, bad func(string, ...any), s store, j job, run *awaken.Run) {
	for _, problem := range timelinetest.Check(ctx, s, run) {
		bad("%s", problem)
	}
	listed, err := s.Commits(ctx, runID, timeline.Query{})
	if err != nil {
		bad("commits: %v", err)
		return
	}
	data, err := os.ReadFile(j.commits())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		bad("the notes of commits: %v", err)
		return
	}
	noted := map[string]bool{}
	for line := range bytes.Lines(data) {
		var c timeline.Commit
		if err := json.Unmarshal(line, &c); err != nil {
			bad("the notes of commits: %v", err)
			return
		}
		noted[name(&c)] = true
	}
	for i := range listed {
		c := &listed[i]
		if noted[name(c)] {
			delete(noted, name(c))
		} else if i+1 < len(listed) && listed[i+1].Fence == c.Fence {
			bad("commit %+v was not made, or its process continued without a note of it", *c)
		}
	}
	for c := range noted {
		bad("commit %s is not listed", c)
	}
}

// name names a commit by everything that does not depend on commits without a note. Without events, the end
// of the log is not known to a process that has just begun.
func name(c *timeline.Commit) string {
	last := c.Last
	if c.First == 0 {
		last = 0
	}
	return fmt.Sprint(c.Fence, " ", c.Number, " at ", c.Time, ": events ", c.First, " to ", last, " ", c.Kinds.Names())
}
