package sqlite

import (
	"context"
	"sync"

	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// writer writes changes, one transaction at a time. Changes that arrive while a transaction
// is in flight share the next one.
type writer struct {
	leading sync.Mutex // guards the use of conn
	conn    *conn
	lanes   sqlstore.Lanes[*change]
}

// change is one part of a transaction. It must write nothing if it is refused, and can be
// repeated after a rollback.
type change struct {
	sqlstore.Turn[*change]
	make func(c *conn) error
	err  error
}

// open sets the connection, and what tells whether its file is there.
func (w *writer) open(c *conn, files *presence) {
	w.conn = c
	w.lanes.Max, w.lanes.Gather, w.lanes.Make = 1, true, func(_ context.Context, group []*change) {
		w.leading.Lock()
		defer w.leading.Unlock()
		err := files.recent()
		if err == nil {
			c.transact(group)
			err = files.now() // what was written to a file that is gone is lost
		}
		if err != nil {
			for _, ch := range group {
				ch.err = err
			}
		}
	}
}

// write calls f in a transaction, for a tenant or the store itself, and returns its error. If f fails, what it wrote is rolled
// back. A refusal is not a failure: f writes nothing, keeps the reason, and returns nil, so
// that the other changes of the transaction need not be repeated.
func (w *writer) write(owner string, f func(c *conn) error) error {
	ch := &change{make: f}
	ch.Owner = owner
	w.lanes.Do(context.Background(), ch)
	return classified(ch.err)
}
