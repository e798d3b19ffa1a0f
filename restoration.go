package awaken

import (
	"fmt"
	"time"
)

// Restoration marks a database whose past is not the present: it was restored from a backup,
// recovered to a point in time, or lost commits in a failover. Runs that are unfinished in it may
// have continued elsewhere since, so they wait as [WaitRestored] until an operator releases them,
// and the outcome of their open calls is in doubt.
//
// The zero value and nil mark nothing.
type Restoration struct {
	ID string `json:"id"`
	// At is when the database was marked, Unix ms: later than every record in it. Runs created
	// before are restored; later ones are of the present.
	At int64 `json:"at"`
	// Known is the time of the last change that the database has, Unix ms. What happened between
	// Known and At is not recorded.
	Known int64 `json:"known_until"`
}

// Covers reports whether a run created at a time, in Unix ms, is one of the restored past.
func (r *Restoration) Covers(createdAt int64) bool {
	return r != nil && r.ID != "" && createdAt < r.At
}

// Note is the message to the models of restored runs. It says only what is known.
func (r *Restoration) Note() string {
	return fmt.Sprintf("This conversation was restored from a copy that ends at %s. What happened between then and %s is not recorded: "+
		"messages may be missing, and tool calls may have been made whose results are not shown. "+
		"Before you make a call that changes something, check whether it has been made already, or ask.",
		time.UnixMilli(r.Known).UTC().Format(time.RFC3339), time.UnixMilli(r.At).UTC().Format(time.RFC3339))
}

// RunRestoration is the trace of a restoration in the record of a run.
type RunRestoration struct {
	ID         string `json:"id"`                    // of the last restoration that the run was found in
	ReleasedAt int64  `json:"released_at,omitempty"` // Unix ms; 0 until an operator releases it
	ReleasedBy *Actor `json:"released_by,omitempty"`
}

// Released reports whether the run may continue in the database that r marks.
func (r *Restoration) Released(run *Run) bool {
	return !r.Covers(run.CreatedAt) || run.Restored != nil && run.Restored.ID == r.ID && run.Restored.ReleasedAt != 0
}

// Release is an inbox item that lets a restored run continue.
type Release struct {
	RestorationID string `json:"restoration_id"`
	At            int64  `json:"at" time:"ms"` // Unix ms
	Actor         *Actor `json:"actor,omitempty"`
}
