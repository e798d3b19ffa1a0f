package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// Metrics counts what a server and its mailbox do, for /metrics. Pass it to [mailbox.Config] as the
// Observer, and let its Sink see the events of runs.
type Metrics struct {
	registry *prometheus.Registry // what the process does
	detail   *prometheus.Registry // by model and tool, which tell what tenants do
	words    vocabulary
	http     httpMetrics
	queue    queueMetrics
	runs     runMetrics
	waits    waitMetrics
}

// httpMetrics counts requests and streams.
type httpMetrics struct {
	inFlight    prometheus.Gauge
	requests    *prometheus.CounterVec
	requestTime *prometheus.HistogramVec
	streams     prometheus.Gauge
	cutOff      prometheus.Counter
}

// queueMetrics counts dispatches and the operations of the queue.
type queueMetrics struct {
	active        prometheus.Gauge
	operations    *prometheus.CounterVec
	operationTime *prometheus.HistogramVec
	eligible      prometheus.Histogram
	runtime       *prometheus.HistogramVec
	dead          prometheus.Counter
	suspects      prometheus.Counter
	takeover      prometheus.Histogram
}

// runMetrics counts runs, model calls and tool calls.
type runMetrics struct {
	total        *prometheus.CounterVec
	runTime      *prometheus.HistogramVec
	inferences   *prometheus.CounterVec
	inferTime    *prometheus.HistogramVec
	tokens       *prometheus.CounterVec
	cost         *prometheus.CounterVec
	toolCalls    *prometheus.CounterVec
	suspensions  *prometheus.CounterVec
	errorsByKind *prometheus.CounterVec
}

var _ mailbox.Observer = (*Metrics)(nil)

// seconds are the bounds of histograms, from the speed of a queue to that of a model.
var seconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// NewMetrics returns metrics at zero, with a Prometheus registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), detail: prometheus.NewRegistry()}
	registry := m.registry
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "awaken_" + name, Help: help})
		registry.MustRegister(g)
		return g
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "awaken_" + name, Help: help}, labels)
		registry.MustRegister(c)
		return c
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "awaken_" + name, Help: help, Buckets: seconds}, labels)
		registry.MustRegister(h)
		return h
	}
	m.http.inFlight = gauge("http_requests_in_flight", "Requests being answered, streams included.")
	m.http.requests = counter("http_requests_total", "Requests answered.", "method", "route", "status")
	m.http.requestTime = histogram("http_request_duration_seconds", "Time to answer a request.", "method", "route", "status")
	m.http.streams = gauge("sse_connections", "Open event streams.")
	m.http.cutOff = counter("sse_cut_off_total", "Streams ended because the client did not read.").WithLabelValues()
	m.queue.active = gauge("active_runs", "Dispatches this process works on.")
	m.queue.operations = counter("mailbox_operations_total", "Operations of the queue.", "operation", "result")
	m.queue.operationTime = histogram("mailbox_operation_duration_seconds", "Time of an operation of the queue.", "operation", "result")
	m.queue.eligible = histogram("mailbox_dispatch_eligible_to_start_seconds", "Time from when a dispatch could be claimed to when it was.").WithLabelValues().(prometheus.Histogram)
	m.queue.runtime = histogram("mailbox_dispatch_runtime_seconds", "Time a worker had a dispatch.", "outcome")
	m.queue.dead = counter("mailbox_dead_letters_total", "Dispatches given up.").WithLabelValues()
	m.queue.suspects = counter("mailbox_suspects_total", "Claims of dispatches during which at least two processes died.").WithLabelValues()
	m.queue.takeover = histogram("mailbox_takeover_seconds", "Time from when a lost owner was noticed to when its dispatch was claimed again.").WithLabelValues().(prometheus.Histogram)
	m.runs.total = counter("runs_total", "Runs ended or suspended.", "outcome")
	m.runs.runTime = histogram("run_duration_seconds", "Time of an activation.", "outcome")
	m.runs.errorsByKind = counter("errors_total", "Runs that failed, by kind of error.", "class")
	registry = m.detail
	m.runs.inferences = counter("inference_requests_total", "Model calls that were answered.", "model")
	m.runs.inferTime = histogram("inference_duration_seconds", "Time of a model call.", "model")
	m.runs.tokens = counter("inference_tokens_total", "Tokens.", "model", "type")
	m.runs.cost = counter("inference_cost_usd_total", "What model calls have cost, in US dollars.", "model")
	m.runs.toolCalls = counter("tool_calls_total", "Tool calls.", "tool", "status")
	m.runs.suspensions = counter("agent_suspensions_total", "Calls that began to wait for people.", "action", "resume_mode")
	m.waits.time = histogram("provider_limit_wait_seconds", "Time that a request waited for a rate limit of its provider.", "provider", "model", "priority", "outcome")
	registry.MustRegister(&modelGauges{&m.words})
	return m
}

// Depths adds the number of dispatches by status to /metrics. They are counted at most once per
// second, however often the page is requested.
func (m *Metrics) Depths(q mailbox.Queue) {
	m.registry.MustRegister(&depths{queue: q})
}

type depths struct {
	queue mailbox.Queue
	last  recent[map[mailbox.Status]int]
}

var (
	depthDesc = prometheus.NewDesc("awaken_mailbox_dispatch_depth", "Dispatches, by status.", []string{"status"}, nil)
	queueDesc = prometheus.NewDesc("awaken_mailbox_queue_depth", "Dispatches that wait for a worker.", nil, nil)
)

