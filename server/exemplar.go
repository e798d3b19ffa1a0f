package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/awaken-go/awaken/internal/tracecontext"
)

// exemplarPause is the time between two exemplars of a series. Making one costs ten times as much as counting, and a scraper sees only the last.
const exemplarPause = time.Second

// exemplars gives durations the traces that they belong to, now and then.
type exemplars struct {
	last sync.Map // when a series got its latest one: *atomic.Int64, in ns, by prometheus.Observer
}

// observe records a duration. Its exemplar is the trace of ctx, if that is recorded.
func (e *exemplars) observe(ctx context.Context, h prometheus.Observer, seconds float64) {
	x, ok := h.(prometheus.ExemplarObserver)
	if ok && tracecontext.Sampled(ctx) && e.isDue(h) {
		x.ObserveWithExemplar(seconds, prometheus.Labels{"trace_id": tracecontext.Of(ctx).TraceID()})
		return
	}
	h.Observe(seconds)
}

// isDue reports whether a series gets another exemplar. Then it is that of the caller.
func (e *exemplars) isDue(h prometheus.Observer) bool {
	v, ok := e.last.Load(h)
	if !ok {
		v, _ = e.last.LoadOrStore(h, new(atomic.Int64))
	}
	last := v.(*atomic.Int64)
	before, now := last.Load(), time.Now().UnixNano()
	return now-before >= int64(exemplarPause) && last.CompareAndSwap(before, now)
}
