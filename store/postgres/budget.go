package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken/money"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// budget is [money.Budget], but for the list of what is reserved.
type budget scope

// UpdateBudget changes a run's reservation and the balances that it concerns. Updates of one
// run come after each other, and balances are locked in the order of their accounts.
func (s *budget) UpdateBudget(ctx context.Context, runID string, accounts []money.Account, fn func(b *money.Book) error) error {
	var refused error
	err := s.db.transact(ctx, func(tx pgx.Tx) error {
		book, err := s.book(ctx, tx, runID, accounts)
		if err != nil {
			return err
		}
		had := book.Reservation != nil
		if refused = fn(book); refused != nil {
			return errRefused
		}
		return s.writeBook(ctx, tx, runID, book, had)
	})
	switch {
	case errors.Is(err, errRefused):
		return refused
	case err != nil:
		return fmt.Errorf("budget: %w", err)
	}
	return nil
}

// book locks and reads what an update of a budget may look at.
func (s *budget) book(ctx context.Context, tx pgx.Tx, runID string, accounts []money.Account) (*money.Book, error) {
	run := escape(runID)
	var b pgx.Batch
	// Not every run has a row that could be locked.
	b.Queue(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, s.db.prefix+"/"+s.tenant+"/"+run)
	b.Queue(s.db.sql(`SELECT data FROM {p}_reservations WHERE tenant = $1 AND run = $2`), s.tenant, run)
	results := tx.SendBatch(ctx, &b)
	_, err := results.Exec()
	var data []byte
	if err == nil {
		err = results.QueryRow().Scan(&data)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	if err := errors.Join(err, results.Close()); err != nil {
		return nil, err
	}
	var book money.Book
	if data != nil {
		if book.Reservation, err = sqlstore.DecodeReservation(runID, data); err != nil {
			return nil, err
		}
		accounts = append(accounts[:len(accounts):len(accounts)], book.Reservation.Accounts...)
	}
	accounts = money.SortAccounts(accounts)
	if len(accounts) == 0 {
		return &book, nil
	}
	scopes, ids := columns(accounts)
	b = pgx.Batch{}
	b.Queue(s.db.sql(`INSERT INTO {p}_balances (tenant, scope, id) SELECT $1, a.scope, a.id FROM unnest($2::text[], $3::text[]) WITH ORDINALITY a(scope, id, n)
		ORDER BY a.n ON CONFLICT DO NOTHING`), s.tenant, scopes, ids)
	b.Queue(s.db.sql(`SELECT b.most, b.spent, b.reserved, b.in_doubt FROM unnest($2::text[], $3::text[]) WITH ORDINALITY a(scope, id, n)
		JOIN {p}_balances b ON b.tenant = $1 AND b.scope = a.scope AND b.id = a.id ORDER BY a.n FOR UPDATE OF b`), s.tenant, scopes, ids)
	results = tx.SendBatch(ctx, &b)
	_, err = results.Exec()
	if err == nil {
		book.Balances, err = scanBalances(results.Query, accounts)
	}
	return &book, errors.Join(err, results.Close())
}

func columns(accounts []money.Account) (scopes, ids []string) {
	for _, a := range accounts {
		scopes, ids = append(scopes, string(a.Scope)), append(ids, escape(a.ID))
	}
	return scopes, ids
}

// scanBalances reads a balance for each account.
func scanBalances(query func() (pgx.Rows, error), accounts []money.Account) ([]*money.Balance, error) {
	rows, err := query()
	if err != nil {
		return nil, err
	}
	var out []*money.Balance
	err = forEach(rows, func(rows pgx.Rows) error {
		b := &money.Balance{Account: accounts[len(out)]}
		var limit *int64
		var spent, reserved, inDoubt int64
		if err := rows.Scan(&limit, &spent, &reserved, &inDoubt); err != nil {
			return err
		}
		b.Limit, b.Spent, b.Reserved, b.InDoubt = (*money.Amount)(limit), money.Amount(spent), money.Amount(reserved), money.Amount(inDoubt)
		out = append(out, b)
		return nil
	})
	if err == nil && len(out) != len(accounts) {
		err = fmt.Errorf("there are %d balances, want %d", len(out), len(accounts))
	}
	return out, err
}

func (s *budget) writeBook(ctx context.Context, tx pgx.Tx, runID string, book *money.Book, had bool) error {
	var b pgx.Batch
	for _, bal := range book.Balances {
		b.Queue(s.db.sql(`UPDATE {p}_balances SET most = $4, spent = $5, reserved = $6, in_doubt = $7 WHERE tenant = $1 AND scope = $2 AND id = $3`),
			s.tenant, string(bal.Scope), escape(bal.ID), (*int64)(bal.Limit), int64(bal.Spent), int64(bal.Reserved), int64(bal.InDoubt))
	}
	switch {
	case book.Reservation != nil:
		data, err := json.Marshal(book.Reservation)
		if err != nil {
			return err
		}
		b.Queue(s.db.sql(`INSERT INTO {p}_reservations (tenant, run, data) VALUES ($1, $2, $3) ON CONFLICT (tenant, run) DO UPDATE SET data = excluded.data`),
			s.tenant, escape(runID), string(data))
	case had:
		b.Queue(s.db.sql(`DELETE FROM {p}_reservations WHERE tenant = $1 AND run = $2`), s.tenant, escape(runID))
	}
	if b.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, &b).Close()
}

// Balances returns the balance of each account.
func (s *budget) Balances(ctx context.Context, accounts ...money.Account) ([]money.Balance, error) {
	scopes, ids := columns(accounts)
	var list []*money.Balance
	err := retry(ctx, func() (err error) {
		list, err = scanBalances(func() (pgx.Rows, error) {
			return s.db.pool.Query(ctx, s.db.sql(`SELECT b.most, coalesce(b.spent, 0), coalesce(b.reserved, 0), coalesce(b.in_doubt, 0)
				FROM unnest($2::text[], $3::text[]) WITH ORDINALITY a(scope, id, n)
				LEFT JOIN {p}_balances b ON b.tenant = $1 AND b.scope = a.scope AND b.id = a.id ORDER BY a.n`), s.tenant, scopes, ids)
		}, accounts)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("balances: %w", err)
	}
	out := make([]money.Balance, len(list))
	for i, b := range list {
		out[i] = *b
	}
	return out, nil
}
