package eventlog

import (
	"sync"

	"github.com/awaken-go/awaken"
)

// live is the end of a thread's log, as far as this process has seen it. It exists while the
// thread has a writer or a reader.
type live struct {
	log    *Log
	thread string
	limit  int // of entries
	users  int // writers, readers, and the relay; guarded by log.mu

	mu      sync.Mutex
	entries []awaken.Entry  // the latest, without gaps
	version int             // incremented when entries change other than by appending
	running int             // activations that write
	polling bool            // one of the readers polls the store for all
	gone    bool            // the thread was deleted; its readers end
	waiting []*tail         // readers that have read everything
	few     [8]awaken.Entry // backs entries until there are more: a run may wait long for its model
	durable uint64          // everything up to this entry is committed
	shared  shared
}

// open counts an activation that writes.
func (v *live) open() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running++
	v.begin()
}

// done ends an activation. Unless it has finished, its uncommitted entries are dropped.
func (v *live) done(finished bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running--
	if !finished {
		v.forget()
		v.version++
	}
	v.wake(true)
	v.interest()
}

// append adds an entry and wakes readers. Deltas do not wake those that collect.
func (v *live) append(e awaken.Entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.add(e)
	v.wake(!isDelta(e.Event))
	v.changed()
}

// isDelta reports whether an event is one of many small ones, which a reader may collect.
func isDelta(ev awaken.Event) bool {
	switch ev.(type) {
	case *awaken.TextDelta, *awaken.ReasoningDelta, *awaken.ToolCallDelta, *awaken.ToolCallStreamDelta:
		return true
	}
	return false
}

// wake wakes the readers that wait; those that collect only if it is urgent. The one that polls leaves
// that to the next that waits: it may be slow to consume what it finds. Requires v.mu.
func (v *live) wake(urgent bool) {
	kept := v.waiting[:0]
	for _, t := range v.waiting {
		if t.collecting && !urgent {
			kept = append(kept, t)
			continue
		}
		t.listed = false
		if t.polls {
			t.polls, v.polling = false, false
		}
		t.signal()
	}
	clear(v.waiting[len(kept):])
	v.waiting = kept
}

// add appends an entry. It replaces uncommitted entries of a previous owner. Requires v.mu.
func (v *live) add(e awaken.Entry) {
	n := len(v.entries)
	for n > 0 && v.entries[n-1].Seq >= e.Seq {
		n--
	}
	if n > 0 && (v.entries[n-1].Seq+1 != e.Seq || v.entries[n-1].Epoch != e.Epoch && v.entries[n-1].Seq > v.durable) {
		n = 0 // the previous owner's entries may be lost, and others be committed instead
	}
	if n == 0 && e.Seq <= v.durable { // another thread with the ID of one that was deleted
		v.durable = 0
	}
	if n < len(v.entries) || n > 0 && v.entries[n-1].Epoch != e.Epoch || n == 0 {
		v.version++
	}
	if n == v.limit {
		n = copy(v.entries, v.entries[v.limit/2:])
	}
	clear(v.entries[n:])
	switch {
	case v.entries == nil:
		v.entries = v.few[:0]
	case n == len(v.few) && cap(v.entries) == n:
		v.entries = append(*slabs.Get().(*[]awaken.Entry), v.entries...)
		clear(v.few[:])
	}
	v.entries, v.gone = append(v.entries[:n], e), false
	switch e.Event.(type) {
	case *awaken.RunStart, *awaken.StepEnd, *awaken.RunFinish: // published after their commit
		v.durable = max(v.durable, e.Seq)
	}
}

// forget drops all entries. Requires v.mu.
func (v *live) forget() {
	giveBack(&v.entries)
	clear(v.few[:])
}

// slabs holds unused lists of entries.
var slabs = sync.Pool{New: func() any { s := make([]awaken.Entry, 0, maxBatch); return &s }}

// giveBack empties a list, and returns it to the pool if it is from there and has not grown.
func giveBack(s *[]awaken.Entry) {
	if cap(*s) == maxBatch {
		list := (*s)[:0]
		clear((*s)[:len(*s)]) // nothing is behind its end
		slabs.Put(&list)
	}
	*s = nil
}
