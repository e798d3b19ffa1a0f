package awaken

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// price is the price list of whoever answers.
func (s *stream) price() *Prices {
	if m := s.inf.agent.members[s.member]; m != nil {
		return &m.Prices
	}
	return &s.inf.agent.modelSpec.Prices
}

// answeredBy is the provider's name of the model that answers.
func (s *stream) answeredBy() string {
	if m := s.inf.agent.members[s.member]; m != nil {
		return m.UpstreamModel
	}
	return s.inf.request.Model
}

// bill adds up what one request of the answer has cost, by the usage that was reported.
func (s *stream) bill(err error) {
	u := s.got.Usage()
	s.usage.Add(u)
	cost, _ := s.price().Cost(u)
	if s.held != "" {
		cost = s.settle(cost, err)
	}
	s.cost += cost
}

// spend adds what an answer took to the record.
func (inf *inference) spend(s *stream) {
	inf.use(s.usage)
	inf.charge(s.cost)
}

func (a *activation) use(u llm.Usage) {
	a.rec.Usage.Add(u)
	a.rec.InputTokens, a.rec.OutputTokens = a.rec.Usage.PromptTokens, a.rec.Usage.CompletionTokens
}

func (a *activation) charge(m Money) {
	if m != 0 {
		a.rec.CostUSD = (Dollars(a.rec.CostUSD) + m).USD()
	}
}

// limitSpending finds out whether the run has to reserve what it may spend, and where.
func (wl *wallet) limit(ctx context.Context) error {
	wl.spending = nil
	if cfg := &wl.rt.cfg; !cfg.Budgets && cfg.TenantBudget == nil && wl.agent.spec.Budget == nil && wl.rec.FirstAgentID == "" && wl.rec.Budget == nil && wl.rec.ParentRunID == "" {
		return nil
	}
	return wl.findLimits(ctx)
}

