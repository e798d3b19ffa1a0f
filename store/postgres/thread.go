package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/internal/messagelog"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// messages returns the messages of thread $2 of tenant $1 after $3, up to and including $4, or
// from the first one on if the thread's incarnation is not $5. It reads row and log at the same
// moment.
const messages = `SELECT l.seq, l.created, l.data FROM {p}_threads t
	CROSS JOIN LATERAL {p}_log($1, $2, CASE WHEN t.incarnation = $5 THEN $3::bigint ELSE 0 END, $4) l WHERE t.tenant = $1 AND t.id = $2`

// log implements [sqlstore.Engine.Log].
func log(ctx context.Context, c sqlstore.Conn, tenant string, t *sqlstore.Thread, after, upTo int, each func(seq int, created int64, m *llm.Message)) error {
	d := messagelog.Decoder{Expect: upTo - after}
	err := c.Query(ctx, messages, []any{tenant, escape(t.ID), after, upTo, t.Incarnation}, func(scan sqlstore.Scan) error { return scanMessages(scan, &d, each) })
	if err != nil {
		return fmt.Errorf("messages of thread %s: %w", t.ID, err)
	}
	return nil
}

// scanMessages calls each for every message of a row.
func scanMessages(scan sqlstore.Scan, d *messagelog.Decoder, each func(seq int, created int64, m *llm.Message)) error {
	var seq int
	var created int64
	var data pgtype.UndecodedBytes
	if err := scan(&seq, &created, &data); err != nil {
		return err
	}
	add := func(text string) error {
		m, err := d.Message(text)
		if err != nil {
			return fmt.Errorf("message %d: %w", seq, err)
		}
		each(seq, created, m)
		seq++
		return nil
	}
	if len(data) > 0 && data[0] == '{' { // text, if the URL turns prepared statements off
		var texts []string
		if err := scan(&seq, &created, &texts); err != nil {
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
