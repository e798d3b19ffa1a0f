package awaken

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// Store keeps threads and runs. A Store value is scoped to one tenant.
// Implementations are safe for concurrent use; storetest checks them.
type Store interface {
	ThreadStore
	RunStore
	Committer
	Inbox
}

// ThreadStore reads conversations. A missing thread is ErrNotFound.
type ThreadStore interface {
	Thread(ctx context.Context, id string) (*Thread, error)
	// ListThreads returns threads, the most recently updated first.
	ListThreads(ctx context.Context, q ThreadQuery) ([]*Thread, error)
	// CountThreads returns how many threads there are on all pages.
	CountThreads(ctx context.Context, q ThreadQuery) (int, error)
	// Messages returns records of the log in order of Seq.
	Messages(ctx context.Context, threadID string, q MessageQuery) ([]MessageRecord, error)
}

// RunStore reads runs. A missing run is ErrNotFound.
type RunStore interface {
	LoadRun(ctx context.Context, id string) (*Run, error)
	// ListRuns returns runs, the newest first.
	ListRuns(ctx context.Context, q RunQuery) ([]*Run, error)
	// CountRuns returns how many runs there are on all pages.
	CountRuns(ctx context.Context, q RunQuery) (int, error)
	// Calls returns the ledger's records of a run, by step and index.
	Calls(ctx context.Context, runID string) ([]*CallState, error)
}

// ThreadQuery selects threads.
type ThreadQuery struct {
	Offset, Limit  int    // a limit of 0 means 50
	ResourceID     string // only threads of that resource
	ParentThreadID string // only children of that thread
	Root           bool   // only threads without a parent
}

// MessageQuery selects records of a log.
type MessageQuery struct {
	After, Before int  // exclusive bounds on Seq; 0 is open
	Limit         int  // 0 means all
	Last          bool // with Limit: the last ones instead of the first
}

// RunQuery selects runs.
type RunQuery struct {
	ThreadID      string
	Status        RunStatus
	Offset, Limit int // a limit of 0 means 50
}

// Committer owns threads and makes durable changes. It is the only way a run
// writes.
type Committer interface {
	// Acquire makes the caller the owner of a thread, creating the thread if it is
	// not there. It raises the thread's fence, so that the owner before can commit
	// no more, even if that was the same process.
	Acquire(ctx context.Context, threadID string) (*Checkpoint, error)
	// Commit makes c durable, all or nothing. It returns ErrFenced when c.Fence is
	// not the thread's fence any more, or when the run is done and c says that it is
	// not: somebody else has ended it, and done stays done. It returns ErrGeneration when c.Begins and the thread's
	// generation has grown, a *ConflictError when the log is not c.Expect messages
	// long, another ErrConflict when an entry's number is stored already, and
	// ErrUnread when c.Rest and the inbox holds items that c does not read; it then
	// has changed nothing, nor has it after ErrInvalid and ErrNotFound. After any
	// other error the owner does not know the outcome, and repeats the commit:
	// repeating one of the same fence and number changes nothing and returns nil.
	Commit(ctx context.Context, c *Commit) error
	// Interrupt raises the thread's generation: once it returns, no commit that
	// Begins something succeeds for the run that is active now. It returns the
	// calls that had begun and were not over.
	Interrupt(ctx context.Context, threadID string) ([]*CallState, error)
}

// Pipelined is a Store whose commits take time, because they wait for a disk or a
// network. A run on it does not stand still for the commit of a step that did nothing
// but read: it goes on with the next step, and what further such steps bring travels
// with the next commit. Every other commit is waited for, and waits for the one in
// flight; a thread has no two at the same time.
//
// A store that wraps another passes on what that one says, or has every commit waited
// for.
type Pipelined interface {
	// Pipelined reports whether runs go on while commits are made.
	Pipelined() bool
}

// Inbox is how everyone but the owner reaches a thread. Posting never disturbs
// the owner's commits.
type Inbox interface {
	// Post adds items. An item whose ID was posted before is ignored. A missing
	// thread is ErrNotFound.
	Post(ctx context.Context, threadID string, items ...InboxItem) error
	// Unread returns the items no commit has read, in the order they were posted.
	Unread(ctx context.Context, threadID string) ([]InboxItem, error)
}

// InboxItem is something that happened to a thread: a decision, messages, a summary or a report.
type InboxItem struct {
	ID       string         `json:"id"`
	RunID    string         `json:"run_id,omitempty"` // for that run only
	Decision *Decision      `json:"decision,omitempty"`
	Messages []*llm.Message `json:"messages,omitempty"`
	// Boundary is when a run that is going on takes the messages in.
	Boundary Boundary `json:"boundary,omitempty"`
	// Supersede withdraws the calls that wait for people: the messages are what people
	// say instead.
	Supersede bool `json:"supersede,omitempty"`
	// Compaction is a summary that came when the run it was made for was over.
	Compaction *CompactionResult `json:"compaction,omitempty"`
	// Report says how a child of the run is.
	Report *ChildReport `json:"report,omitempty"`
}

