package server

import (
	"cmp"
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/plugin/observe"
	"github.com/awaken-go/awaken/trace"
)

// runMetrics counts runs and what they do. Their labels are words of the configuration and of this program, never those of clients or models.
type runMetrics struct {
	total        *prometheus.CounterVec
	runTime      *prometheus.HistogramVec
	errorsByKind *prometheus.CounterVec
	sessionTime  prometheus.Histogram

	inferences  *prometheus.CounterVec
	inferErrors *prometheus.CounterVec
	inferTime   *prometheus.HistogramVec
	tokens      *prometheus.CounterVec
	cost        *prometheus.CounterVec

	tools toolMetrics

	suspensions    *prometheus.CounterVec
	handoffs       prometheus.Counter
	delegations    *prometheus.CounterVec
	delegationTime prometheus.Histogram
	tasks          *prometheus.CounterVec
	taskTime       *prometheus.HistogramVec
	taskFailures   prometheus.Counter

	scores    *prometheus.HistogramVec
	exemplars exemplars
}

// toolMetrics are the metrics of calls of tools.
type toolMetrics struct {
	calls  *prometheus.CounterVec
	errors *prometheus.CounterVec
	time   *prometheus.HistogramVec
}

// make makes the metrics: what the process does, and what is by model and tool.
func (m *runMetrics) make(process, detail maker) {
	m.total = process.counter("runs_total", "Runs ended or suspended.", "outcome")
	m.runTime = process.histogram("run_duration_seconds", "Time of an activation.", "outcome")
	m.errorsByKind = process.counter("errors_total", "Runs that failed, by kind of error.", "class")
	m.sessionTime = process.one("agent_session_duration_seconds", "Time of an activation that was observed, whatever became of it.")
	m.handoffs = process.counter("agent_handoffs_total", "Runs that continued as another agent.").WithLabelValues()
	m.delegations = process.counter("agent_delegations_total", "Calls that ran another agent.", "status")
	m.delegationTime = process.one("agent_delegation_duration_seconds", "Time of a call that ran another agent.")
	m.tasks = process.counter("background_tasks_total", "Background tasks that ended.", "task_type", "status")
	m.taskTime = process.histogram("background_task_duration_seconds", "Time of the last activation of a background task.", "task_type")
	m.taskFailures = process.counter("background_task_state_commit_failures_total", "Activations of background tasks whose end this process could not store.").WithLabelValues()
	for _, status := range []string{"success", "error", "cancelled"} { // so that rates begin at 0
		m.delegations.WithLabelValues(status)
		m.tasks.WithLabelValues("sub_agent", status)
		m.tasks.WithLabelValues("tool", status)
	}
	m.taskTime.WithLabelValues("sub_agent")
	m.taskTime.WithLabelValues("tool")
	m.inferences = detail.counter("inference_requests_total", "Requests to models.", "model", "provider", "status")
	m.inferErrors = detail.counter("inference_errors_total", "Requests to models that failed, by kind of error.", "model", "provider", "class")
	m.inferTime = detail.histogram("inference_duration_seconds", "Time of a request to a model.", "model", "provider")
	m.tokens = detail.counter("inference_tokens_total", "Tokens.", "model", "provider", "type")
	m.cost = detail.counter("inference_cost_usd_total", "Cost of requests to models, in US dollars.", "model", "provider")
	m.tools.calls = detail.counter("tool_calls_total", "Tool calls.", "tool", "status")
	m.tools.errors = detail.counter("tool_errors_total", "Tool calls that failed, by kind of error.", "tool", "class")
	m.tools.time = detail.histogram("tool_duration_seconds", "Time of a tool call.", "tool")
	m.scores = detail.shares("eval_live_score", "Scores of runs of users, 0 to 1.", "agent", "scorer")
	m.suspensions = detail.counter("agent_suspensions_total", "Calls that began to wait for people.", "action", "resume_mode")
}

// Sink returns a sink that counts the activations of one run.
func (m *Metrics) Sink(string) awaken.Sink { return &runSink{m: &m.runs} }

type runSink struct {
	m     *runMetrics
	start time.Time
}

// Emit implements [awaken.Sink].
func (s *runSink) Emit(ctx context.Context, e awaken.Entry) error {
	switch ev := e.Event.(type) {
	case *awaken.RunStart:
		s.start = time.Now()
	case *awaken.RunFinish:
		outcome := string(ev.Termination.Type)
		s.m.total.WithLabelValues(outcome).Inc()
		s.m.exemplars.observe(ctx, s.m.runTime.WithLabelValues(outcome), time.Since(s.start).Seconds())
	}
	return nil
}

