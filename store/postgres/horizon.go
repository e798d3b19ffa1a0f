package postgres

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
)

// horizon is how far the log of changes is complete.
//
// A position is taken from a sequence within a transaction, and can be read once that has been committed, so positions become readable in
// another order. A transaction has an ID before it takes a position: the trigger runs after the row was written. So all positions up to the sequence's value
// at one moment belong to transactions with an ID lower than one that is assigned after that moment. Once the
// oldest running transaction has this ID or a later one, all of them have ended, and the log is complete up to that value: a mark was passed.
//
// Nothing is locked for it, and a commit does not know of it. A transaction that lasts long, in any database of the server, delays the
// readers of the log, but loses them nothing.
type horizon struct {
	db *database

	mu      sync.Mutex // held during advance: concurrent callers would ask the same
	pos     int64      // the log is complete up to it
	marks   []mark     // the oldest first
	last    int64      // the sequence's value when it was last looked at
	running uint64     // the oldest running transaction then
}

// mark says that the log is complete up to a position once all transactions before one have ended.
type mark struct {
	pos    int64
	before uint64
}

// maxMarks bounds the marks that are waited for: a later call makes more.
const maxMarks = 8

// oldest is the ID of the oldest running transaction, or of the next one if none is running.
const oldest = `pg_snapshot_xmin(pg_current_snapshot())::text::bigint`

// advance returns the horizon. It asks twice if there are changes behind the last mark, and otherwise once.
func (h *horizon) advance(ctx context.Context) (int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var last, floor int64
	var called bool
	var running uint64
	if err := h.row(ctx, `SELECT s.last_value, s.is_called, `+oldest+`, f.pos FROM {p}_changes_pos s, {p}_changes_floor f`, &last, &called, &running, &floor); err != nil {
		return 0, err
	}
	if last < h.last { // the database was restored: another log has these positions
		h.pos, h.marks = 0, nil
	}
	if running < h.running { // and there, transactions have other IDs
		h.marks = nil
	}
	h.last, h.running = last, running
	h.pass(running)
	// What was removed cannot be read. A process that begins while a transaction lasts knows nothing else.
	h.pos = max(h.pos, floor)
	known := h.pos
	if n := len(h.marks); n > 0 {
		known = h.marks[n-1].pos
	}
	if called && last > known && len(h.marks) < maxMarks {
		// The value was read, and the ID is assigned now, by a statement of its own.
		var next uint64
		if err := h.row(ctx, `SELECT pg_current_xact_id()::text::bigint, `+oldest, &next, &running); err != nil {
			return 0, err
		}
		h.marks = append(h.marks, mark{last, next})
		h.pass(running)
	}
	return h.pos, nil
}

// pass takes the marks that were passed, given the oldest running transaction.
func (h *horizon) pass(running uint64) {
	for len(h.marks) > 0 && running >= h.marks[0].before {
		h.pos, h.marks = max(h.pos, h.marks[0].pos), h.marks[1:]
	}
}

// row reads a row.
func (h *horizon) row(ctx context.Context, query string, dest ...any) error {
	return h.db.query(ctx, query, nil, func() {}, func(rows pgx.Rows) error { return rows.Scan(dest...) })
}
