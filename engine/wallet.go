package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/state/builtin"
)

// wallet handles the budgets of a run.
type wallet struct {
	*activation

	spending  *spending   // nil if the run has no budget
	unsettled *settlement // the cost of the last call, until it is stored
}

// bind determines the limits of the run, and settles the reservation of a previous owner.
func (wl *wallet) bind(ctx context.Context) error {
	if wl.resumed && wl.rec.Budgeted {
		if err := wl.recover(ctx); err != nil {
			return err
		}
	}
	if wl.endAtOnce != nil { // it makes no more model calls
		return nil
	}
	return wl.limit(ctx)
}

// limit determines whether the run must reserve what it spends, and in which accounts.
func (wl *wallet) limit(ctx context.Context) error {
	wl.spending = nil
	if cfg := &wl.rt.cfg; !cfg.Budgets && cfg.TenantBudget == nil && wl.agent.Spec.Budget == nil && wl.rec.FirstAgentID == "" && wl.rec.Budget == nil && wl.rec.ParentRunID == "" {
		return nil
	}
	return wl.findLimits(ctx)
}

// findLimits collects the accounts of the run and of its ancestors.
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
	any, own := cfg.Budgets || cfg.TenantBudget != nil, false
	// The cost of a child counts for its ancestors too. After a handoff both the limits of the
	// first agent and those of the current one apply.
	each := func(rec *awaken.Run) {
		own = own || rec.Budget != nil
		limits := *cmp.Or(rec.Budget, &awaken.RunBudget{})
		for _, id := range [...]string{rec.FirstAgentID, rec.AgentID} {
			if id == "" {
				continue
			}
			var agent awaken.AgentBudget
			if spec := wl.reg.Agent(id); spec != nil && spec.Budget != nil {
				own, agent = true, *spec.Budget
			}
			add(money.Account{Scope: money.AgentScope, ID: wl.reg.Base(id)}, agent.Agent)
			limits.Thread, limits.Run = lower(limits.Thread, agent.Thread), lower(limits.Run, agent.Run)
		}
		add(money.Account{Scope: money.ThreadScope, ID: rec.ThreadID}, limits.Thread)
		if limits.Run != nil {
			add(money.Account{Scope: money.RunScope, ID: rec.RunID}, limits.Run)
		}
	}
	each(wl.rec)
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
	if !any && !own || !own && cfg.AllowUnpriced && wl.agent.Unpriced() != "" {
		return nil
	}
	add(money.Account{Scope: money.TenantScope}, cfg.TenantBudget)
	budget, ok := cfg.Store.(money.Budget)
	switch {
	case !ok:
		return fmt.Errorf("%w: the run has a budget, but the store does not support budgets", awaken.ErrInvalid)
	case wl.agent.Unpriced() != "":
		return fmt.Errorf("%w: the run has a budget, but %s of agent %q has no prices", awaken.ErrInvalid, wl.agent.Unpriced(), wl.info.AgentID)
	}
	slices.SortFunc(accounts, func(a, b limited) int { return a.Account.Compare(b.Account) })
	wl.spending = &spending{budget: budget, accounts: accounts}
	for _, a := range accounts {
		wl.spending.names = append(wl.spending.names, a.Account)
	}
	wl.rec.Budgeted = true
	return nil
}

// maxAncestors bounds the number of ancestors that are considered. No real chain is so long.
const maxAncestors = 64

// recover settles the reservation of a previous owner.
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

// settleRemaining stores the cost of the last call, if it is not stored yet. If that fails the
// amount stays reserved, and is tried again before the next call and before the run parks or ends.
func (wl *wallet) settleRemaining(ctx context.Context) {
	if wl.unsettled == nil {
		return
	}
	if err := wl.unsettled.settle(ctx, wl.rt.cfg.Store.(money.Budget), wl.info.RunID); err != nil {
		wl.log().Warn("cannot record the cost of a model call", "cost", wl.unsettled.amount, "error", err)
		return
	}
	wl.unsettled = nil
}

// SettleLost settles reservations that no run will settle any more: those of runs that are over,
// wait or no longer exist, and those of summaries whose process died. The reserved amount counts
// as spent, because it may be. Runs call it when reservations are in their way; a program that
// shows balances may call it first. Only reservations that are several minutes old are considered.
func (rt *Runtime) SettleLost(ctx context.Context) error {
	budget, ok := rt.cfg.Store.(money.Budget)
	if !ok {
		return nil
	}
	held, err := budget.Reservations(ctx)
	if err != nil {
		return err
	}
	old := rt.cfg.Now().Add(-builtin.CompactionLease).UnixMilli()
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
				continue // its owner settles it
			}
		}
		if err := (settlement{id: res.ID, amount: res.Amount}).settle(ctx, budget, key); err != nil {
			return fmt.Errorf("reservation of %s: %w", key, err)
		}
		rt.cfg.Logger.Warn("settled a lost reservation", "of", key, "amount", res.Amount)
	}
	return nil
}

// compactionKey prefixes the thread id in the reservation key of a summary.
const compactionKey = "compaction of "
