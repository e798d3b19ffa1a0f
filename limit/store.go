package limit

import (
	"context"
	"sync"
	"time"
)

// Store keeps the buckets that the processes of a fleet share. Implementations are safe for
// concurrent use. The package limit/limittest tests them.
type Store interface {
	// LoadBuckets returns the buckets with those names that exist, in any order, and the time of
	// the store's clock. Without names it returns all buckets.
	LoadBuckets(ctx context.Context, names ...string) (list []Stored, now time.Time, err error)
	// SwapBucket stores b with the next revision if the stored one has b.Revision; a bucket that
	// does not exist has 0. It reports whether it did: otherwise another process was faster.
	SwapBucket(ctx context.Context, b Stored) (bool, error)
	// ForgetBuckets removes the buckets that were last stored at least that long ago.
	ForgetBuckets(ctx context.Context, unused time.Duration) error
}

// Stored is a bucket as a store has it.
type Stored struct {
	Name     string // any text
	Revision int64  // counts the changes, from 1
	Data     []byte // JSON
}

// Memory is a [Store] in the memory of a process.
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
