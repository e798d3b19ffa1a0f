package mailbox

import (
	"context"
	"time"

	"github.com/awaken-go/awaken"
)

// Store is the queue of one tenant. The handle that implements it implements
// [awaken.Store] too, and both see the same threads: what Change does to a thread and
// what a run commits to it happen one after the other.
type Store interface {
	// Change calls fn with the thread's queue and makes what fn recorded durable, all
	// or nothing, unless fn fails; it then returns fn's error as it is. No other Change,
	// commit, claim or settlement of the thread happens in between. Fn may be called
	// again when the transaction has to be. A dispatch whose id or idempotency key is
	// another's is ErrDuplicate, and nothing is changed. Changing a thread that is not there
	// needs Make, and is awaken.ErrNotFound otherwise.
	Change(ctx context.Context, threadID string, fn func(t *Thread) error) error
	// Enqueue queues dispatches that start runs, all in one transaction: each becomes
	// Queued with the thread's epoch, AvailableAt counted from now, and makes its
	// thread and the record of its run ([Dispatch.NewRun]) if they are not there. Those
	// whose thread has a run that waits, or whose id, dedupe key or idempotency key is
	// taken, are left out untouched, and their indexes returned: they need Change. Those
	// that were queued may have been filled in.
	Enqueue(ctx context.Context, ds ...*Dispatch) (left []int, err error)
	// Dispatch returns a dispatch by its id. A missing one is awaken.ErrNotFound.
	Dispatch(ctx context.Context, id string) (*Dispatch, error)
	// Submitted returns the dispatch of an idempotency key, or awaken.ErrNotFound.
	Submitted(ctx context.Context, key string) (*Dispatch, error)
	// Dispatches lists dispatches; see Query for the order.
	Dispatches(ctx context.Context, q Query) ([]*Dispatch, error)
	// PurgeDispatches removes all dispatches of q that are over, whatever its page, and
	// returns how many.
	PurgeDispatches(ctx context.Context, q Query) (int, error)
}

// Query selects dispatches. Without a status, all are selected.
type Query struct {
	ThreadID string
	RunID    string
	Statuses []Status
	// Offset and Limit cut a page out of the list; a limit of 0 means 50. Dispatches of
	// one thread or run come in the order of [Dispatch.Before], others newest first.
	Offset, Limit int
}

// Queue is what workers share: the queues of all tenants.
type Queue interface {
	// Claim takes up to c.Limit dispatches that are available, at most one of each
	// thread and none of a thread that has a claimed one: those of the highest
	// priority first, and of the same priority those whose thread has been ready
	// longest. Each has a fresh ClaimToken. Next is how long it will take until
	// another becomes available by time alone; 0 means that nothing is known to.
	Claim(ctx context.Context, c ClaimRequest) (ds []*Dispatch, next time.Duration, err error)
	// Renew extends leases, and says of each in the same order how it is. A lease that is
	// over can be renewed as long as nobody has reclaimed it.
	Renew(ctx context.Context, lease time.Duration, held ...Held) ([]Renewal, error)
	// Settle ends claims, and says of each in the same order whether it could:
	// awaken.ErrFenced means that the token is not the dispatch's claim any more, also
	// because it was settled by the same call before. What is settled has no claim.
	Settle(ctx context.Context, settlements ...Settlement) ([]error, error)
	// Reclaim puts dispatches whose lease is over back into the queue, counting an
	// attempt, and returns how many. Their claims are void. It gives up on none, however
	// often that was tried: whoever claims it next does.
	Reclaim(ctx context.Context, limit int) (int, error)
	// Purge removes dispatches that have been over for so long, and returns how many.
	Purge(ctx context.Context, olderThan time.Duration) (int, error)
	// Counts returns how many dispatches there are of each status.
	Counts(ctx context.Context) (map[Status]int, error)
	// Handle returns the store of a tenant.
	Handle(tenant string) Handle
}

// Handle is a tenant's store: threads, runs and their queue.
type Handle interface {
	awaken.Store
	awaken.EventLog
	Store
}

// Listener is a Queue that tells when another process has changed it.
type Listener interface {
	// Listen calls fn when something may have become available or a claim may have been
	// cancelled, until ctx is done. It calls fn once when it begins to listen, and
	// again after every connection that was lost.
	Listen(ctx context.Context, fn func()) error
}

// ClaimRequest says who claims and how much.
type ClaimRequest struct {
	Consumer string
	Lease    time.Duration
	Limit    int
}

// Held is a claim of a worker.
type Held struct {
	Tenant, ID, Token string
	// Steps is how far the run is. When it is further than the dispatch knows, earlier
	// failures do not count any more: Attempts becomes 0.
	Steps int
}

// Held returns the claim on d.
func (d *Dispatch) Held() Held {
	return Held{Tenant: d.Tenant, ID: d.ID, Token: d.ClaimToken, Steps: d.Steps}
}

// Renewal is how a claim is.
type Renewal struct {
	Lost   bool // it is somebody else's, or nobody's
	Cancel bool // the dispatch is to be ended
}

// Settlement ends a claim.
type Settlement struct {
	Held
	Status Status        // Acked, Superseded, Cancelled, DeadLetter, or Queued to try again
	Delay  time.Duration // until it is tried again
	Failed bool          // count an attempt
	Error  string        // why; replaces LastError if not empty
}
