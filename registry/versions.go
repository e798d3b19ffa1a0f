package registry

import (
	"context"

	"github.com/awaken-go/awaken"
)

// Versions keeps the published versions of the registry and chooses one for each new run. A
// run records the id of its version as resolution_id and keeps that version until it ends,
// whichever process continues it. Implementations are safe for concurrent use.
type Versions interface {
	// Registry returns the live version: the default for new runs.
	Registry() *Registry
	// Choose returns the version for a new run on the thread, as it was before the run. A
	// thread without LatestRunID is new.
	Choose(thread *awaken.Thread) *Registry
	// Pinned returns the version with that id. It returns ErrNotFound if the version does
	// not exist. If it returns another error, the run waits; see [awaken.WaitPin].
	Pinned(ctx context.Context, resolutionID string) (*Registry, error)
}
