package memory

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/store/internal/threads"
	"github.com/awaken-go/awaken/trace/timeline"
)

// reader implements [awaken.ThreadStore], [awaken.RunStore], [awaken.EventLog], [timeline.Log] and
// [awaken.UsageReader].
type reader struct{ *records }

// Thread returns a thread.
func (s *reader) Thread(_ context.Context, id string) (*awaken.Thread, error) {
	return ofThread(s.records, id, func(t *thread) *awaken.Thread { return t.Export() })
}

// ListThreads returns threads, the most recently updated first.
func (s *reader) ListThreads(_ context.Context, q awaken.ThreadQuery) ([]*awaken.Thread, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.findThreads(&q)
	place := func(t *thread) threads.Place { return threads.Place{Time: t.Touched, ID: t.ID} }
	if threads.ByRun(&q) {
		place = func(t *thread) threads.Place {
			return threads.Place{Time: s.runs[t.LatestRunID].born, ID: t.LatestRunID}
		}
	}
	slices.SortFunc(all, func(a, b *thread) int { return threads.ComparePlaced(place(a), place(b)) })
	all, err := threads.Cut(all, q.Offset, q.Limit, q.At, place)
	if err != nil {
		return nil, err
	}
	var out []*awaken.Thread
	for _, t := range all {
		out = append(out, t.Export())
	}
	return out, nil
}

// findThreads returns the threads that q selects, unsorted.
func (s *reader) findThreads(q *awaken.ThreadQuery) (all []*thread) {
	for _, t := range s.threads {
		if threads.Selects(q, &t.Thread) && s.latestIs(t, q.AgentID, q.Status) {
			all = append(all, t)
		}
	}
	return all
}

// latestIs reports whether the latest run of a thread is of an agent and has a status, as far as they are set.
func (s *reader) latestIs(t *thread, agent string, status awaken.RunStatus) bool {
	if agent == "" && status == "" {
		return true
	}
	r := s.runs[t.LatestRunID]
	return r != nil && (agent == "" || r.AgentID == agent) && (status == "" || r.Status == status)
}

// CountThreads returns how many threads q selects, on all pages.
func (s *reader) CountThreads(_ context.Context, q awaken.ThreadQuery) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.At != nil {
		*q.At = ""
	}
	return len(s.findThreads(&q)), nil
}

// ThreadCosts returns what the runs of threads cost, in US dollars, by the id of the thread.
func (s *reader) ThreadCosts(_ context.Context, ids []string) (map[string]float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]float64{}
	for _, id := range ids {
		t := s.threads[id]
		if t == nil {
			continue
		}
		var sum money.Amount
		for r := range t.all {
			if sum += money.Dollars(r.CostUSD); sum < 0 {
				sum = math.MaxInt64
			}
		}
		out[id] = sum.USD()
	}
	return out, nil
}

// page returns a page of a list.
func page[T any](all []T, offset, limit int) []T {
	offset, limit = threads.Page(offset, limit)
	all = all[min(offset, len(all)):]
	return all[:min(limit, len(all))]
}

// Messages returns records of a thread's log.
func (s *reader) Messages(_ context.Context, threadID string, q awaken.MessageQuery) ([]awaken.MessageRecord, error) {
	return ofThread(s.records, threadID, func(t *thread) []awaken.MessageRecord {
		return t.Records(threadID)(threads.Bounds(q, t.MessageCount))
	})
}

// View returns the view of a thread's log.
func (s *reader) View(_ context.Context, threadID string) (*awaken.View, error) {
	return ofThread(s.records, threadID, func(t *thread) *awaken.View {
		view := t.View
		return &view
	})
}

// LoadRun returns a run.
func (s *reader) LoadRun(_ context.Context, id string) (*awaken.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[id]
	if r == nil {
		return nil, threads.RunNotFound(id)
	}
	out := r.Run.Run
	return &out, nil
}

