// Package changelog is the log of what changes in a tenant: runs begin, wait and end, questions are asked and
// decided, dispatches are queued and settled, configuration is published. It says that something has changed and names it;
// what it is like now, the other ports say.
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
// A change has a position. Every reader of a tenant, in every process, reads the same changes in the order of their positions, and the
// changes of one thread are in the order of their commits. A store adds changes in the transactions that make them, and gives them
// positions while the thread is locked. A transaction that began earlier may still be running, and its positions
// are lower than some that can be read already: therefore readers read only up to the [Store.Horizon], below which nothing is added any more.
//
// # Many readers
//
// A [Feed] reads the log once for all readers of its process, and keeps the last changes of each tenant that has readers in memory.
// A [Reader] that is further behind reads the store, page by page.
package changelog

import (
	"context"
	"errors"
	"time"

	"github.com/awaken-go/awaken"
)

// Kind is what a change is about.
type Kind string

const (
	// Run is a change of a run's status, which is [Change.Status].
	Run Kind = "run"
	// Tickets is a commit that opened or closed questions to people: [Change.Tickets].
	Tickets Kind = "ticket"
	// Decision is an accepted decision, [Change.Decided], on the question [Change.ID].
	Decision Kind = "decision"
	// Dispatch is the dispatch [Change.ID] that was queued, queued again (an attempt failed, or its owner was lost), or has ended.
	// Claims are no changes: the run of a dispatch that is claimed begins, which is one.
	Dispatch Kind = "dispatch"
	// Publication is another version of the configuration, [Change.ID], that is live. It belongs to the server, and is in the log of every tenant.
	Publication Kind = "publication"
)

// Kinds lists every kind.
var Kinds = []Kind{Run, Tickets, Decision, Dispatch, Publication}

// Server is the tenant of changes that belong to no tenant.
const Server = "awaken.server"

// Change is an entry of the log.
type Change struct {
	Pos      int64 // its place in the log, which has gaps
	Kind     Kind
	At       int64 // Unix ms
	ThreadID string
	RunID    string
	Status   string // of the run ([awaken.RunStatus]) or the dispatch (mailbox.Status)
	ID       string // see Kind

	Tickets []Ticket        // of a change of kind Tickets; at least one
	Decided *awaken.Decided // of a change of kind Decision

	// What the change does not say itself was looked up when it was read, and may have changed since it was made. It is missing if the
	// thread was deleted.
	UserID  string      // of the thread
	Deleted bool        // the thread does not exist any more, so whose it was is not known
	Run     *awaken.Run // the record of a run, of a change of kind Run; nil if it was created, since its dispatch is its record then
}

// Ticket is a question to a person.
type Ticket struct {
	ID         string // unique on the thread; decisions refer to it
	ToolCallID string
	ToolName   string
	Open       bool // it waits for a decision; otherwise its call is over
}

// TicketsOf returns the questions that a commit of calls opened or closed.
func TicketsOf(calls []*awaken.CallState) (out []Ticket) {
	for _, c := range calls {
		if c.Ticket != nil && (c.Status == awaken.CallSuspended || c.Status.Terminal()) {
			out = append(out, Ticket{ID: c.Ticket.SuspensionID(c.CallID), ToolCallID: c.CallID, ToolName: c.ToolName, Open: c.Status == awaken.CallSuspended})
		}
	}
	return out
}

// Position is a place in a log with what tells the log from others that have the same place: a database that was restored from a backup
// has a log of its own from there on.
type Position struct {
	Pos int64 // the last change up to here was read
	// Check is when that change was made, Unix ms, in the log that the position is of. 0 means that it is not known, and not checked.
	Check int64
}

// ErrGone is the error of a position from which the log cannot be read any more: changes behind it were removed, or it is not of this log.
var ErrGone = errors.New("position is not in the log of changes")

// Store is a log of changes. Implementations are safe for concurrent use; the package eventlog/changelog/changelogtest tests them.
type Store interface {
	// Horizon returns a position up to which the log is complete: changes up to it can be read, and none is added below or at it
	// any more. It does not decrease, unless the log itself was set back (its database was restored), and passes every change soon after its transaction.
	Horizon(ctx context.Context) (int64, error)
	// Changes returns the changes that q selects, in the order of their positions.
	Changes(ctx context.Context, q Query) (*Page, error)
	// TrimChanges removes changes that are older than keep, of all tenants, and returns how many it removed. It may keep some.
	TrimChanges(ctx context.Context, keep time.Duration) (int, error)
}

// Retention is how long changes are kept where a mailbox works on the store.
const Retention = 24 * time.Hour

// Query selects changes of a tenant and of the server.
type Query struct {
	Tenant string
	After  int64 // only changes behind this position
	Check  int64 // [Position.Check] of After; a log in which it is another one does not have the position
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
	// Upto is the position up to which the log was read: the next page begins behind it. It is at least Query.After.
	Upto  int64
	Check int64 // [Position.Check] of Upto
	// More is set if Upto is below that of the query, because there were too many changes.
	More bool
}
