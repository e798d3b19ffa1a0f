package memory

import (
	"context"

	"github.com/awaken-go/awaken"
)

var _ awaken.Budget = (*Store)(nil)

// UpdateBudget changes a run's reservation and the balances that it concerns.
func (s *Store) UpdateBudget(_ context.Context, runID string, accounts []awaken.Account, fn func(b *awaken.Book) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var book awaken.Book
	if r := s.reserved[runID]; r != nil {
		own := *r
		book.Reservation = &own
		accounts = append(accounts[:len(accounts):len(accounts)], r.Accounts...)
	}
	for _, a := range awaken.SortAccounts(accounts) {
		own := s.balance(a)
		book.Balances = append(book.Balances, &own)
	}
	if err := fn(&book); err != nil {
		return err
	}
	for _, b := range book.Balances {
		s.balances[b.Account] = b
	}
	if book.Reservation == nil {
		delete(s.reserved, runID)
	} else {
		s.reserved[runID] = book.Reservation
	}
	return nil
}

// Balances returns the balance of each account.
func (s *Store) Balances(_ context.Context, accounts ...awaken.Account) ([]awaken.Balance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]awaken.Balance, len(accounts))
	for i, a := range accounts {
		out[i] = s.balance(a)
	}
	return out, nil
}

func (s *Store) balance(a awaken.Account) awaken.Balance {
	if b := s.balances[a]; b != nil {
		return *b
	}
	return awaken.Balance{Account: a}
}
