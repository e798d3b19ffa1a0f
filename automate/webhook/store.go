package webhook

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Store stores the hooks of all tenants. Implementations are safe for concurrent use; package automate/webhook/webhooktest tests them.
type Store interface {
	// Hooks returns the hooks that q selects, ordered by due time if q.Due is set, otherwise by run and ID.
	Hooks(ctx context.Context, q Query) ([]*Hook, error)
	// SwapHook stores h under the next revision if the stored revision is h.Revision (0 if there is none). It reports whether it did; if
	// not, another process changed the hook first.
	SwapHook(ctx context.Context, h *Hook) (bool, error)
	// DropHook deletes a hook. Deleting a hook that does not exist is not an error.
	DropHook(ctx context.Context, tenant, runID, id string) error
	// ForgetHooks deletes the hooks with a negative Wait that were last stored at least unused ago.
	ForgetHooks(ctx context.Context, unused time.Duration) error
}

// Query selects hooks: all tenants' due hooks, or the hooks of one tenant.
type Query struct {
	Due    bool
	Tenant string // unless Due
	RunID  string // "" means all of the tenant
	ID     string // "" means all of the run
	// Latest selects the hooks with this ID, ordered by run ID, the greatest first. Before, unless "", selects run IDs less than it.
	Latest bool
	Before string
	Limit  int // 0 means all
}

// Memory is a [Store] in memory.
type Memory struct {
	mu    sync.Mutex
	hooks map[[3]string]*kept // tenant, run, id
}

type kept struct {
	hook   *Hook
	stored time.Time
}

// due returns when a sender may take the hook. Ok is false if none may.
func (k *kept) due() (at time.Time, ok bool) {
	return k.stored.Add(k.hook.Wait), k.hook.Wait >= 0
}

func (h *Hook) clone() *Hook {
	c := *h
	c.Attempts, c.Events = slices.Clone(h.Attempts), slices.Clone(h.Events)
	return &c
}

// Hooks implements [Store].
func (m *Memory) Hooks(_ context.Context, q Query) ([]*Hook, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []*kept
	for _, k := range m.hooks {
		if q.Due {
			if at, ok := k.due(); ok && !at.After(time.Now()) {
				found = append(found, k)
			}
		} else if k.hook.Tenant == q.Tenant && (q.RunID == "" || k.hook.RunID == q.RunID) && (q.ID == "" || k.hook.ID == q.ID) && (q.Before == "" || k.hook.RunID < q.Before) {
			found = append(found, k)
		}
	}
	slices.SortFunc(found, func(a, b *kept) int {
		first := 0
		if q.Latest {
			return strings.Compare(b.hook.RunID, a.hook.RunID)
		}
		if q.Due {
			x, _ := a.due()
			y, _ := b.due()
			first = x.Compare(y)
		}
		return cmp.Or(first, strings.Compare(a.hook.RunID, b.hook.RunID), strings.Compare(a.hook.ID, b.hook.ID))
	})
	var out []*Hook
	for _, k := range found {
		if q.Limit == 0 || len(out) < q.Limit {
			out = append(out, k.hook.clone())
		}
	}
	return out, nil
}

// SwapHook implements [Store].
func (m *Memory) SwapHook(_ context.Context, h *Hook) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := [3]string{h.Tenant, h.RunID, h.ID}
	if old := m.hooks[key]; old == nil && h.Revision != 0 || old != nil && old.hook.Revision != h.Revision {
		return false, nil
	}
	if m.hooks == nil {
		m.hooks = map[[3]string]*kept{}
	}
	h = h.clone()
	h.Revision++
	m.hooks[key] = &kept{h, time.Now()}
	return true, nil
}

// DropHook implements [Store].
func (m *Memory) DropHook(_ context.Context, tenant, runID, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.hooks, [3]string{tenant, runID, id})
	return nil
}

// ForgetHooks implements [Store].
func (m *Memory) ForgetHooks(_ context.Context, unused time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, k := range m.hooks {
		if _, ok := k.due(); !ok && time.Since(k.stored) >= unused {
			delete(m.hooks, key)
		}
	}
	return nil
}
