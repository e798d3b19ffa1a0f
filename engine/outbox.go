package engine

import (
	"context"

	"github.com/awaken-go/awaken"
)

// Queue has runs done that nobody waits for. A *mailbox.Tenant is one: what it accepts
// is durable.
type Queue interface {
	// Start has a run started. A RunID that was started before is accepted and does
	// nothing.
	Start(ctx context.Context, req awaken.RunRequest) error
	// Deliver adds an item to a thread's inbox and wakes the run that waits there.
	// Messages for a thread without a run start one, of the agent or, if that is "", of
	// the thread's. An item for a run that is over is dropped. A missing thread is
	// ErrNotFound.
	Deliver(ctx context.Context, threadID string, item awaken.InboxItem, agentID string) error
	// Cancel ends a run. One that is over or not there is ErrNotFound.
	Cancel(ctx context.Context, runID string) error
}
