package awaken

import "context"

// Outgoing is a request of a run to the [Queue], sent after the commit that holds it: an item
// for the inbox of a thread (ThreadID, Item and AgentID), a run to start (Start), or a run to
// cancel (Cancel). It is delivered at least once, and takes effect once.
type Outgoing struct {
	ID string `json:"id"` // set by the runtime

	ThreadID string     `json:"thread_id,omitempty"`
	Item     *InboxItem `json:"item,omitempty"`     // for the inbox of ThreadID; the runtime sets its id
	AgentID  string     `json:"agent_id,omitempty"` // agent that answers the messages if the thread has no run

	Start  *RunRequest `json:"start,omitempty"`  // with RunID and ThreadID set
	Cancel string      `json:"cancel,omitempty"` // id of the run to cancel
}

// Send records o in r, to be sent after the commit.
func Send(r Recorder, o Outgoing) {
	rec := r.command().Recorded()
	rec.Outbox = append(rec.Outbox, o)
}

// Queue starts, reaches and cancels runs in the background, for one tenant. A *mailbox.Tenant
// implements it; it stores durably what it accepts. (mailbox.Queue is something else: the stored
// queue that workers claim from.)
type Queue interface {
	// Start submits a run. Submitting the same RunID again has no effect.
	Start(ctx context.Context, req RunRequest) error
	// Deliver adds an item to a thread's inbox and wakes the run that waits there. If the
	// thread has no run, messages start one of agentID, or of the thread's agent if agentID
	// is "". An item for a run that has ended is dropped. If the thread does not exist, it
	// returns ErrNotFound.
	Deliver(ctx context.Context, threadID string, item InboxItem, agentID string) error
	// Cancel cancels a run. It returns ErrNotFound if the run does not exist, and nil or
	// ErrNotFound if it has ended.
	Cancel(ctx context.Context, runID string) error
}
