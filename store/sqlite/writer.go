package sqlite

import (
	"slices"
	"sync"
)

// writer makes changes, one transaction at a time. Changes that arrive while one is
// written are collected and share the next: whoever is first in line writes for all.
type writer struct {
	leading sync.Mutex // held by whoever uses conn
	conn    *conn

	mu    sync.Mutex
	busy  bool // somebody leads
	queue []*change
}

// change is one member of a transaction. It must write nothing if it is refused, and
// can be made again after a rollback.
type change struct {
	make func(c *conn) error
	err  error
	// told gets the group that this one is to write, being its first member; or
	// nothing, once another has written it.
	told chan []*change
}

// maxGroup is how many changes share a transaction at most.
const maxGroup = 64

// write calls f inside a transaction and returns its error. If f fails, nothing of it
// is kept. A refusal is not a failure: f writes nothing, remembers why, and returns
// nil, so that the other members need not be made again.
func (w *writer) write(f func(c *conn) error) error {
	ch := &change{make: f, told: make(chan []*change, 1)}
	group := []*change{ch}
	w.mu.Lock()
	if !w.busy {
		w.busy = true
		w.mu.Unlock()
	} else {
		w.queue = append(w.queue, ch)
		w.mu.Unlock()
		if group = <-ch.told; group == nil {
			return ch.err
		}
	}
	w.leading.Lock()
	w.conn.transact(group)
	w.leading.Unlock()
	w.next()
	for _, other := range group[1:] {
		other.told <- nil
	}
	return ch.err
}

// next leaves the connection to those who wait, if any.
func (w *writer) next() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		w.busy = false
		return
	}
	n := min(len(w.queue), maxGroup)
	group := slices.Clone(w.queue[:n])
	w.queue = slices.Delete(w.queue, 0, n)
	group[0].told <- group
}