// Boundary is a place in a run where messages can join the conversation.
type Boundary string

const (
	NextStep     Boundary = ""               // between two steps
	OnNaturalEnd Boundary = "on_natural_end" // when the run would otherwise end or wait
)

// UsageReader adds up what runs have taken. The stores in memory, SQLite and PostgreSQL
// implement it.
type UsageReader interface {
	// UsageTotals returns what the runs that q selects have used and cost, for each agent
	// that has any, by id. Runs of threads that were deleted are gone.
	UsageTotals(ctx context.Context, q UsageQuery) ([]UsageTotal, error)
}

// UsageQuery selects runs.
type UsageQuery struct {
	ThreadID string
	AgentID  string
}

// UsageTotal is what the runs of an agent have taken.
type UsageTotal struct {
	AgentID string    `json:"agent_id"`
	Runs    int       `json:"runs"`
	Usage   llm.Usage `json:"usage"`
	CostUSD float64   `json:"cost_usd"`
}

// EventLog reads a thread's log of events. Stores that keep one implement it; the
// eventlog package reads through it.
type EventLog interface {
	// Entries returns entries in order of Seq. A missing thread is ErrNotFound.
	Entries(ctx context.Context, threadID string, q EntryQuery) ([]Entry, error)
}

// EntryQuery selects entries of a log.
type EntryQuery struct {
	After uint64 // entries that reach beyond this number; a coalesced one counts if any part of it does
	Epoch uint64 // entries of later epochs only; 0 selects all
	RunID string // entries of that run only
	Limit int    // 0 means all
}

// ThreadEditor changes threads that nobody runs. Stores implement it.
type ThreadEditor interface {
	// Fork makes a thread that begins as threadID was after record seq of its log,
	// with that thread as its parent. Messages are shared, not copied, where the
	// store can; state and runs stay behind.
	Fork(ctx context.Context, threadID string, seq int, newID string) (*Thread, error)
	// DeleteThread removes a thread with its runs, state and log. What happens to
	// its children is the strategy's; RejectChildren fails with ErrConflict.
	DeleteThread(ctx context.Context, id string, children ChildStrategy) error
	// CreateThread makes a thread with the id, resource, parent, title and custom
	// metadata of t. One that exists is ErrConflict, a parent that does not ErrInvalid.
	CreateThread(ctx context.Context, t *Thread) error
	// UpdateThread calls fn to change a thread's resource, parent, title and custom
	// metadata, and returns the thread as it is then. Nobody else changes it meanwhile;
	// if fn fails nothing is changed. A parent that does not exist, or that is below the
	// thread, is ErrInvalid.
	UpdateThread(ctx context.Context, id string, fn func(t *Thread) error) (*Thread, error)
	// Prune removes threads that nothing happened on since before and that have no
	// open run, and returns how many.
	Prune(ctx context.Context, before time.Time) (int, error)
}

// ChildStrategy is what happens to the children of a thread that is deleted.
type ChildStrategy string

const (
	DetachChildren  ChildStrategy = ""        // they lose their parent
	RejectChildren  ChildStrategy = "reject"  // the thread is not deleted
	CascadeChildren ChildStrategy = "cascade" // they are deleted too
)

// Checkpoint is what a new owner finds.
type Checkpoint struct {
	Fence      uint64
	Generation uint64
	Thread     Thread
	// View is the log folded by [View]; the owner must not write to it.
	View []*llm.Message
	// Seq is the highest sequence number in the log of events.
	Seq uint64
	// Run is the thread's run that is not done, or else its latest, or nil.
	Run *Run
	// Calls is the ledger of Run's last step.
	Calls []*CallState
	// ThreadState and RunState hold the saved state; RunState is Run's.
	ThreadState map[string]json.RawMessage
	RunState    map[string]json.RawMessage
	Inbox       []InboxItem // unread
}

// Commit is one durable change. A store must keep neither c nor its slices, but may
// keep their elements: messages, call states and events are immutable.
type Commit struct {
	ThreadID   string
	Fence      uint64
	Number     uint64 // counts the owner's commits from 1
	Generation uint64
	Begins     bool // something begins: refuse it after an Interrupt
	Rest       bool // the run parks or ends: refuse it while the inbox is not empty
	Time       int64

	Expect   int // messages in the log before this commit
	Messages []*llm.Message
	Run      Run // the record after this commit
	State    []state.Change
	Calls    []*CallState // ledger records that are new or changed
	Entries  []Entry
	Read     []string // ids of inbox items that this commit took in
	// ParentThreadID is recorded when the thread is new.
	ParentThreadID string

	// Unread is set by Commit: the inbox holds items that no commit has read.
	Unread bool
}

// Pages yields the items of a paged listing, asking for the next page as it goes.
func Pages[T any](ctx context.Context, size int, list func(ctx context.Context, offset, limit int) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for offset := 0; ; offset += size {
			page, err := list(ctx, offset, size)
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, item := range page {
				if !yield(item, nil) {
					return
				}
			}
			if len(page) < size {
				return
			}
		}
	}
}
