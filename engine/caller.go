package engine

import (
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ownership"
	"github.com/awaken-go/awaken/llm"
)

// customer is an owner that knows the client for which a run calls its model.
type customer interface {
	For() (tenant string, background bool)
}

// customer returns the tenant for which the run calls its model, and whether no user waits for it: its owner says so, or its
// mode is scheduled.
func (a *activation) customer() (tenant string, background bool) {
	if o, ok := ownership.Of[customer](a.ctx); ok {
		tenant, background = o.For()
	}
	return tenant, background || a.rec.Mode == "scheduled"
}

var _ llm.Caller = (*inference)(nil)

// Customer implements [llm.Caller]. What has kept a request may ask after the run, too.
func (inf *inference) Customer() (tenant string, background bool) { return inf.whom.Customer() }

// RateWaits shows that the run waits for a rate limit of its provider. It does nothing once the run
// is over.
func (inf *inference) RateWaits(w llm.RateWait) {
	s := inf.stream
	if s == nil || s.inf == nil {
		return
	}
	content, err := json.Marshal(map[string]any{"provider": w.Provider, "model": w.Model, "paused": w.Paused})
	if err != nil {
		return
	}
	s.inside = true // a panic is the sink's
	s.show(s.ctx, &awaken.ActivitySnapshot{MessageID: inf.step.messageID, ActivityType: "rate_limit", Content: content})
	s.inside = false
}

// client identifies the tenant and user of a model call. It is the caller of a request for a summary.
type client struct {
	tenant     string
	background bool
}

// Customer implements [llm.Caller].
func (c client) Customer() (tenant string, background bool) { return c.tenant, c.background }

// RateWaits implements [llm.Caller].
func (c client) RateWaits(llm.RateWait) {}
