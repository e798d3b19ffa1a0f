package awaken

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// Store keeps the threads and runs of one tenant. Implementations are safe for concurrent
// use; package store/storetest tests them.
type Store interface {
	ThreadStore
	RunStore
	Committer
	Inbox
}

// ThreadStore reads threads. Its methods return ErrNotFound if the thread does not exist.
type ThreadStore interface {
	// Thread returns a thread, without its messages.
	Thread(ctx context.Context, id string) (*Thread, error)
	// ListThreads returns one page of threads, the most recently active first: those that were
	// created, edited, or had a run begin, wait or end last. A run that is running does not move
	// its thread.
	ListThreads(ctx context.Context, q ThreadQuery) ([]*Thread, error)
	// CountThreads returns the number of threads on all pages.
	CountThreads(ctx context.Context, q ThreadQuery) (int, error)
	// Messages returns records of the message log, ordered by Seq.
	Messages(ctx context.Context, threadID string, q MessageQuery) ([]MessageRecord, error)
	// View returns the view of the whole message log. A store that keeps it shares its
	// messages, so that the cost does not depend on the length of the log. The caller must not
	// append to it.
	View(ctx context.Context, threadID string) (*View, error)
	// ThreadState returns the saved state of a thread, by key; see engine.Runtime.ThreadState.
	ThreadState(ctx context.Context, threadID string) (map[string]json.RawMessage, error)
}

// RunStore reads runs. Its methods return ErrNotFound if the run does not exist.
type RunStore interface {
	// LoadRun returns the record of a run.
	LoadRun(ctx context.Context, id string) (*Run, error)
	// ListRuns returns one page of runs, the newest first.
	ListRuns(ctx context.Context, q RunQuery) ([]*Run, error)
	// CountRuns returns the number of runs on all pages.
	CountRuns(ctx context.Context, q RunQuery) (int, error)
	// Calls returns the ledger of a run, ordered by step and index. The record of a call is its
	// last one, with the steps of all ([CallState.Follow]) and with the settlement of its doubt that was posted
	// after the call was over ([CallState.ApplySettlement]).
	Calls(ctx context.Context, runID string) ([]*CallState, error)
}

// ThreadQuery selects threads. An empty field selects all.
type ThreadQuery struct {
	Offset, Limit  int    // a limit of 0 means 50
	ResourceID     string // only threads of this resource
	ParentThreadID string // only children of this thread
	Root           bool   // only threads without a parent
	// Owner selects the threads of a user, or those without one if it points to "".
	Owner *string
	// AgentID and Status select by the latest run: its agent, as it last began, waited or ended, and its status. If one of them is set,
	// except for the status done, and neither ResourceID, ParentThreadID, a user nor Since, then the threads whose latest run was created
	// last come first.
	AgentID string
	Status  RunStatus
	Since   int64 // updated at this time or later, Unix ms
	Until   int64 // updated before this time, Unix ms
	// Text selects threads whose id, title or resource contain this text. Case does not matter in English.
	Text string
	// At is where the page begins, as [RunQuery].At is: ListThreads sets it to the place where the page ends, or to "" if it
	// is the last one, and a page may have fewer threads than the limit, even none. A thread that becomes active is on
	// the pages before.
	//
	// If At is set, CountThreads reads no more than 10,000 threads, and sets it to "" if it has read all. ListThreads may return ErrInvalid
	// if it would read more than 100,000 for the Offset.
	At *string
}

// MessageQuery selects records of a message log.
type MessageQuery struct {
	After, Before int  // exclusive bounds on Seq; 0 means no bound
	Limit         int  // 0 means all
	Last          bool // with Limit: return the last records, not the first
}

// RunQuery selects runs. An empty field selects all.
type RunQuery struct {
	RunIDs      []string // only these, of which there may be a thousand; nil means all
	ThreadID    string
	Status      RunStatus
	Owner       *string // only runs on threads of this user, or of none if it points to ""
	AgentID     string
	Version     string // the registry version that it is pinned to, Run.ResolutionID
	Origin      string
	Outcome     TerminationType // only runs that ended so
	Waiting     WaitingReason   // only runs that wait for this
	ParentRunID string
	Root        bool    // only runs without a parent
	Tool        string  // only runs that called this tool
	InDoubt     bool    // only runs that have had a call in doubt
	ErrorCode   string  // only runs that failed with this code
	MinCostUSD  float64 // only runs that wait or are done and cost at least this much, without children
	MinDuration int64   // only done runs that took at least this long from start to end, in ms
	Pinned      bool    // only pinned runs; see [Thread].Notes
	Since       int64   // created at this time or later, Unix ms
	Until       int64   // created before this time, Unix ms
	// Text selects runs whose ids, agent, question, reason, error or last answer contain this text. Case does not matter
	// in English.
	Text          string
	Offset, Limit int // a limit of 0 means 50
	// At is where the page begins: the place that the page before ended at, or "" for the first page. ListRuns
	// sets it to the place where the page ends, or to "" if it is the last one. A page may then have fewer
	// runs than the limit, even none, because ListRuns limits how many it reads. New runs do not move a page.
	//
	// If At is set, CountRuns reads no more than 10,000 runs, and sets it to "" if it has read all. ListRuns may return ErrInvalid if it
	// would read more than 100,000 for the Offset.
	At *string
}

