package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken/trace/body"
)

// Bodies implements [body.Store] for one tenant. They are deleted with their thread: see Tenant.remove.
type Bodies struct{ scope Scope }

var _ body.Store = (*Bodies)(nil)

// NewBodies returns the bodies of a tenant.
func NewBodies(s Scope) *Bodies { return &Bodies{s} }

// AddBodies stores bodies whose threads exist. The threads are kept from being deleted until the bodies are there to be deleted with them.
func (s *Bodies) AddBodies(ctx context.Context, list []body.Stored) (homeless []body.Stored, err error) {
	threads := make([]string, 0, len(list))
	for i := range list {
		threads = append(threads, list[i].ThreadID)
	}
	slices.Sort(threads)
	threads = slices.Compact(threads)
	err = s.scope.db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
		there, err := column[string](ctx, c, `SELECT t.id FROM {p}_threads t WHERE t.id IN (SELECT j.value FROM {texts}) AND t.tenant = ? ORDER BY t.id{keep}`, s.scope.ids(threads), s.scope.tenant)
		if err != nil {
			return nil, err
		}
		homeless = nil
		var add []Statement
		for i := range list {
			b := &list[i]
			if !slices.Contains(there, s.scope.id(b.ThreadID)) {
				homeless = append(homeless, *b)
				continue
			}
			add = append(add, statement(`INSERT INTO {p}_bodies (tenant, thread, run, id, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
				s.scope.tenant, s.scope.id(b.ThreadID), s.scope.id(b.RunID), b.ID, b.Data))
		}
		if len(add) > 0 {
			_, err = c.Exec(ctx, add...)
		}
		return nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("bodies: %w", err)
	}
	return homeless, nil
}

// Bodies returns the bodies of a run.
func (s *Bodies) Bodies(ctx context.Context, threadID, runID string) ([]body.Stored, error) {
	return list(ctx, s.scope.db, "bodies", `SELECT id, data FROM {p}_bodies WHERE tenant = ? AND thread = ? AND run = ? ORDER BY id`,
		[]any{s.scope.tenant, s.scope.id(threadID), s.scope.id(runID)}, func(scan Scan) (body.Stored, error) {
			b := body.Stored{ThreadID: threadID, RunID: runID}
			err := scan(&b.ID, &b.Data)
			return b, err
		})
}
