package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/awaken-go/awaken/limit"
)

// waitMetrics counts the requests to providers that waited for a rate limit.
type waitMetrics struct {
	time *prometheus.HistogramVec
}

// Waited counts a request that waited. Pass it to [limit.Config].
func (m *Metrics) Waited(w limit.Waited) {
	priority, outcome := "interactive", "sent"
	if w.Background {
		priority = "background"
	}
	if !w.Sent {
		outcome = "given_up"
	}
	m.waits.time.WithLabelValues(w.Provider, m.words.model(w.Model), priority, outcome).Observe(w.For.Seconds())
}

// Limits adds the rate limits of providers to /metrics, as this process knows them.
func (m *Metrics) Limits(l *limit.Limiter) { m.detail.MustRegister(&rateGauges{l, &m.words}) }

type rateGauges struct {
	limiter *limit.Limiter
	words   *vocabulary
}

var (
	rateDesc    = prometheus.NewDesc("awaken_provider_limit_per_minute", "Rate limits of providers in effect, of an account or one of its models.", []string{"provider", "model", "unit", "source"}, nil)
	waitingDesc = prometheus.NewDesc("awaken_provider_limit_waiting", "Requests of this process that wait for a rate limit.", []string{"provider", "model"}, nil)
	pausedDesc  = prometheus.NewDesc("awaken_provider_limit_paused_seconds", "Remaining time of a pause that the provider asked for.", []string{"provider", "model"}, nil)
)

func (g *rateGauges) Describe(c chan<- *prometheus.Desc) {
	c <- rateDesc
	c <- waitingDesc
	c <- pausedDesc
}

// Collect leaves out the limits of single tenants: there may be thousands.
func (g *rateGauges) Collect(c chan<- prometheus.Metric) {
	seen := map[[2]string]bool{}
	for _, k := range g.limiter.Known() {
		model := ""
		if k.Model != "" {
			model = g.words.model(k.Model)
		}
		if k.Tenant != nil || seen[[2]string{k.Provider, model}] {
			continue
		}
		seen[[2]string{k.Provider, model}] = true
		source := "configured"
		if k.Learned {
			source = "learned"
		}
		for unit, n := range map[string]float64{"requests": k.RequestsPerMinute, "tokens": k.TokensPerMinute} {
			if n > 0 {
				c <- prometheus.MustNewConstMetric(rateDesc, prometheus.GaugeValue, n, k.Provider, model, unit, source)
			}
		}
		c <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(k.Waiting), k.Provider, model)
		c <- prometheus.MustNewConstMetric(pausedDesc, prometheus.GaugeValue, k.Paused.Seconds(), k.Provider, model)
	}
}
