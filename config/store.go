package config

import (
	"context"
	"encoding/json"
	"strconv"
	"time"
)

// Store keeps records, publications, secrets and the audit log of one server. Everything
// that a [Change] holds becomes durable together. JSON comes back byte by byte, and what
// is returned belongs to the caller. Implementations pass configtest.
type Store interface {
	// Record returns a record; awaken.ErrNotFound if there is none.
	Record(ctx context.Context, key Key) (*Record, error)
	// Records lists a namespace by id, those after an id, at most limit (0 means 100). The
	// order is that of the bytes of the ids.
	Records(ctx context.Context, ns Namespace, after string, limit int) ([]Stored, error)

	// Apply makes a change durable, all or nothing. ErrConflict means that Head is not the
	// change's any more, that a record does not have the revision that it expects, or that
	// a publication or document that the change refers to is not there (any more).
	// awaken.ErrInvalid is what [Change.Validate] says. It is idempotent by the id of the
	// first audit event: a change whose event is there was made already, and nothing
	// happens.
	Apply(ctx context.Context, c *Change) error

	// Head returns what is live. The zero Head means that nothing was ever published.
	Head(ctx context.Context) (Head, error)
	// Publication returns one; awaken.ErrNotFound if there is none, or no more.
	Publication(ctx context.Context, number int64) (*Publication, error)
	// Publications lists those before a number (0: all), newest first, at most limit (0
	// means 100), without their Manifest.
	Publications(ctx context.Context, before int64, limit int) ([]*Publication, error)
	// Documents returns documents by hash. Those that are not there are left out.
	Documents(ctx context.Context, hashes ...string) (map[string]json.RawMessage, error)

	// Secrets returns all secrets, encrypted, by reference.
	Secrets(ctx context.Context) (map[string]SealedSecret, error)

	// Audit lists events, newest first: in the order in which they were applied, whatever
	// the clocks said.
	Audit(ctx context.Context, q AuditQuery) ([]*AuditEvent, error)

	// Tally adds to what is known of how runs on a publication went; awaken.ErrNotFound if
	// there is no such publication. Tallies returns it, for those that have one. Amounts
	// are kept to the billionth of a dollar, so that sums are exact.
	Tally(ctx context.Context, number int64, add Tally) error
	Tallies(ctx context.Context, numbers ...int64) (map[int64]Tally, error)

	// Purge removes audit events older than audit, and publications older than versions
	// with the documents that nothing refers to any more; 0 removes nothing of the kind. It
	// keeps what is live, the canary and what that is compared with, what was live when one
	// that is not old was made, what those that are kept are based on, and every publication
	// to which a run that is not done is pinned, of whatever tenant.
	Purge(ctx context.Context, audit, versions time.Duration) (Purged, error)
}

// Notifier is a Store that tells when another process has changed it.
type Notifier interface {
	// Listen calls fn when something may have changed, until ctx is done. It calls fn once
	// when it begins to listen, and again after every connection that was lost.
	Listen(ctx context.Context, fn func()) error
}

// Turner is a Store whose writers can wait for each other. Those that do lose no races, and
// a slow process has its turn beside a fast one.
type Turner interface {
	// Turn waits until whoever asked before has ended theirs. Done ends it; it also ends
	// with the process.
	Turn(ctx context.Context) (done func(), err error)
}

// Stored is a record with its id.
type Stored struct {
	ID string
	Record
}

// Purged counts what [Store.Purge] removed.
type Purged struct{ Events, Publications, Documents int }

// Change is what one write does.
type Change struct {
	// Head is the state that the change was made for: its Revision and Last have to be
	// those of the store. Nil does not care.
	Head    *Head
	Records []RecordChange
	Secrets []SecretChange
	// Publish adds a publication, whose Number has to be one more than the last. Nil
	// publishes nothing.
	Publish *Publication
	// Documents are those of the publication that may not be there yet, by hash.
	Documents map[string]json.RawMessage
	// SetHead replaces what is live: Live and Canary. The store counts Revision and Last.
	SetHead *Head
	Audit   []*AuditEvent
}

// RecordChange writes a record, or removes it.
type RecordChange struct {
	Key    Key
	Record *Record // nil removes it; its Meta.Revision is 1 or more
	// Expect is the revision that the record has to have; 0 that there is none, -1 does not
	// care.
	Expect int64
}

// SecretChange writes a secret, or removes it.
type SecretChange struct {
	Ref    string
	Secret *SealedSecret // nil removes it
}

// SealedSecret is a secret, encrypted.
type SealedSecret struct {
	KeyID    string `json:"key_id"` // of the key that it is encrypted with
	Data     []byte `json:"data"`
	Revision int64  `json:"revision"` // a new one for every value
	// Server is the scheme, host and port that it was written for; "" is any. Documents that
	// send it elsewhere, of another version, do not get it.
	Server    string `json:"server,omitempty"`
	UpdatedAt int64  `json:"updated_at"`
}

