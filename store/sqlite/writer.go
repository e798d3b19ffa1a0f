package sqlite

import (
	"context"
	"sync"

	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// writer makes changes, one transaction at a time. Changes that arrive while one is
// written share the next.
type writer struct {
	leading sync.Mutex // held by whoever uses conn
	conn    *conn
	lanes   sqlstore.Lanes[*change]
}

// change is one member of a transaction. It must write nothing if it is refused, and
// can be made again after a rollback.
type change struct {
	sqlstore.Turn[*change]
	make func(c *conn) error
	err  error
}

// open makes changes on c from now on.
func (w *writer) open(c *conn) {
	w.conn = c
	w.lanes.Max, w.lanes.Make = 1, func(_ context.Context, group []*change) {
		w.leading.Lock()
		defer w.leading.Unlock()
		c.transact(group)
	}
}

// write calls f inside a transaction and returns its error. If f fails, nothing of it
// is kept. A refusal is not a failure: f writes nothing, remembers why, and returns
// nil, so that the other members need not be made again.
func (w *writer) write(f func(c *conn) error) error {
	ch := &change{make: f}
	w.lanes.Do(context.Background(), ch)
	return ch.err
}
