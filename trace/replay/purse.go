package replay

import (
	"context"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
)

// UpdateBudget updates budgets. What other runs have spent is not in the record of a run, but that it found too little money: when its model has said all that it said, the
// account that was used up is.
func (b paying) UpdateBudget(ctx context.Context, runID string, accounts []money.Account, fn func(*money.Book) error) error {
	var out *money.Exhausted
	if len(accounts) > 0 {
		out = b.usedUp(runID)
	}
	if out == nil {
		return b.Budget.UpdateBudget(ctx, runID, accounts, fn)
	}
	return b.Budget.UpdateBudget(ctx, runID, accounts, func(book *money.Book) error {
		for _, bal := range book.Balances {
			if bal.Account == out.Account {
				bal.Limit, bal.Spent, bal.Reserved = new(money.Dollars(out.LimitUSD)), money.Dollars(out.SpentUSD), money.Dollars(out.ReservedUSD)
			}
		}
		return fn(book)
	})
}

// usedUp returns the account that is used up now, or nil.
func (b paying) usedUp(runID string) *money.Exhausted {
	s := b.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.parts[runID]
	if p == nil {
		return nil
	}
	act := p.actAt(p.pos)
	if !p.followed { // what a lost owner's model said does not count
		act = len(p.acts) - 1
	}
	if act < 0 {
		return nil
	}
	out := p.acts[act].finish.Result
	if out == nil || out.Waiting == nil || out.Waiting.Budget == nil {
		return nil
	}
	said := 0
	for i := range p.streams {
		if st := &p.streams[i]; (st.turn.Answered || p.followed && len(st.Deltas) > 0) && p.actAt(p.begins(st.turn.MessageID)) <= act {
			said = i + 1
		}
	}
	if p.spoke < said {
		return nil
	}
	s.clock = max(s.clock+1, p.events[p.acts[act].to-1].Time) // the run has waited for others to give back what they had reserved
	return out.Waiting.Budget
}

// begins returns the event that begins the step with the answer of that id, or -1.
func (p *past) begins(messageID string) int {
	for i := range p.events {
		if ev, ok := p.events[i].Event.(*awaken.StepStart); ok && ev.MessageID == messageID {
			return i
		}
	}
	return -1
}

// budgeted reports whether a run reserved what its model calls cost, as all runs do that a tenant pays.
func budgeted(runs []*part) bool {
	for _, p := range runs {
		if p.rec.Run.Budgeted {
			return true
		}
	}
	return false
}
