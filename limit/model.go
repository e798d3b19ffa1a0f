package limit

import (
	"context"
	"errors"
	"iter"

	"github.com/awaken-go/awaken/llm"
)

// model is a model client within limits.
type model struct {
	llm.Model
	account *account
}

var (
	_ llm.SchemaEnforcer = (*model)(nil)
	_ llm.Describer      = (*model)(nil)
)

func (m *model) SupportsSchema(name string) bool { return llm.SupportsSchema(m.Model, name) }

func (m *model) Knowledge(name string) llm.ModelKnowledge { return llm.KnowledgeOf(m.Model, name) }

// Stream sends the request when the limits allow it, and learns from the response.
func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		t, err := m.account.enter(ctx, req)
		switch {
		case err != nil:
			yield(llm.Delta{}, err)
			return
		case t == nil:
			m.Model.Stream(ctx, req)(yield)
			return
		}
		own := *req
		own.Reported = t.reported
		var usage *llm.Usage
		var failed error
		defer func() { t.leave(usage, failed) }()
		m.Model.Stream(ctx, &own)(func(d llm.Delta, err error) bool {
			if failed = err; err == nil && d.Kind == llm.UsageDelta && d.Usage != nil {
				usage = d.Usage
			}
			return yield(d, err)
		})
	}
}

// reported notes what a response says about the limits.
func (t *ticket) reported(r llm.RateReport) {
	a := t.account
	a.mu.Lock()
	defer a.mu.Unlock()
	t.begin()
	if t.learns == nil || r == (llm.RateReport{}) {
		return
	}
	t.said = &r
	t.learns.report = &r
	if !t.learns.learned {
		a.wake()
	}
}

// begin notes that the response has begun. Requires the account's mutex.
func (t *ticket) begin() {
	if !t.begun {
		t.begun = true
		for _, s := range t.scopes {
			s.inFlight--
		}
	}
}

// leave replaces the estimate of the request by what it used, and notes that the provider refused it.
func (t *ticket) leave(usage *llm.Usage, failed error) {
	a := t.account
	a.mu.Lock()
	defer a.mu.Unlock()
	t.begin()
	e, _ := errors.AsType[*llm.Error](failed)
	switch {
	case e != nil && e.Kind == llm.RateLimited:
		t.correct(0)
		for _, s := range t.scopes {
			s.refused++
		}
		if t.learns != nil {
			t.learns.refusal = &refusal{retryAfter: e.RetryAfter, known: t.said != nil}
		}
	case usage != nil && plausible(usage):
		t.correct(float64(max(usage.TotalTokens, usage.PromptTokens+usage.CompletionTokens)))
		if n := float64(usage.CompletionTokens); n > 0 {
			a.reply += (n - a.reply) / 16
		}
	}
	a.wake()
}

// mostTokens is more than a request can use.
const mostTokens = 1 << 24

// plausible reports whether a request can have used so much. A provider that counts wrongly must not
// empty a bucket for days, or fill it.
func plausible(u *llm.Usage) bool {
	for _, n := range []int64{u.PromptTokens, u.CompletionTokens, u.TotalTokens} {
		if n < 0 || n > mostTokens {
			return false
		}
	}
	return true
}

// correct replaces the estimate. Requires the account's mutex.
func (t *ticket) correct(used float64) {
	for _, s := range t.scopes {
		s.correct(t.tokens, used)
	}
}
