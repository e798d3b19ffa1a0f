package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// price is the price list of the model that answers.
func (s *stream) price() *awaken.Prices {
	if m := s.inf.agent.Members[s.member]; m != nil {
		return &m.Prices
	}
	return &s.inf.agent.ModelSpec.Prices
}

// answeredBy is the upstream name of the model that answers.
func (s *stream) answeredBy() string {
	if m := s.inf.agent.Members[s.member]; m != nil {
		return m.UpstreamModel
	}
	return s.inf.request.Model
}

// bill adds the cost of one request to the answer, from the reported usage.
func (s *stream) bill(err error) {
	u := s.got.Usage()
	s.usage.Add(u)
	cost, _ := s.price().Cost(u)
	if s.allowance.id != "" {
		cost = s.settle(cost, err)
	}
	s.cost += cost
}

// reserve reserves what the request may cost: an upper bound of its input tokens (a token has at
// least one byte), and the tokens of the longest answer. If there is less money than that, it
// limits the answer to what there is money for.
func (s *stream) reserve() error {
	inf := s.inf
	in, out := inf.agent.Worst.Highest()
	if s.allowance.longest == 0 {
		s.allowance.longest = inf.longestAnswer()
	}
	shortest := min(s.allowance.longest, shortestAnswer)
	if e := inf.request.ReasoningEffort; e != nil && e.Level == "" {
		shortest = min(s.allowance.longest, int64(e.Budget)+shortestAnswer)
	}
	input := saturate(float64(mostTokens(&inf.request, inf.agent.ModelSpec.ContextWindow)) * in * 1000)
	least := input + saturate(float64(shortest)*out*1000)
	want := input + saturate(float64(s.allowance.longest)*out*1000)
	inf.wallet.settleRemaining(s.ctx)
	id := inf.rt.cfg.NewID()
	granted, lost, err := s.await(id, least, want)
	if err != nil {
		return err
	}
	s.allowance.id, s.allowance.amount, s.cost = id, granted, s.cost+lost
	tokens := s.allowance.longest
	if out > 0 {
		tokens = min(tokens, max(shortest, int64(float64(granted-input)/(out*1000))))
	}
	s.allowance.allowed = tokens
	inf.request.MaxTokens = new(int(tokens))
	return nil
}

// await reserves. If only the reservations of other runs are in the way, it waits up to
// Limits.BudgetWait for them to be settled.
func (s *stream) await(id string, least, want money.Amount) (granted, lost money.Amount, err error) {
	inf := s.inf
	deadline, looked := inf.rt.cfg.Now().Add(inf.rt.cfg.Limits.BudgetWait), false
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err = inf.waitOut(s.ctx, func() (err error) {
			granted, lost, err = inf.wallet.spending.reserve(s.ctx, inf.info.RunID, money.Reservation{ID: id, Fence: inf.fence, At: inf.rt.cfg.Now().UnixMilli()}, least, want)
			return err
		})
		ex, exhausted := errors.AsType[*money.Exhausted](err)
		if err != nil && !exhausted {
			if !errors.Is(err, awaken.ErrFenced) && s.ctx.Err() == nil {
				err = fmt.Errorf("reserve for run %s: %w", inf.info.RunID, storeError{err})
			}
			return 0, 0, err
		}
		if !exhausted {
			return granted, lost, nil
		}
		if free := money.Dollars(ex.LimitUSD) - money.Dollars(ex.SpentUSD); free < least || !inf.rt.cfg.Now().Before(deadline) {
			return 0, 0, ex
		}
		if !looked { // reservations of lost owners are never settled by them
			looked = true
			if err := inf.rt.SettleLost(s.ctx); err != nil {
				return 0, 0, fmt.Errorf("reserve for run %s: %w", inf.info.RunID, storeError{err})
			}
			continue
		}
		select {
		case <-time.After(pause + rand.N(pause/4+1)):
		case <-s.ctx.Done():
			return 0, 0, context.Cause(s.ctx)
		}
	}
}

// settle stores what the request cost, and returns it. An unknown cost counts as the whole
// reservation, unless the provider refused the request.
func (s *stream) settle(cost money.Amount, err error) money.Amount {
	inf, id := s.inf, s.allowance.id
	s.allowance.id = ""
	known := err == nil && s.got.Usage() != (llm.Usage{})
	switch {
	case known:
	case err != nil && !s.allowance.arrived && refusedByProvider(err):
		cost, known = 0, true
	default:
		cost = max(cost, s.allowance.amount)
	}
	inf.wallet.unsettled = &settlement{id, cost, known}
	ctx, cancel := inf.graceContext(s.ctx)
	defer cancel()
	inf.wallet.settleRemaining(ctx)
	return cost
}

