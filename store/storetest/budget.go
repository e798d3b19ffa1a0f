package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
)

func budget(t *testing.T, s awaken.Store) money.Budget {
	t.Helper()
	b, ok := s.(money.Budget)
	if !ok {
		t.Skip("the store keeps no budgets")
	}
	return b
}

// balances returns balances. It fails the test on an error.
func balances(t *testing.T, b money.Budget, accounts ...money.Account) []money.Balance {
	t.Helper()
	out, err := b.Balances(t.Context(), accounts...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// update changes a budget. It fails the test on an error.
func update(t *testing.T, b money.Budget, run string, accounts []money.Account, fn func(book *money.Book)) {
	t.Helper()
	err := b.UpdateBudget(t.Context(), run, accounts, func(book *money.Book) error { fn(book); return nil })
	if err != nil {
		t.Fatal(err)
	}
}

var (
	theTenant = money.Account{Scope: money.TenantScope}
	anAgent   = money.Account{Scope: money.AgentScope, ID: "a"}
	aThread   = money.Account{Scope: money.ThreadScope, ID: "t"}
	oddThread = money.Account{Scope: money.ThreadScope, ID: "odd\x00\xff"}
)

var budgetCases = []testCase{
	{"AnAccountThatWasNeverUsedIsEmpty", func(t *testing.T, s awaken.Store) {
		b := budget(t, s)
		equal(t, "balances", []money.Balance{{Account: theTenant}, {Account: anAgent}}, balances(t, b, theTenant, anAgent))
		update(t, b, "r", []money.Account{theTenant, anAgent}, func(book *money.Book) {
			if book.Reservation != nil {
				t.Errorf("the run has a reservation: %+v", book.Reservation)
			}
			equal(t, "book", []*money.Balance{{Account: anAgent}, {Account: theTenant}}, book.Balances)
		})
	}},
	{"WhatAnUpdateChangesIsStored", func(t *testing.T, s awaken.Store) {
		b := budget(t, s)
		reservation := &money.Reservation{ID: "first", Fence: 7, Amount: 5, Accounts: []money.Account{theTenant, oddThread}}
		update(t, b, "r", []money.Account{oddThread, theTenant, theTenant}, func(book *money.Book) {
			for i, bal := range book.Balances {
				bal.Limit, bal.Spent, bal.Reserved, bal.InDoubt = new(money.Amount(100)), money.Amount(i), 5, 1
			}
			book.Reservation = reservation
		})
		want := []money.Balance{{Account: theTenant, Limit: new(money.Amount(100)), Reserved: 5, InDoubt: 1},
			{Account: oddThread, Limit: new(money.Amount(100)), Spent: 1, Reserved: 5, InDoubt: 1}}
		equal(t, "balances", want, balances(t, b, theTenant, oddThread))
		update(t, b, "r", nil, func(book *money.Book) {
			equal(t, "reservation", reservation, book.Reservation)
			equal(t, "accounts of the reservation", []*money.Balance{&want[0], &want[1]}, book.Balances)
			book.Reservation = nil
			for _, bal := range book.Balances {
				bal.Reserved, bal.Limit = 0, nil
			}
		})
		update(t, b, "r", nil, func(book *money.Book) {
			if book.Reservation != nil || len(book.Balances) > 0 {
				t.Errorf("the reservation still exists: %+v", book)
			}
		})
		if got := balances(t, b, theTenant)[0]; got.Reserved != 0 || got.Limit != nil {
			t.Errorf("the balance is %+v, want nothing reserved and no limit", got)
		}
	}},
	{"AFailedUpdateChangesNothing", func(t *testing.T, s awaken.Store) {
		b := budget(t, s)
		refused := errors.New("refused")
		err := b.UpdateBudget(t.Context(), "r", []money.Account{theTenant}, func(book *money.Book) error {
			book.Balances[0].Spent, book.Reservation = 5, &money.Reservation{ID: "x", Accounts: []money.Account{theTenant}}
			return refused
		})
		if err != refused {
			t.Errorf("the error is %v, want the one that fn returned", err)
		}
		equal(t, "balances", []money.Balance{{Account: theTenant}}, balances(t, b, theTenant))
		update(t, b, "r", nil, func(book *money.Book) {
			if book.Reservation != nil {
				t.Errorf("there is a reservation: %+v", book.Reservation)
			}
		})
	}},
	{"EachRunHasItsOwnReservation", func(t *testing.T, s awaken.Store) {
		b := budget(t, s)
		for _, run := range []string{"r1", "r2"} {
			update(t, b, run, []money.Account{aThread}, func(book *money.Book) {
				book.Reservation = &money.Reservation{ID: "of " + run, Accounts: []money.Account{aThread}}
			})
		}
		update(t, b, "r1", nil, func(book *money.Book) {
			if book.Reservation == nil || book.Reservation.ID != "of r1" {
				t.Errorf("the reservation of r1 is %+v", book.Reservation)
			}
		})
	}},
	{"WhatIsReservedIsListedByRun", func(t *testing.T, s awaken.Store) {
		b := budget(t, s)
		listed := func() map[string]*money.Reservation {
			t.Helper()
			got, err := b.Reservations(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := listed(); len(got) != 0 {
			t.Errorf("got %v before anything was reserved", got)
		}
		want := map[string]*money.Reservation{
			"r":           {ID: "1", Fence: 3, At: 1_700_000_000_000, Amount: 7, Accounts: []money.Account{theTenant}},
			"odd\x00\xff": {ID: "2", Amount: 1, Accounts: []money.Account{aThread, theTenant}},
			"settled":     {ID: "3", Amount: 1, Accounts: []money.Account{theTenant}},
		}
		for run, res := range want {
			update(t, b, run, res.Accounts, func(book *money.Book) { book.Reservation = res })
		}
		update(t, b, "settled", nil, func(book *money.Book) { book.Reservation = nil })
		delete(want, "settled")
		equal(t, "reservations", want, listed())
	}},
	{"SetBudgetKeepsWhatWasSpent", func(t *testing.T, s awaken.Store) {
		b := budget(t, s)
		update(t, b, "r", []money.Account{anAgent}, func(book *money.Book) { book.Balances[0].Spent = 3 })
		for _, limit := range []*money.Amount{new(money.Dollar), nil} {
			if err := money.SetBudget(t.Context(), b, anAgent, limit); err != nil {
				t.Fatal(err)
			}
			equal(t, "balance", []money.Balance{{Account: anAgent, Limit: limit, Spent: 3}}, balances(t, b, anAgent))
		}
		for _, bad := range []money.Account{{Scope: "city", ID: "x"}, {Scope: money.AgentScope}, {Scope: money.TenantScope, ID: "x"}} {
			if err := money.SetBudget(t.Context(), b, bad, nil); !errors.Is(err, awaken.ErrInvalid) {
				t.Errorf("SetBudget of %+v: %v, want ErrInvalid", bad, err)
			}
		}
	}},
	{"UsageIsAddedUpByAgent", func(t *testing.T, s awaken.Store) {
		r, ok := s.(awaken.UsageReader)
		if !ok {
			t.Skip("the store does not add up usage")
		}
		for i, agent := range []string{"b", "a", "b"} {
			o := acquire(t, s, fmt.Sprint("t", i%2), fmt.Sprint("r", i))
			o.run.AgentID = agent
			o.commit()
			o.commit(func(c *awaken.Commit) { // one run is done, the others are running
				c.Run.Usage = llm.Usage{PromptTokens: int64(i + 1), CompletionTokens: 2, TotalTokens: 3, CacheReadTokens: 4, CacheCreationTokens: 5, ThinkingTokens: 6}
				if c.Run.CostUSD = 0.1; i == 0 {
					done(c)
				}
			})
		}
		fresh := acquire(t, s, "t9", "r9")
		fresh.run.AgentID = "a" // without usage, but with text that not every database can read in JSON
		fresh.run.FinalOutput = "a\x00b\\u0000"
		fresh.run.FrontendTools = []awaken.ToolSpec{{ID: "f", Name: "f", Parameters: json.RawMessage(`{"description":"\u0000\u0000 \\u0000 \ud800 \ud83d\ude00"}`)}}
		fresh.commit()
		totals := func(q awaken.UsageQuery) []awaken.UsageTotal {
			t.Helper()
			got, err := r.UsageTotals(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		a := awaken.UsageTotal{AgentID: "a", Runs: 2, CostUSD: 0.1, Usage: llm.Usage{PromptTokens: 2, CompletionTokens: 2, TotalTokens: 3, CacheReadTokens: 4, CacheCreationTokens: 5, ThinkingTokens: 6}}
		b := awaken.UsageTotal{AgentID: "b", Runs: 2, CostUSD: 0.2, Usage: llm.Usage{PromptTokens: 4, CompletionTokens: 4, TotalTokens: 6, CacheReadTokens: 8, CacheCreationTokens: 10, ThinkingTokens: 12}}
		equal(t, "all", []awaken.UsageTotal{a, b}, totals(awaken.UsageQuery{}))
		equal(t, "of an agent", []awaken.UsageTotal{b}, totals(awaken.UsageQuery{AgentID: "b"}))
		a.Runs = 1
		equal(t, "of a thread", []awaken.UsageTotal{a}, totals(awaken.UsageQuery{ThreadID: "t1"}))
		if got := totals(awaken.UsageQuery{ThreadID: "none"}); len(got) != 0 {
			t.Errorf("a thread that does not exist has used %+v", got)
		}
	}},
	{"UpdatesDoNotOverlap", func(t *testing.T, s awaken.Store) {
		b := budget(t, s)
		const workers, each, limit = 16, 20, 200
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for n := range each {
					// Some updates share a run, and not all use the same accounts.
					run := fmt.Sprint("r", w/2)
					accounts := []money.Account{theTenant, {Scope: money.ThreadScope, ID: fmt.Sprint(w % 3)}}
					if n%2 == 0 {
						accounts = append(accounts, anAgent)
					}
					err := b.UpdateBudget(context.Background(), run, accounts, func(book *money.Book) error {
						for _, bal := range book.Balances {
							if bal.Scope == money.TenantScope && bal.Spent >= limit {
								return awaken.ErrConflict
							}
						}
						for _, bal := range book.Balances {
							bal.Spent++
						}
						book.Reservation = &money.Reservation{ID: "x", Accounts: []money.Account{theTenant}}
						return nil
					})
					if err != nil && !errors.Is(err, awaken.ErrConflict) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if got := balances(t, b, theTenant)[0].Spent; got != limit {
			t.Errorf("%d were spent, want %d", got, limit)
		}
		sum := money.Amount(0)
		for i := range 3 {
			sum += balances(t, b, money.Account{Scope: money.ThreadScope, ID: fmt.Sprint(i)})[0].Spent
		}
		if sum != limit {
			t.Errorf("the threads have spent %d, want %d", sum, limit)
		}
	}},
}
