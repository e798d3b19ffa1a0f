package registry

import (
	"context"

	"github.com/awaken-go/awaken"
)

// Snapshots keeps the registries that were published and chooses those of runs. A run
// starts on one, which its record names by resolution_id, and keeps it for life, whichever
// process goes on with it. Implementations are safe for concurrent use.
type Snapshots interface {
	// Registry returns what is live: the registry of new runs on most threads.
	Registry() *Registry
	// Choose returns the registry of a new run on the thread, which is as it was before
	// the run. A thread that has no LatestRunID is new.
	Choose(thread *awaken.Thread) *Registry
	// Pinned returns the registry of that id. One that does not exist is ErrNotFound. A
	// run whose registry cannot be had waits; see [awaken.WaitPin].
	Pinned(ctx context.Context, resolutionID string) (*Registry, error)
}
