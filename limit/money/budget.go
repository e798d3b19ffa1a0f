package money

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/internal/strict"
)

// Budget keeps the balances and reservations of one tenant. The memory, SQLite and PostgreSQL
// stores implement it; package store/storetest tests them. A runtime uses its store as the
// budget, if the store implements it.
//
// A call never spends more than it has reserved, so the limits hold for any number of
// processes. A reservation belongs to a run, or to the summary of a thread. After a crash,
// the next owner of the run settles it; engine.Runtime.SettleLost settles reservations
// without an owner.
type Budget interface {
	// UpdateBudget calls fn with the reservation of the run and the balances of accounts
	// and of the reservation's accounts, and stores what fn changes. The update is atomic.
	// If fn returns an error, nothing is stored and UpdateBudget returns that error. The
	// store may call fn again, with the current values, if the outcome of a write is
	// unknown.
	UpdateBudget(ctx context.Context, runID string, accounts []Account, fn func(b *Book) error) error
	// Reservations returns the open reservations, by run id.
	Reservations(ctx context.Context) (map[string]*Reservation, error)
	// Balances returns the balance of each account, in that order. An account that was
	// never used has an empty balance.
	Balances(ctx context.Context, accounts ...Account) ([]Balance, error)
}

// Scope is the kind of an account's owner.
type Scope string

const (
	TenantScope Scope = "tenant" // everything; the account has no ID
	AgentScope  Scope = "agent"  // all runs of an agent, including their children
	ThreadScope Scope = "thread" // all runs on a thread, including their children
	RunScope    Scope = "run"    // one run, including its children
)

// Account identifies what spending is counted for.
type Account struct {
	Scope Scope  `json:"scope"`
	ID    string `json:"id,omitempty"`
}

// String returns the account as text, such as "agent clerk".
func (a Account) String() string {
	if a.Scope == TenantScope {
		return string(a.Scope)
	}
	return fmt.Sprintf("%s %s", a.Scope, a.ID)
}

// Compare orders accounts by scope and id, as [cmp.Compare] does.
func (a Account) Compare(b Account) int {
	return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.ID, b.ID))
}

// SortAccounts returns the accounts of all lists, sorted and without duplicates.
func SortAccounts(lists ...[]Account) []Account {
	all := slices.Concat(lists...)
	slices.SortFunc(all, Account.Compare)
	return slices.Compact(all)
}

// Balance is the balance of an account.
type Balance struct {
	Account
	Limit    *Amount // set by [SetBudget]; overrides the limits of agents and requests
	Spent    Amount
	Reserved Amount // for calls in flight
	InDoubt  Amount // part of Spent: calls of unknown usage, counted at their full reservation
}

// Reservation is money reserved for one model call.
type Reservation struct {
	ID       string
	Fence    uint64 // fence of the run's owner
	At       int64  // Unix ms of the reservation
	Amount   Amount
	Accounts []Account
}

type reservationWire struct {
	ID       string        `json:"id"`
	Fence    uint64        `json:"fence"`
	At       int64         `json:"at_ms,omitempty"`
	Amount   Amount        `json:"amount"`
	Accounts []accountWire `json:"accounts"`
}

type accountWire struct {
	Scope Scope  `json:"scope"`
	ID    []byte `json:"id,omitempty"` // as base64, because an id may not be valid UTF-8
}

// MarshalJSON encodes the reservation as stores keep it.
func (r *Reservation) MarshalJSON() ([]byte, error) {
	w := reservationWire{ID: r.ID, Fence: r.Fence, At: r.At, Amount: r.Amount}
	for _, a := range r.Accounts {
		w.Accounts = append(w.Accounts, accountWire{a.Scope, []byte(a.ID)})
	}
	return json.Marshal(w)
}

// UnmarshalJSON decodes the result of MarshalJSON.
func (r *Reservation) UnmarshalJSON(data []byte) error {
	var w reservationWire
	if err := strict.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("reservation: %w", err)
	}
	*r = Reservation{ID: w.ID, Fence: w.Fence, At: w.At, Amount: w.Amount}
	for _, a := range w.Accounts {
		r.Accounts = append(r.Accounts, Account{a.Scope, string(a.ID)})
	}
	return nil
}

// Book lets the caller of [Budget.UpdateBudget] read and change accounts.
type Book struct {
	Reservation *Reservation // the run's, or nil
	Balances    []*Balance   // sorted by account
}

// Balance returns the balance of a. It panics if the book does not have it, which is an error
// of the store.
func (b *Book) Balance(a Account) *Balance {
	i, ok := slices.BinarySearchFunc(b.Balances, a, func(x *Balance, a Account) int { return x.Account.Compare(a) })
	if !ok {
		panic(fmt.Sprintf("money: the book has no balance of account %s", a))
	}
	return b.Balances[i]
}

// Settle closes the run's reservation and books amount as spent. Known is false if the actual
// cost is unknown; amount should then be the whole reservation, and also counts as in doubt.
func (b *Book) Settle(amount Amount, known bool) {
	res := b.Reservation
	if res == nil {
		return
	}
	for _, a := range res.Accounts {
		bal := b.Balance(a)
		bal.Reserved -= res.Amount
		bal.Spent += amount
		if !known {
			bal.InDoubt += amount
		}
	}
	b.Reservation = nil
}

// SetBudget sets the limit of an account, which overrides the limits of agents, requests and
// the configuration. A nil limit removes it. After the limit is raised, runs that wait for it
// can be continued.
func SetBudget(ctx context.Context, b Budget, a Account, limit *Amount) error {
	if err := a.validate(); err != nil {
		return err
	}
	if limit != nil && *limit < 0 {
		return fmt.Errorf("%w: limit is %v, want 0 or more", fault.ErrInvalid, *limit)
	}
	return b.UpdateBudget(ctx, "", []Account{a}, func(book *Book) error {
		book.Balance(a).Limit = limit
		return nil
	})
}

func (a Account) validate() error {
	switch a.Scope {
	case TenantScope:
		if a.ID != "" {
			return fmt.Errorf("%w: account id is %q, but an account of scope tenant has none", fault.ErrInvalid, a.ID)
		}
		return nil
	case AgentScope, ThreadScope, RunScope:
		if a.ID == "" {
			return fmt.Errorf("%w: account id is missing, want the id of the %s", fault.ErrInvalid, a.Scope)
		}
		return nil
	}
	return fmt.Errorf("%w: scope is %q, want tenant, agent, thread or run", fault.ErrInvalid, a.Scope)
}

// CheckLimit checks a limit in US dollars, in the field of that name of a budget. Nil is
// valid.
func CheckLimit(field string, usd *float64) error {
	if usd != nil && !(*usd >= 0 && *usd <= maxBudget) {
		return fmt.Errorf("budget.%s is %v, want 0 to %d", field, *usd, int(maxBudget))
	}
	return nil
}

// maxBudget is far below the largest Amount.
const maxBudget = 1e9

// Exhausted is the error of a call that would exceed the limit of an account.
type Exhausted struct {
	Account
	LimitUSD    float64 `json:"limit_usd"`
	SpentUSD    float64 `json:"spent_usd"`
	ReservedUSD float64 `json:"reserved_usd,omitempty"` // for calls in flight
	NeededUSD   float64 `json:"needed_usd"`             // at least, by the next call
}

// Error implements error.
func (e *Exhausted) Error() string {
	return fmt.Sprintf("the budget of %s is used up: the next call needs %v USD, %v of %v are spent and %v reserved",
		e.Account, e.NeededUSD, e.SpentUSD, e.LimitUSD, e.ReservedUSD)
}
