package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/awaken-go/awaken/automate"
)

// rows implements [automate.Agenda] in a table with the columns tenant, id, revision, due, spec and state.
type rows[T any, P automate.Value[T]] struct {
	db    DB
	table string // its name behind the prefix
	noun  string // for errors
	log   string // the table with the log of the rows, whose column id has their IDs; "" if there is none
}

// list returns rows, and the clock of the database if there are any.
func (s *rows[T, P]) list(ctx context.Context, query string, args ...any) (out []*T, now time.Time, err error) {
	d := s.db.Dialect()
	query = `SELECT tenant, id, revision, coalesce(due, -1), spec, state, {clock} FROM {p}_` + s.table + ` ` + query
	out, err = list(ctx, s.db, s.table, query, args, func(scan Scan) (*T, error) {
		v := new(T)
		row := P(v).Row()
		var due, clock int64
		var spec, state []byte
		if err := scan(row.Tenant, row.ID, row.Revision, &due, &spec, &state, &clock); err != nil {
			return nil, err
		}
		d.unescape(row.Tenant, row.ID)
		if now = time.UnixMilli(clock).UTC(); due >= 0 && row.Due != nil {
			*row.Due = time.UnixMilli(due).UTC()
		}
		return v, row.Decode(spec, state)
	})
	return out, now, err
}

// Get returns a row.
func (s *rows[T, P]) Get(ctx context.Context, tenant, id string) (*T, error) {
	d := s.db.Dialect()
	found, _, err := s.list(ctx, `WHERE tenant = ? AND id = ?`, d.escape(tenant), d.escape(id))
	if err == nil && len(found) == 0 {
		err = automate.NotFound(s.noun, id)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// List returns a page of the rows of a tenant.
func (s *rows[T, P]) List(ctx context.Context, tenant, after string, limit int) ([]*T, error) {
	d := s.db.Dialect()
	out, _, err := s.list(ctx, `WHERE tenant = ? AND id {bytes} > ? ORDER BY id {bytes} LIMIT ?`, d.escape(tenant), d.escape(after), limit)
	return out, err
}

// Due returns the rows that are due, and the clock of the database.
func (s *rows[T, P]) Due(ctx context.Context, limit int) ([]*T, time.Time, error) {
	return s.list(ctx, `WHERE due <= {clock} ORDER BY due LIMIT ?`, limit)
}

// Swap stores a row if its revision is still the stored one.
func (s *rows[T, P]) Swap(ctx context.Context, v *T) (bool, error) { return s.swap(ctx, v) }

// swap is Swap, and then executes further statements, whose first arguments are the tenant and the ID of the row.
func (s *rows[T, P]) swap(ctx context.Context, v *T, further ...Statement) (done bool, err error) {
	d, row := s.db.Dialect(), P(v).Row()
	var due any // NULL
	if row.Due != nil && !row.Due.IsZero() {
		due = row.Due.UnixMilli()
	}
	spec, err := d.Encode(row.Spec)
	if err != nil {
		return false, s.failed(*row.ID, err)
	}
	state, err := d.Encode(row.State)
	if err != nil {
		return false, s.failed(*row.ID, err)
	}
	tenant, id := d.escape(*row.Tenant), d.escape(*row.ID)
	change := statement(`INSERT INTO {p}_`+s.table+` (tenant, id, revision, due, spec, state) VALUES (?1, ?2, 1, ?3, ?4, ?5) ON CONFLICT (tenant, id) DO NOTHING`,
		tenant, id, due, spec, state)
	if *row.Revision != 0 {
		change = statement(`UPDATE {p}_`+s.table+` SET revision = revision + 1, due = ?3, spec = ?4, state = ?5 WHERE tenant = ?1 AND id = ?2 AND revision = ?6`,
			append(change.Args, *row.Revision)...)
	}
	if len(further) == 0 {
		n, err := s.db.ExecOnce(ctx, change.Query, change.Args...)
		return n == 1, s.failed(*row.ID, err)
	}
	for i := range further {
		further[i].Args = append([]any{tenant, id}, further[i].Args...)
	}
	err = s.db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
		n, err := c.Exec(ctx, change)
		if done = n == 1; err == nil && done {
			_, err = c.Exec(ctx, further...)
		}
		return nil, err
	})
	return done && err == nil, s.failed(*row.ID, err)
}

// Drop removes a row and its log.
func (s *rows[T, P]) Drop(ctx context.Context, tenant, id string) (existed bool, err error) {
	d := s.db.Dialect()
	of := []any{d.escape(tenant), d.escape(id)}
	all := []Statement{statement(`DELETE FROM {p}_`+s.table+` WHERE tenant = ? AND id = ?`, of...)}
	if s.log != "" {
		all = []Statement{statement(`DELETE FROM {p}_`+s.log+` WHERE tenant = ? AND id = ?`, of...), all[0]}
	}
	err = s.db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
		n, err := c.Exec(ctx, all...)
		existed = n > 0
		return nil, err
	})
	return existed && err == nil, s.failed(id, err)
}

func (s *rows[T, P]) failed(id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", s.noun, id, err)
}
