package mailbox

import (
	"context"
	"time"

	"github.com/awaken-go/awaken"
)

// Store is the queue of one tenant. The [Handle] that implements it also implements
// [awaken.Store], and both see the same threads: Change and the commits of runs on one thread
// are serialised. Implementations are safe for concurrent use.
type Store interface {
	DispatchReader

	// Change calls fn with the thread's queue and makes the changes that fn recorded durable, all or nothing. If fn fails, Change changes
	// nothing and returns fn's error unwrapped. No other Change, commit, claim or settlement of the thread happens in between. Fn may be
	// called again if the transaction has to be repeated. The error is ErrDuplicate, and nothing is changed, if a dispatch has an ID or an
	// idempotency key that is in use, starts a run of another thread, or has the message ID of another dispatch of the thread that is not
	// released. Changes.Post keeps the records of decisions as awaken.Inbox does: the first decision counts; for a different one, Change
	// changes nothing and returns the record as its error. If the thread does not exist, Change creates it if fn sets Changes.Create, and
	// returns awaken.ErrNotFound otherwise.
	Change(ctx context.Context, threadID string, fn func(t *Thread) error) error
	// Own acquires a thread for the worker that has claimed a dispatch of it, as Acquire does.
	// Cancel reports that the dispatch is to be cancelled. If the claim is void, Own changes
	// nothing, and the error is awaken.ErrFenced.
	Own(ctx context.Context, threadID string, c Claim) (cp *awaken.Checkpoint, cancel bool, err error)
	// CommitAndSettle makes a commit that ends or parks a run, as [awaken.Committer] does, and
	// settles its dispatches in the same transaction. S.Claim is the claim of the worker that
	// runs it; if that is void, the commit is refused as awaken.ErrFenced. If s.Status is not
	// empty, the claim ends as s says. If the run is done, its queued dispatches become Acked,
	// or Cancelled if they were to cancel it and it was cancelled. Wake, if not nil, is queued
	// for the run, AvailableAt ms from now. The thread's next dispatch can then be claimed; Ready
	// reports that it has one.
	//
	// If the inbox holds messages for any run after a commit that ends the run, CommitAndSettle
	// commits and leaves the queue as it is: another run must read them. A repeated commit changes
	// nothing, and is settled if the claim has ended.
	CommitAndSettle(ctx context.Context, c *awaken.Commit, s Settlement, wake *Dispatch) (out Settled, err error)
	// Enqueue queues dispatches that start runs, all in one transaction. Each becomes Queued
	// (or Claimed; see [Terms]) with the thread's epoch, with AvailableAt counted from now; Enqueue creates its thread
	// if it does not exist. Until the run has a record of its own, which the first commit or a Change
	// writes, its dispatch is its record: LoadRun, lists and counts of runs show it as [Dispatch.NewRun] while
	// the dispatch is live, and it keeps its place in lists when it starts. It skips dispatches
	// whose thread has a waiting run, whose run exists on any thread, whose id, dedupe key,
	// idempotency key or message id is in use, or that do not meet the terms, and returns their indexes: they
	// need Change. Of two that start the same run, one is skipped, whatever their threads. Enqueue sets
	// Dispatch.End, and may set other fields, of the dispatches that it queued.
	Enqueue(ctx context.Context, terms Terms, ds ...*Dispatch) (left []int, err error)
	// Recent returns a thread, its open run or else the one that started last, and its last
	// messages, at most as many as messages says. A missing thread is awaken.ErrNotFound.
	Recent(ctx context.Context, threadID string, messages int) (*Recent, error)
	// Decisions lists the records of accepted decisions (see awaken.Inbox), the newest first.
	// They are kept as long as the thread that asked.
	Decisions(ctx context.Context, q DecisionQuery) ([]*awaken.Decided, error)
	// PurgeDispatches removes all terminal dispatches that q selects, ignoring its page, and
	// returns how many it removed.
	PurgeDispatches(ctx context.Context, q Query) (int, error)
}