func (d *depths) Describe(c chan<- *prometheus.Desc) { c <- depthDesc; c <- queueDesc }

func (d *depths) Collect(c chan<- prometheus.Metric) {
	counts, err := d.last.get(func() (map[mailbox.Status]int, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		return d.queue.Counts(ctx)
	})
	if err != nil {
		c <- prometheus.NewInvalidMetric(depthDesc, err)
		return
	}
	for _, s := range mailbox.Statuses {
		c <- prometheus.MustNewConstMetric(depthDesc, prometheus.GaugeValue, float64(counts[s]), string(s))
	}
	c <- prometheus.MustNewConstMetric(queueDesc, prometheus.GaugeValue, float64(counts[mailbox.Queued]))
}

// serve replies with the page: all of it, or what the process does.
func (m *Metrics) serve(w http.ResponseWriter, r *http.Request, all bool) {
	page := prometheus.Gatherers{m.registry}
	if all {
		page = append(page, m.detail)
	}
	promhttp.HandlerFor(page, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}).ServeHTTP(w, r)
}

// figures has the handler of metrics.
type figures struct {
	metrics *Metrics
	auth    *auth
	public  bool // everything is for everyone
}

func (h *figures) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/metrics", Handle: own(h.show),
			Summary: "Get metrics for Prometheus; those by model and tool need an admin key", Replies: map[int]any{200: text("")}},
	}
}

// show replies with everything to operators. A wrong key is an error, so that a scraper does not lose
// metrics silently.
func (h *figures) show(req *request) error {
	all := h.public
	if len(req.r.Header.Values("Authorization")) > 0 && !all {
		by, err := h.auth.identify(req.r, protocol.Admins)
		if err != nil {
			return err
		}
		if err := by.checkGlobal(); err != nil {
			return err
		}
		all = true
	}
	h.metrics.serve(req.w, req.r, all)
	return nil
}

// request counts a request that was answered.
func (m *httpMetrics) request(method, route string, status int, took time.Duration) {
	if route == "" || route == "/" {
		route = "unknown"
	}
	switch method {
	case "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS":
	default:
		method = "other" // clients must not be able to create labels
	}
	code := strconv.Itoa(status)
	m.requests.WithLabelValues(method, route, code).Inc()
	m.requestTime.WithLabelValues(method, route, code).Observe(took.Seconds())
}

// Claimed implements [mailbox.Observer].
func (m *Metrics) Claimed(d *mailbox.Dispatch, waited time.Duration) {
	m.queue.active.Inc()
	if d.Suspect() {
		m.queue.suspects.Inc()
	}
	if d.LostAt > 0 {
		m.queue.takeover.Observe(float64(d.UpdatedAt-d.LostAt) / 1000)
	}
	m.queue.eligible.Observe(waited.Seconds())
}

// Settled implements [mailbox.Observer].
func (m *Metrics) Settled(_ *mailbox.Dispatch, status mailbox.Status, took time.Duration) {
	m.queue.active.Dec()
	if status == "" {
		status = "lost"
	}
	if status == mailbox.DeadLetter {
		m.queue.dead.Inc()
	}
	m.queue.runtime.WithLabelValues(string(status)).Observe(took.Seconds())
}

// Operated implements [mailbox.Observer].
func (m *Metrics) Operated(operation string, took time.Duration, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.queue.operations.WithLabelValues(operation, result).Inc()
	m.queue.operationTime.WithLabelValues(operation, result).Observe(took.Seconds())
}

// Sink returns a sink that counts the events of one run.
func (m *Metrics) Sink(string) awaken.Sink { return &runSink{m: &m.runs, words: &m.words} }

type runSink struct {
	m     *runMetrics
	words *vocabulary
	agent string
	start time.Time
}

// Emit implements [awaken.Sink].
func (s *runSink) Emit(_ context.Context, e awaken.Entry) error {
	m := s.m
	switch ev := e.Event.(type) {
	case *awaken.RunStart:
		if s.start = time.Now(); ev.Identity != nil {
			s.agent = ev.Identity.AgentID
		}
	case *awaken.RunFinish:
		outcome := string(ev.Termination.Type)
		m.total.WithLabelValues(outcome).Inc()
		m.runTime.WithLabelValues(outcome).Observe(time.Since(s.start).Seconds())
		if ev.Termination.Type == awaken.Failed {
			m.errorsByKind.WithLabelValues("run").Inc()
		}
	case *awaken.InferenceComplete:
		model := s.words.model(ev.Model)
		m.inferences.WithLabelValues(model).Inc()
		m.inferTime.WithLabelValues(model).Observe(float64(ev.DurationMS) / 1000)
		if ev.CostUSD > 0 {
			m.cost.WithLabelValues(model).Add(ev.CostUSD)
		}
		if u := ev.Usage; u != nil {
			m.tokens.WithLabelValues(model, "input").Add(float64(u.PromptTokens))
			m.tokens.WithLabelValues(model, "output").Add(float64(u.CompletionTokens))
		}
	case *awaken.ToolCallDone:
		if ev.Result == nil {
			return nil
		}
		m.toolCalls.WithLabelValues(s.words.tool(s.agent, ev.Result.ToolName), string(ev.Outcome)).Inc()
		if t := ev.Result.Suspension; t != nil {
			m.suspensions.WithLabelValues(s.words.action(s.agent, t.Suspension.Action), string(t.ResumeMode)).Inc()
		}
	}
	return nil
}
