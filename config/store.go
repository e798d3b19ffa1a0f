package config

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"time"
)

// Store keeps the records, publications, secrets and audit log of one server. Everything in
// a [Change] becomes durable together. JSON is returned byte for byte, and the caller owns
// what a Store returns. Implementations must pass configtest.
type Store interface {
	VersionStore
	TallyStore

	// Record returns a record, or awaken.ErrNotFound.
	Record(ctx context.Context, key Key) (*Record, error)
	// Records lists the records of a namespace whose ids come after the given one, at most
	// limit (0 means 100), in the byte order of their ids.
	Records(ctx context.Context, ns Namespace, after string, limit int) ([]Stored, error)

	// Apply makes a change durable, all or nothing. It returns ErrConflict if Head no
	// longer matches, if a record does not have the expected revision, or if a publication
	// or document that the change refers to does not exist (any more); and
	// awaken.ErrInvalid for what [Change.Validate] rejects. Apply is idempotent by the id
	// of the first audit event: a change whose event is stored was applied before, and
	// Apply does nothing.
	Apply(ctx context.Context, c *Change) error

	// Secrets returns all secrets, encrypted, by reference.
	Secrets(ctx context.Context) (map[string]SealedSecret, error)

	// Audit lists events, newest first, in the order in which they were applied: clocks do
	// not matter.
	Audit(ctx context.Context, q AuditQuery) ([]*AuditEvent, error)

	// Purge removes audit events older than audit, and publications older than versions
	// together with the documents that nothing refers to any more. 0 removes nothing of
	// that kind. Purge keeps the live version, the canary and its control, the versions
	// that were live when a recent one was made, the bases of everything that it keeps, and
	// every publication that an unfinished run of any tenant is pinned to.
	Purge(ctx context.Context, audit, versions time.Duration) (Purged, error)
}

// VersionStore reads publications: the live one, those before it, and the runs that are pinned to them.
type VersionStore interface {
	// Head returns the head. The zero Head means that nothing was ever published.
	Head(ctx context.Context) (Head, error)
	// Publication returns a publication, or awaken.ErrNotFound if it does not exist (any
	// more).
	Publication(ctx context.Context, number int64) (*Publication, error)
	// Publications lists the publications before a number (0 means all), newest first, at
	// most limit (0 means 100), without their Manifest.
	Publications(ctx context.Context, before int64, limit int) ([]*Publication, error)
	// Documents returns documents by hash and leaves out those that it does not have.
	Documents(ctx context.Context, hashes ...string) (map[string]json.RawMessage, error)
	// Pins counts the unfinished runs of all tenants by the publication that they are pinned to and their agent. Runs
	// that are pinned to none of the store's publications do not count. A store that does not know the runs has none.
	Pins(ctx context.Context) ([]Pin, error)
}

// TallyStore counts how the runs of publications end, by which canaries are judged.
type TallyStore interface {
	// Tally adds to the tally of a publication, or returns awaken.ErrNotFound if there is no
	// such publication. Amounts are kept to the billionth of a dollar, so that sums are exact.
	Tally(ctx context.Context, number int64, add Tally) error
	// Tallies returns the tallies of those publications that have one.
	Tallies(ctx context.Context, numbers ...int64) (map[int64]Tally, error)
}

// Notifier is a Store that reports changes made by other processes.
type Notifier interface {
	// Listen calls fn whenever something may have changed, until ctx is done. It also calls
	// fn when it begins to listen and after every reconnect.
	Listen(ctx context.Context, fn func()) error
}

// Turner is a Store whose writers can queue. Queued writers lose no races, so a slow
// process gets its turn beside a fast one.
type Turner interface {
	// Turn waits for the earlier callers to finish. The caller ends its turn with done; the
	// turn also ends with the process.
	Turn(ctx context.Context) (done func(), err error)
}

// Stored is a record with its id.
type Stored struct {
	ID string
	Record
}

// Pin counts the unfinished runs of an agent that are pinned to a publication.
type Pin struct {
	Version int64  `json:"version"`
	AgentID string `json:"agent_id"`
	Runs    int    `json:"runs"`
}

// Purged counts the rows that [Store.Purge] deleted.
type Purged struct{ Events, Publications, Documents int }

// Change is the outcome of one write.
type Change struct {
	// Head is the state that the change is based on: the store must have its Revision and
	// Last. Nil skips the check.
	Head    *Head
	Records []RecordChange
	Secrets []SecretChange
	// Publish adds a publication. Its Number must be one more than the last. Nil publishes
	// nothing.
	Publish *Publication
	// Documents holds, by hash, the publication's documents that the store may not have
	// yet.
	Documents map[string]json.RawMessage
	// SetHead replaces Live and Canary. The store maintains Revision and Last.
	SetHead *Head
	Audit   []*AuditEvent
}

// RecordChange writes or deletes a record.
type RecordChange struct {
	Key    Key
	Record *Record // nil deletes; otherwise Meta.Revision is 1 or more
	// Expect is the revision that the record must have: 0 requires that there is no record,
	// -1 skips the check.
	Expect int64
}

// SecretChange writes or deletes a secret.
type SecretChange struct {
	Ref    string
	Secret *SealedSecret // nil deletes
}

