package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken/profile"
)

// Profile is one tenant's profile entries.
type Profile struct {
	db     *database
	tenant string // escaped
}

var _ profile.Store = (*Profile)(nil)

// Get returns an entry, or nil.
func (p *Profile) Get(ctx context.Context, namespace, key string) (*profile.Entry, error) {
	list, err := p.list(ctx, `SELECT key, value, updated FROM {p}_profiles WHERE tenant = $1 AND namespace = $2 AND key = $3`, namespace, escape(key))
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// List returns the entries of a namespace, sorted by key.
func (p *Profile) List(ctx context.Context, namespace string) ([]profile.Entry, error) {
	list, err := p.list(ctx, `SELECT key, value, updated FROM {p}_profiles WHERE tenant = $1 AND namespace = $2`, namespace)
	slices.SortFunc(list, func(a, b profile.Entry) int { return strings.Compare(a.Key, b.Key) }) // escaped ones would be out of place
	return list, err
}

func (p *Profile) list(ctx context.Context, query, namespace string, args ...any) ([]profile.Entry, error) {
	var out []profile.Entry
	err := p.db.query(ctx, query, append([]any{p.tenant, escape(namespace)}, args...), func() { out = nil }, func(rows pgx.Rows) error {
		var value []byte
		var updated int64
		e := profile.Entry{Namespace: namespace}
		err := rows.Scan(&e.Key, &value, &updated)
		e.Key, e.Value, e.UpdatedAt = unescape(e.Key), value, time.Unix(0, updated)
		out = append(out, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", namespace, err)
	}
	return out, nil
}

// Set creates or replaces an entry.
func (p *Profile) Set(ctx context.Context, namespace, key string, value json.RawMessage) error {
	return p.change(ctx, `INSERT INTO {p}_profiles (tenant, namespace, key, value, updated) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (tenant, namespace, key) DO UPDATE SET value = excluded.value, updated = excluded.updated`,
		escape(namespace), escape(key), text(value), p.db.now().UnixNano())
}

// Delete removes an entry.
func (p *Profile) Delete(ctx context.Context, namespace, key string) error {
	return p.change(ctx, `DELETE FROM {p}_profiles WHERE tenant = $1 AND namespace = $2 AND key = $3`, escape(namespace), escape(key))
}

// Clear removes what an entity left behind, in all namespaces.
func (p *Profile) Clear(ctx context.Context, key string) error {
	return p.change(ctx, `DELETE FROM {p}_profiles WHERE tenant = $1 AND key = $2`, escape(key))
}

func (p *Profile) change(ctx context.Context, query string, args ...any) error {
	err := retry(ctx, func() error {
		_, err := p.db.pool.Exec(ctx, p.db.sql(query), append([]any{p.tenant}, args...)...)
		return err
	})
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return nil
}
