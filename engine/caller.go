package engine

import (
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ownership"
	"github.com/awaken-go/awaken/llm"
)

// customer is an owner that knows for whom a run calls its model.
type customer interface {
	For() (tenant string, background bool)
}

// customer returns for whom the run calls its model, and whether no user waits for it: a task that
// another run has begun, or what its owner says.
func (a *activation) customer() (tenant string, background bool) {
	if o, ok := ownership.Of[customer](a.ctx); ok {
		tenant, background = o.For()
	}
	return tenant, background || a.rec.Mode == "scheduled"
}

var _ llm.Caller = (*stream)(nil)

// Customer implements [llm.Caller].
func (s *stream) Customer() (tenant string, background bool) { return s.inf.customer() }

// RateWaits shows that the run waits for a rate limit of its provider.
func (s *stream) RateWaits(w llm.RateWait) {
	content, err := json.Marshal(map[string]any{"provider": w.Provider, "model": w.Model, "paused": w.Paused})
	if err != nil {
		return
	}
	s.inside = true // a panic is the sink's
	s.show(s.ctx, &awaken.ActivitySnapshot{MessageID: s.inf.step.messageID, ActivityType: "rate_limit", Content: content})
	s.inside = false
}

// summaryCaller is for whom a summary is made.
type summaryCaller struct {
	tenant     string
	background bool
}

// Customer implements [llm.Caller].
func (c summaryCaller) Customer() (tenant string, background bool) { return c.tenant, c.background }

// RateWaits implements [llm.Caller].
func (c summaryCaller) RateWaits(llm.RateWait) {}
