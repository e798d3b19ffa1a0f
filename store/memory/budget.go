package memory

import (
	"context"
	"maps"
	"sync"

	"github.com/awaken-go/awaken"
)

// budget implements [awaken.Budget].
type budget struct {
	mu       *sync.Mutex // the DB's; guards everything below
	balances map[awaken.Account]*awaken.Balance
	reserved map[string]*awaken.Reservation // by run
}

// UpdateBudget changes a run's reservation and the balances that it concerns.
func (b *budget) UpdateBudget(_ context.Context, runID string, accounts []awaken.Account, fn func(b *awaken.Book) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var book awaken.Book
	if r := b.reserved[runID]; r != nil {
		own := *r
		book.Reservation = &own
		accounts = append(accounts[:len(accounts):len(accounts)], r.Accounts...)
	}
	for _, a := range awaken.SortAccounts(accounts) {
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

// Reservations returns what is reserved, by run.
func (b *budget) Reservations(context.Context) (map[string]*awaken.Reservation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.reserved), nil // which are not changed
}

// Balances returns the balance of each account.
func (b *budget) Balances(_ context.Context, accounts ...awaken.Account) ([]awaken.Balance, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]awaken.Balance, len(accounts))
	for i, a := range accounts {
		out[i] = b.balance(a)
	}
	return out, nil
}

func (b *budget) balance(a awaken.Account) awaken.Balance {
	if known := b.balances[a]; known != nil {
		return *known
	}
	return awaken.Balance{Account: a}
}
