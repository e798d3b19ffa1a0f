package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/state/profile"
)

// Profile implements [profile.Store] for one tenant.
type Profile struct {
	scope Scope
	mark  any // of the values that it writes: a text, or nil
}

var _ profile.Store = (*Profile)(nil)

// NewProfile returns the profile store of a tenant, whose name is escaped.
func NewProfile(db DB, tenant string) *Profile { return &Profile{scope: NewScope(db, tenant)} }

// Marked returns the store for a writer whose values carry a mark.
func (p *Profile) Marked(mark json.RawMessage) profile.Store {
	out := &Profile{scope: p.scope}
	if len(mark) > 0 {
		out.mark = p.scope.db.Dialect().Text(mark)
	}
	return out
}

// Get returns an entry, or nil if there is none.
func (p *Profile) Get(ctx context.Context, namespace, key string) (*profile.Entry, error) {
	list, err := p.list(ctx, `SELECT key, value, updated, mark FROM {p}_profiles
		WHERE tenant = ? AND namespace = ? AND key = ?`, namespace, p.scope.id(key))
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// List returns the entries of a namespace, sorted by key.
func (p *Profile) List(ctx context.Context, namespace string) ([]profile.Entry, error) {
	list, err := p.list(ctx, `SELECT key, value, updated, mark FROM {p}_profiles WHERE tenant = ? AND namespace = ?`, namespace)
	slices.SortFunc(list, func(a, b profile.Entry) int { return strings.Compare(a.Key, b.Key) }) // the order of escaped keys differs
	return list, err
}

// Page returns some of the entries of a namespace.
func (p *Profile) Page(ctx context.Context, namespace string, page profile.Page) ([]profile.Entry, error) {
	query, value, order := ``, `value`, `key`
	var args []any
	if page.Size > 0 {
		value = fmt.Sprintf(`substr(value, 1, %d)`, page.Size)
	}
	if page.After != "" {
		query, args = ` AND key > ?`, append(args, p.scope.id(page.After))
	}
	if page.Descending {
		query, order = strings.Replace(query, ">", "<", 1), `key DESC`
	}
	return p.list(ctx, fmt.Sprintf(`SELECT key, %s, updated, mark FROM {p}_profiles
		WHERE tenant = ? AND namespace = ?%s ORDER BY %s LIMIT %d`, value, query, order, page.Limit), namespace, args...)
}

func (p *Profile) list(ctx context.Context, query, namespace string, args ...any) ([]profile.Entry, error) {
	args = append([]any{p.scope.tenant, p.scope.id(namespace)}, args...)
	return list(ctx, p.scope.db, "profile "+namespace, query, args, func(scan Scan) (profile.Entry, error) {
		e := profile.Entry{Namespace: namespace}
		var updated int64
		err := scan(&e.Key, (*[]byte)(&e.Value), &updated, (*[]byte)(&e.Mark))
		p.scope.db.Dialect().unescape(&e.Key)
		e.UpdatedAt = time.Unix(0, updated)
		return e, err
	})
}

// Set creates or replaces an entry.
func (p *Profile) Set(ctx context.Context, namespace, key string, value json.RawMessage) error {
	return p.change(ctx, `INSERT INTO {p}_profiles (tenant, namespace, key, value, updated, mark) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant, namespace, key) DO UPDATE SET value = excluded.value, updated = excluded.updated, mark = excluded.mark`,
		p.scope.tenant, p.scope.id(namespace), p.scope.id(key), p.scope.db.Dialect().Text(value), p.scope.db.Now().UnixNano(), p.mark)
}

// CompareAndSet sets an entry if its value is still old.
func (p *Profile) CompareAndSet(ctx context.Context, namespace, key string, old, value json.RawMessage) (bool, error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	d := p.scope.db.Dialect()
	at := []any{p.scope.tenant, p.scope.id(namespace), p.scope.id(key)}
	set := []any{d.Text(value), p.scope.db.Now().UnixNano(), p.mark}
	var query string
	var args []any
	switch {
	case old == nil && value == nil:
		e, err := p.Get(ctx, namespace, key)
		return e == nil && err == nil, err
	case old == nil:
		query = `INSERT INTO {p}_profiles (value, updated, mark, tenant, namespace, key) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (tenant, namespace, key) DO NOTHING`
		args = slices.Concat(set, at)
	case value == nil:
		query = `DELETE FROM {p}_profiles WHERE tenant = ? AND namespace = ? AND key = ? AND value = ?`
		args = slices.Concat(at, []any{d.Text(old)})
	default:
		query = `UPDATE {p}_profiles SET value = ?, updated = ?, mark = ? WHERE tenant = ? AND namespace = ? AND key = ? AND value = ?`
		args = slices.Concat(set, at, []any{d.Text(old)})
	}
	n, err := p.scope.db.ExecOnce(ctx, query, args...)
	if err != nil {
		return false, fmt.Errorf("profile: %w", err)
	}
	return n == 1, nil
}

// Delete removes an entry.
func (p *Profile) Delete(ctx context.Context, namespace, key string) error {
	return p.change(ctx, `DELETE FROM {p}_profiles WHERE tenant = ? AND namespace = ? AND key = ?`, p.scope.tenant, p.scope.id(namespace), p.scope.id(key))
}

// Clear removes the entries of a key in all namespaces.
func (p *Profile) Clear(ctx context.Context, key string) error {
	return p.change(ctx, `DELETE FROM {p}_profiles WHERE tenant = ? AND key = ?`, p.scope.tenant, p.scope.id(key))
}

func (p *Profile) change(ctx context.Context, query string, args ...any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, err := p.scope.db.Exec(ctx, query, args...); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return nil
}
