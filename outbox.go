package awaken

import "context"

// Outgoing is something a run wants to have done beyond its own thread, once the commit
// that holds it is made: an item for the inbox of a thread, a run that is to start, or
// one that is to end. It is done at least once; what it leads to happens once.
type Outgoing struct {
	ID string `json:"id"` // filled in

	ThreadID string     `json:"thread_id,omitempty"`
	Item     *InboxItem `json:"item,omitempty"`     // for the inbox of ThreadID; its id is filled in
	AgentID  string     `json:"agent_id,omitempty"` // who is to answer messages on a thread that has no run

	Start  *RunRequest `json:"start,omitempty"`  // with a RunID and a ThreadID
	Cancel string      `json:"cancel,omitempty"` // id of a run
}

// Send records that o is to be sent when what is recorded is committed.
func Send(r Recorder, o Outgoing) {
	made := r.command().Recorded()
	made.Outbox = append(made.Outbox, o)
}

// Queue has runs done that nobody waits for. A *mailbox.Tenant is one: what it accepts
// is durable.
type Queue interface {
	// Start has a run started. A RunID that was started before is accepted and does
	// nothing.
	Start(ctx context.Context, req RunRequest) error
	// Deliver adds an item to a thread's inbox and wakes the run that waits there.
	// Messages for a thread without a run start one, of the agent or, if that is "", of
	// the thread's. An item for a run that is over is dropped. A missing thread is
	// ErrNotFound.
	Deliver(ctx context.Context, threadID string, item InboxItem, agentID string) error
	// Cancel ends a run. One that is over or not there is ErrNotFound.
	Cancel(ctx context.Context, runID string) error
}
