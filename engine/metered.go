package engine

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/money"
)

// metered is a model that works beside a run and is paid from the run's budgets. It makes
// one request at a time, because its reservation is one: key's. If its process dies, the
// next to reserve with that key counts what was left as spent, or [Runtime.SettleLost] does.
type metered struct {
	model    llm.Model
	spending *spending
	prices   awaken.Prices
	window   int // tokens of a request, if that is known
	key      string
	fence    uint64
	cfg      *Config
	slot     chan struct{} // cap 1
}

func (m *metered) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		select {
		case m.slot <- struct{}{}:
			defer func() { <-m.slot }()
		case <-ctx.Done():
			yield(llm.Delta{}, &llm.Error{Kind: llm.Cancelled, Err: context.Cause(ctx)})
			return
		}
		id := m.cfg.NewID()
		reserved, err := m.reserve(ctx, id, req)
		if err != nil {
			yield(llm.Delta{}, &llm.Error{Kind: llm.InvalidRequest, Message: err.Error(), Err: err}) // not to be tried again
			return
		}
		var usage llm.Usage
		var failed error
		begun, done := false, false
		defer func() { // also when the reader has enough, or a model panics
			m.settle(ctx, id, reserved, usage, done, !begun && failed != nil && refusedByProvider(failed))
		}()
		for d, err := range m.model.Stream(ctx, req) {
			if failed = err; err == nil {
				begun = true
			}
			if d.Kind == llm.UsageDelta && d.Usage != nil {
				usage = *d.Usage
			}
			done = done || d.Kind == llm.FinishDelta
			if !yield(d, err) {
				return
			}
		}
	}
}

// reserve sets aside what a request may cost.
func (m *metered) reserve(ctx context.Context, id string, req *llm.Request) (money.Amount, error) {
	if !m.prices.Priced() {
		return 0, fmt.Errorf("%w: there is a budget, and model %q has no prices", awaken.ErrInvalid, req.Model)
	}
	in, out := m.prices.Highest()
	worst := saturate(float64(mostTokens(req, m.window))*in*1000) + saturate(float64(*req.MaxTokens)*out*1000)
	reserved, _, err := m.spending.reserve(ctx, m.key, money.Reservation{ID: id, Fence: m.fence, At: m.cfg.Now().UnixMilli()}, worst, worst)
	return reserved, err
}

// settle says what a request has cost: everything that was reserved, if that is not known.
func (m *metered) settle(ctx context.Context, id string, reserved money.Amount, usage llm.Usage, done, refused bool) {
	cost, _ := m.prices.Cost(usage)
	known := refused || done && usage != (llm.Usage{})
	if !known {
		cost = max(cost, reserved)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := (settlement{id, cost, known}).settle(ctx, m.spending.budget, m.key); err != nil {
		m.cfg.Logger.Warn("what a call has cost could not be stored", "for", m.key, "cost", cost, "error", err)
	}
}
