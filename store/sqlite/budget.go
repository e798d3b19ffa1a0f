package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken/money"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// budget is [money.Budget], but for the list of what is reserved.
type budget scope

// UpdateBudget changes a run's reservation and the balances that it concerns.
func (s *budget) UpdateBudget(ctx context.Context, runID string, accounts []money.Account, fn func(b *money.Book) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var refused error
	err := s.db.writer.write(func(c *conn) error {
		book, err := s.book(c, runID, accounts)
		if err != nil {
			return err
		}
		had := book.Reservation != nil
		if refused = fn(book); refused != nil {
			return nil
		}
		return s.writeBook(c, runID, book, had)
	})
	if err != nil {
		return fmt.Errorf("budget: %w", err)
	}
	return refused
}

// book reads what an update of a budget may look at.
func (s *budget) book(c *conn, runID string, accounts []money.Account) (*money.Book, error) {
	var book money.Book
	var data []byte
	found, err := c.row(context.Background(), `SELECT data FROM {p}_reservations WHERE tenant = ? AND run = ?`, []any{s.tenant, runID}, &data)
	if err != nil {
		return nil, err
	}
	if found {
		if book.Reservation, err = sqlstore.DecodeReservation(runID, data); err != nil {
			return nil, err
		}
		accounts = append(accounts[:len(accounts):len(accounts)], book.Reservation.Accounts...)
	}
	for _, a := range money.SortAccounts(accounts) {
		b, err := s.balance(context.Background(), c, a)
		if err != nil {
			return nil, err
		}
		book.Balances = append(book.Balances, &b)
	}
	return &book, nil
}

func (s *budget) balance(ctx context.Context, c *conn, a money.Account) (money.Balance, error) {
	b := money.Balance{Account: a}
	_, err := c.row(ctx, `SELECT most, spent, reserved, in_doubt FROM {p}_balances WHERE tenant = ? AND scope = ? AND id = ?`,
		[]any{s.tenant, string(a.Scope), a.ID}, &b.Limit, &b.Spent, &b.Reserved, &b.InDoubt)
	return b, err
}

func (s *budget) writeBook(c *conn, runID string, book *money.Book, had bool) error {
	for _, b := range book.Balances {
		if _, err := c.exec(`INSERT INTO {p}_balances (tenant, scope, id, most, spent, reserved, in_doubt) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (tenant, scope, id) DO UPDATE SET most = excluded.most, spent = excluded.spent, reserved = excluded.reserved, in_doubt = excluded.in_doubt`,
			s.tenant, string(b.Scope), b.ID, (*int64)(b.Limit), int64(b.Spent), int64(b.Reserved), int64(b.InDoubt)); err != nil {
			return err
		}
	}
	if book.Reservation == nil {
		if !had {
			return nil
		}
		_, err := c.exec(`DELETE FROM {p}_reservations WHERE tenant = ? AND run = ?`, s.tenant, runID)
		return err
	}
	data, err := json.Marshal(book.Reservation)
	if err != nil {
		return err
	}
	_, err = c.exec(`INSERT OR REPLACE INTO {p}_reservations (tenant, run, data) VALUES (?, ?, ?)`, s.tenant, runID, string(data))
	return err
}

// Balances returns the balance of each account.
func (s *budget) Balances(ctx context.Context, accounts ...money.Account) ([]money.Balance, error) {
	out := make([]money.Balance, len(accounts))
	err := s.db.read(ctx, func(c *conn) (err error) {
		for i, a := range accounts {
			if out[i], err = s.balance(ctx, c, a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("balances: %w", err)
	}
	return out, nil
}
