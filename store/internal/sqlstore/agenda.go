package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/awaken-go/awaken"
)

// agenda is a table of what processes have to do for tenants at a time: schedules and endpoints of webhooks. Each has a spec, which its owner writes, and a state.
type agenda struct {
	db    DB
	table string // its name behind the prefix
	noun  string // for errors
}

// item is a row of an agenda.
type item struct {
	tenant, id  string
	revision    int64
	due         time.Time // the zero time if there is nothing to do
	spec, state []byte
}

// decode decodes spec and state.
func (it *item) decode(spec, state any) error {
	if err := json.Unmarshal(it.spec, spec); err != nil {
		return err
	}
	return json.Unmarshal(it.state, state)
}

// list returns items, and the clock of the database if there are any.
func (a *agenda) list(ctx context.Context, query string, args ...any) (out []item, now time.Time, err error) {
	d := a.db.Dialect()
	query = `SELECT tenant, id, revision, coalesce(due, -1), spec, state, {clock} FROM {p}_` + a.table + ` ` + query
	out, err = list(ctx, a.db, a.table, query, args, func(scan Scan) (it item, err error) {
		var due, clock int64
		if err := scan(&it.tenant, &it.id, &it.revision, &due, &it.spec, &it.state, &clock); err != nil {
			return it, err
		}
		d.unescape(&it.tenant, &it.id)
		if now = time.UnixMilli(clock).UTC(); due >= 0 {
			it.due = time.UnixMilli(due).UTC()
		}
		return it, nil
	})
	return out, now, err
}

func (a *agenda) get(ctx context.Context, tenant, id string) (*item, error) {
	d := a.db.Dialect()
	found, _, err := a.list(ctx, `WHERE tenant = ? AND id = ?`, d.escape(tenant), d.escape(id))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s %q: %w", a.noun, id, awaken.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return &found[0], nil
}

// page returns the items of a tenant behind after, by id.
func (a *agenda) page(ctx context.Context, tenant, after string, limit int) ([]item, error) {
	d := a.db.Dialect()
	out, _, err := a.list(ctx, `WHERE tenant = ? AND id {bytes} > ? ORDER BY id {bytes} LIMIT ?`, d.escape(tenant), d.escape(after), limit)
	return out, err
}

// due returns the items that are due, and the clock of the database.
func (a *agenda) due(ctx context.Context, limit int) ([]item, time.Time, error) {
	return a.list(ctx, `WHERE due <= {clock} ORDER BY due LIMIT ?`, limit)
}

// swap stores an item if its revision is still the stored one, and then executes further statements, whose first arguments are those of an item: its tenant and its id.
func (a *agenda) swap(ctx context.Context, it *item, further ...Statement) (done bool, err error) {
	d := a.db.Dialect()
	var due any // NULL
	if !it.due.IsZero() {
		due = it.due.UnixMilli()
	}
	tenant, id := d.escape(it.tenant), d.escape(it.id)
	change := statement(`INSERT INTO {p}_`+a.table+` (tenant, id, revision, due, spec, state) VALUES (?1, ?2, 1, ?3, ?4, ?5) ON CONFLICT (tenant, id) DO NOTHING`, tenant, id, due, string(it.spec), string(it.state))
	if it.revision != 0 {
		change = statement(`UPDATE {p}_`+a.table+` SET revision = revision + 1, due = ?3, spec = ?4, state = ?5 WHERE tenant = ?1 AND id = ?2 AND revision = ?6`, append(change.Args, it.revision)...)
	}
	if len(further) == 0 {
		n, err := a.db.ExecOnce(ctx, change.Query, change.Args...)
		return n == 1, a.failed(it.id, err)
	}
	for i := range further {
		further[i].Args = append([]any{tenant, id}, further[i].Args...)
	}
	err = a.db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
		n, err := c.Exec(ctx, change)
		if done = n == 1; err == nil && done {
			_, err = c.Exec(ctx, further...)
		}
		return nil, err
	})
	return done && err == nil, a.failed(it.id, err)
}

// drop removes an item, and what belongs to it in other tables.
func (a *agenda) drop(ctx context.Context, tenant, id string, others ...string) (existed bool, err error) {
	d := a.db.Dialect()
	var all []Statement
	for _, query := range append(others, `DELETE FROM {p}_`+a.table+` WHERE tenant = ? AND id = ?`) {
		all = append(all, statement(query, d.escape(tenant), d.escape(id)))
	}
	err = a.db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
		n, err := c.Exec(ctx, all...)
		existed = n > 0
		return nil, err
	})
	return existed && err == nil, a.failed(id, err)
}

func (a *agenda) failed(id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", a.noun, id, err)
}

// encode returns an item with its spec and state.
func (a *agenda) encode(it item, spec, state any) (*item, error) {
	d := a.db.Dialect()
	text, err := d.Encode(spec)
	if err != nil {
		return nil, a.failed(it.id, err)
	}
	it.spec = []byte(text)
	if text, err = d.Encode(state); err != nil {
		return nil, a.failed(it.id, err)
	}
	it.state = []byte(text)
	return &it, nil
}

// decoded returns the items of a list as what they are.
func decoded[T any](items []item, err error, decode func(*item) (*T, error)) (out []*T, _ error) {
	if err != nil {
		return nil, err
	}
	for i := range items {
		v, err := decode(&items[i])
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
