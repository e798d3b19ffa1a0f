package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/awaken-go/awaken/config"
)

// auditMetrics counts what the audit log gets. Actions are words of this program.
type auditMetrics struct {
	events   *prometheus.CounterVec
	failures prometheus.Counter
	pruned   prometheus.Counter
}

// Audited returns a store whose audit log is counted.
func (m *Metrics) Audited(store config.Store) config.Store {
	s := audited{store, &m.audits}
	if n, ok := store.(config.Notifier); ok {
		return notifying{s, n}
	}
	return s
}

type audited struct {
	config.Store
	m *auditMetrics
}

// Apply implements [config.Store].
func (s audited) Apply(ctx context.Context, c *config.Change) error {
	err := s.Store.Apply(ctx, c)
	switch {
	case err == nil:
		for _, e := range c.Audit {
			s.m.events.WithLabelValues(e.Action).Inc()
		}
	case len(c.Audit) > 0:
		s.m.failures.Inc()
	}
	return err
}

// Purge implements [config.Store].
func (s audited) Purge(ctx context.Context, audit, versions time.Duration) (config.Purged, error) {
	gone, err := s.Store.Purge(ctx, audit, versions)
	s.m.pruned.Add(float64(gone.Events))
	return gone, err
}

// Turn implements [config.Turner].
func (s audited) Turn(ctx context.Context) (done func(), err error) {
	if t, ok := s.Store.(config.Turner); ok {
		return t.Turn(ctx)
	}
	return func() {}, nil
}

// notifying is an audited store that reports changes by other processes.
type notifying struct {
	audited
	config.Notifier
}
