// Package timelinetest checks timelines against what their runs committed. Tests that run agents, and
// tests that kill their processes, use it.
package timelinetest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/trace/timeline"
)

// Witness keeps what was committed. It is safe for concurrent use.
type Witness struct {
	mu   sync.Mutex
	runs map[string][]timeline.Commit
	ends map[string]uint64 // of the logs, by thread
}

// Saw adds a commit that a store has made.
func (w *Witness) Saw(c *awaken.Commit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs, w.ends = map[string][]timeline.Commit{}, map[string]uint64{}
	}
	made := w.runs[c.Run.RunID]
	out := timeline.Commit{Place: timeline.Place{Fence: c.Fence, Number: 1}, Time: c.Time, Kinds: timeline.CallKinds(c.Calls) | timeline.EventKinds(c.Entries)}
	if n := len(made); n > 0 && made[n-1].Fence == c.Fence {
		out.Number = made[n-1].Number + 1
	}
	for i := range c.Entries {
		out.First = c.Entries[0].Seq
		w.ends[c.ThreadID] = max(w.ends[c.ThreadID], c.Entries[i].Last())
	}
	out.Last = w.ends[c.ThreadID]
	w.runs[c.Run.RunID] = append(made, out)
}

// Made returns the commits of a run.
func (w *Witness) Made(runID string) []timeline.Commit {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.runs[runID])
}

// Check returns what is wrong with the timeline of a run: it must tell of every commit and of every owner
// what the store has, however it is cut into pages: of one size, or in long tests of four.
func Check(ctx context.Context, from timeline.Source, run *awaken.Run) (problems []string) {
	bad := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf("timeline of run %s: ", run.RunID)+fmt.Sprintf(format, args...))
	}
	commits, err := from.Commits(ctx, run.RunID, timeline.Query{})
	if err != nil {
		bad("%v", err)
		return problems
	}
	entries, err := from.Entries(ctx, run.ThreadID, awaken.EntryQuery{RunID: run.RunID})
	if err != nil {
		bad("%v", err)
		return problems
	}
	checkCover(bad, commits, entries)
	whole, _, more, err := timeline.Read(ctx, from, run, timeline.Mark{}, len(commits)+1)
	if err != nil || more {
		bad("more is %v after all commits: %v", more, err)
		return problems
	}
	checkOwners(bad, whole, commits, entries)
	calls, err := from.Calls(ctx, run.RunID)
	if err != nil || len(whole.Calls) != len(calls) {
		bad("it has %d calls, the ledger %d: %v", len(whole.Calls), len(calls), err)
	}
	sizes := []int{1, 2, 3, 7}
	if !testenv.Long() { // runs have all lengths, so each size has its turn, but the small ones only for short runs
		i := len(commits) % len(sizes)
		if len(commits) > 12 {
			i |= 2
		}
		sizes = sizes[i : i+1]
	}
	for _, limit := range sizes {
		parts, err := readPages(ctx, from, run, limit)
		if err != nil {
			bad("in pages of %d: %v", limit, err)
			continue
		}
		if diff := cmp.Diff(whole, parts); diff != "" {
			bad("in pages of %d it differs (-whole +pages):\n%s", limit, diff)
		}
	}
	return problems
}

// checkCover checks that every event belongs to the commit of its owner, and to one only.
func checkCover(bad func(string, ...any), commits []timeline.Commit, entries []awaken.Entry) {
	at, covered := 0, 0
	for i := range entries {
		e := &entries[i]
		for at < len(commits) && (commits[at].First == 0 || commits[at].Last < e.Seq) {
			at++
		}
		if at == len(commits) || e.Seq < commits[at].First || e.Last() > commits[at].Last {
			bad("event %s is in no commit", e.Cursor)
			return
		}
		if commits[at].Fence != e.Epoch {
			bad("event %s is in a commit of owner %d", e.Cursor, commits[at].Fence)
		}
		covered = at
	}
	for i, c := range commits {
		if c.First != 0 && i > covered {
			bad("commit %v has events %d to %d, which the log does not have", c.Place, c.First, c.Last)
		}
		if i > 0 && (c.Fence < commits[i-1].Fence || c.Fence == commits[i-1].Fence && c.Number != commits[i-1].Number+1 || c.Last < commits[i-1].Last) {
			bad("commit %v follows %v", c, commits[i-1])
		}
	}
}

