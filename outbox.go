package awaken

import "context"

// Outgoing is a request of a run to the [Queue], sent after the commit that holds it: an item
// for the inbox of a thread, a run to start, or a run to cancel. It is delivered at least
// once, and takes effect once.
type Outgoing struct {
	ID string `json:"id"` // set by the runtime

	ThreadID string     `json:"thread_id,omitempty"`
	Item     *InboxItem `json:"item,omitempty"`     // for the inbox of ThreadID; the runtime sets its id
	AgentID  string     `json:"agent_id,omitempty"` // agent that answers the messages if the thread has no run

	Start  *RunRequest `json:"start,omitempty"`  // with RunID and ThreadID set
	Cancel string      `json:"cancel,omitempty"` // id of the run to cancel
}

// Send records o, to be sent after the commit.
func Send(r Recorder, o Outgoing) {
	rec := r.command().Recorded()
	rec.Outbox = append(rec.Outbox, o)
}

// Queue accepts background runs. A *mailbox.Tenant implements it; it stores durably what it
// accepts.
type Queue interface {
	// Start submits a run. Submitting the same RunID again has no effect.
	Start(ctx context.Context, req RunRequest) error
	// Deliver adds an item to a thread's inbox and wakes the run that waits there. If the
	// thread has no run, messages start one of agentID, or of the thread's agent if agentID
	// is "". An item for a run that has ended is dropped. If the thread does not exist, it
	// returns ErrNotFound.
	Deliver(ctx context.Context, threadID string, item InboxItem, agentID string) error
	// Cancel cancels a run. It returns ErrNotFound if the run has ended or does not exist.
	Cancel(ctx context.Context, runID string) error
}
