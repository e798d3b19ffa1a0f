package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken/limit/money"
)

// Budget implements [money.Budget] for one tenant.
type Budget struct {
	scope  Scope
	engine *Engine
}

// UpdateBudget calls fn with a run's reservation and the balances of the accounts, and
// stores what fn changes unless fn fails. Updates of one run are serialized; balances are
// locked in the order of their accounts, so that updates do not deadlock.
func (s *Budget) UpdateBudget(ctx context.Context, runID string, accounts []money.Account, fn func(b *money.Book) error) error {
	var refused error
	err := s.scope.db.Write(ctx, func(ctx context.Context, c Conn) (_, err error) {
		book, err := s.book(ctx, c, runID, accounts)
		if err != nil {
			return nil, err
		}
		had := book.Reservation != nil
		if refused = fn(book); refused != nil {
			return refused, nil
		}
		return nil, s.writeBook(ctx, c, runID, book, had)
	})
	if err != nil && refused == nil {
		err = fmt.Errorf("budget: %w", err)
	}
	return err
}

// book locks and reads the reservation and the balances of an update.
func (s *Budget) book(ctx context.Context, c Conn, runID string, accounts []money.Account) (*money.Book, error) {
	var book money.Book
	err := c.Query(ctx, `SELECT data FROM {p}_reservations WHERE tenant = ? AND run = ?`, []any{s.scope.tenant, s.scope.id(runID)}, func(scan Scan) (err error) {
		var data []byte
		if err := scan(&data); err != nil {
			return err
		}
		book.Reservation, err = decodeReservation(runID, data)
		return err
	}, before(s.engine.LockBudget, s.scope.tenant, s.scope.id(runID))...)
	if err != nil {
		return nil, err
	}
	if r := book.Reservation; r != nil {
		accounts = append(accounts[:len(accounts):len(accounts)], r.Accounts...)
	}
	accounts = money.SortAccounts(accounts)
	if len(accounts) == 0 {
		return &book, nil
	}
	args := s.accounts(accounts)
	err = c.Query(ctx, lockedBalances, args, func(scan Scan) error {
		b, err := scanBalance(accounts[len(book.Balances)], scan)
		book.Balances = append(book.Balances, &b)
		return err
	}, before(s.engine.AddBalances, args...)...)
	if err == nil && len(book.Balances) != len(accounts) {
		err = fmt.Errorf("the database returned %d balances, want %d", len(book.Balances), len(accounts))
	}
	return &book, err
}

// before returns a statement for the first argument of [Conn.Query], or none if query is
// "".
func before(query string, args ...any) []Statement {
	if query == "" {
		return nil
	}
	return []Statement{{query, args}}
}

// Statements that return the balance of each of {accounts}, in order.
const (
	selectBalances = `SELECT b.most, coalesce(b.spent, 0), coalesce(b.reserved, 0), coalesce(b.in_doubt, 0) FROM {accounts} `
	ofAccounts     = ` JOIN {p}_balances b ON b.tenant = ?1 AND b.scope = a.scope AND b.id = a.id ORDER BY a.n`
	lockedBalances = selectBalances + `{lockable}` + ofAccounts + `{lock}`
)

// accounts returns the arguments of a statement with {accounts}.
func (s *Budget) accounts(accounts []money.Account) []any {
	scopes, ids := make([]string, len(accounts)), make([]string, len(accounts))
	for i, a := range accounts {
		scopes[i], ids[i] = string(a.Scope), s.scope.id(a.ID)
	}
	return []any{s.scope.tenant, scopes, ids}
}

func scanBalance(a money.Account, scan Scan) (money.Balance, error) {
	var limit *int64
	var spent, reserved, inDoubt int64
	err := scan(&limit, &spent, &reserved, &inDoubt)
	return money.Balance{Account: a, Limit: (*money.Amount)(limit), Spent: money.Amount(spent), Reserved: money.Amount(reserved), InDoubt: money.Amount(inDoubt)}, err
}

func (s *Budget) writeBook(ctx context.Context, c Conn, runID string, book *money.Book, had bool) error {
	var list []Statement
	for _, b := range book.Balances {
		list = append(list, statement(`INSERT INTO {p}_balances (tenant, scope, id, most, spent, reserved, in_doubt) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (tenant, scope, id) DO UPDATE SET most = excluded.most, spent = excluded.spent, reserved = excluded.reserved, in_doubt = excluded.in_doubt`,
			s.scope.tenant, string(b.Scope), s.scope.id(b.ID), (*int64)(b.Limit), int64(b.Spent), int64(b.Reserved), int64(b.InDoubt)))
	}
	switch {
	case book.Reservation != nil:
		data, err := json.Marshal(book.Reservation)
		if err != nil {
			return err
		}
		list = append(list, statement(`INSERT INTO {p}_reservations (tenant, run, data) VALUES (?, ?, ?) ON CONFLICT (tenant, run) DO UPDATE SET data = excluded.data`,
			s.scope.tenant, s.scope.id(runID), string(data)))
	case had:
		list = append(list, statement(`DELETE FROM {p}_reservations WHERE tenant = ? AND run = ?`, s.scope.tenant, s.scope.id(runID)))
	}
	_, err := c.Exec(ctx, list...)
	return err
}

// Balances returns the balance of each account.
func (s *Budget) Balances(ctx context.Context, accounts ...money.Account) ([]money.Balance, error) {
	out, err := list(ctx, s.scope.db, "balances", selectBalances+`LEFT`+ofAccounts, s.accounts(accounts),
		func(scan Scan) (money.Balance, error) { return scanBalance(money.Account{}, scan) })
	for i := range out {
		out[i].Account = accounts[i]
	}
	return out, err
}

// Reservations returns all reservations by run ID.
func (s *Budget) Reservations(ctx context.Context) (map[string]*money.Reservation, error) {
	return collect(ctx, s.scope.db, "reservations", `SELECT run, data FROM {p}_reservations WHERE tenant = ?`, []any{s.scope.tenant},
		func(scan Scan) (run string, r *money.Reservation, err error) {
			var data []byte
			if err := scan(&run, &data); err != nil {
				return "", nil, err
			}
			s.scope.db.Dialect().unescape(&run)
			r, err = decodeReservation(run, data)
			return run, r, err
		})
}

func decodeReservation(runID string, data []byte) (*money.Reservation, error) {
	r := new(money.Reservation)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("reservation of run %s: %w", runID, err)
	}
	return r, nil
}
