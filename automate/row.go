// Package automate defines what schedules, triggers and webhook endpoints have in common: they are rows.
//
// A row belongs to a tenant and has an ID, a spec, which its owner sets, and a state, which the server sets. Its revision increases with
// every change, and a change names the revision that it was made of: of several processes that change the same revision, one succeeds, and
// the others read the row again. A row with a due time waits for a process; a process takes it by storing it with the time when its lease
// ends.
//
// A database keeps each kind of row in a table of its own; [Memory] keeps a kind in memory. Package automate/automatetest tests both.
package automate

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

// Row points to the parts of a value that a store keeps.
type Row struct {
	Kind     string // for errors, such as "schedule"
	Tenant   *string
	ID       *string
	Revision *int64
	// Due is in whole milliseconds; the zero time means never. It is nil if rows of the kind are never due.
	Due         *time.Time
	Spec, State any // pointers to what is kept as JSON
}

// Value is implemented by the types of rows.
type Value[T any] interface {
	*T
	Row() Row
}

// Store stores the rows of one kind for all tenants. Implementations are safe for concurrent use.
type Store[T any] interface {
	// Get returns a row, or an error that is awaken.ErrNotFound.
	Get(ctx context.Context, tenant, id string) (*T, error)
	// List returns at most limit rows of a tenant with IDs greater than after, ordered by ID.
	List(ctx context.Context, tenant, after string, limit int) ([]*T, error)
	// Swap stores v under the next revision if the stored revision is the one that v has (0 if there is none). It reports whether it did; if
	// not, another process changed the row first.
	Swap(ctx context.Context, v *T) (bool, error)
	// Drop deletes a row and what belongs to it, and reports whether the row existed.
	Drop(ctx context.Context, tenant, id string) (bool, error)
}

// Agenda is a [Store] of rows with due times.
type Agenda[T any] interface {
	Store[T]
	// Due returns at most limit due rows of all tenants, longest due first, and, if there are any, the store's time, which is the clock of
	// all processes.
	Due(ctx context.Context, limit int) ([]*T, time.Time, error)
}

// Memory is an [Agenda] in memory. The zero Memory is empty.
type Memory[T any, P Value[T]] struct {
	mu  sync.Mutex
	all map[[2]string]*kept // tenant, id
}

// kept is a stored row. Spec and state are JSON, so that no caller shares them.
type kept struct {
	tenant, id  string
	revision    int64
	due         time.Time
	spec, state []byte
}

// Get implements [Store].
func (m *Memory[T, P]) Get(_ context.Context, tenant, id string) (*T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.all[[2]string{tenant, id}]; k != nil {
		return value[T, P](k)
	}
	return nil, NotFound(P(new(T)).Row().Kind, id)
}

// NotFound returns the error for a row that does not exist.
func NotFound(kind, id string) error { return fmt.Errorf("%s %q: %w", kind, id, awaken.ErrNotFound) }

// value returns a stored row as a value of its own.
func value[T any, P Value[T]](k *kept) (*T, error) {
	v := new(T)
	row := P(v).Row()
	*row.Tenant, *row.ID, *row.Revision = k.tenant, k.id, k.revision
	if row.Due != nil {
		*row.Due = k.due
	}
	return v, row.Decode(k.spec, k.state)
}

// Decode sets spec and state from their JSON.
func (r *Row) Decode(spec, state []byte) error {
	if err := json.Unmarshal(spec, r.Spec); err != nil {
		return err
	}
	return json.Unmarshal(state, r.State)
}

// List implements [Store].
func (m *Memory[T, P]) List(_ context.Context, tenant, after string, limit int) ([]*T, error) {
	return m.find(limit, func(k *kept) bool { return k.tenant == tenant && k.id > after }, func(a, b *kept) int { return strings.Compare(a.id, b.id) })
}

// Due implements [Agenda].
func (m *Memory[T, P]) Due(_ context.Context, limit int) ([]*T, time.Time, error) {
	now := time.Now()
	due, err := m.find(limit, func(k *kept) bool { return !k.due.IsZero() && !k.due.After(now) }, func(a, b *kept) int { return a.due.Compare(b.due) })
	return due, now, err
}

func (m *Memory[T, P]) find(limit int, want func(*kept) bool, order func(a, b *kept) int) (out []*T, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []*kept
	for _, k := range m.all {
		if want(k) {
			found = append(found, k)
		}
	}
	slices.SortFunc(found, order)
	for _, k := range found[:min(limit, len(found))] {
		v, err := value[T, P](k)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// Swap implements [Store].
func (m *Memory[T, P]) Swap(_ context.Context, v *T) (bool, error) {
	row := P(v).Row()
	next := &kept{tenant: *row.Tenant, id: *row.ID, revision: *row.Revision + 1}
	if row.Due != nil {
		next.due = *row.Due
	}
	var err error
	if next.spec, err = json.Marshal(row.Spec); err != nil {
		return false, err
	}
	if next.state, err = json.Marshal(row.State); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key, stored := [2]string{next.tenant, next.id}, int64(0)
	if old := m.all[key]; old != nil {
		stored = old.revision
	}
	if stored != *row.Revision {
		return false, nil
	}
	if m.all == nil {
		m.all = map[[2]string]*kept{}
	}
	m.all[key] = next
	return true, nil
}

// Drop implements [Store].
func (m *Memory[T, P]) Drop(_ context.Context, tenant, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, existed := m.all[[2]string{tenant, id}]
	delete(m.all, [2]string{tenant, id})
	return existed, nil
}