// DispatchReader reads the dispatches of a tenant.
type DispatchReader interface {
	// Dispatch returns a dispatch by its id. A missing one is awaken.ErrNotFound.
	Dispatch(ctx context.Context, id string) (*Dispatch, error)
	// Submitted returns the dispatch with an idempotency key, or awaken.ErrNotFound.
	Submitted(ctx context.Context, key string) (*Dispatch, error)
	// Dispatches lists dispatches in the order that Query defines.
	Dispatches(ctx context.Context, q Query) ([]*Dispatch, error)
	// Backlog returns at most limit live dispatches of the given threads, or of all threads if none are given, ordered by ID, oldest first.
	// It also returns the open runs of their threads, by thread.
	Backlog(ctx context.Context, limit int, threadIDs ...string) (live []*Dispatch, open map[string]string, err error)
	// CountDispatches returns the number of dispatches in each status.
	CountDispatches(ctx context.Context) (map[Status]int, error)
}

// Terms are the conditions under which [Store.Enqueue] queues dispatches. The zero Terms accept any input, which waits for its turn.
type Terms struct {
	Idle     bool // only on a thread that has no open run and no live dispatch, also not one of the same call
	Confined bool // only on a thread that is new or belongs to the user of the request
	// Start, if not nil, makes Enqueue claim dispatches, as Claim does, for a worker that begins them immediately. Enqueue claims a
	// dispatch if it has no delay, its thread has no open run and no other live dispatch, and no other dispatch of the same or a higher
	// priority, suspects aside, can be claimed or has an elapsed delay. It queues the others. The process of the request must be alive.
	// Limit, Suspects and Except are ignored.
	Start *ClaimRequest
}

// Query selects dispatches. Empty fields select all.
type Query struct {
	ThreadID string
	RunID    string
	Statuses []Status
	AgentID  string // the agent of the run or, until that starts, of the request
	Worker   string // the process that has it claimed
	// MessageID selects the dispatch of a thread that has accepted a message. It needs a ThreadID.
	MessageID string
	// Offset and Limit select a page of the list; a limit of 0 means 50. Dispatches of one
	// thread or run are in the order of [Dispatch.Before], others have the greatest id first: ids
	// are made in the order of time.
	Offset, Limit int
	// After selects what follows the dispatch of that id in a list that is not of one thread or run.
	After string
}

// Queue is the stored queues of all tenants, as workers see them. Stores implement it.
// Implementations are safe for concurrent use. It is not an [awaken.Queue], which starts runs of
// one tenant and is implemented by [Tenant].
type Queue interface {
	Processes
	Depths

	// Claim claims up to c.Limit available dispatches, at most one per thread and none of a
	// thread that has a claimed one: the highest priority first, and within a priority the
	// thread that has been ready longest. Each gets a fresh ClaimToken. Next is the time until
	// another becomes available without a change to the queue; 0 if none is known to. Up to
	// c.Suspects of them are of threads that have a suspect ([Dispatch.Suspect]); they come
	// first. None are of the tenants in c.Except. A process that is dead or not known claims
	// nothing, also if it called while it lived: the error is awaken.ErrFenced, at the latest
	// when there is something to claim.
	Claim(ctx context.Context, c ClaimRequest) (ds []*Dispatch, next time.Duration, err error)
	// Suspects reports whether a dispatch of a thread that has a suspect can be claimed.
	Suspects(ctx context.Context) (bool, error)
	// Renew extends leases and returns the state of each, in the same order. An expired lease
	// can be renewed until it is reclaimed.
	Renew(ctx context.Context, lease time.Duration, claims ...Claim) ([]Renewal, error)
	// Settle ends claims and returns an error for each that it could not end, in the same
	// order. awaken.ErrFenced means that the token is no longer the dispatch's claim, also
	// because the same call settled it before. A settled dispatch has no claim.
	Settle(ctx context.Context, settlements ...Settlement) ([]error, error)
	// Reclaim returns dispatches with a lost owner to the queue, voids their claims, and sets LostAt. It reclaims all claims of each dead
	// process together, counts the death with [Blame], and forgets the process. It also reclaims up to limit dispatches with an expired
	// lease and counts each with [Dispatch.Lose], as alone if its process has claimed no other. It returns how many it reclaimed. It makes
	// no dead letters, however many attempts failed: the next worker to claim the dispatch does.
	Reclaim(ctx context.Context, limit int) (int, error)
	// Purge removes dispatches that have been terminal for longer than olderThan and returns
	// how many it removed.
	Purge(ctx context.Context, olderThan time.Duration) (int, error)
	// Handle returns the store of a tenant.
	Handle(tenant string) Handle
}