// Observer returns the sink that counts what runs do; see package observe.
func (m *Metrics) Observer() observe.Sink { return &runObserver{&m.runs, &m.words} }

// Labels returns the words that may be attributes of metrics; see package observe.
func (m *Metrics) Labels() observe.Labels { return labels{&m.words} }

type labels struct{ words *vocabulary }

func (l labels) Model(name string) string       { return l.words.model(name) }
func (l labels) Tool(agent, name string) string { return l.words.tool(agent, name) }

type runObserver struct {
	m     *runMetrics
	words *vocabulary
}

// Record implements [observe.Sink].
func (o *runObserver) Record(ctx context.Context, e *trace.Event) {
	seconds := float64(e.DurationMS) / 1000
	switch {
	case e.Inference != nil:
		o.inference(ctx, e.Inference, seconds)
	case e.Tool != nil:
		tool := o.words.tool(e.AgentID, e.Tool.Name)
		o.m.tools.calls.WithLabelValues(tool, string(e.Tool.Status)).Inc()
		o.m.exemplars.observe(ctx, o.m.tools.time.WithLabelValues(tool), seconds)
		if e.Tool.Error != "" {
			o.m.tools.errors.WithLabelValues(tool, e.Tool.Error).Inc()
		}
	case e.Suspension != nil && (e.Suspension.Decision != nil || e.Suspension.Withdrawn != ""): // the question was counted
	case e.Suspension != nil:
		o.m.suspensions.WithLabelValues(o.words.action(e.AgentID, e.Suspension.Action), cmp.Or(e.Suspension.ResumeMode, string(awaken.ReplayToolCall))).Inc()
	case e.Evaluation != nil:
		o.m.scores.WithLabelValues(o.words.agent(e.AgentID), e.Evaluation.Name).Observe(e.Evaluation.Score)
	case e.Child == nil:
	case e.Type == "handoff":
		o.m.handoffs.Inc()
	case e.Type == "delegation":
		o.m.delegations.WithLabelValues(status(e.Child.ErrorType)).Inc()
		o.m.exemplars.observe(ctx, o.m.delegationTime, seconds)
	case e.Type == "background_task":
		kind := cmp.Or(e.Operation, "sub_agent")
		o.m.tasks.WithLabelValues(kind, status(e.Child.ErrorType)).Inc()
		o.m.exemplars.observe(ctx, o.m.taskTime.WithLabelValues(kind), seconds)
	}
}

// tokenKinds are the values of the label kind of the tokens.
var tokenKinds = [...]string{"input", "output", "cache_read", "cache_creation", "reasoning"}

func (o *runObserver) inference(ctx context.Context, in *trace.Inference, seconds float64) {
	model, provider := o.words.model(cmp.Or(in.ResponseModel, in.Model)), cmp.Or(in.Provider, otherWord) // a provider is one of the configuration
	o.m.inferences.WithLabelValues(model, provider, status(in.ErrorType)).Inc()
	o.m.exemplars.observe(ctx, o.m.inferTime.WithLabelValues(model, provider), seconds)
	if in.ErrorType != "" {
		o.m.inferErrors.WithLabelValues(model, provider, in.ErrorType).Inc()
	}
	if in.CostUSD > 0 {
		o.m.cost.WithLabelValues(model, provider).Add(in.CostUSD)
	}
	for i, n := range [...]int64{in.InputTokens, in.OutputTokens, in.CacheReadTokens, in.CacheCreationTokens, in.ThinkingTokens} {
		if always := i < 2; n > 0 || always && in.TotalTokens > 0 {
			o.m.tokens.WithLabelValues(model, provider, tokenKinds[i]).Add(float64(max(n, 0)))
		}
	}
}

// status returns how something ended, by the type of its error.
func status(errorType string) string {
	switch errorType {
	case "":
		return "success"
	case string(llm.Cancelled):
		return "cancelled"
	}
	return "error"
}

// RunEnd implements [observe.Sink].
func (o *runObserver) RunEnd(ctx context.Context, s *observe.Summary) {
	o.m.exemplars.observe(ctx, o.m.sessionTime, float64(s.DurationMS)/1000)
	if s.Outcome == awaken.Failed {
		o.m.errorsByKind.WithLabelValues(cmp.Or(s.ErrorType, "error")).Inc()
	}
	if s.Outcome == "" && s.Mode == "scheduled" && s.ParentRunID != "" {
		o.m.taskFailures.Inc()
	}
}

// Flush implements [observe.Sink]. It does nothing.
func (o *runObserver) Flush(context.Context) error { return nil }

// Shutdown implements [observe.Sink]. It does nothing.
func (o *runObserver) Shutdown(context.Context) error { return nil }
