package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
)

// modelHealth has the handler of the health of models.
type modelHealth struct {
	registry func() *registry.Registry
}

func (h *modelHealth) routes() []protocol.Route {
	return ForGlobalAdmins([]protocol.Route{
		{Method: "GET", Path: "/v1/models/health", Handle: Handle(h.list),
			Summary: "List the circuit breakers of models, as this process sees them", Replies: map[int]any{200: modelHealthList{}}},
	})
}

type modelHealthList struct {
	Models []registry.ModelHealth `json:"models"`
}

func (h *modelHealth) list(req *Request) error {
	return req.Reply(200, modelHealthList{append([]registry.ModelHealth{}, h.registry().Health()...)})
}

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
