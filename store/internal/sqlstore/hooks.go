package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/awaken-go/awaken/automate/webhook"
)

// Hooks implements [webhook.Store] for all tenants.
type Hooks struct{ db DB }

var _ webhook.Store = (*Hooks)(nil)

// Hooks returns hooks.
func (s *Hooks) Hooks(ctx context.Context, q webhook.Query) ([]*webhook.Hook, error) {
	d := s.db.Dialect()
	query, args, order := `due <= {clock}`, []any(nil), `due, run, id`
	if !q.Due {
		query, args, order = `tenant = ?`, []any{d.escape(q.Tenant)}, `run, id`
		if q.RunID != "" {
			query, args = query+` AND run = ?`, append(args, d.escape(q.RunID))
		}
		if q.ID != "" {
			query, args = query+` AND id = ?`, append(args, d.escape(q.ID))
		}
		if q.Before != "" {
			query, args = query+` AND run {bytes} < ?`, append(args, d.escape(q.Before))
		}
		if q.Latest {
			order = `run {bytes} DESC`
		}
	}
	query = `SELECT tenant, run, id, revision, coalesce(due - {clock}, -1), data FROM {p}_hooks WHERE ` + query + ` ORDER BY ` + order
	if q.Limit > 0 {
		query, args = query+` LIMIT ?`, append(args, q.Limit)
	}
	return list(ctx, s.db, "hooks", query, args, func(scan Scan) (*webhook.Hook, error) {
		h := new(webhook.Hook)
		var wait int64
		var data []byte
		if err := scan(&h.Tenant, &h.RunID, &h.ID, &h.Revision, &wait, &data); err != nil {
			return nil, err
		}
		d.unescape(&h.Tenant, &h.RunID, &h.ID)
		if h.Wait = time.Duration(wait) * time.Millisecond; q.Due {
			h.Wait = 0
		}
		return h, json.Unmarshal(data, &h.State)
	})
}

// SwapHook stores a hook if its revision is still the stored one.
func (s *Hooks) SwapHook(ctx context.Context, h *webhook.Hook) (bool, error) {
	d := s.db.Dialect()
	data, err := d.Encode(h.State)
	if err != nil {
		return false, fmt.Errorf("hook %s of run %s: %w", h.ID, h.RunID, err)
	}
	wait := int64(-1)
	if h.Wait >= 0 {
		wait = h.Wait.Milliseconds()
	}
	args := []any{d.escape(h.Tenant), d.escape(h.RunID), d.escape(h.ID), wait, data}
	const due = `CASE WHEN CAST(?4 AS bigint) >= 0 THEN {clock} + CAST(?4 AS bigint) END`
	query := `INSERT INTO {p}_hooks (tenant, run, id, revision, due, data, updated) VALUES (?1, ?2, ?3, 1, ` + due + `, ?5, {clock}) ON CONFLICT (tenant, run, id) DO NOTHING`
	if h.Revision != 0 {
		query = `UPDATE {p}_hooks SET revision = revision + 1, due = ` + due + `, data = ?5, updated = {clock} WHERE tenant = ?1 AND run = ?2 AND id = ?3 AND revision = ?6`
		args = append(args, h.Revision)
	}
	n, err := s.db.ExecOnce(ctx, query, args...)
	if err != nil {
		return false, fmt.Errorf("hook %s of run %s: %w", h.ID, h.RunID, err)
	}
	return n == 1, nil
}

// DropHook removes a hook.
func (s *Hooks) DropHook(ctx context.Context, tenant, runID, id string) error {
	d := s.db.Dialect()
	if _, err := s.db.Exec(ctx, `DELETE FROM {p}_hooks WHERE tenant = ? AND run = ? AND id = ?`, d.escape(tenant), d.escape(runID), d.escape(id)); err != nil {
		return fmt.Errorf("hook %s of run %s: %w", id, runID, err)
	}
	return nil
}

// ForgetHooks removes old hooks that rest for good.
func (s *Hooks) ForgetHooks(ctx context.Context, unused time.Duration) error {
	if _, err := s.db.Exec(ctx, `DELETE FROM {p}_hooks WHERE due IS NULL AND updated <= {clock} - ?`, unused.Milliseconds()); err != nil {
		return fmt.Errorf("hooks: %w", err)
	}
	return nil
}
