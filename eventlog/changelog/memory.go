package changelog

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// memorySize is the number of changes that a Memory keeps.
const memorySize = 10_000

// Memory is a [Store] in memory, for stores used by a single process. It keeps the latest changes since it was first read; before that, Add
// does nothing, so a program without readers pays nothing. For a position of an earlier process it returns [ErrGone]. The zero Memory is
// ready for use.
type Memory struct {
	Now func() time.Time // nil means time.Now

	read atomic.Bool // was read

	mu    sync.Mutex
	log   []entry  // oldest first
	last  int64    // position of the last change, or where the log began
	floor Position // changes up to it are gone
}

type entry struct {
	tenant string
	Change
}

func (m *Memory) now() time.Time {
	if m.Now != nil {
		return m.Now()
	}
	return time.Now()
}

// Wanted reports whether Add has an effect.
func (m *Memory) Wanted() bool { return m.read.Load() }

// Add adds a change and sets its position and time. The caller holds a lock that orders the changes of a thread.
func (m *Memory) Add(tenant string, c Change) {
	if !m.Wanted() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	c.Pos, c.At = m.last, m.now().UnixMilli()
	m.log = append(m.log, entry{tenant, c})
	if len(m.log) >= 2*memorySize {
		m.cut(len(m.log) - memorySize)
	}
}

// cut removes the n oldest changes. It requires m.mu.
func (m *Memory) cut(n int) {
	if n > 0 {
		m.floor = Position{m.log[n-1].Pos, m.log[n-1].At}
		m.log = slices.Clone(m.log[n:])
	}
}

// begin begins the log. Positions begin with the time in µs, so that they differ from the positions of earlier processes.
func (m *Memory) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.read.Load() {
		m.last = m.now().UnixMicro()
		m.floor = Position{m.last, m.now().UnixMilli()}
		m.read.Store(true)
	}
}

// Horizon implements [Store].
func (m *Memory) Horizon(context.Context) (int64, error) {
	m.begin()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last, nil
}

// Changes implements [Store].
func (m *Memory) Changes(_ context.Context, q Query) (*Page, error) {
	m.begin()
	m.mu.Lock()
	defer m.mu.Unlock()
	if q.After < m.floor.Pos || q.After > m.last {
		return nil, fmt.Errorf("position %d: %w, which has those from %d to %d", q.After, ErrGone, m.floor.Pos, m.last)
	}
	if check := m.check(q.After); q.Check != 0 && q.Check != check {
		return nil, fmt.Errorf("position %d with check %d: %w, which has check %d there", q.After, q.Check, ErrGone, check)
	}
	if q.Upto == 0 || q.Upto > m.last {
		q.Upto = m.last
	}
	page := &Page{Upto: max(q.After, q.Upto)}
	for i := sort.Search(len(m.log), func(i int) bool { return m.log[i].Pos > q.After }); i < len(m.log) && m.log[i].Pos <= q.Upto; i++ {
		if e := &m.log[i]; e.tenant == q.Tenant || e.tenant == Server {
			if len(page.Changes) == q.Size() {
				page.Upto, page.More = page.Changes[len(page.Changes)-1].Pos, true
				break
			}
			page.Changes = append(page.Changes, e.Change)
		}
	}
	page.Check = m.check(page.Upto)
	return page, nil
}

// check returns [Position.Check]. It requires m.mu.
func (m *Memory) check(pos int64) int64 {
	if i := sort.Search(len(m.log), func(i int) bool { return m.log[i].Pos > pos }); i > 0 {
		return m.log[i-1].At
	}
	return m.floor.Check
}

// TrimChanges implements [Store].
func (m *Memory) TrimChanges(_ context.Context, keep time.Duration) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.now().Add(-keep).UnixMilli()
	n := sort.Search(len(m.log), func(i int) bool { return m.log[i].At >= before })
	m.cut(n)
	return n, nil
}

var _ Store = (*Memory)(nil)
