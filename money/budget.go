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

// Budget keeps what was spent and what may be. Like a Store, a Budget value is scoped to
// one tenant; the stores in memory, SQLite and PostgreSQL are Budgets, and storetest
// checks them. A runtime uses its store if that is one.
//
// Money is reserved in every account that a call concerns before the model is asked, and
// settled when the answer is in. Whatever happens in between, at most what was reserved
// is spent, so the limits hold for any number of processes. A reservation belongs to a
// run, or to the summary of a thread; whoever goes on with the run after a crash settles
// it. If nobody does, [engine.Runtime.SettleLost] does.
type Budget interface {
	// UpdateBudget calls fn with the run's reservation and the balances of accounts and of
	// the reservation's accounts, and stores what fn makes of them. Nobody else changes
	// them meanwhile. If fn fails nothing is stored, and its error is returned. It may
	// be called again, with what is stored then, if the outcome is not known.
	UpdateBudget(ctx context.Context, runID string, accounts []Account, fn func(b *Book) error) error
	// Reservations returns what is reserved at the moment, by run.
	Reservations(ctx context.Context) (map[string]*Reservation, error)
	// Balances returns the balance of each account. One that was never used has an empty
	// one.
	Balances(ctx context.Context, accounts ...Account) ([]Balance, error)
}

// Scope is what an account is of.
type Scope string

const (
	TenantScope Scope = "tenant" // everything; the account has no ID
	AgentScope  Scope = "agent"  // the runs of an agent, with their children
	ThreadScope Scope = "thread" // the runs on a thread, with their children
	RunScope    Scope = "run"    // a run, with its children
)

// Account is what money is counted for.
type Account struct {
	Scope Scope  `json:"scope"`
	ID    string `json:"id,omitempty"`
}

func (a Account) String() string {
	if a.Scope == TenantScope {
		return string(a.Scope)
	}
	return fmt.Sprintf("%s %s", a.Scope, a.ID)
}

// Compare orders accounts.
func (a Account) Compare(b Account) int {
	return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.ID, b.ID))
}

// SortAccounts returns the accounts of all lists, each once, in their order.
func SortAccounts(lists ...[]Account) []Account {
	all := slices.Concat(lists...)
	slices.SortFunc(all, Account.Compare)
	return slices.Compact(all)
}

// Balance is how an account is doing.
type Balance struct {
	Account
	Limit    *Amount // set by [SetBudget]; it takes the place of what agents and requests say
	Spent    Amount
	Reserved Amount // for calls that are going on
	InDoubt  Amount // part of Spent: for calls whose use is not known, which count in full
}

// Reservation is money for one call of a model.
type Reservation struct {
	ID       string
	Fence    uint64 // of the run's owner
	At       int64  // unix ms of when it was made
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
	ID    []byte `json:"id,omitempty"` // JSON's strings cannot hold every id
}

// MarshalJSON writes a reservation for a store.
func (r *Reservation) MarshalJSON() ([]byte, error) {
	w := reservationWire{ID: r.ID, Fence: r.Fence, At: r.At, Amount: r.Amount}
	for _, a := range r.Accounts {
		w.Accounts = append(w.Accounts, accountWire{a.Scope, []byte(a.ID)})
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON wrote.
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

// Book is what an update of a budget may look at and change.
type Book struct {
	Reservation *Reservation // the run's, or nil
	Balances    []*Balance   // in the order of their accounts
}

func (b *Book) Balance(a Account) *Balance {
	i, ok := slices.BinarySearchFunc(b.Balances, a, func(x *Balance, a Account) int { return x.Account.Compare(a) })
	if !ok {
		panic(fmt.Sprintf("the budget left out account %s", a))
	}
	return b.Balances[i]
}

// Settle ends the run's reservation: amount was spent. If that is not known, it is taken
// to be everything that was reserved, because it may be.
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

// SetBudget limits what an account may spend, in place of what agents, requests and the
// configuration say. Nil takes such a limit away. Raising a limit lets runs that wait for
// it be continued.
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
			return fmt.Errorf("%w: the account of a tenant has no id", fault.ErrInvalid)
		}
		return nil
	case AgentScope, ThreadScope, RunScope:
		if a.ID == "" {
			return fmt.Errorf("%w: the account of a %s needs its id", fault.ErrInvalid, a.Scope)
		}
		return nil
	}
	return fmt.Errorf("%w: scope is %q, want tenant, agent, thread or run", fault.ErrInvalid, a.Scope)
}

func CheckLimit(field string, usd *float64) error {
	if usd != nil && !(*usd >= 0 && *usd <= maxBudget) {
		return fmt.Errorf("budget.%s is %v, want 0 to %d", field, *usd, int(maxBudget))
	}
	return nil
}

// maxBudget is far below what Money can count.
const maxBudget = 1e9

// Exhausted says which limit a call would have passed.
type Exhausted struct {
	Account
	LimitUSD    float64 `json:"limit_usd"`
	SpentUSD    float64 `json:"spent_usd"`
	ReservedUSD float64 `json:"reserved_usd,omitempty"` // for calls that were going on
	NeededUSD   float64 `json:"needed_usd"`             // by the next call, at least
}

func (e *Exhausted) Error() string {
	return fmt.Sprintf("the budget of %s is used up: the next call needs %v USD, %v of %v are spent and %v reserved",
		e.Account, e.NeededUSD, e.SpentUSD, e.LimitUSD, e.ReservedUSD)
}