// Committer makes durable changes to threads. A run writes only through it.
type Committer interface {
	// Acquire makes the caller the owner of a thread, and creates the thread if it does not
	// exist. It raises the thread's fence, so that the previous owner cannot commit any
	// more, even if it is in the same process.
	Acquire(ctx context.Context, threadID string) (*Checkpoint, error)
	// Commit stores c in one transaction. It stores nothing and returns
	//
	//   - ErrFenced if c.Fence is no longer the thread's fence, or if the stored run is
	//     done and c.Run is not: another owner ended the run, and done is final;
	//   - ErrGeneration if c.Begins is set and the thread's generation has grown;
	//   - a *ConflictError if the log does not hold c.Expect messages, and another
	//     ErrConflict if an entry's sequence number is already stored;
	//   - ErrUnread if c.RequireEmptyInbox is set and the inbox holds items that c does not read;
	//   - ErrInvalid or ErrNotFound.
	//
	// After any other error the outcome is unknown, and the owner repeats the commit. A
	// commit with the fence and number of a stored one changes nothing and returns nil.
	Commit(ctx context.Context, c *Commit) error
	// Interrupt raises the thread's generation: after it returns, the active run cannot
	// commit anything that has Begins set. It returns the calls that had begun and had no
	// result.
	Interrupt(ctx context.Context, threadID string) ([]*CallState, error)
}

// Pipelined is implemented by stores whose commits wait for a disk or a network. The runtime
// then does not wait for the commit of a step whose calls are over: it starts the next step while
// that commit is in flight, and batches the commits of further steps that only read. It waits for
// every other commit. A thread never has two commits in flight.
//
// A store that wraps another should forward this method. Without it, the runtime waits for
// every commit.
type Pipelined interface {
	// Pipelined reports whether a run may continue while a commit is in flight.
	Pipelined() bool
}

// Inbox delivers items to a thread from outside its active run. Posting never conflicts with
// the owner's commits.
type Inbox interface {
	// Post adds items, all or none. It ignores an item whose ID was posted before. It returns
	// ErrNotFound if the thread does not exist.
	//
	// Of every question, by run and ticket, only the first decision counts. Post keeps the
	// records of decisions (InboxItem.Decided) in the same transaction. If the question has
	// a record with another [Decided.Digest], Post returns that record as the error.
	Post(ctx context.Context, threadID string, items ...InboxItem) error
	// Unread returns the items that no commit has read, in the order of posting.
	Unread(ctx context.Context, threadID string) ([]InboxItem, error)
}

// InboxItem is a message to a thread: a decision, messages, a summary or a report.
type InboxItem struct {
	ID       string    `json:"id"`
	RunID    string    `json:"run_id,omitempty"` // only for this run; "" means any run
	Decision *Decision `json:"decision,omitempty"`
	// Decided is the record that Post keeps of the decision. Its question may be that of a
	// child of the run.
	Decided  *Decided       `json:"decided,omitempty"`
	Messages []*llm.Message `json:"messages,omitempty"`
	// Untrusted says that the messages come from a client that may not instruct the agent.
	Untrusted bool `json:"untrusted,omitempty"`
	// Taint says that the messages come from a tainted run.
	Taint *Taint `json:"taint,omitempty"`
	// Boundary says at which point an active run reads the messages.
	Boundary InboxPoint `json:"boundary,omitempty"`
	// Supersede withdraws the calls that wait for a person: the messages replace the
	// decisions.
	Supersede bool `json:"supersede,omitempty"`
	// Compaction is a summary that was finished after its run had ended.
	Compaction *CompactionResult `json:"compaction,omitempty"`
	// Report is the state of a child of the run.
	Report *ChildReport `json:"report,omitempty"`
	// Release lets the run continue, if it is a restored one.
	Release *Release `json:"release,omitempty"`
}

// InboxPoint is a point in a run at which messages can join the conversation.
type InboxPoint string

const (
	NextStep     InboxPoint = ""               // between two steps
	OnNaturalEnd InboxPoint = "on_natural_end" // when the run would otherwise end or park
)

// UsageReader sums up the usage of runs. The memory, SQLite and PostgreSQL stores implement
// it.
type UsageReader interface {
	// UsageTotals returns the usage and cost of the runs that q selects, one total per
	// agent, ordered by agent id. Runs of deleted threads do not count.
	UsageTotals(ctx context.Context, q UsageQuery) ([]UsageTotal, error)
}

// UsageQuery selects runs. An empty field selects all.
type UsageQuery struct {
	ThreadID string
	AgentID  string
	Owner    *string // only runs on threads of this user, or of none if it points to ""
}

