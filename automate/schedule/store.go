package schedule

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

// Store stores the schedules of all tenants and their logs. Implementations are safe for concurrent use; package
// automate/schedule/scheduletest tests them.
type Store interface {
	// Schedule returns a schedule, or an error that is awaken.ErrNotFound.
	Schedule(ctx context.Context, tenant, id string) (*Schedule, error)
	// Schedules returns at most limit schedules of a tenant with IDs greater than after, ordered by ID.
	Schedules(ctx context.Context, tenant, after string, limit int) ([]*Schedule, error)
	// Due returns at most limit due schedules of all tenants, longest due first, and, if there are any, the store's time, which is the
	// clock of all processes.
	Due(ctx context.Context, limit int) ([]*Schedule, time.Time, error)
	// Swap stores s under the next revision and appends entries to its log, if the stored revision is s.Revision (0 if there is none). It
	// reports whether it did; if not, another process changed the schedule first. A log keeps the latest [KeptFirings] entries.
	Swap(ctx context.Context, s *Schedule, log ...Firing) (bool, error)
	// Drop deletes a schedule and its log and reports whether the schedule existed.
	Drop(ctx context.Context, tenant, id string) (bool, error)
	// Firings returns at most limit log entries with numbers less than before, latest first. If before is 0, it starts with the latest
	// entry.
	Firings(ctx context.Context, tenant, id string, before int64, limit int) ([]Firing, error)
}

// KeptFirings is the number of entries that a log keeps.
const KeptFirings = 10_000

// Memory is a [Store] in memory.
type Memory struct {
	mu  sync.Mutex
	all map[[2]string]*kept // tenant, id
}

type kept struct {
	schedule Schedule
	data     []byte // spec and state, as JSON, so that no caller shares them
	log      []Firing
}

type stored struct {
	Spec  Spec
	State State
}

func (k *kept) get() (*Schedule, error) {
	s := k.schedule
	var data stored
	err := json.Unmarshal(k.data, &data)
	s.Spec, s.State = data.Spec, data.State
	return &s, err
}

// Schedule implements [Store].
func (m *Memory) Schedule(_ context.Context, tenant, id string) (*Schedule, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.all[[2]string{tenant, id}]
	if k == nil {
		return nil, fmt.Errorf("schedule %q: %w", id, awaken.ErrNotFound)
	}
	return k.get()
}

// Schedules implements [Store].
func (m *Memory) Schedules(_ context.Context, tenant, after string, limit int) ([]*Schedule, error) {
	return m.find(limit, func(s *Schedule) bool { return s.Tenant == tenant && s.ID > after }, func(a, b *Schedule) int { return strings.Compare(a.ID, b.ID) })
}

func (m *Memory) find(limit int, want func(*Schedule) bool, order func(a, b *Schedule) int) (out []*Schedule, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.all {
		if want(&k.schedule) {
			s, err := k.get()
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	}
	slices.SortFunc(out, order)
	return out[:min(limit, len(out))], nil
}

// Due implements [Store].
func (m *Memory) Due(_ context.Context, limit int) ([]*Schedule, time.Time, error) {
	now := time.Now()
	out, err := m.find(limit, func(s *Schedule) bool { return !s.Due.IsZero() && !s.Due.After(now) }, func(a, b *Schedule) int { return a.Due.Compare(b.Due) })
	return out, now, err
}

// Swap implements [Store].
func (m *Memory) Swap(_ context.Context, s *Schedule, log ...Firing) (bool, error) {
	data, err := json.Marshal(stored{s.Spec, s.State})
	if err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := [2]string{s.Tenant, s.ID}
	k := m.all[key]
	if k == nil && s.Revision != 0 || k != nil && k.schedule.Revision != s.Revision {
		return false, nil
	}
	if k == nil {
		if k = new(kept); m.all == nil {
			m.all = map[[2]string]*kept{}
		}
		m.all[key] = k
	}
	k.schedule, k.data = Schedule{Tenant: s.Tenant, ID: s.ID, Revision: s.Revision + 1, Due: s.Due}, data
	if k.log = append(k.log, log...); len(k.log) > KeptFirings {
		k.log = slices.Clone(k.log[len(k.log)-KeptFirings:])
	}
	return true, nil
}

// Drop implements [Store].
func (m *Memory) Drop(_ context.Context, tenant, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, existed := m.all[[2]string{tenant, id}]
	delete(m.all, [2]string{tenant, id})
	return existed, nil
}

// Firings implements [Store].
func (m *Memory) Firings(_ context.Context, tenant, id string, before int64, limit int) (out []Firing, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.all[[2]string{tenant, id}]; k != nil {
		for _, f := range slices.Backward(k.log) {
			if (before == 0 || f.Number < before) && len(out) < limit {
				out = append(out, f)
			}
		}
	}
	return out, nil
}
