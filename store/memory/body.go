package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/trace/body"
)

// bodies implements [body.Store].
type bodies struct {
	*records
	byThread map[string][]body.Stored
}

// Bodies returns the bodies of the tenant.
func (s *Store) Bodies() body.Store { return s.bodies }

// AddBodies stores bodies whose threads exist.
func (s *bodies) AddBodies(_ context.Context, list []body.Stored) (homeless []body.Stored, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range list {
		own := s.byThread[b.ThreadID]
		switch {
		case s.threads[b.ThreadID] == nil:
			homeless = append(homeless, b)
		case !slices.ContainsFunc(own, func(x body.Stored) bool { return x.RunID == b.RunID && x.ID == b.ID }):
			s.byThread[b.ThreadID] = append(own, b)
		}
	}
	return homeless, nil
}

// Bodies returns the bodies of a run.
func (s *bodies) Bodies(_ context.Context, threadID, runID string) (out []body.Stored, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.byThread[threadID] {
		if b.RunID == runID {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b body.Stored) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}
