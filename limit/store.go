package limit

import (
	"context"
	"sync"
	"time"
)

// Store stores the buckets that the processes of a fleet share. Implementations are safe for concurrent use; package limit/limittest tests
// them.
type Store interface {
	// LoadBuckets returns the existing buckets with the given names, in any order, and the store's time. Without names it returns all
	// buckets.
	LoadBuckets(ctx context.Context, names ...string) (list []Stored, now time.Time, err error)
	// SwapBucket stores b under the next revision if the stored revision is b.Revision (0 if there is none). It reports whether it did; if
	// not, another process changed the bucket first.
	SwapBucket(ctx context.Context, b Stored) (bool, error)
	// ForgetBuckets deletes the buckets that were last stored at least unused ago.
	ForgetBuckets(ctx context.Context, unused time.Duration) error
}

// Stored is a stored bucket.
type Stored struct {
	Name     string // any text
	Revision int64  // counts the changes, from 1
	Data     []byte // JSON
}

// Memory is a [Store] in memory.
type Memory struct {
	// Now is the clock; nil means time.Now. Set it before the first use.
	Now func() time.Time

	mu      sync.Mutex
	buckets map[string]memoryBucket
}

type memoryBucket struct {
	Stored
	at time.Time
}

func (m *Memory) now() time.Time {
	if m.Now != nil {
		return m.Now()
	}
	return time.Now()
}

// LoadBuckets implements [Store].
func (m *Memory) LoadBuckets(_ context.Context, names ...string) (list []Stored, now time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		if b, ok := m.buckets[name]; ok {
			list = append(list, b.Stored)
		}
	}
	if len(names) == 0 {
		for _, b := range m.buckets {
			list = append(list, b.Stored)
		}
	}
	return list, m.now(), nil
}

// SwapBucket implements [Store].
func (m *Memory) SwapBucket(_ context.Context, b Stored) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.buckets[b.Name].Revision != b.Revision {
		return false, nil
	}
	if m.buckets == nil {
		m.buckets = map[string]memoryBucket{}
	}
	b.Revision++
	m.buckets[b.Name] = memoryBucket{b, m.now()}
	return true, nil
}

// ForgetBuckets implements [Store].
func (m *Memory) ForgetBuckets(_ context.Context, unused time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, b := range m.buckets {
		if m.now().Sub(b.at) >= unused {
			delete(m.buckets, name)
		}
	}
	return nil
}