// Processes tracks the processes that claim dispatches of a queue. A process that stops sending heartbeats is dead and loses its claims.
type Processes interface {
	// Join registers a process, which is dead once it has sent no heartbeat for limit by the store's clock. Its claims have its ID as
	// Consumer.
	Join(ctx context.Context, process string, limit time.Duration) error
	// Beat is a heartbeat: the process stays alive for another limit. It does not wait for other operations of the queue. The error is
	// awaken.ErrFenced if the process is dead or unknown; a dead process stays dead.
	Beat(ctx context.Context, process string, limit time.Duration) error
	// Leave returns the claimed dispatches of a process to the queue without counting an attempt, voids their claims, and forgets the
	// process, which can claim nothing from then on. An unknown process is not an error.
	Leave(ctx context.Context, process string) error
}

// Depths reports the size of a queue.
type Depths interface {
	// Counts returns the number of dispatches in each status.
	Counts(ctx context.Context) (map[Status]int, error)
	// DeadLettered returns how many dispatches have ever become dead letters. It does not fall
	// when they are retried, dropped or purged.
	DeadLettered(ctx context.Context) (int64, error)
}

// Handle is the store of one tenant: threads, runs, their events and their queue.
type Handle interface {
	awaken.Store
	awaken.EventLog
	Store
}

// Listener is implemented by a Queue that signals changes made by any process. A mailbox polls other queues.
type Listener interface {
	// Listen calls fn when the queue has changed, until ctx is done. When it starts to listen, and after each reconnect, it calls fn with
	// all signals set. Fn must not block.
	Listen(ctx context.Context, fn func(s Signal)) error
}

// Signal is a signal of a [Listener].
type Signal struct {
	Ready     bool // a dispatch may have become available
	Cancelled bool // a claim may have been cancelled
}

// Prober is implemented by a Queue that can check whether it accepts writes. A mailbox checks other queues with a read.
type Prober interface {
	// Probe checks that the store could serve a run accepted now: that it accepts writes and has space for them. It leaves nothing behind,
	// and is cheap enough to be called once per second. It may outlast ctx if a write that has begun cannot be cancelled.
	Probe(ctx context.Context) error
}

// ClaimRequest asks for dispatches.
type ClaimRequest struct {
	Consumer string        // the worker's process
	Lease    time.Duration // how long the claims are valid without renewal
	Limit    int           // maximum number of dispatches to claim
	Suspects int           // how many of them may be suspects
	Except   []string      // tenants to claim nothing from
}

// Claim identifies a worker's claim on a dispatch.
type Claim struct {
	Tenant, ID, Token string // the Tenant, ID and ClaimToken of the dispatch
	// Steps is how many steps the run has completed. If it is more than the dispatch has
	// recorded, earlier failures no longer count: Attempts and Crashes become 0.
	Steps int
}

// Claim returns the claim on d.
func (d *Dispatch) Claim() Claim {
	return Claim{Tenant: d.Tenant, ID: d.ID, Token: d.ClaimToken, Steps: d.Steps}
}

// Renewal is the state of a claim after [Queue.Renew].
type Renewal struct {
	Lost   bool // the claim is void: the dispatch was reclaimed or is settled
	Cancel bool // the worker has to end the run
}

// Settled is the outcome of a claim in [Store.CommitAndSettle].
type Settled struct {
	Settled bool // as it was to be
	Ready   bool // the thread has a dispatch that can be claimed, now or later
}

// Settlement ends a claim.
type Settlement struct {
	Claim
	Status Status        // Acked, Superseded, Cancelled or DeadLetter; Queued to retry
	Delay  time.Duration // before the retry, if Status is Queued
	Failed bool          // count an attempt
	Error  string        // the cause; replaces LastError if not empty
}
