package server

import (
	"sync"
	"time"
)

// recentFor is how old a recent result may be.
const recentFor = time.Second

// recent keeps the last result of a question that clients can ask as often as they like, so that it
// loads the store at most once per second. It is safe for concurrent use; the zero value is ready.
type recent[T any] struct {
	mu    sync.Mutex
	at    time.Time // when the result was found; zero if never
	value T
	err   error
}

// get returns the result, which it finds by calling ask if it has none that is recent.
func (r *recent[T]) get(ask func() (T, error)) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || time.Since(r.at) >= recentFor {
		r.value, r.err = ask()
		r.at = time.Now()
	}
	return r.value, r.err
}