// checkOwners checks owners and takeovers: a run that starts before it has finished has a new owner.
func checkOwners(bad func(string, ...any), page *timeline.Page, commits []timeline.Commit, entries []awaken.Entry) {
	var starts, takeovers []uint64
	open := false
	for i := range entries {
		switch entries[i].Event.(type) {
		case *awaken.RunStart:
			starts = append(starts, entries[i].Epoch)
			if open {
				takeovers = append(takeovers, entries[i].Epoch)
			}
			open = true
		case *awaken.RunFinish:
			open = false
		}
	}
	var told, taken []uint64
	for i, a := range page.Activations {
		told = append(told, a.Fence)
		if a.Number != i+1 {
			bad("activation %d has number %d", i+1, a.Number)
		}
	}
	for _, t := range page.Takeovers {
		taken = append(taken, t.ToFence)
		if t.FromFence >= t.ToFence {
			bad("owner %d took over from %d", t.ToFence, t.FromFence)
		}
		if b := t.TakenBack; b != nil && (b.FirstSeq == 0 || b.FirstSeq > b.LastSeq || b.LastSeq >= t.Seq) {
			bad("owner %d took back events %d to %d", t.ToFence, b.FirstSeq, b.LastSeq)
		}
	}
	if !slices.Equal(starts, told) {
		bad("the owners are %v, in the log %v", told, starts)
	}
	if !slices.Equal(takeovers, taken) {
		bad("taken over by %v, in the log by %v", taken, takeovers)
	}
	if len(commits) != len(page.Commits) {
		bad("it has %d commits, the store %d", len(page.Commits), len(commits))
		return
	}
	for i, c := range commits {
		if r := page.Commits[i]; r.Fence != c.Fence || r.Number != c.Number || r.At != c.Time || r.FirstSeq != c.First || r.LastSeq != c.Last || !slices.Equal(r.Kinds, c.Kinds.Names()) {
			bad("commit %d is %+v, in the store %+v", i, r, c)
		}
	}
}

// readPages reads a timeline in pages, and lets what a later page has replace what an earlier one had.
func readPages(ctx context.Context, from timeline.Source, run *awaken.Run, limit int) (*timeline.Page, error) {
	var all *timeline.Page
	for at, more := (timeline.Mark{}), true; more; {
		page, next, further, err := timeline.Read(ctx, from, run, at, limit)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = page
		} else {
			all.Commits = append(all.Commits, page.Commits...)
			all.Activations = replaced(all.Activations, page.Activations, func(a timeline.Activation) uint64 { return a.Seq })
			all.Takeovers = replaced(all.Takeovers, page.Takeovers, func(a timeline.Takeover) uint64 { return a.Seq })
			all.Steps = replaced(all.Steps, page.Steps, func(a timeline.StepRow) uint64 { return a.Seq })
			all.Calls = replaced(all.Calls, page.Calls, func(a timeline.CallRow) [2]int { return [2]int{a.Step, a.Index} })
			all.Waits = replaced(all.Waits, page.Waits, func(a timeline.WaitRow) uint64 { return a.Seq })
			all.Resets = replaced(all.Resets, page.Resets, func(a timeline.Reset) uint64 { return a.Seq })
		}
		if more = further; more && next.Fence == at.Fence && next.Number == at.Number {
			return nil, fmt.Errorf("the page behind %+v ends where it begins", at)
		}
		at = next
	}
	return all, nil
}

// replaced returns a list with the rows of a later page. Rows are the same if they have the same key.
func replaced[T any, K comparable](list, later []T, key func(T) K) []T {
	for _, row := range later {
		if i := slices.IndexFunc(list, func(old T) bool { return key(old) == key(row) }); i >= 0 {
			list[i] = row
		} else {
			list = append(list, row)
		}
	}
	return list
}