// SealedSecret is an encrypted secret.
type SealedSecret struct {
	KeyID    string `json:"key_id"` // the key that encrypts it
	Data     []byte `json:"data"`
	Revision int64  `json:"revision"` // changes with every value
	// Bound holds the fields, with their values, of the document that the secret is bound to. A document with other values, such as an
	// older version, does not get the secret. It is "" if an older program, which had only Server, wrote the secret.
	Bound string `json:"bound,omitempty"`
	// Server is the scheme, host and port that the secret is bound to; "" allows any. It applies only if Bound is "".
	Server    string `json:"server,omitempty"`
	UpdatedAt int64  `json:"updated_at"` // Unix ms
}

// Head names the live publication and the canary.
type Head struct {
	Revision int64   `json:"revision"` // incremented whenever Live or Canary is set
	Last     int64   `json:"last"`     // number of the newest publication
	Live     int64   `json:"live"`     // the publication that runs use; 0 means none
	Canary   *Canary `json:"canary,omitempty"`
}

// Canary sends a share of the new threads to another version until it is promoted or
// dropped.
type Canary struct {
	Version   int64   `json:"version"`
	Share     float64 `json:"share"`      // of new threads, above 0 and at most 1
	StartedAt int64   `json:"started_at"` // Unix ms; set by the Manager, as are the fields up to Rule
	// Control is the version that was live when the canary began. Runs on it and on its
	// successors are counted under it.
	Control int64 `json:"control,omitempty"`
	// Start and ControlStart are the tallies from before the canary began.
	Start        Tally `json:"start,omitzero"`
	ControlStart Tally `json:"control_start,omitzero"`
	// Rule promotes or drops the canary automatically. Nil leaves that to an operator.
	Rule *CanaryRule `json:"rule,omitempty"`
}

// CanaryRule compares the runs of the canary with the runs of the live version since the canary began. A limit of zero is not checked.
type CanaryRule struct {
	// MinRuns is how many runs the canary must finish before the rule decides anything.
	MinRuns int `json:"min_runs"`
	// The canary is dropped as soon as it passes one of these limits.
	MaxErrorRate     float64 `json:"max_error_rate,omitempty"`     // failed runs, 0 to 1
	MaxErrorIncrease float64 `json:"max_error_increase,omitempty"` // above the live version's error rate
	MaxCostUSD       float64 `json:"max_cost_usd,omitempty"`       // average per run
	MaxCostRatio     float64 `json:"max_cost_ratio,omitempty"`     // relative to the live version's average
	MaxLatencyMS     int64   `json:"max_latency_ms,omitempty"`     // average per run
	MaxLatencyRatio  float64 `json:"max_latency_ratio,omitempty"`  // relative to the live version's average
	PromoteAfterRuns int     `json:"promote_after_runs,omitempty"` // promote after this many runs; 0 leaves that to an operator
}

// Tally sums up finished runs.
type Tally struct {
	Runs      int64   `json:"runs"`       // including those that failed
	Errors    int64   `json:"errors"`     // runs that failed
	CostUSD   float64 `json:"cost_usd"`   // total
	LatencyMS int64   `json:"latency_ms"` // total, from the start of each run to its end, including waits
}

// Publication is an immutable version of all documents.
type Publication struct {
	Number int64 `json:"number"` // 1, 2, …, or from FirstPreview on for a preview; runs store it as their resolution_id
	// Base is the publication that this one was derived from. Entries lists the documents that changed since, by hash; "" means deleted.
	Base    int64   `json:"base,omitempty"`
	Entries []Entry `json:"entries"`
	// Manifest lists every document. Most publications have none; [Versions.Get]
	// reconstructs it by following Base.
	Manifest []Entry `json:"manifest,omitempty"`
	Kind     string  `json:"kind"` // publish, rollback, seed, canary or preview
	Note     string  `json:"note,omitempty"`
	Actor    string  `json:"actor"`
	At       int64   `json:"at"` // Unix ms
	// Confined means that no agent of the version makes an effect unless a person approves it.
	Confined bool `json:"confined,omitempty"`
}

// FirstPreview is the lowest number of a preview. Previews are not versions: they take no number of the sequence, and have random ones, which a
// JSON number can hold.
const FirstPreview = 1 << 52

// newPreview returns a number for a preview.
func newPreview() int64 { return FirstPreview + rand.Int64N(FirstPreview) }

// ResolutionID returns the id that runs on this publication are pinned to.
func (p *Publication) ResolutionID() string { return strconv.FormatInt(p.Number, 10) }

// Entry identifies a document of a publication.
type Entry struct {
	Key
	Hash     string `json:"hash"`               // of the effective document; "" if it was deleted
	Revision int64  `json:"revision,omitempty"` // of the record that it was made from
}

// AuditEvent records an action. Its documents never contain secrets.
type AuditEvent struct {
	ID           string          `json:"id"` // unique
	Time         time.Time       `json:"ts"` // microsecond precision
	Actor        string          `json:"actor"`
	Action       string          `json:"action"`
	Resource     string          `json:"resource"` // namespace/id
	Before       json.RawMessage `json:"before,omitempty"`
	After        json.RawMessage `json:"after,omitempty"`
	IP           string          `json:"ip,omitempty"`
	RequestID    string          `json:"request_id,omitempty"`
	RestoredFrom string          `json:"restored_from,omitempty"`
	Version      int64           `json:"version,omitempty"` // the publication that the action created
	Error        string          `json:"error,omitempty"`
}

// AuditQuery selects audit events. Empty fields match everything.
type AuditQuery struct {
	ID           string
	Since, Until time.Time // Since is inclusive, Until is exclusive
	Action       string
	Resource     string // the resource itself or anything below it: agents, agents/a
	Actor        string // prefix
	Before       string // only events older than the one with this id; none if that was purged
	Limit        int    // 0 means 100; at most 1000
}
