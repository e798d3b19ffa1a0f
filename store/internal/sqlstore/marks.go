package sqlstore

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// A mark says what a run did, for lists that select by it: the tools that it called, and whether it has a
// call in doubt; or that it is pinned (note.go).
const doubtMark = "in_doubt"

// toolMark returns the mark of the runs that called a tool. Models make up names of any length, but an index takes only short ones, so
// the mark of a long name has its digest.
func toolMark(tool string) string {
	if len(tool) > maxToolName {
		sum := sha256.Sum256([]byte(tool))
		tool = "sha256:" + hex.EncodeToString(sum[:])
	}
	return "tool:" + tool
}

// maxToolName is the maximum length of a name in a mark, in bytes.
const maxToolName = 256

// Marks knows which marks the runs of this process have, so that a commit writes a mark only once. What it has
// forgotten is written again, to no effect. It is safe for concurrent use; the zero value is ready.
type Marks struct {
	mu   sync.Mutex
	runs map[marked][]string
}

// marked is a run of a tenant.
type marked struct{ tenant, run string }

// mostMarked is how many runs Marks remembers.
const mostMarked = 10_000

// New returns the marks of the calls in a commit that its run may not have yet.
func (m *Marks) New(tenant string, c *awaken.Commit) (out []string) {
	if len(c.Calls) == 0 {
		return nil
	}
	m.mu.Lock()
	have := m.runs[marked{tenant, c.Run.RunID}]
	m.mu.Unlock()
	add := func(mark string) {
		if !slices.Contains(have, mark) && !slices.Contains(out, mark) {
			out = append(out, mark)
		}
	}
	for _, call := range c.Calls {
		if !call.IsHeld() && !slices.ContainsFunc(have, func(mark string) bool { return isTool(mark, call.ToolName) }) {
			add(toolMark(call.ToolName))
		}
		if threads.Doubtful(call) {
			add(doubtMark)
		}
	}
	return out
}

// isTool reports whether a mark is that of a tool, without making it.
func isTool(mark, tool string) bool {
	return len(mark) == len(tool)+5 && mark[5:] == tool && mark[:5] == "tool:"
}

// Written remembers marks that a commit has written.
func (m *Marks) Written(tenant string, c *awaken.Commit, marks []string) {
	if len(marks) == 0 && c.Run.Status == awaken.RunRunning {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	run := marked{tenant, c.Run.RunID}
	switch {
	case c.Run.Status != awaken.RunRunning:
		delete(m.runs, run)
		return
	case m.runs == nil, len(m.runs) >= mostMarked:
		m.runs = map[marked][]string{}
	}
	m.runs[run] = slices.Concat(m.runs[run], marks)
}
