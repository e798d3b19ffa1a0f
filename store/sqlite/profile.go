package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/awaken-go/awaken/profile"
)

// Profile is one tenant's profile entries.
type Profile struct {
	db     *database
	tenant string
}

var _ profile.Store = (*Profile)(nil)

// Get returns an entry, or nil.
func (p *Profile) Get(ctx context.Context, namespace, key string) (*profile.Entry, error) {
	list, err := p.list(ctx, `SELECT key, value, updated FROM {p}_profiles WHERE tenant = ? AND namespace = ? AND key = ?`, namespace, p.tenant, namespace, key)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// List returns the entries of a namespace, sorted by key.
func (p *Profile) List(ctx context.Context, namespace string) ([]profile.Entry, error) {
	return p.list(ctx, `SELECT key, value, updated FROM {p}_profiles WHERE tenant = ? AND namespace = ? ORDER BY key`, namespace, p.tenant, namespace)
}

func (p *Profile) list(ctx context.Context, query, namespace string, args ...any) ([]profile.Entry, error) {
	var out []profile.Entry
	err := p.db.read(ctx, func(c *conn) error {
		return c.query(ctx, query, args, func(scan func(...any) error) error {
			var value string
			var updated int64
			e := profile.Entry{Namespace: namespace}
			err := scan(&e.Key, &value, &updated)
			e.Value, e.UpdatedAt = json.RawMessage(value), time.Unix(0, updated)
			out = append(out, e)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", namespace, err)
	}
	return out, nil
}

// Set creates or replaces an entry.
func (p *Profile) Set(ctx context.Context, namespace, key string, value json.RawMessage) error {
	return p.change(ctx, `INSERT OR REPLACE INTO {p}_profiles (tenant, namespace, key, value, updated) VALUES (?, ?, ?, ?, ?)`,
		p.tenant, namespace, key, string(value), p.db.now().UnixNano())
}

// Delete removes an entry.
func (p *Profile) Delete(ctx context.Context, namespace, key string) error {
	return p.change(ctx, `DELETE FROM {p}_profiles WHERE tenant = ? AND namespace = ? AND key = ?`, p.tenant, namespace, key)
}

// Clear removes what an entity left behind, in all namespaces.
func (p *Profile) Clear(ctx context.Context, key string) error {
	return p.change(ctx, `DELETE FROM {p}_profiles WHERE tenant = ? AND key = ?`, p.tenant, key)
}

func (p *Profile) change(ctx context.Context, query string, args ...any) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	err := p.db.writer.write(func(c *conn) error {
		_, err := c.exec(query, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return nil
}
