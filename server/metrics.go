package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

// Metrics counts what a server and its mailbox do, for /metrics. Pass it to [mailbox.Config] as the
// Observer, let its Sink see the events of runs, and give its [Metrics.Observer] to plugin/observe, which tells it of requests to models, calls of tools,
// questions, handoffs, delegations and background tasks.
type Metrics struct {
	registry *prometheus.Registry // what the process does
	detail   *prometheus.Registry // by model and tool, which tell what tenants do
	words    vocabulary
	http     httpMetrics
	queue    queueMetrics
	runs     runMetrics
	waits    waitMetrics
	audits   auditMetrics
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
	enqueued      prometheus.Histogram
	eligible      prometheus.Histogram
	claimed       prometheus.Histogram
	complete      *prometheus.HistogramVec
	runtime       *prometheus.HistogramVec
	suspects      prometheus.Counter
	takeover      prometheus.Histogram
	signals       signalMetrics
}

// signalMetrics counts what the queue gave this process, in the words of the original, whose queue had signals.
type signalMetrics struct {
	pulled, ack, redelivery, republished prometheus.Counter
	nack                                 *prometheus.CounterVec
}

var _ mailbox.Observer = (*Metrics)(nil)

// seconds are the bounds of histograms, from the speed of a queue to that of a model.
var seconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// maker makes metrics of a registry.
type maker struct{ registry *prometheus.Registry }

func (k maker) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "awaken_" + name, Help: help})
	k.registry.MustRegister(g)
	return g
}

func (k maker) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "awaken_" + name, Help: help}, labels)
	k.registry.MustRegister(c)
	return c
}

func (k maker) histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "awaken_" + name, Help: help, Buckets: seconds}, labels)
	k.registry.MustRegister(h)
	return h
}

// shares returns a histogram of numbers from 0 to 1.
func (k maker) shares(name, help string, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "awaken_" + name, Help: help, Buckets: []float64{0, .1, .2, .3, .4, .5, .6, .7, .8, .9, 1}}, labels)
	k.registry.MustRegister(h)
	return h
}

// one returns a histogram without labels.
func (k maker) one(name, help string) prometheus.Histogram {
	return k.histogram(name, help).WithLabelValues().(prometheus.Histogram)
}

// NewMetrics returns metrics at zero, with a Prometheus registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), detail: prometheus.NewRegistry()}
	process, detail := maker{m.registry}, maker{m.detail}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.http = httpMetrics{
		inFlight:    process.gauge("http_requests_in_flight", "Requests being answered, streams included."),
		requests:    process.counter("http_requests_total", "Requests answered.", "method", "route", "status"),
		requestTime: process.histogram("http_request_duration_seconds", "Time to answer a request.", "method", "route", "status"),
		streams:     process.gauge("sse_connections", "Open event streams."),
		cutOff:      process.counter("sse_cut_off_total", "Streams ended because the client did not read.").WithLabelValues(),
	}
	m.queue.make(process)
	m.runs.make(process, detail)
	m.audits = auditMetrics{
		events:   process.counter("audit_events_total", "Events of the audit log.", "action"),
		failures: process.counter("audit_write_failures_total", "Events that could not be written.").WithLabelValues(),
		pruned:   process.counter("audit_sweep_pruned_total", "Expired events that were removed.").WithLabelValues(),
	}
	m.waits.time = detail.histogram("provider_limit_wait_seconds", "Time that a request waited for a rate limit of its provider.", "provider", "model", "priority", "outcome")
	m.detail.MustRegister(&modelGauges{&m.words})
	return m
}

// make makes the metrics of the queue.
func (q *queueMetrics) make(k maker) {
	q.active = k.gauge("active_runs", "Dispatches that this process executes.")
	q.operations = k.counter("mailbox_operations_total", "Operations of the queue.", "operation", "result")
	q.operationTime = k.histogram("mailbox_operation_duration_seconds", "Time of an operation of the queue.", "operation", "result")
	q.enqueued = k.one("mailbox_dispatch_enqueue_to_start_seconds", "Time from queueing a dispatch to its claim.")
	q.eligible = k.one("mailbox_dispatch_eligible_to_start_seconds", "Time that a claimable dispatch waited for its claim.")
	q.claimed = k.one("mailbox_dispatch_claim_to_start_seconds", "Time from the claim of a dispatch to the start of its run.")
	q.complete = k.histogram("mailbox_dispatch_enqueue_to_complete_seconds", "Time from queueing a dispatch to settling it.", "outcome")
	q.runtime = k.histogram("mailbox_dispatch_runtime_seconds", "Time a worker held a dispatch.", "outcome")
	q.suspects = k.counter("mailbox_suspects_total", "Claims of dispatches during which at least two processes died.").WithLabelValues()
	q.takeover = k.one("mailbox_takeover_seconds", "Time from noticing a lost owner to the next claim of its dispatch.")
	q.signals = signalMetrics{
		pulled:      k.counter("mailbox_dispatch_signal_pulled_total", "Dispatches that this process claimed.").WithLabelValues(),
		ack:         k.counter("mailbox_dispatch_signal_ack_total", "Dispatches that this process settled.").WithLabelValues(),
		nack:        k.counter("mailbox_dispatch_signal_nack_total", "Dispatches that this process returned to the queue, with or without a delay.", "delayed"),
		redelivery:  k.counter("mailbox_dispatch_signal_redelivery_total", "Claimed dispatches that had failed before.").WithLabelValues(),
		republished: k.counter("mailbox_dispatch_signal_republish_total", "Claimed dispatches whose previous owner was lost.").WithLabelValues(),
	}
	q.signals.nack.WithLabelValues("true")
	q.signals.nack.WithLabelValues("false")
}