// refusedByProvider reports whether err means that the model did no work.
func refusedByProvider(err error) bool {
	switch llm.KindOf(err) {
	case llm.RateLimited, llm.Overloaded, llm.ContextOverflow, llm.InvalidRequest, llm.Unauthorized, llm.ModelNotFound,
		llm.CircuitOpen, llm.AllModelsUnavailable, llm.PoolAttemptsExhausted:
		return true
	}
	return false
}

// errOverspent cuts off an answer that costs more than was reserved for it.
var errOverspent = errors.New("the answer costs more than was reserved for it")

// watch checks whether the answer costs more than was reserved. A usage report may directly
// precede the finish, so only the next piece of content is cut off.
func (s *stream) watch(d *llm.Delta) error {
	switch d.Kind {
	case llm.UsageDelta:
		if d.Usage != nil {
			cost, _ := s.price().Cost(*d.Usage)
			s.allowance.overspent = cost > s.allowance.amount
		}
	case llm.TextDelta, llm.ReasoningDelta, llm.ToolCallDelta:
		s.allowance.streamed += int64(len(d.Text))
		if s.allowance.overspent || s.allowance.streamed/bytesPerToken > s.allowance.allowed {
			return errOverspent
		}
	}
	return nil
}

const (
	// bytesPerToken is a lower bound of the average size of an answer's token.
	bytesPerToken = 4
	// defaultAnswer is the longest answer in tokens if nothing limits it.
	defaultAnswer = 16_384
	// shortestAnswer is the number of tokens that there must be money for.
	shortestAnswer = 256
	// overhead is the number of tokens a provider may add to a request, for example about tools.
	overhead = 1024
	// unseenMedia is the number of tokens reserved for media given by URL if the model's window is
	// unknown.
	unseenMedia = 200_000
)

// mostTokens is an upper bound of the tokens of a request: a token has at least one byte, and no
// request exceeds the model's window.
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

// blockBytes counts the bytes of blocks, and reports whether some content is only given by URL.
func blockBytes(blocks []llm.Block) (n int, unseen bool) {
	for i := range blocks {
		b := &blocks[i]
		n += len(b.Text) + 4
		if s := b.Source; s != nil {
			n += len(s.Data) + int(min(s.Size, math.MaxInt32)/3*4)
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

// exhausted parks a run whose budget is used up and keeps the part of the answer that arrived. It
// returns nil if a message arrived meanwhile.
func (r *run) exhausted(ctx context.Context, s *stream, ex *money.Exhausted) *end {
	said := s.started || s.pieces > 0
	if said {
		s.cancelOpen(ctx, "the budget is used up", "", true)
		r.inference.keepPartial(s)
		r.conv.add(&llm.Message{ID: r.rt.cfg.NewID(), Role: llm.User, Visibility: llm.Internal, Metadata: r.metadata(), Content: []llm.Block{llm.Text(budgetPrompt)}})
		r.out.emit(ctx, r.inference.completed(s))
	} else {
		r.inference.restoreStepKeys(r.wallet.spending.before)
	}
	if err := r.endStep(ctx); err != nil {
		return r.fail(err)
	}
	if !said {
		r.rec.Steps-- // the model was not called
	}
	w := newWaiting(awaken.WaitBudget)
	w.Message, w.Budget = ex.Error(), ex
	return r.park(ctx, string(awaken.WaitBudget), w)
}

const budgetPrompt = "Your answer was cut off because the budget was used up. There is money again. Continue exactly where it stopped, without repeating anything. If you were about to call a tool, call it."

// restoreStepKeys restores what buildRequest consumed for one step: parameters, tool filters and
// context messages.
func (inf *inference) restoreStepKeys(before state.Snapshot) {
	var b state.Batch
	if o, ok := builtin.StepOverride.Lookup(before); ok {
		builtin.StepOverride.Update(&b, o)
	}
	if f, ok := builtin.ToolFilter.Lookup(before); ok {
		builtin.ToolFilter.Update(&b, f)
	}
	have := builtin.ContextMessages.Get(inf.st)
	for key, m := range builtin.ContextMessages.Get(before) {
		if _, ok := have[key]; !ok {
			builtin.ContextMessages.Update(&b, builtin.ContextUpdate{Put: &m})
		}
	}
	inf.set(&b)
}

// allowance is the reservation for one request, if the run has a budget.
type allowance struct {
	id        string // of the reservation; "" if there is none
	amount    money.Amount
	longest   int64 // tokens the answer may have
	allowed   int64 // tokens there is money for
	streamed  int64 // bytes received
	arrived   bool  // a delta has arrived
	overspent bool
}
