package engine

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
)

// metered is a model that is used concurrently with a run and paid from the run's budgets. It
// makes one request at a time, because key has only one reservation. If the process dies, the next
// reservation of that key, or [Runtime.SettleLost], counts the old one as spent.
type metered struct {
	model    llm.Model
	spending *spending
	prices   awaken.Prices
	window   int // context window in tokens, 0 if unknown
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
			yield(llm.Delta{}, &llm.Error{Kind: llm.InvalidRequest, Message: err.Error(), Err: err}) // not retried
			return
		}
		var usage llm.Usage
		var failed error
		begun, done := false, false
		defer func() { // also when the consumer stops early, or the model panics
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

// reserve reserves what a request may cost.
func (m *metered) reserve(ctx context.Context, id string, req *llm.Request) (money.Amount, error) {
	if !m.prices.Priced() {
		return 0, fmt.Errorf("%w: the run has a budget, but model %q has no prices", awaken.ErrInvalid, req.Model)
	}
	in, out := m.prices.Highest()
	worst := saturate(float64(mostTokens(req, m.window))*in*1000) + saturate(float64(*req.MaxTokens)*out*1000)
	reserved, _, err := m.spending.reserve(ctx, m.key, money.Reservation{ID: id, Fence: m.fence, At: m.cfg.Now().UnixMilli()}, worst, worst)
	return reserved, err
}

// settle stores what a request cost. An unknown cost counts as the whole reservation.
func (m *metered) settle(ctx context.Context, id string, reserved money.Amount, usage llm.Usage, done, refused bool) {
	cost, _ := m.prices.Cost(usage)
	known := refused || done && usage != (llm.Usage{})
	if !known {
		cost = max(cost, reserved)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := (settlement{id, cost, known}).settle(ctx, m.spending.budget, m.key); err != nil {
		m.cfg.Logger.Warn("cannot record the cost of a model call", "for", m.key, "cost", cost, "error", err)
	}
}
