package mailbox

import (
	"cmp"
	"slices"

	"github.com/awaken-go/awaken"
)

// Status is the state of a dispatch.
type Status string

const (
	Queued     Status = "Queued"     // waiting for a worker
	Claimed    Status = "Claimed"    // a worker holds its lease
	Acked      Status = "Acked"      // processed: its run is done or waits
	Cancelled  Status = "Cancelled"  // its run was cancelled
	Superseded Status = "Superseded" // ended by an interrupt before it ran
	DeadLetter Status = "DeadLetter" // out of attempts, or its error is permanent
)

// Statuses lists every status.
var Statuses = []Status{Queued, Claimed, Acked, Cancelled, Superseded, DeadLetter}

// Terminal reports whether s is final: neither Queued nor Claimed.
func (s Status) Terminal() bool { return s != Queued && s != Claimed }

// DefaultPriority is the priority of dispatches that do not set one. 0 is the highest.
const DefaultPriority = 128

// BackgroundPriority is the priority of dispatches that no user waits for: others of the thread and of the
// tenant go first, in the queue and at a provider's rate limit.
const BackgroundPriority = 192

// Dispatch is a thread's turn to run. All times are Unix ms by the store's clock; 0 means that
// it has not happened.
type Dispatch struct {
	ID       string `json:"dispatch_id"`
	ThreadID string `json:"thread_id"`
	RunID    string `json:"run_id"`
	Tenant   string `json:"-"`

	// Request starts the run. Nil wakes a run, whose input is in the thread's inbox.
	Request *awaken.RunRequest `json:"request,omitempty"`

	Priority    int    `json:"priority"`             // 0 to 255, 0 first
	DedupeKey   string `json:"dedupe_key,omitempty"` // unique among the live dispatches of the thread; see Submission
	Epoch       uint64 `json:"dispatch_epoch"`       // the thread's epoch ([Thread.Epoch]) when it was queued
	Status      Status `json:"status"`
	Cancel      bool   `json:"cancel_requested,omitempty"` // its worker has to end the run
	Revision    int    `json:"revision"`                   // counts the edits while it is queued
	AvailableAt int64  `json:"available_at"`               // it cannot be claimed earlier
	Attempts    int    `json:"attempt_count"`              // failures since the run last completed a step, at most MaxAttempts
	MaxAttempts int    `json:"max_attempts"`               // failures that make it a dead letter
	Steps       int    `json:"steps"`                      // the run's steps when Attempts last changed
	Crashes     int    `json:"crash_count"`                // processes that died while they ran it, since the run last completed a step
	LostAt      int64  `json:"lost_at,omitempty"`          // when it was found that its last owner was lost; 0 if an owner has settled it since
	LastError   string `json:"last_error,omitempty"`
	// Failures are the failures of its attempts, the last MaxFailures of them, oldest first. The store keeps
	// them when it settles or reclaims the dispatch; a claim need not have them, and a Change does not change them.
	Failures []Failure `json:"failures,omitempty"`

	// The claim, while the status is Claimed.
	ClaimToken string `json:"claim_token,omitempty"`
	ClaimedBy  string `json:"claimed_by,omitempty"` // the worker's process
	LeaseUntil int64  `json:"lease_until,omitempty"`

	// IdempotencyKey and Digest identify the submission.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	Digest         string `json:"-"`

	// MessageID is the id of the client's message that it has accepted, or "", and Said the digests of that message; see [Said]. Of the
	// dispatches of a thread, one has the id. A claim need not have them, and a Change sets them only of new dispatches.
	MessageID string `json:"-"`
	Said      string `json:"-"`

	// End is the end of the thread's event log when [Store.Enqueue] queued it. It is not stored.
	End awaken.Cursor `json:"-"`
	// Fresh says of a claimed dispatch that its run had not started and its thread had no open
	// run when it was claimed, for the first time. It is not stored, and a store need not set it.
	Fresh bool `json:"-"`
	// Checkpoint is what [Store.Own] would have returned when the dispatch was claimed, if the
	// claim has acquired the thread. It is not stored, and a store need not set it.
	Checkpoint *awaken.Checkpoint `json:"-"`

	CreatedAt   int64 `json:"created_at"`
	UpdatedAt   int64 `json:"updated_at"`
	CompletedAt int64 `json:"completed_at,omitempty"`
}