// Head is what is live.
type Head struct {
	Revision int64   `json:"revision"` // counts the changes of what is live
	Last     int64   `json:"last"`     // the number of the newest publication
	Live     int64   `json:"live"`     // the publication that runs use; 0 means none
	Canary   *Canary `json:"canary,omitempty"`
}

// Canary gives a share of the threads that are made from now on to another version, until
// it is promoted or rolled back.
type Canary struct {
	Version   int64   `json:"version"`
	Share     float64 `json:"share"` // 0 to 1, of new threads
	StartedAt int64   `json:"started_at"`
	// Control is the version that was live when it began. The runs on it, and on what took
	// its place, are counted there.
	Control int64 `json:"control,omitempty"`
	// Start and ControlStart are what was counted before it began.
	Start        Tally `json:"start,omitzero"`
	ControlStart Tally `json:"control_start,omitzero"`
	// Rule promotes it or rolls it back by itself. Nil leaves it to people.
	Rule *CanaryRule `json:"rule,omitempty"`
}

// CanaryRule compares the runs of a canary with those of the live version, since the canary
// began. A zero limit does not count.
type CanaryRule struct {
	// MinRuns is how many finished runs the canary must have before anything is decided.
	MinRuns int `json:"min_runs"`
	// It is rolled back as soon as one of these is passed.
	MaxErrorRate     float64 `json:"max_error_rate,omitempty"`     // of its runs, 0 to 1
	MaxErrorIncrease float64 `json:"max_error_increase,omitempty"` // over the live version's rate
	MaxCostUSD       float64 `json:"max_cost_usd,omitempty"`       // per run, on average
	MaxCostRatio     float64 `json:"max_cost_ratio,omitempty"`     // of the live version's average
	MaxLatencyMS     int64   `json:"max_latency_ms,omitempty"`     // per run, on average
	MaxLatencyRatio  float64 `json:"max_latency_ratio,omitempty"`  // of the live version's average
	PromoteAfterRuns int     `json:"promote_after_runs,omitempty"` // promote it then; 0 leaves that to people
}

// Tally is how finished runs went.
type Tally struct {
	Runs      int64   `json:"runs"`
	Errors    int64   `json:"errors"`
	CostUSD   float64 `json:"cost_usd"`
	LatencyMS int64   `json:"latency_ms"` // in sum
}

// Publication is a version of all documents. It never changes.
type Publication struct {
	Number int64 `json:"number"` // 1, 2, …; a run's resolution_id
	// Base is the publication that it was made from, and Entries what is different: the
	// hash of each document, "" for one that is gone.
	Base    int64   `json:"base,omitempty"`
	Entries []Entry `json:"entries"`
	// Manifest is every document. Most publications have none: it is found by going back
	// along Base. See [Versions.Get].
	Manifest []Entry `json:"manifest,omitempty"`
	Kind     string  `json:"kind"` // publish, rollback, seed, canary or preview
	Note     string  `json:"note,omitempty"`
	Actor    string  `json:"actor"`
	At       int64   `json:"at"` // unix ms
}

// ResolutionID is what runs on the publication are pinned to.
func (p *Publication) ResolutionID() string { return strconv.FormatInt(p.Number, 10) }

// Entry is a document of a publication.
type Entry struct {
	Key
	Hash     string `json:"hash"`               // of the effective document, "" if it is gone
	Revision int64  `json:"revision,omitempty"` // of the record that it came from
}

// AuditEvent is something that somebody did. No document in it holds a secret.
type AuditEvent struct {
	ID           string          `json:"id"` // no other has it
	Time         time.Time       `json:"ts"` // to the microsecond
	Actor        string          `json:"actor"`
	Action       string          `json:"action"`
	Resource     string          `json:"resource"` // namespace/id
	Before       json.RawMessage `json:"before,omitempty"`
	After        json.RawMessage `json:"after,omitempty"`
	IP           string          `json:"ip,omitempty"`
	RequestID    string          `json:"request_id,omitempty"`
	RestoredFrom string          `json:"restored_from,omitempty"`
	Version      int64           `json:"version,omitempty"` // the publication that it made
	Error        string          `json:"error,omitempty"`
}

// AuditQuery selects events. Empty fields select all.
type AuditQuery struct {
	ID           string
	Since, Until time.Time // from Since on, before Until
	Action       string
	Resource     string // that resource, or one below it: agents, agents/a
	Actor        string // as a prefix
	Before       string // events older than the one of this id; none if it is gone
	Limit        int    // 0 means 100; at most 1000
}
