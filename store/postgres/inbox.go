package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Post adds items to a thread's inbox. It ignores items that were posted before.
func (s *scope) Post(ctx context.Context, threadID string, items ...awaken.InboxItem) error {
	ids, data, err := dialect.EncodeItems(items)
	if err != nil {
		return fmt.Errorf("post to thread %s: %w", threadID, err)
	}
	if refused := (threads.Decided{}).Check(items); refused != nil {
		return refused
	}
	scope := sqlstore.NewScope(s.db, s.tenant)
	records, err := scope.PutDecided(threadID, items)
	if err != nil {
		return fmt.Errorf("post to thread %s: %w", threadID, err)
	}
	found := false
	err = retry(ctx, func() (err error) { // repeating is harmless
		var b pgx.Batch // is one transaction
		b.Queue(s.db.sql(`SELECT {p}_post($1, $2, $3, $4)`), s.tenant, escape(threadID), ids, data)
		for _, st := range records {
			b.Queue(s.db.sql(st.Query), st.Args...)
		}
		results := s.db.pool.SendBatch(ctx, &b)
		defer func() { err = cmp.Or(err, results.Close()) }()
		return results.QueryRow().Scan(&found)
	})
	if s.db.contradicts(err) {
		return s.contradicted(ctx, items)
	}
	if err != nil {
		return fmt.Errorf("post to thread %s: %w", threadID, err)
	}
	if !found {
		return threads.NotFound(threadID)
	}
	return nil
}

// contradicts reports whether err says that a decision contradicts a record; see
// [sqlstore.Scope.PutDecided].
func (db *database) contradicts(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "23502" && e.TableName == db.prefix+"_decisions"
}

// contradicted returns the record that one of the items contradicts, as an error.
func (s *scope) contradicted(ctx context.Context, items []awaken.InboxItem) (refused error) {
	err := s.db.Read(ctx, func(c sqlstore.Conn) error {
		scope := sqlstore.NewScope(s.db, s.tenant)
		old, err := scope.Contradicted(ctx, c, items)
		if old != nil {
			refused = old
		} else if err == nil {
			refused = awaken.ErrDecided // its thread was deleted meanwhile
		}
		return err
	})
	return cmp.Or(err, refused)
}
