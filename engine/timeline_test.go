package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace/timeline"
	"github.com/awaken-go/awaken/trace/timeline/timelinetest"
)

// watchedStore is a store whose commits have a witness.
type watchedStore struct {
	*memory.Store
	witness timelinetest.Witness
}

func (s *watchedStore) Commit(ctx context.Context, c *awaken.Commit) error {
	err := s.Store.Commit(ctx, c)
	if err == nil {
		s.witness.Saw(c)
	}
	return err
}

// checkTimeline checks that the timeline of a run tells what was committed.
func (p *goldenPlayer) checkTimeline(r *awaken.Run) {
	p.t.Helper()
	got, err := p.store.Commits(p.t.Context(), r.RunID, timeline.Query{})
	if err != nil {
		p.t.Fatal(err)
	}
	if diff := cmp.Diff(p.store.witness.Made(r.RunID), got); diff != "" {
		p.t.Errorf("commits of run %s (-made +listed):\n%s", r.RunID, diff)
	}
	for _, problem := range timelinetest.Check(p.t.Context(), &p.store, r) {
		p.t.Error(problem)
	}
	shownExactly.Add(int64(p.checkShown(r)))
}

// shownExactly counts the requests of all scenarios that were made again exactly.
var shownExactly atomic.Int64

// checkShown checks that what is said to be exactly what the model was shown is among what it was shown.
func (p *goldenPlayer) checkShown(r *awaken.Run) (exact int) {
	p.t.Helper()
	for step := range r.Steps {
		got, err := p.h.Runtime.Shown(p.t.Context(), r.RunID, step)
		if errors.Is(err, awaken.ErrNotFound) || errors.Is(err, awaken.ErrPinUnavailable) {
			continue
		}
		if err != nil {
			p.t.Errorf("step %d of run %s: %v", step, r.RunID, err)
			continue
		}
		if len(got.Unrecorded) > 0 {
			continue
		}
		exact++
		if !slices.ContainsFunc(p.agent.Requests(), func(q *llmtest.Captured) bool { return shows(q, got) }) {
			p.t.Errorf("step %d of run %s: the model was never shown %+v", step, r.RunID, got)
		}
	}
	return exact
}

// shows reports whether a captured request is the one.
func shows(q *llmtest.Captured, got *timeline.ShownRequest) bool {
	var system []string
	for _, b := range got.System {
		system = append(system, b.Text)
	}
	var tools []string
	for _, t := range got.Tools {
		tools = append(tools, t.Name)
	}
	return q.Model == got.Model && strings.Contains(q.System, strings.Join(system, "\n")) && cmp.Equal(q.Messages, got.Messages, cmpopts.EquateEmpty()) &&
		cmp.Equal(q.Tools, tools, cmpopts.EquateEmpty()) && cmp.Equal(q.Params.MaxTokens, got.MaxTokens) && cmp.Equal(q.Params.Temperature, got.Temperature)
}
