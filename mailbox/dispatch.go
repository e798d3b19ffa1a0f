package mailbox

import (
	"cmp"
	"slices"

	"github.com/awaken-go/awaken"
)

// Status is where a dispatch is in its life.
type Status string

const (
	Queued     Status = "Queued"
	Claimed    Status = "Claimed" // a worker has it
	Acked      Status = "Acked"   // worked on: its run is done or waits
	Cancelled  Status = "Cancelled"
	Superseded Status = "Superseded" // an interrupt took its place
	DeadLetter Status = "DeadLetter" // tried too often, or hopeless
)

// Statuses are all there are.
var Statuses = []Status{Queued, Claimed, Acked, Cancelled, Superseded, DeadLetter}

// Terminal reports whether the dispatch is over.
func (s Status) Terminal() bool { return s != Queued && s != Claimed }

// DefaultPriority is the priority of a dispatch that does not say. 0 is the highest.
const DefaultPriority = 128

// Dispatch is a thread's turn to run. All times are unix ms of the store's clock.
type Dispatch struct {
	ID       string `json:"dispatch_id"`
	ThreadID string `json:"thread_id"`
	RunID    string `json:"run_id"`
	Tenant   string `json:"-"`

	// Request is what starts the run. Nil wakes a run that has what it needs in its
	// thread's inbox.
	Request *awaken.RunRequest `json:"request,omitempty"`

	Priority    int    `json:"priority"` // 0 to 255, 0 first
	DedupeKey   string `json:"dedupe_key,omitempty"`
	Epoch       uint64 `json:"dispatch_epoch"` // of the thread, when it was queued
	Status      Status `json:"status"`
	Cancel      bool   `json:"cancel_requested,omitempty"` // whoever runs it has to end it
	Revision    int    `json:"revision"`                   // counts the edits of a queued one
	AvailableAt int64  `json:"available_at"`
	Attempts    int    `json:"attempt_count"` // that failed since the run last got further
	MaxAttempts int    `json:"max_attempts"`
	Steps       int    `json:"steps"` // of the run, when Attempts last changed
	LastError   string `json:"last_error,omitempty"`

	ClaimToken string `json:"claim_token,omitempty"`
	ClaimedBy  string `json:"claimed_by,omitempty"`
	LeaseUntil int64  `json:"lease_until,omitempty"`

	// The key of the request that submitted it, and what that request said.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	Digest         string `json:"-"`

	CreatedAt   int64 `json:"created_at"`
	UpdatedAt   int64 `json:"updated_at"`
	CompletedAt int64 `json:"completed_at,omitempty"`
}

// NewRun is the record of the run that the dispatch will start: accepted at CreatedAt.
func (d *Dispatch) NewRun() *awaken.Run {
	q, at := d.Request, d.CreatedAt/1000
	r := &awaken.Run{RunID: d.RunID, ThreadID: d.ThreadID, AgentID: q.AgentID, DispatchID: d.ID, Status: awaken.RunCreated,
		ParentRunID: q.ParentRunID, ParentThreadID: q.ParentThreadID, ParentToolCallID: q.ParentToolCallID,
		SessionID: q.SessionID, UserID: q.UserID, TransportRequestID: q.TransportRequestID, Origin: q.Origin, Adapter: q.Adapter, Depth: q.Depth, ResolutionID: q.ResolutionID,
		CreatedAt: at, UpdatedAt: at}
	if r.Origin == "" {
		r.Origin = "user"
	}
	if q.Mode != "foreground" {
		r.Mode = q.Mode
	}
	return r
}

// Before orders the dispatches of a thread: by priority, then age.
func (d *Dispatch) Before(o *Dispatch) int {
	return cmp.Or(cmp.Compare(d.Priority, o.Priority), cmp.Compare(d.CreatedAt, o.CreatedAt), cmp.Compare(d.ID, o.ID))
}

// Exhausted reports whether it was tried too often.
func (d *Dispatch) Exhausted() bool { return d.Attempts >= d.MaxAttempts }

// Ready is when the thread of these dispatches can be claimed next, and for what: the
// first in order of those that are available at now, or else the one that will be
// first. It is nil if one is claimed or none is queued.
func Ready(live []*Dispatch, now int64) *Dispatch {
	var first *Dispatch
	for _, d := range live {
		if d.Status == Claimed {
			return nil
		}
		if d.Status != Queued {
			continue
		}
		switch {
		case first == nil:
			first = d
		case d.AvailableAt <= now && first.AvailableAt <= now:
			if d.Before(first) < 0 {
				first = d
			}
		case d.AvailableAt < first.AvailableAt:
			first = d
		}
	}
	return first
}

// Sort puts dispatches in the order of Before.
func Sort(ds []*Dispatch) { slices.SortFunc(ds, (*Dispatch).Before) }
