package trigger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
)

// Firing is an entry in the log of a trigger: a request and its outcome.
type Firing struct {
	At       time.Time `json:"at"` // in whole milliseconds
	RunID    string    `json:"run_id"`
	ThreadID string    `json:"thread_id,omitempty"`
	Request  string    `json:"request_id,omitempty"` // the request's own ID, if it has one
	Bytes    int       `json:"bytes"`                // of its body
	Outcome  Outcome   `json:"outcome"`
	Reason   string    `json:"reason,omitempty"` // why it was refused
	Manual   bool      `json:"manual,omitempty"` // fired by an administrator
}

// Outcome is the outcome of a request.
type Outcome string

const (
	Starting Outcome = "starting" // a process is about to start the run, or died while doing so: then look whether the run exists
	Started  Outcome = "started"
	Failed   Outcome = "failed"  // there is no run: it could not be started, or the process that was about to start it died
	Refused  Outcome = "refused" // the server refused the run, for example because its agent was deleted
)

// Store stores the triggers of all tenants and their logs. Implementations are safe for concurrent use; package
// automate/trigger/triggertest tests them.
type Store interface {
	// Trigger returns a trigger, or an error that is awaken.ErrNotFound.
	Trigger(ctx context.Context, tenant, id string) (*Trigger, error)
	// Triggers returns at most limit triggers of a tenant with IDs greater than after, ordered by ID.
	Triggers(ctx context.Context, tenant, after string, limit int) ([]*Trigger, error)
	// SwapTrigger stores t under the next revision if the stored revision is t.Revision (0 if there is none), and reports whether it did.
	SwapTrigger(ctx context.Context, t *Trigger) (bool, error)
	// DropTrigger deletes a trigger and its log and reports whether the trigger existed.
	DropTrigger(ctx context.Context, tenant, id string) (bool, error)

	// Enter adds an entry for a run that is about to start, unless limit entries, counted over all processes, are at most a minute old by
	// the clock of the store. It sets f.At and reports whether the limit allowed the entry. A limit of 0 means no limit. If the log already
	// has an entry for the run, Enter copies it to f. The error is awaken.ErrNotFound if the trigger does not exist.
	Enter(ctx context.Context, tenant, id string, f *Firing, limit int) (bool, error)
	// Log adds an entry to the log of a trigger, or replaces the entry of the same run. A log keeps at least the latest [KeptFirings]
	// entries.
	Log(ctx context.Context, tenant, id string, f *Firing) error
	// Firings returns at most limit log entries older than before, latest first. If before is zero, it starts with the latest entry.
	Firings(ctx context.Context, tenant, id string, before Place, limit int) ([]Firing, error)
}

// Place is a position in a log.
type Place struct {
	At    time.Time
	RunID string
}

// Before reports whether an entry is older than the place.
func (p Place) Before(f *Firing) bool {
	return p.At.IsZero() || f.At.Before(p.At) || f.At.Equal(p.At) && f.RunID < p.RunID
}

// KeptFirings is the number of entries that a log keeps.
const KeptFirings = 1000

// Memory is a [Store] in memory.
type Memory struct {
	mu  sync.Mutex
	all map[[2]string]*kept // tenant, id
}

type kept struct {
	data []byte   // a Trigger as JSON, so that no caller shares it
	log  []Firing // the oldest first
}

func (k *kept) get() (*Trigger, error) {
	t := new(Trigger)
	return t, json.Unmarshal(k.data, t)
}

// Trigger implements [Store].
func (m *Memory) Trigger(_ context.Context, tenant, id string) (*Trigger, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.all[[2]string{tenant, id}]
	if k == nil {
		return nil, fmt.Errorf("trigger %q: %w", id, awaken.ErrNotFound)
	}
	return k.get()
}

// Triggers implements [Store].
func (m *Memory) Triggers(_ context.Context, tenant, after string, limit int) (out []*Trigger, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, k := range m.all {
		if key[0] != tenant || key[1] <= after {
			continue
		}
		t, err := k.get()
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *Trigger) int { return strings.Compare(a.ID, b.ID) })
	return out[:min(limit, len(out))], nil
}

// SwapTrigger implements [Store].
func (m *Memory) SwapTrigger(_ context.Context, t *Trigger) (bool, error) {
	next := *t
	next.Revision++
	data, err := json.Marshal(&next)
	if err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := [2]string{t.Tenant, t.ID}
	k := m.all[key]
	if k == nil {
		if t.Revision != 0 {
			return false, nil
		}
		if m.all == nil {
			m.all = map[[2]string]*kept{}
		}
		m.all[key] = &kept{data: data}
		return true, nil
	}
	if old, err := k.get(); err != nil || old.Revision != t.Revision {
		return false, err
	}
	k.data = data
	return true, nil
}

// DropTrigger implements [Store].
func (m *Memory) DropTrigger(_ context.Context, tenant, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, existed := m.all[[2]string{tenant, id}]
	delete(m.all, [2]string{tenant, id})
	return existed, nil
}

// Enter implements [Store].
func (m *Memory) Enter(_ context.Context, tenant, id string, f *Firing, limit int) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.all[[2]string{tenant, id}]
	if k == nil {
		return false, fmt.Errorf("trigger %q: %w", id, awaken.ErrNotFound)
	}
	now, recent := time.Now().UTC().Truncate(time.Millisecond), 0
	for _, o := range k.log {
		if o.RunID == f.RunID {
			*f = o
			return true, nil
		}
		if now.Sub(o.At) <= time.Minute {
			recent++
		}
	}
	if limit > 0 && recent >= limit {
		return false, nil
	}
	f.At = now
	k.add(f)
	return true, nil
}

// Log implements [Store].
func (m *Memory) Log(_ context.Context, tenant, id string, f *Firing) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.all[[2]string{tenant, id}]; k != nil { // nil if it was deleted meanwhile
		k.add(f)
	}
	return nil
}

func (k *kept) add(f *Firing) {
	k.log = slices.DeleteFunc(k.log, func(o Firing) bool { return o.RunID == f.RunID })
	k.log = append(k.log, *f)
	slices.SortFunc(k.log, func(a, b Firing) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(a.RunID, b.RunID)
	})
	if n := len(k.log) - KeptFirings; n > 0 {
		k.log = slices.Clone(k.log[n:])
	}
}

// Firings implements [Store].
func (m *Memory) Firings(_ context.Context, tenant, id string, before Place, limit int) (out []Firing, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.all[[2]string{tenant, id}]; k != nil {
		for _, f := range slices.Backward(k.log) {
			if before.Before(&f) && len(out) < limit {
				out = append(out, f)
			}
		}
	}
	return out, nil
}
