package server

import (
	"github.com/awaken-go/awaken/llm"
	"github.com/prometheus/client_golang/prometheus"
)

// modelGauges adds the state of configured models to /metrics.
type modelGauges struct {
	words *vocabulary
}

var (
	modelStateDesc = prometheus.NewDesc("awaken_model_state", "1 for the current state of a model's circuit breaker, else 0.", []string{"model", "state"}, nil)
	refusedDesc    = prometheus.NewDesc("awaken_model_parameter_omitted", "1 for an optional parameter that requests omit, because the model does not accept it.", []string{"model", "parameter"}, nil)
	modelStates    = []llm.BreakerState{llm.BreakerClosed, llm.BreakerOpen, llm.BreakerHalfOpen, llm.BreakerQuarantined}
)

func (g *modelGauges) Describe(c chan<- *prometheus.Desc) { c <- modelStateDesc; c <- refusedDesc }

func (g *modelGauges) Collect(c chan<- prometheus.Metric) {
	reg := g.words.registry()
	if reg == nil {
		return
	}
	for _, h := range reg.Health() {
		for _, s := range modelStates {
			is := 0.0
			if h.State == s {
				is = 1
			}
			c <- prometheus.MustNewConstMetric(modelStateDesc, prometheus.GaugeValue, is, h.ModelID, string(s))
		}
		for _, name := range reg.Knowledge(h.ModelID).Capabilities().Refused() {
			c <- prometheus.MustNewConstMetric(refusedDesc, prometheus.GaugeValue, 1, h.ModelID, name)
		}
	}
}
