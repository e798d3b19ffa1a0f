package schedule

import (
	"context"
	"slices"
	"sync"

	"github.com/awaken-go/awaken/automate"
)

// Store stores the schedules of all tenants and their logs. Package automate/schedule/scheduletest tests implementations.
type Store interface {
	automate.Agenda[Schedule]
	// Record is Swap, and appends entries to the log of the schedule. A log keeps the latest [KeptFirings] entries.
	Record(ctx context.Context, s *Schedule, log ...Firing) (bool, error)
	// Firings returns at most limit log entries with numbers less than before, latest first. If before is 0, it starts with the latest
	// entry.
	Firings(ctx context.Context, tenant, id string, before int64, limit int) ([]Firing, error)
}

// KeptFirings is the number of entries that a log keeps.
const KeptFirings = 10_000

// Row returns the parts of the schedule that stores keep.
func (s *Schedule) Row() automate.Row {
	return automate.Row{Kind: "schedule", Tenant: &s.Tenant, ID: &s.ID, Revision: &s.Revision, Due: &s.Due, Spec: &s.Spec, State: &s.State}
}

// Memory is a [Store] in memory.
type Memory struct {
	automate.Memory[Schedule, *Schedule]
	mu   sync.Mutex // held while a schedule and its log change
	logs map[[2]string][]Firing
}

// Record implements [Store].
func (m *Memory) Record(ctx context.Context, s *Schedule, log ...Firing) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	done, err := m.Swap(ctx, s)
	if !done || len(log) == 0 {
		return done, err
	}
	if m.logs == nil {
		m.logs = map[[2]string][]Firing{}
	}
	key := [2]string{s.Tenant, s.ID}
	all := append(m.logs[key], log...)
	m.logs[key] = slices.Clone(all[max(0, len(all)-KeptFirings):])
	return true, nil
}

// Drop implements [Store].
func (m *Memory) Drop(ctx context.Context, tenant, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.logs, [2]string{tenant, id})
	return m.Memory.Drop(ctx, tenant, id)
}

// Firings implements [Store].
func (m *Memory) Firings(_ context.Context, tenant, id string, before int64, limit int) (out []Firing, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range slices.Backward(m.logs[[2]string{tenant, id}]) {
		if (before == 0 || f.Number < before) && len(out) < limit {
			out = append(out, f)
		}
	}
	return out, nil
}
