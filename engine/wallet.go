package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/money"
)

// wallet is what a run may spend.
type wallet struct {
	*activation

	spending  *spending   // nil if nothing limits what the run spends
	unsettled *settlement // what the last call has cost, as long as that could not be stored
}

// bind finds out what limits the run, and settles what was left unsettled.
func (wl *wallet) bind(ctx context.Context) error {
	if wl.resumed && wl.rec.Budgeted {
		if err := wl.recover(ctx); err != nil {
			return err
		}
	}
	if wl.endAtOnce != nil { // it asks no model any more
		return nil
	}
	return wl.limit(ctx)
}

// limit finds out whether the run has to reserve what it may spend, and where.
func (wl *wallet) limit(ctx context.Context) error {
	wl.spending = nil
	if cfg := &wl.rt.cfg; !cfg.Budgets && cfg.TenantBudget == nil && wl.agent.Spec.Budget == nil && wl.rec.FirstAgentID == "" && wl.rec.Budget == nil && wl.rec.ParentRunID == "" {
		return nil
	}
	return wl.findLimits(ctx)
}

// findLimits collects the accounts of the run and of those it is part of.
func (wl *wallet) findLimits(ctx context.Context) error {
	cfg := &wl.rt.cfg
	var accounts []limited
	add := func(a money.Account, limit *float64) {
		if i := slices.IndexFunc(accounts, func(l limited) bool { return l.Account == a }); i >= 0 {
			accounts[i].limit = lower(accounts[i].limit, limit)
			return
		}
		accounts = append(accounts, limited{a, limit})
	}
	any := cfg.Budgets || cfg.TenantBudget != nil
	// A run and what it is part of: a child counts for its parents too. A run that was
	// handed over is held to the limits of the agent that it began with, and of the one
	// that it is with.
	each := func(rec *awaken.Run) {
		any = any || rec.Budget != nil
		limits := *cmp.Or(rec.Budget, &awaken.RunBudget{})
		for _, id := range [...]string{rec.FirstAgentID, rec.AgentID} {
			if id == "" {
				continue
			}
			var agent awaken.AgentBudget
			if spec := wl.reg.Agent(id); spec != nil && spec.Budget != nil {
				any, agent = true, *spec.Budget
			}
			add(money.Account{Scope: money.AgentScope, ID: wl.reg.Base(id)}, agent.Agent)
			limits.Thread, limits.Run = lower(limits.Thread, agent.Thread), lower(limits.Run, agent.Run)
		}
		add(money.Account{Scope: money.ThreadScope, ID: rec.ThreadID}, limits.Thread)
		if limits.Run != nil {
			add(money.Account{Scope: money.RunScope, ID: rec.RunID}, limits.Run)
		}
	}
	each(&wl.rec)
	parent := wl.rec.ParentRunID
	for depth := 0; parent != "" && depth < maxAncestors; depth++ {
		rec, err := cfg.Store.LoadRun(ctx, parent)
		if errors.Is(err, awaken.ErrNotFound) {
			break
		}
		if err != nil {
			return fmt.Errorf("parent run %s: %w", parent, err)
		}
		each(rec)
		parent = rec.ParentRunID
	}
	if !any {
		return nil
	}
	add(money.Account{Scope: money.TenantScope}, cfg.TenantBudget)
	budget, ok := cfg.Store.(money.Budget)
	switch {
	case !ok:
		return fmt.Errorf("%w: there is a budget, and the store keeps none", awaken.ErrInvalid)
	case !wl.agent.Worst.Priced():
		return fmt.Errorf("%w: there is a budget, and model %q of agent %q has no prices", awaken.ErrInvalid, wl.agent.Spec.ModelID, wl.info.AgentID)
	case wl.agent.Summariser != nil && !wl.agent.Summariser.Prices.Priced():
		return fmt.Errorf("%w: there is a budget, and summary_model %q of agent %q has no prices", awaken.ErrInvalid, wl.agent.Summariser.Upstream, wl.info.AgentID)
	}
	slices.SortFunc(accounts, func(a, b limited) int { return a.Account.Compare(b.Account) })
	wl.spending = &spending{budget: budget, accounts: accounts}
	for _, a := range accounts {
		wl.spending.names = append(wl.spending.names, a.Account)
	}
	wl.rec.Budgeted = true
	return nil
}

// maxAncestors is how many parents of a run are looked at. No chain is so long.
const maxAncestors = 64

// takeUp settles what the run's owner before reserved and could not settle.
func (wl *wallet) recover(ctx context.Context) error {
	budget, ok := wl.rt.cfg.Store.(money.Budget)
	if !ok {
		return nil
	}
	lost, err := recoverReservation(ctx, budget, wl.info.RunID, wl.fence)
	if err != nil {
		return fmt.Errorf("reservation of run %s: %w", wl.info.RunID, storeError{err})
	}
	wl.charge(lost)
	return nil
}

// settleRemaining stores what the last call has cost, unless it is stored. If that fails it goes
// on being reserved, and is tried again before the next call and before the run comes to
// rest.
func (wl *wallet) settleRemaining(ctx context.Context) {
	if wl.unsettled == nil {
		return
	}
	if err := wl.unsettled.settle(ctx, wl.rt.cfg.Store.(money.Budget), wl.info.RunID); err != nil {
		wl.rt.cfg.Logger.Warn("what a call has cost could not be stored", "run", wl.info.RunID, "cost", wl.unsettled.amount, "error", err)
		return
	}
	wl.unsettled = nil
}

// SettleLost settles reservations that nobody else will: of runs that are over, wait or are
// not there any more, and of summaries whose process is gone. What was reserved counts as
// spent, because it may be. Runs do so when reservations are in their way; whoever shows
// balances may want to do so before. It looks only at what is some minutes old.
func (rt *Runtime) SettleLost(ctx context.Context) error {
	budget, ok := rt.cfg.Store.(money.Budget)
	if !ok {
		return nil
	}
	held, err := budget.Reservations(ctx)
	if err != nil {
		return err
	}
	old := rt.cfg.Now().Add(-compactionLease).UnixMilli()
	for key, res := range held {
		if res.At > old {
			continue
		}
		if !strings.HasPrefix(key, compactionKey) {
			rec, err := rt.cfg.Store.LoadRun(ctx, key)
			if err != nil && !errors.Is(err, awaken.ErrNotFound) {
				return fmt.Errorf("run %s: %w", key, err)
			}
			if err == nil && rec.Status != awaken.RunDone && rec.Status != awaken.RunWaiting {
				continue // whoever goes on with it settles it
			}
		}
		if err := (settlement{id: res.ID, amount: res.Amount}).settle(ctx, budget, key); err != nil {
			return fmt.Errorf("reservation of %s: %w", key, err)
		}
		rt.cfg.Logger.Warn("a reservation was lost", "of", key, "amount", res.Amount)
	}
	return nil
}

// compactionKey, and a thread, is whose the reservation for a summary is.
const compactionKey = "compaction of "