// findLimits collects the accounts of the run and of those it is part of.
func (wl *wallet) findLimits(ctx context.Context) error {
	cfg := &wl.rt.cfg
	var accounts []limited
	add := func(a Account, limit *float64) {
		for i := range accounts {
			if accounts[i].Account == a {
				accounts[i].limit = lower(accounts[i].limit, limit)
				return
			}
		}
		accounts = append(accounts, limited{a, limit})
	}
	any := cfg.Budgets || cfg.TenantBudget != nil
	// A run and what it is part of: a child counts for its parents too. A run that was
	// handed over is held to the limits of the agent that it began with, and of the one
	// that it is with.
	each := func(rec *Run) {
		any = any || rec.Budget != nil
		limits := *cmp.Or(rec.Budget, &RunBudget{})
		for _, id := range [...]string{rec.FirstAgentID, rec.AgentID} {
			if id == "" {
				continue
			}
			var agent AgentBudget
			if spec := wl.reg.Agent(id); spec != nil && spec.Budget != nil {
				any, agent = true, *spec.Budget
			}
			add(Account{AgentScope, wl.reg.Base(id)}, agent.Agent)
			limits.Thread, limits.Run = lower(limits.Thread, agent.Thread), lower(limits.Run, agent.Run)
		}
		add(Account{ThreadScope, rec.ThreadID}, limits.Thread)
		if limits.Run != nil {
			add(Account{RunScope, rec.RunID}, limits.Run)
		}
	}
	each(&wl.rec)
	parent := wl.rec.ParentRunID
	for depth := 0; parent != "" && depth < maxAncestors; depth++ {
		rec, err := cfg.Store.LoadRun(ctx, parent)
		if errors.Is(err, ErrNotFound) {
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
	add(Account{Scope: TenantScope}, cfg.TenantBudget)
	budget, ok := cfg.Store.(Budget)
	switch {
	case !ok:
		return fmt.Errorf("%w: there is a budget, and the store keeps none", ErrInvalid)
	case !wl.agent.worst.Priced():
		return fmt.Errorf("%w: there is a budget, and model %q of agent %q has no prices", ErrInvalid, wl.agent.spec.ModelID, wl.info.AgentID)
	case wl.agent.summariser != nil && !wl.agent.summariser.prices.Priced():
		return fmt.Errorf("%w: there is a budget, and summary_model %q of agent %q has no prices", ErrInvalid, wl.agent.summariser.upstream, wl.info.AgentID)
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

// takeUpSpending settles what the run's owner before reserved and could not settle.
func (wl *wallet) takeUp(ctx context.Context) error {
	budget, ok := wl.rt.cfg.Store.(Budget)
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

// reserve sets aside what the request may cost: the tokens of its input, which cannot be
// more than it has bytes, and those of the longest answer. If there is less money than
// that, the answer may only be so long as there is money for.
func (s *stream) reserve() error {
	inf := s.inf
	in, out := inf.agent.worst.highest()
	if s.longest == 0 {
		s.longest = inf.longestAnswer()
	}
	shortest := min(s.longest, shortestAnswer)
	if e := inf.request.ReasoningEffort; e != nil && e.Level == "" {
		shortest = min(s.longest, int64(e.Budget)+shortestAnswer)
	}
	input := saturate(float64(mostTokens(&inf.request, inf.agent.modelSpec.ContextWindow)) * in * 1000)
	least := input + saturate(float64(shortest)*out*1000)
	want := input + saturate(float64(s.longest)*out*1000)
	inf.wallet.settleRemaining(s.ctx)
	id := inf.rt.cfg.NewID()
	granted, lost, err := s.await(id, least, want)
	if err != nil {
		return err
	}
	s.held, s.reserved, s.cost = id, granted, s.cost+lost
	tokens := s.longest
	if out > 0 {
		tokens = min(tokens, max(shortest, int64(float64(granted-input)/(out*1000))))
	}
	s.allowed = tokens
	inf.request.MaxTokens = new(int(tokens))
	return nil
}

// await reserves, and waits for a while if it is only because of what others have reserved
// that there is not enough.
func (s *stream) await(id string, least, want Money) (granted, lost Money, err error) {
	inf := s.inf
	deadline, looked := inf.rt.cfg.Now().Add(inf.rt.cfg.Limits.BudgetWait), false
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		granted, lost, err = inf.wallet.spending.reserve(s.ctx, inf.info.RunID, Reservation{ID: id, Fence: inf.fence, At: inf.rt.cfg.Now().UnixMilli()}, least, want)
		ex, exhausted := errors.AsType[*Exhausted](err)
		if err != nil && !exhausted {
			if !errors.Is(err, ErrFenced) && s.ctx.Err() == nil {
				err = fmt.Errorf("reserve for run %s: %w", inf.info.RunID, storeError{err})
			}
			return 0, 0, err
		}
		if !exhausted {
			return granted, lost, nil
		}
		if free := Dollars(ex.LimitUSD) - Dollars(ex.SpentUSD); free < least || !inf.rt.cfg.Now().Before(deadline) {
			return 0, 0, ex
		}
		if !looked { // nobody waits for what will not come
			looked = true
			if err := inf.rt.SettleLost(s.ctx); err != nil {
				return 0, 0, fmt.Errorf("reserve for run %s: %w", inf.info.RunID, storeError{err})
			}
			continue
		}
		t := time.NewTimer(pause + rand.N(pause/4+1))
		select {
		case <-t.C:
		case <-s.ctx.Done():
			t.Stop()
			return 0, 0, context.Cause(s.ctx)
		}
	}
}

// settle says what the request has cost, and returns it. If that is not known it is taken
// to be all that was reserved, unless the provider refused the request.
func (s *stream) settle(cost Money, err error) Money {
	inf, id := s.inf, s.held
	s.held = ""
	known := err == nil && s.got.Usage() != (llm.Usage{})
	switch {
	case known:
	case err != nil && !s.arrived && refusedByProvider(err):
		cost, known = 0, true
	default:
		cost = max(cost, s.reserved)
	}
	inf.wallet.unsettled = &settlement{id, cost, known}
	ctx, cancel := inf.last(s.ctx)
	defer cancel()
	inf.wallet.settleRemaining(ctx)
	return cost
}

// settleRest stores what the last call has cost, unless it is stored. If that fails it goes
// on being reserved, and is tried again before the next call and before the run comes to
// rest.
func (wl *wallet) settleRemaining(ctx context.Context) {
	if wl.unsettled == nil {
		return
	}
	if err := wl.unsettled.settle(ctx, wl.rt.cfg.Store.(Budget), wl.info.RunID); err != nil {
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
	budget, ok := rt.cfg.Store.(Budget)
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
			if err != nil && !errors.Is(err, ErrNotFound) {
				return fmt.Errorf("run %s: %w", key, err)
			}
			if err == nil && rec.Status != RunDone && rec.Status != RunWaiting {
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

// refusedByProvider reports whether an error says that the model has not been at work.
func refusedByProvider(err error) bool {
	switch llm.KindOf(err) {
	case llm.RateLimited, llm.Overloaded, llm.ContextOverflow, llm.InvalidRequest, llm.Unauthorized, llm.ModelNotFound,
		llm.AllModelsUnavailable, llm.PoolAttemptsExhausted:
		return true
	}
	return false
}

// errOverspent cuts an answer that costs more than was reserved for it.
var errOverspent = errors.New("the answer costs more than was reserved for it")

// watch looks whether the answer that is coming costs more than was reserved. A usage
// report may be the last thing before the finish, so it is the next piece that is cut.
func (s *stream) watch(d *llm.Delta) error {
	switch d.Kind {
	case llm.UsageDelta:
		if d.Usage != nil {
			cost, _ := s.price().Cost(*d.Usage)
			s.overspent = cost > s.reserved
		}
	case llm.TextDelta, llm.ReasoningDelta, llm.ToolCallDelta:
		s.streamed += int64(len(d.Text))
		if s.overspent || s.streamed/bytesPerToken > s.allowed {
			return errOverspent
		}
	}
	return nil
}

const (
	// bytesPerToken is what a token of an answer has at least, on average.
	bytesPerToken = 4
	// defaultAnswer is how many tokens an answer may have if nothing says so.
	defaultAnswer = 16_384
	// shortestAnswer is how many tokens there has to be money for.
	shortestAnswer = 256
	// overhead is what providers may add to a request: their own words about tools.
	overhead = 1024
	// unseenMedia is what is reserved for media of which only the address is known, if
	// the model's window is not.
	unseenMedia = 200_000
)

// longestAnswer is how many tokens the answer may have.
func (inf *inference) longestAnswer() int64 {
	switch {
	case inf.request.MaxTokens != nil:
		return int64(max(*inf.request.MaxTokens, 1))
	case inf.agent.modelSpec.MaxOutputTokens > 0:
		return int64(inf.agent.modelSpec.MaxOutputTokens)
	case inf.agent.spec.ContextPolicy != nil && inf.agent.spec.ContextPolicy.MaxOutputTokens > 0:
		return int64(inf.agent.spec.ContextPolicy.MaxOutputTokens)
	}
	return defaultAnswer
}

// mostTokens is how many tokens a request has at most: a token has at least one byte, and
// no request is larger than the model's window.
func mostTokens(req *llm.Request, window int) int64 {
	n, unseen := blockBytes(req.System)
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	if req.Output != nil {
		n += len(req.Output.Schema)
	}
	for _, m := range req.Messages.All() {
		c, u := blockBytes(m.Content)
		n, unseen = n+c, unseen || u
		for _, tc := range m.ToolCalls {
			n += len(tc.ID) + len(tc.Name) + len(tc.Arguments)
		}
		n += len(m.ToolCallID) + 8
	}
	tokens := int64(n + overhead)
	if unseen {
		tokens += unseenMedia
	}
	if window > 0 {
		tokens = min(tokens, int64(window))
	}
	return tokens
}

// blockBytes counts the bytes of blocks, and reports whether some of them are elsewhere.
func blockBytes(blocks []llm.Block) (n int, unseen bool) {
	for i := range blocks {
		b := &blocks[i]
		n += len(b.Text) + 4
		if s := b.Source; s != nil {
			n += len(s.Data)
			unseen = unseen || s.URL != ""
		}
		if b.Tool != nil {
			c, u := blockBytes(b.Tool.Content)
			n, unseen = n+len(b.Tool.Input)+c, unseen || u
		}
		if b.Opaque != nil {
			n += len(b.Opaque.Signature) + len(b.Opaque.Data)
		}
	}
	return n, unseen
}

// exhausted parks a run whose budget is used up. What the model had said is kept. It
// returns nil when somebody wrote to the run meanwhile.
func (r *run) exhausted(ctx context.Context, s *stream, ex *Exhausted) *end {
	said := false
	if s.started || s.pieces > 0 {
		said = true
		s.cancelOpen(ctx, "the budget is used up", true)
		m := s.got.Message()
		if m.ToolCalls = nil; !m.Empty() && !s.silent { // else nobody has judged it
			m.ID, m.Metadata = r.step.messageID, r.metadata()
			m.Metadata.Interrupted = true
			r.conv.add(m)
			r.step.response = m.Text()
		}
		r.conv.add(&llm.Message{ID: r.rt.cfg.NewID(), Role: llm.User, Visibility: llm.Internal, Metadata: r.metadata(), Content: []llm.Block{llm.Text(budgetPrompt)}})
		r.out.emit(ctx, r.inference.completed(s))
	} else {
		r.inference.putBack(r.wallet.spending.before)
	}
	if err := r.endStep(ctx); err != nil {
		return r.fail(err)
	}
	if !said {
		r.rec.Steps-- // the model was not asked
	}
	rec := r.rec
	r.rec.Status, r.rec.StatusReason = RunWaiting, string(WaitBudget)
	r.rec.Waiting = &Waiting{Reason: WaitBudget, TicketIDs: []string{}, Tickets: []WaitingTicket{}, Message: ex.Error(), Budget: ex}
	return r.rest(ctx, rec)
}

const budgetPrompt = "Your answer was cut off because the budget was used up. There is money again. Continue exactly where it stopped, without repeating anything. If you were about to call a tool, call it."

// putBack gives the next try what buildRequest used up: parameters, filters and messages
// that are for one step.
func (inf *inference) putBack(before state.Snapshot) {
	var b state.Batch
	if o, ok := stepOverride.Lookup(before); ok {
		stepOverride.Update(&b, o)
	}
	if f, ok := toolFilter.Lookup(before); ok {
		toolFilter.Update(&b, f)
	}
	have := contextMessages.Get(inf.st)
	for key, m := range contextMessages.Get(before) {
		if _, ok := have[key]; !ok {
			contextMessages.Update(&b, contextUpdate{put: &m})
		}
	}
	if err := inf.st.Apply(&b); err != nil {
		panic(err) // the built-in keys are in every schema
	}
}

// bindSpending finds out what limits the run, and settles what was left unsettled.
func (wl *wallet) bind(ctx context.Context) error {
	if wl.resumed && wl.rec.Budgeted {
		if err := wl.takeUp(ctx); err != nil {
			return err
		}
	}
	if wl.endAtOnce != nil { // it asks no model any more
		return nil
	}
	return wl.limit(ctx)
}
