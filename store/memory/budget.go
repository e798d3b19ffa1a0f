package memory

import (
	"context"
	"maps"
	"sync"

	"github.com/awaken-go/awaken/limit/money"
)

// budget implements [money.Budget].
type budget struct {
	mu       *sync.Mutex // of the DB; guards everything below
	balances map[money.Account]*money.Balance
	reserved map[string]*money.Reservation // by run ID
}

// UpdateBudget calls fn with a run's reservation and the balances of the accounts, and
// stores what fn changes unless fn fails.
func (b *budget) UpdateBudget(_ context.Context, runID string, accounts []money.Account, fn func(b *money.Book) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var book money.Book
	if r := b.reserved[runID]; r != nil {
		own := *r
		book.Reservation = &own
		accounts = append(accounts[:len(accounts):len(accounts)], r.Accounts...)
	}
	for _, a := range money.SortAccounts(accounts) {
		own := b.balance(a)
		book.Balances = append(book.Balances, &own)
	}
	if err := fn(&book); err != nil {
		return err
	}
	for _, changed := range book.Balances {
		b.balances[changed.Account] = changed
	}
	if book.Reservation == nil {
		delete(b.reserved, runID)
	} else {
		b.reserved[runID] = book.Reservation
	}
	return nil
}

// Reservations returns all reservations by run ID.
func (b *budget) Reservations(context.Context) (map[string]*money.Reservation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.reserved), nil // reservations are immutable
}

// Balances returns the balance of each account.
func (b *budget) Balances(_ context.Context, accounts ...money.Account) ([]money.Balance, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]money.Balance, len(accounts))
	for i, a := range accounts {
		out[i] = b.balance(a)
	}
	return out, nil
}

func (b *budget) balance(a money.Account) money.Balance {
	if known := b.balances[a]; known != nil {
		return *known
	}
	return money.Balance{Account: a}
}