// Bodies adds the number of requests to models that could not be kept for traces to /metrics; see trace/body.
func (m *Metrics) Bodies(lost func() uint64) {
	m.lost("awaken_trace_bodies_lost_total", "Requests to models that could not be stored for traces.", lost)
}

// Spans adds the number of spans that no collector has got to /metrics; see server/telemetry.
func (m *Metrics) Spans(lost func() uint64) {
	m.lost("awaken_telemetry_spans_lost_total", "Spans that the collector did not receive.", lost)
}

func (m *Metrics) lost(name, help string, n func() uint64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(n()) }))
}

// Depths adds the number of dispatches by status to /metrics, and how many have become dead letters. They are read from the
// store, so that all processes on it say the same, at most once per second, however often the page is requested.
func (m *Metrics) Depths(q mailbox.Depths) {
	m.registry.MustRegister(&depths{queue: q})
}

type depths struct {
	queue mailbox.Depths
	last  recent[totals]
}

// totals are the store's figures about all dispatches.
type totals struct {
	counts map[mailbox.Status]int
	dead   int64
}

var (
	depthDesc = prometheus.NewDesc("awaken_mailbox_dispatch_depth", "Dispatches, by status.", []string{"status"}, nil)
	queueDesc = prometheus.NewDesc("awaken_mailbox_queue_depth", "Dispatches that wait for a worker.", nil, nil)
	deadDesc  = prometheus.NewDesc("awaken_mailbox_dead_letters_total", "Dispatches given up, by any process.", nil, nil)
)

func (d *depths) Describe(c chan<- *prometheus.Desc) { c <- depthDesc; c <- queueDesc; c <- deadDesc }

func (d *depths) Collect(c chan<- prometheus.Metric) {
	now, err := d.last.get(func() (f totals, err error) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if f.counts, err = d.queue.Counts(ctx); err == nil {
			f.dead, err = d.queue.DeadLettered(ctx)
		}
		return f, err
	})
	if err != nil {
		c <- prometheus.NewInvalidMetric(depthDesc, err)
		return
	}
	for _, s := range mailbox.Statuses {
		c <- prometheus.MustNewConstMetric(depthDesc, prometheus.GaugeValue, float64(now.counts[s]), string(s))
	}
	c <- prometheus.MustNewConstMetric(queueDesc, prometheus.GaugeValue, float64(now.counts[mailbox.Queued]))
	c <- prometheus.MustNewConstMetric(deadDesc, prometheus.CounterValue, float64(now.dead))
}

// serve replies with the page: all of it, or what the process does.
func (m *Metrics) serve(w http.ResponseWriter, r *http.Request, all bool) {
	page := prometheus.Gatherers{m.registry}
	if all {
		page = append(page, m.detail)
	}
	promhttp.HandlerFor(page, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, EnableOpenMetrics: true}).ServeHTTP(w, r)
}

// figures has the handler of metrics.
type figures struct {
	metrics *Metrics
	auth    *auth
	public  bool // everything is for everyone
}

func (h *figures) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/metrics", Needs: permit.Public, Handle: Handle(h.show),
			Summary: "Get metrics for Prometheus; metrics by model and tool need an admin key", Replies: map[int]any{200: Text("")}},
	}
}

// show replies with everything to operators. A wrong key is an error, so that a scraper does not lose
// metrics silently.
func (h *figures) show(req *Request) error {
	all := h.public
	if len(req.r.Header.Values("Authorization")) > 0 && !all {
		if _, err := h.auth.identify(req.r, permit.ReadServer); err != nil {
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
	now := time.Now()
	m.queue.enqueued.Observe(since(d.CreatedAt, now))
	m.queue.claimed.Observe(since(d.UpdatedAt, now))
	m.queue.signals.pulled.Inc()
	if d.Attempts > 0 {
		m.queue.signals.redelivery.Inc()
	}
	if d.LostAt > 0 {
		m.queue.signals.republished.Inc()
	}
}

// since returns how many seconds ago a time was, Unix ms. Clocks of several machines differ a little.
func since(ms int64, now time.Time) float64 {
	return max(0, now.Sub(time.UnixMilli(ms)).Seconds())
}

// Settled implements [mailbox.Observer].
func (m *Metrics) Settled(d *mailbox.Dispatch, status mailbox.Status, took time.Duration) {
	m.queue.active.Dec()
	switch status {
	case "": // another process settles it
	case mailbox.Queued:
		m.queue.signals.nack.WithLabelValues(strconv.FormatBool(d.AvailableAt > time.Now().UnixMilli())).Inc()
	default:
		m.queue.signals.ack.Inc()
		m.queue.complete.WithLabelValues(string(status)).Observe(since(d.CreatedAt, time.Now()))
	}
	if status == "" {
		status = "lost"
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
