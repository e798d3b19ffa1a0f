package file

import "sync"

// gate admits methods until the store is closed.
type gate struct {
	mu     sync.RWMutex // held for reading by every method, for writing by close
	closed bool
}

// enter begins a method, unless the store is closed. The method ends with leave.
func (g *gate) enter() error {
	g.mu.RLock()
	if g.closed {
		g.mu.RUnlock()
		return ErrClosed
	}
	return nil
}

func (g *gate) leave() { g.mu.RUnlock() }

// close waits for methods in flight and then calls last; no method can enter any more. A
// second call does nothing.
func (g *gate) close(last func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	return last()
}
