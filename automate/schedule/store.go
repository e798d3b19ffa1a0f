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

// Store keeps schedules and their logs, for all tenants. Implementations are safe for concurrent use. The package automate/schedule/scheduletest tests
// them.
type Store interface {
	// Schedule returns a schedule, or an error that is awaken.ErrNotFound.
	Schedule(ctx context.Context, tenant, id string) (*Schedule, error)
	// Schedules returns those of a tenant whose id is greater than after, by id, at most limit.
	Schedules(ctx context.Context, tenant, after string, limit int) ([]*Schedule, error)
	// Due returns those of all tenants that are due, the longest due first, at most limit, and if there are any the time of the store: that of all
	// processes.
	Due(ctx context.Context, limit int) ([]*Schedule, time.Time, error)
	// Swap stores s with the next revision, and adds entries to its log, if the stored schedule has s.Revision; one that does not exist has 0. It
	// reports whether it did: otherwise another process was faster. Of a log, the latest [KeptFirings] entries are kept.
	Swap(ctx context.Context, s *Schedule, log ...Firing) (bool, error)
	// Drop removes a schedule and its log, and reports whether it existed.
	Drop(ctx context.Context, tenant, id string) (bool, error)
	// Firings returns the entries of a log with numbers less than before, the latest first, at most limit. 0 means all numbers.
	Firings(ctx context.Context, tenant, id string, before int64, limit int) ([]Firing, error)
}

// KeptFirings is how many entries of a log are kept.
const KeptFirings = 10_000

// Memory is a [Store] in the memory of a process.
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
