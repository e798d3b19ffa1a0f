package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// history returns the messages of thread $2 of tenant $1 after $3, up to and including $4, or
// from the first one on if the thread's incarnation is not $5. It reads row and log at the same
// moment. If $6 is set, rows at the beginning may be segments.
const history = `SELECT seq, created, data, segment FROM {p}_history($1, $2, $3, $4, $5, $6)`

// log implements [sqlstore.Engine.Log].
func log(ctx context.Context, c sqlstore.Conn, tenant string, t *sqlstore.Thread, after, upTo int, to *sqlstore.Tail) error {
	read := func(after int, segments bool) error {
		return c.Query(ctx, history, []any{tenant, escape(t.ID), after, upTo, t.Incarnation, segments}, func(scan sqlstore.Scan) error { return scanMessages(scan, to) })
	}
	err := read(after, true)
	if err == nil && to.Damaged() {
		err = read(after+to.Len(), false)
	}
	if err != nil {
		return fmt.Errorf("messages of thread %s: %w", t.ID, err)
	}
	return nil
}

// scanMessages adds the messages of a row of history. It adds none after those of a damaged segment.
func scanMessages(scan sqlstore.Scan, to *sqlstore.Tail) error {
	var seq int
	var created int64
	var data pgtype.UndecodedBytes
	var segment pgtype.DriverBytes
	if err := scan(&seq, &created, &data, &segment); err != nil {
		return err
	}
	switch {
	case segment != nil:
		to.Segment(seq, segment)
		return nil
	case to.Damaged() && seq != to.Len()+1:
		return nil
	}
	add := func(text string) error {
		m, err := to.Message(text)
		if err != nil {
			return fmt.Errorf("message %d: %w", seq, err)
		}
		to.Add(created, m)
		seq++
		return nil
	}
	if len(data) > 0 && data[0] == '{' { // text, if the URL turns prepared statements off
		var texts []string
		if err := scan(&seq, &created, &texts, &segment); err != nil {
			return err
		}
		for _, text := range texts {
			if err := add(text); err != nil {
				return err
			}
		}
		return nil
	}
	return elements(string(data), add)
}

// elements calls each for the elements of a text[] in PostgreSQL's binary format: the number of
// dimensions, a flag, the type, the length and the first index, and then each element after its
// length.
func elements(data string, each func(text string) error) error {
	const header = 5 * 4
	if len(data) < header {
		return nil // an empty array has no dimension
	}
	for data = data[header:]; len(data) >= 4; {
		n := int(data[0])<<24 | int(data[1])<<16 | int(data[2])<<8 | int(data[3])
		if n < 0 || n > len(data)-4 {
			return fmt.Errorf("an array element has %d bytes, the array %d", n, len(data)-4)
		}
		if err := each(data[4 : 4+n]); err != nil {
			return err
		}
		data = data[4+n:]
	}
	return nil
}
