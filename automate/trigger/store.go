package trigger

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken/automate"
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

// Store stores the triggers of all tenants and their logs. Package automate/trigger/triggertest tests implementations.
type Store interface {
	automate.Store[Trigger]

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

// Row returns the parts of the trigger that stores keep.
func (t *Trigger) Row() automate.Row {
	return automate.Row{Kind: "trigger", Tenant: &t.Tenant, ID: &t.ID, Revision: &t.Revision, Spec: &t.Spec, State: &t.State}
}

// Memory is a [Store] in memory.
type Memory struct {
	automate.Memory[Trigger, *Trigger]
	mu   sync.Mutex             // held while a log changes
	logs map[[2]string][]Firing // by tenant and trigger, the oldest first
}

// Drop implements [Store].
func (m *Memory) Drop(ctx context.Context, tenant, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.logs, [2]string{tenant, id})
	return m.Memory.Drop(ctx, tenant, id)
}

// Enter implements [Store].
func (m *Memory) Enter(ctx context.Context, tenant, id string, f *Firing, limit int) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.Get(ctx, tenant, id); err != nil {
		return false, err
	}
	now, recent := time.Now().UTC().Truncate(time.Millisecond), 0
	for _, o := range m.logs[[2]string{tenant, id}] {
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
	m.add(tenant, id, f)
	return true, nil
}

// Log implements [Store].
func (m *Memory) Log(ctx context.Context, tenant, id string, f *Firing) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.Get(ctx, tenant, id); err == nil { // it was not deleted meanwhile
		m.add(tenant, id, f)
	}
	return nil
}

// add requires mu.
func (m *Memory) add(tenant, id string, f *Firing) {
	if m.logs == nil {
		m.logs = map[[2]string][]Firing{}
	}
	key := [2]string{tenant, id}
	log := append(slices.DeleteFunc(m.logs[key], func(o Firing) bool { return o.RunID == f.RunID }), *f)
	slices.SortFunc(log, func(a, b Firing) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.RunID, b.RunID))
	})
	m.logs[key] = slices.Clone(log[max(0, len(log)-KeptFirings):])
}

// Firings implements [Store].
func (m *Memory) Firings(_ context.Context, tenant, id string, before Place, limit int) (out []Firing, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range slices.Backward(m.logs[[2]string{tenant, id}]) {
		if before.Before(&f) && len(out) < limit {
			out = append(out, f)
		}
	}
	return out, nil
}