// ListRuns returns runs, the newest first.
func (s *reader) ListRuns(_ context.Context, q awaken.RunQuery) ([]*awaken.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.findRuns(q)
	slices.SortFunc(all, func(a, b *runRecord) int { return threads.Newest(a.born, b.born, a.RunID, b.RunID) })
	all, err := threads.Cut(all, q.Offset, q.Limit, q.At, func(r *runRecord) threads.Place { return threads.Place{Time: r.born, ID: r.RunID} })
	if err != nil {
		return nil, err
	}
	var out []*awaken.Run
	for _, r := range all {
		run := r.Run.Run
		out = append(out, &run)
	}
	return out, nil
}

// findRuns returns the runs that q selects, unsorted.
func (s *reader) findRuns(q awaken.RunQuery) (all []*runRecord) {
	from := maps.Values(s.runs)
	if q.RunIDs != nil {
		from = func(yield func(*runRecord) bool) {
			for _, id := range threads.Distinct(q.RunIDs) {
				if r := s.runs[id]; r != nil && !yield(r) {
					return
				}
			}
		}
	} else if q.ThreadID != "" {
		from = s.threads[q.ThreadID].all
	}
	for r := range from {
		if threads.SelectsRun(&q, &r.Run.Run) && s.owns(q.Owner, r.ThreadID) && (!q.Pinned || s.pinned(r)) && threads.SelectsCalls(&q, r.Calls) {
			all = append(all, r)
		}
	}
	return all
}

// owns reports whether a thread belongs to owner, unless that is nil.
func (s *reader) owns(owner *string, threadID string) bool {
	t := s.threads[threadID]
	return owner == nil || t != nil && t.UserID == *owner
}

// pinned reports whether a note of its thread pins a run.
func (s *reader) pinned(r *runRecord) bool {
	t := s.threads[r.ThreadID]
	return t != nil && threads.IsPinned(t.Notes, r.RunID)
}

// CountRuns returns how many runs q selects, on all pages.
func (s *reader) CountRuns(_ context.Context, q awaken.RunQuery) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.At != nil {
		*q.At = ""
	}
	return len(s.findRuns(q)), nil
}

// Calls returns the call ledger of a run.
func (s *reader) Calls(_ context.Context, runID string) ([]*awaken.CallState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[runID]
	if r == nil {
		return nil, threads.RunNotFound(runID)
	}
	return s.decided.Settled(runID, slices.Clone(r.Calls)), nil
}

// Entries returns entries of a thread's event log.
func (s *reader) Entries(_ context.Context, threadID string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	return ofThread(s.records, threadID, func(t *thread) []awaken.Entry { return t.entries.find(&q) })
}

// Commits returns commits of a run.
func (s *reader) Commits(_ context.Context, runID string, q timeline.Query) ([]timeline.Commit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[runID]
	if r == nil {
		return nil, threads.RunNotFound(runID)
	}
	t, err := s.thread(r.ThreadID)
	if err != nil {
		return nil, err
	}
	return t.entries.commits(runID, q), nil
}

// UsageTotals sums up the usage and cost of runs by agent.
func (s *reader) UsageTotals(_ context.Context, q awaken.UsageQuery) ([]awaken.UsageTotal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	agents := map[string]*awaken.UsageTotal{}
	costs := map[string]money.Amount{}
	for _, r := range s.runs {
		if q.ThreadID != "" && r.ThreadID != q.ThreadID || q.AgentID != "" && r.AgentID != q.AgentID || !s.owns(q.Owner, r.ThreadID) {
			continue
		}
		t := agents[r.AgentID]
		if t == nil {
			t = &awaken.UsageTotal{AgentID: r.AgentID}
			agents[r.AgentID] = t
		}
		t.Runs++
		t.Usage.Add(r.Usage)
		costs[r.AgentID] += money.Dollars(r.CostUSD)
	}
	var out []awaken.UsageTotal
	for _, id := range slices.Sorted(maps.Keys(agents)) {
		agents[id].CostUSD = costs[id].USD()
		out = append(out, *agents[id])
	}
	return out, nil
}
