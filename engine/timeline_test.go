package engine_test

import (
	"context"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/timeline"
	"github.com/awaken-go/awaken/timeline/timelinetest"
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
}
