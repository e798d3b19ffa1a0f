// Package changelog is the log of changes in a tenant: runs begin, wait and end, approvals are requested and decided, dispatches are queued
// and settled, configuration is published. A change names the object that changed; current values come from the other stores.
//
//	after, err := log.Horizon(ctx) // from now on
//	for {
//		page, err := log.Changes(ctx, changelog.Query{Tenant: tenant, After: after})
//		…
//		for _, c := range page.Changes {
//			fmt.Println(c.Kind, c.ThreadID, c.RunID, c.Status)
//		}
//		after = page.Upto
//	}
//
// # One order
//
// A change has a position. All readers of a tenant, in all processes, read the same changes in the order of their positions, and the
// changes of one thread are in commit order. A store adds a change in the transaction that makes it and assigns its position while the
// thread is locked. A transaction that began earlier may still be running and have lower positions than changes that are already visible,
// so readers read only up to the [Store.Horizon], below which no change is added any more.
//
// # Many readers
//
// A [Feed] reads the log once for all readers of its process, and caches the latest changes of each tenant that has readers. A [Reader]
// that is further behind reads the store page by page.
package changelog

import (
	"context"
	"errors"
	"time"

	"github.com/awaken-go/awaken"
)

// Kind is the kind of object that changed.
type Kind string

const (
	// Run is a change of a run's status to [Change.Status].
	Run Kind = "run"
	// Tickets is a commit that opened or closed the tickets in [Change.Tickets].
	Tickets Kind = "ticket"
	// Decision is an accepted decision, [Change.Decided], on the ticket [Change.ID].
	Decision Kind = "decision"
	// Dispatch is a change of the dispatch [Change.ID]: it was queued, queued again after a failed attempt or the loss of its owner, or has
	// ended. A claim is not a change, because the run that begins with it is one.
	Dispatch Kind = "dispatch"
	// Publication is a newly published version of the configuration, [Change.ID]. It belongs to the server and is in the log of every
	// tenant.
	Publication Kind = "publication"
)

// Kinds lists every kind.
var Kinds = []Kind{Run, Tickets, Decision, Dispatch, Publication}

// Server is the tenant of changes that belong to no tenant.
const Server = "awaken.server"

// Change is an entry in the log.
type Change struct {
	Pos      int64 // position in the log, which has gaps
	Kind     Kind
	At       int64 // Unix ms
	ThreadID string
	RunID    string
	Status   string // of the run ([awaken.RunStatus]) or the dispatch (mailbox.Status)
	ID       string // see Kind

	Tickets []Ticket        // for kind Tickets; at least one
	Decided *awaken.Decided // for kind Decision

	// The fields below are not part of the logged change: they are looked up when it is read and show the state at that time. They are
	// empty if the thread was deleted.
	UserID  string      // of the thread
	Deleted bool        // the thread was deleted, so its user is unknown
	Run     *awaken.Run // for kind Run; nil for a newly created run, which exists only as a dispatch
}

// Ticket is a request for a decision by a person.
type Ticket struct {
	ID         string // unique on the thread; decisions refer to it
	ToolCallID string
	ToolName   string
	Open       bool // waits for a decision; otherwise its call has ended
}

// TicketsOf returns the tickets that a commit of calls opened or closed.
func TicketsOf(calls []*awaken.CallState) (out []Ticket) {
	for _, c := range calls {
		if c.Ticket != nil && (c.Status == awaken.CallSuspended || c.Status.Terminal()) {
			out = append(out, Ticket{ID: c.Ticket.SuspensionID(c.CallID), ToolCallID: c.CallID, ToolName: c.ToolName, Open: c.Status == awaken.CallSuspended})
		}
	}
	return out
}

// Position is a position in a log, with a check that identifies the log: after a database is restored from a backup, different changes get
// the same positions.
type Position struct {
	Pos int64 // all changes up to here were read
	// Check is the time of the change at Pos, Unix ms. 0 means unknown and disables the check.
	Check int64
}

// ErrGone reports that the log cannot be read from a position: changes after it were trimmed, or the position belongs to another log.
var ErrGone = errors.New("position is not in the log of changes")

// Store is a changelog. Implementations are safe for concurrent use; package eventlog/changelog/changelogtest tests them.
type Store interface {
	// Horizon returns a position up to which the log is complete: all changes up to it are visible, and none will be added at or below it.
	// It passes every change soon after its transaction and decreases only if the database is restored from a backup.
	Horizon(ctx context.Context) (int64, error)
	// Changes returns the changes that q selects, ordered by position.
	Changes(ctx context.Context, q Query) (*Page, error)
	// TrimChanges deletes changes older than keep, of all tenants, and returns how many it deleted. It may leave some for a later call.
	TrimChanges(ctx context.Context, keep time.Duration) (int, error)
}

// Retention is how long a mailbox keeps the changes of its store.
const Retention = 24 * time.Hour

// Query selects changes of a tenant and of the server.
type Query struct {
	Tenant string
	After  int64 // only changes after this position
	Check  int64 // [Position.Check] of After; if the log has another value, the error is ErrGone
	Upto   int64 // only changes up to this position, which is at most a horizon; 0 means the horizon
	Limit  int   // 0 means 500
}

// Size returns the limit.
func (q *Query) Size() int {
	if q.Limit <= 0 {
		return 500
	}
	return q.Limit
}

// Page is a part of the log.
type Page struct {
	Changes []Change
	// Upto is the position up to which the log was read; the next page begins after it. It is at least Query.After.
	Upto  int64
	Check int64 // [Position.Check] of Upto
	// More reports that the limit ended the page before Query.Upto.
	More bool
}
