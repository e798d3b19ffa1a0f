package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
)

var _ awaken.Budget = (*Store)(nil)

// UpdateBudget changes a run's reservation and the balances that it concerns.
func (s *Store) UpdateBudget(ctx context.Context, runID string, accounts []awaken.Account, fn func(b *awaken.Book) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var refused error
	err := s.db.write(func(c *conn) error {
		book, err := c.book(s.tenant, runID, accounts)
		if err != nil {
			return err
		}
		had := book.Reservation != nil
		if refused = fn(book); refused != nil {
			return nil
		}
		return c.writeBook(s.tenant, runID, book, had)
	})
	if err != nil {
		return fmt.Errorf("budget: %w", err)
	}
	return refused
}

// book reads what an update of a budget may look at.
func (c *conn) book(tenant, runID string, accounts []awaken.Account) (*awaken.Book, error) {
	var book awaken.Book
	var data string
	found, err := c.row(context.Background(), `SELECT data FROM {p}_reservations WHERE tenant = ? AND run = ?`, []any{tenant, runID}, &data)
	if err != nil {
		return nil, err
	}
	if found {
		if book.Reservation, err = readReservation(runID, data); err != nil {
			return nil, err
		}
		accounts = append(accounts[:len(accounts):len(accounts)], book.Reservation.Accounts...)
	}
	for _, a := range awaken.SortAccounts(accounts) {
		b, err := c.balance(context.Background(), tenant, a)
		if err != nil {
			return nil, err
		}
		book.Balances = append(book.Balances, &b)
	}
	return &book, nil
}

func (c *conn) balance(ctx context.Context, tenant string, a awaken.Account) (awaken.Balance, error) {
	b := awaken.Balance{Account: a}
	_, err := c.row(ctx, `SELECT most, spent, reserved, in_doubt FROM {p}_balances WHERE tenant = ? AND scope = ? AND id = ?`,
		[]any{tenant, string(a.Scope), a.ID}, &b.Limit, &b.Spent, &b.Reserved, &b.InDoubt)
	return b, err
}

func (c *conn) writeBook(tenant, runID string, book *awaken.Book, had bool) error {
	for _, b := range book.Balances {
		if _, err := c.exec(`INSERT INTO {p}_balances (tenant, scope, id, most, spent, reserved, in_doubt) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (tenant, scope, id) DO UPDATE SET most = excluded.most, spent = excluded.spent, reserved = excluded.reserved, in_doubt = excluded.in_doubt`,
			tenant, string(b.Scope), b.ID, (*int64)(b.Limit), int64(b.Spent), int64(b.Reserved), int64(b.InDoubt)); err != nil {
			return err
		}
	}
	if book.Reservation == nil {
		if !had {
			return nil
		}
		_, err := c.exec(`DELETE FROM {p}_reservations WHERE tenant = ? AND run = ?`, tenant, runID)
		return err
	}
	data, err := json.Marshal(book.Reservation)
	if err != nil {
		return err
	}
	_, err = c.exec(`INSERT OR REPLACE INTO {p}_reservations (tenant, run, data) VALUES (?, ?, ?)`, tenant, runID, string(data))
	return err
}

// Reservations returns what is reserved, by run.
func (s *Store) Reservations(ctx context.Context) (map[string]*awaken.Reservation, error) {
	var out map[string]*awaken.Reservation
	err := s.db.read(ctx, func(c *conn) error {
		out = map[string]*awaken.Reservation{}
		return c.query(ctx, `SELECT run, data FROM {p}_reservations WHERE tenant = ?`, []any{s.tenant}, func(scan func(...any) error) error {
			var run, data string
			if err := scan(&run, &data); err != nil {
				return err
			}
			r, err := readReservation(run, data)
			out[run] = r
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("reservations: %w", err)
	}
	return out, nil
}

func readReservation(runID, data string) (*awaken.Reservation, error) {
	r := new(awaken.Reservation)
	if err := json.Unmarshal([]byte(data), r); err != nil {
		return nil, fmt.Errorf("reservation of run %s: %w", runID, err)
	}
	return r, nil
}

// Balances returns the balance of each account.
func (s *Store) Balances(ctx context.Context, accounts ...awaken.Account) ([]awaken.Balance, error) {
	out := make([]awaken.Balance, len(accounts))
	err := s.db.read(ctx, func(c *conn) (err error) {
		for i, a := range accounts {
			if out[i], err = c.balance(ctx, s.tenant, a); err != nil {
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

// UsageTotals adds up what runs have used and cost, for each agent.
func (s *Store) UsageTotals(ctx context.Context, q awaken.UsageQuery) ([]awaken.UsageTotal, error) {
	var out []awaken.UsageTotal
	err := s.db.read(ctx, func(c *conn) error {
		out = nil
		// While a run is running, its thread has the record.
		return c.query(ctx, `SELECT agent, count(*), sum(data ->> '$.usage.prompt_tokens'), sum(data ->> '$.usage.completion_tokens'), sum(data ->> '$.usage.total_tokens'),
			sum(data ->> '$.usage.cache_read_tokens'), sum(data ->> '$.usage.cache_creation_tokens'), sum(data ->> '$.usage.thinking_tokens'),
			sum(CAST(round(coalesce(data ->> '$.cost_usd', 0) * 1e9) AS INTEGER))
			FROM (SELECT data, data ->> '$.agent_id' AS agent FROM (
				SELECT CASE r.status WHEN 'running' THEN coalesce((SELECT h.run FROM {p}_threads h WHERE h.tenant = r.tenant AND h.id = r.thread AND h.open_run = r.id), r.data) ELSE r.data END AS data
				FROM {p}_runs r WHERE r.tenant = ?1 AND (?2 = '' OR r.thread = ?2)))
			WHERE ?3 = '' OR agent = ?3 GROUP BY agent ORDER BY agent`, []any{s.tenant, q.ThreadID, q.AgentID}, func(scan func(...any) error) error {
			var t awaken.UsageTotal
			var n [7]*int64
			if err := scan(&t.AgentID, &t.Runs, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6]); err != nil {
				return err
			}
			for i, to := range []*int64{&t.Usage.PromptTokens, &t.Usage.CompletionTokens, &t.Usage.TotalTokens, &t.Usage.CacheReadTokens, &t.Usage.CacheCreationTokens, &t.Usage.ThinkingTokens} {
				if n[i] != nil {
					*to = *n[i]
				}
			}
			if n[6] != nil {
				t.CostUSD = awaken.Money(*n[6]).USD()
			}
			out = append(out, t)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("usage: %w", err)
	}
	return out, nil
}