// UsageTotal is the usage of the runs of one agent.
type UsageTotal struct {
	AgentID string    `json:"agent_id"`
	Runs    int       `json:"runs"`
	Usage   llm.Usage `json:"usage"`
	CostUSD float64   `json:"cost_usd"`
}

// EventLog reads the event log of a thread. Stores that keep event logs implement it; package
// eventlog uses it.
type EventLog interface {
	// Entries returns entries, ordered by Seq. It returns ErrNotFound if the thread does
	// not exist.
	Entries(ctx context.Context, threadID string, q EntryQuery) ([]Entry, error)
}

// EntryQuery selects entries of a log.
type EntryQuery struct {
	After uint64 // only entries whose Last is above this number
	Epoch uint64 // only entries of later epochs; 0 means all
	RunID string // only entries of this run; "" means all
	Limit int    // 0 means all
}

// ThreadEditor changes threads that have no active run; the caller makes sure of that. Stores
// implement it. Fork, DeleteThread and UpdateThread return ErrNotFound if the thread does not
// exist.
type ThreadEditor interface {
	// Fork creates a thread that starts with the first seq records of the log of threadID,
	// and has that thread as its parent and these notes. The new thread belongs to the same user. It copies
	// neither state nor runs. A store may share the messages instead of copying them.
	Fork(ctx context.Context, threadID string, seq int, newID string, notes map[string]json.RawMessage) (*Thread, error)
	// DeleteThread deletes a thread with its runs, state and log. Children says what
	// happens to its children; with RejectChildren, it returns ErrConflict if there are any.
	// It also returns ErrConflict if a queue has work for a thread that is to be deleted.
	DeleteThread(ctx context.Context, id string, children ChildStrategy) error
	// CreateThread creates a thread with the id, user, resource, parent, title and custom
	// metadata of t. It returns ErrConflict if the thread exists, and ErrInvalid if the
	// parent does not.
	CreateThread(ctx context.Context, t *Thread) error
	// UpdateThread calls fn to change the user, resource, parent, title, custom metadata and notes of a
	// thread, and returns the changed thread. The update is atomic; if fn returns an error,
	// nothing changes. It returns ErrInvalid if the new parent does not exist or is a
	// descendant of the thread. A change of nothing but notes does not count as activity.
	UpdateThread(ctx context.Context, id string, fn func(t *Thread) error) (*Thread, error)
	// Prune deletes the threads that were last updated before that time, have no open
	// run, and none that is pinned. It returns their number.
	Prune(ctx context.Context, before time.Time) (int, error)
}

// ChildStrategy says what happens to the children of a deleted thread.
type ChildStrategy string

const (
	DetachChildren  ChildStrategy = ""        // the children become root threads
	RejectChildren  ChildStrategy = "reject"  // a thread with children is not deleted
	CascadeChildren ChildStrategy = "cascade" // the children are deleted too
)

// Checkpoint is the state of a thread when a new owner acquires it.
type Checkpoint struct {
	Fence      uint64 // of the new owner, for its commits
	Generation uint64 // grows with every Interrupt
	Thread     Thread // its End has the highest sequence number in the event log
	// View is the message log folded by [View]. The owner must not change it.
	View []*llm.Message
	// Index is of View, or nil; see [View.Index].
	Index *llm.Index
	// HasBlobs says that a message of the log refers to a stored file; see [View.HasBlobs].
	HasBlobs bool
	// Run is the open run of the thread, else its latest run, else nil.
	Run *Run
	// Calls is the ledger of Run's last step.
	Calls []*CallState
	// ThreadState and RunState hold the saved state of the thread and of Run.
	ThreadState map[string]json.RawMessage
	RunState    map[string]json.RawMessage
	Inbox       []InboxItem // unread
}

// Commit is one durable change of a thread. A store must not keep the Commit or its slices,
// but may keep their elements: messages, call states and events are immutable.
type Commit struct {
	ThreadID          string
	Fence             uint64 // of the checkpoint that the owner acquired
	Number            uint64 // counts the owner's commits from 1
	Generation        uint64 // of the checkpoint
	Begins            bool   // the run begins something new: reject the commit after an Interrupt
	RequireEmptyInbox bool   // the run parks or ends: reject the commit while the inbox is not empty
	Time              int64  // Unix ms

	Expect   int            // messages in the log before this commit
	Messages []*llm.Message // appended to the message log
	Run      Run            // the record after this commit; a new thread belongs to its user
	State    []state.Change // by scope, of the run or the thread
	Calls    []*CallState   // new or changed records of the ledger
	Entries  []Entry        // appended to the event log
	Read     []string       // ids of the inbox items that the run has read
	// ParentThreadID is the parent of a new thread.
	ParentThreadID string

	// Unread is set by Commit if the inbox holds items that no commit has read.
	Unread bool
}

// Pages iterates over the items of a paged listing. List returns one page: at most limit items
// after the first offset ones. Pages calls it with a limit of size, which must be above 0, as the
// loop proceeds, until a page is not full. It stops after the first error.
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
