package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/profile"
)

// Profile is one tenant's profile entries.
type Profile Scope

var _ profile.Store = (*Profile)(nil)

// Get returns an entry, or nil.
func (p *Profile) Get(ctx context.Context, namespace, key string) (*profile.Entry, error) {
	list, err := p.list(ctx, `SELECT key, value, updated FROM {p}_profiles WHERE tenant = ? AND namespace = ? AND key = ?`, namespace, (*Scope)(p).id(key))
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// List returns the entries of a namespace, sorted by key.
func (p *Profile) List(ctx context.Context, namespace string) ([]profile.Entry, error) {
	list, err := p.list(ctx, `SELECT key, value, updated FROM {p}_profiles WHERE tenant = ? AND namespace = ?`, namespace)
	slices.SortFunc(list, func(a, b profile.Entry) int { return strings.Compare(a.Key, b.Key) }) // escaped ones would be out of place
	return list, err
}

func (p *Profile) list(ctx context.Context, query, namespace string, args ...any) ([]profile.Entry, error) {
	args = append([]any{p.tenant, (*Scope)(p).id(namespace)}, args...)
	return list(ctx, p.db, "profile "+namespace, query, args, func(scan Scan) (profile.Entry, error) {
		e := profile.Entry{Namespace: namespace}
		var updated int64
		err := scan(&e.Key, (*[]byte)(&e.Value), &updated)
		p.db.Dialect().unescape(&e.Key)
		e.UpdatedAt = time.Unix(0, updated)
		return e, err
	})
}

// Set creates or replaces an entry.
func (p *Profile) Set(ctx context.Context, namespace, key string, value json.RawMessage) error {
	return p.change(ctx, `INSERT INTO {p}_profiles (tenant, namespace, key, value, updated) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (tenant, namespace, key) DO UPDATE SET value = excluded.value, updated = excluded.updated`,
		p.tenant, (*Scope)(p).id(namespace), (*Scope)(p).id(key), p.db.Dialect().Text(value), p.db.Now().UnixNano())
}

// Delete removes an entry.
func (p *Profile) Delete(ctx context.Context, namespace, key string) error {
	return p.change(ctx, `DELETE FROM {p}_profiles WHERE tenant = ? AND namespace = ? AND key = ?`, p.tenant, (*Scope)(p).id(namespace), (*Scope)(p).id(key))
}

// Clear removes what an entity left behind, in all namespaces.
func (p *Profile) Clear(ctx context.Context, key string) error {
	return p.change(ctx, `DELETE FROM {p}_profiles WHERE tenant = ? AND key = ?`, p.tenant, (*Scope)(p).id(key))
}

func (p *Profile) change(ctx context.Context, query string, args ...any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, err := p.db.Exec(ctx, query, args...); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return nil
}
