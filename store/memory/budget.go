package memory

import (
	"context"
	"maps"
	"slices"

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

// Reservations returns what is reserved, by run.
func (s *Store) Reservations(context.Context) (map[string]*awaken.Reservation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.reserved), nil // which are not changed
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

// UsageTotals adds up what runs have used and cost, for each agent.
func (s *Store) UsageTotals(_ context.Context, q awaken.UsageQuery) ([]awaken.UsageTotal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	agents := map[string]*awaken.UsageTotal{}
	costs := map[string]awaken.Money{}
	for _, r := range s.runs {
		if q.ThreadID != "" && r.ThreadID != q.ThreadID || q.AgentID != "" && r.AgentID != q.AgentID {
			continue
		}
		t := agents[r.AgentID]
		if t == nil {
			t = &awaken.UsageTotal{AgentID: r.AgentID}
			agents[r.AgentID] = t
		}
		t.Runs++
		t.Usage.Add(r.Usage)
		costs[r.AgentID] += awaken.Dollars(r.CostUSD)
	}
	var out []awaken.UsageTotal
	for _, id := range slices.Sorted(maps.Keys(agents)) {
		agents[id].CostUSD = costs[id].USD()
		out = append(out, *agents[id])
	}
	return out, nil
}