// MaxFailures is how many failures a store keeps of a dispatch.
const MaxFailures = 20

// Failure is an attempt that failed: a claim that was settled as failed, or with a new error as a dead letter, or whose
// owner was lost.
type Failure struct {
	At     int64  `json:"at"`               // Unix ms
	Error  string `json:"error,omitempty"`  // what its worker reported; "" if the owner was lost
	Worker string `json:"worker,omitempty"` // the worker's process
	Lost   bool   `json:"lost,omitempty"`   // the process died, or was silent for too long
}

// Fail adds a failure of the worker that has d claimed, at now.
func (d *Dispatch) Fail(now int64, err string, lost bool) {
	f := Failure{At: now, Error: err, Worker: d.ClaimedBy, Lost: lost}
	if lost {
		f.Error = ""
	}
	d.Failures = append(slices.Clone(d.Failures[max(0, len(d.Failures)-MaxFailures+1):]), f)
}

// NewRun returns the record of the run that d will start, created at d.CreatedAt. d.Request must
// not be nil.
func (d *Dispatch) NewRun() *awaken.Run {
	q := d.Request
	r := &awaken.Run{RunID: d.RunID, ThreadID: d.ThreadID, AgentID: q.AgentID, DispatchID: d.ID, Status: awaken.RunCreated,
		ParentRunID: q.ParentRunID, ParentThreadID: q.ParentThreadID, ParentToolCallID: q.ParentToolCallID,
		SessionID: q.SessionID, UserID: q.UserID, TransportRequestID: q.TransportRequestID, Origin: q.Origin, Adapter: q.Adapter, Depth: q.Depth, ResolutionID: q.ResolutionID,
		CreatedAt: d.CreatedAt, UpdatedAt: d.CreatedAt}
	r.Origin = cmp.Or(r.Origin, "user")
	if q.Mode != "foreground" {
		r.Mode = q.Mode
	}
	return r
}

// hasInput reports whether d starts a run with messages.
func (d *Dispatch) hasInput() bool { return d.Request != nil && len(d.Request.Messages) > 0 }

// Before compares dispatches of a thread by priority, then by age, for [slices.SortFunc]. It is
// negative if d runs before o, and positive if o runs before d.
func (d *Dispatch) Before(o *Dispatch) int {
	return cmp.Or(cmp.Compare(d.Priority, o.Priority), cmp.Compare(d.CreatedAt, o.CreatedAt), cmp.Compare(d.ID, o.ID))
}

// Exhausted reports whether d has no attempts left.
func (d *Dispatch) Exhausted() bool { return d.Attempts >= d.MaxAttempts }

// SuspectCrashes is how many processes must have died while they ran a dispatch to make it a
// suspect: a run that may kill its process.
const SuspectCrashes = 2

// Suspect reports whether d may have killed its processes. A worker runs a suspect alone.
func (d *Dispatch) Suspect() bool { return d.Crashes >= SuspectCrashes }

// Blame counts the death of a process against the dispatches that it had claimed, all of them. It
// makes each more suspect. It costs an attempt only a suspect that was alone: of several runs, any
// may have been the cause.
func Blame(claimed []*Dispatch) {
	for _, d := range claimed {
		d.Lose(len(claimed) == 1)
	}
}

// Lose counts the loss of the owner of d, which ran nothing else if alone is set. The attempts
// never exceed MaxAttempts: an owner may also be lost while it gives d up.
func (d *Dispatch) Lose(alone bool) {
	if alone && d.Suspect() && !d.Exhausted() {
		d.Attempts++
	}
	d.Crashes++
}

// Between reports whether d waits for a new owner because its last one was lost, and since when.
func (d *Dispatch) Between() (since int64, ok bool) {
	return d.LostAt, d.Status == Queued && d.LostAt > 0
}

// Ready returns the dispatch of a thread that can be claimed next, given the thread's live
// dispatches: the first in order of those available at now, or else the one that will be
// available first. It returns nil if one is claimed or none is queued.
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

// Sort sorts dispatches by [Dispatch.Before].
func Sort(ds []*Dispatch) { slices.SortFunc(ds, (*Dispatch).Before) }
