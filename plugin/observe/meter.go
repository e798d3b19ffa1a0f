package observe

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"

	"github.com/awaken-go/awaken/trace"
)

// Labels chooses the attribute values of metrics. Clients and models can invent names of models and tools, and each name would become a
// series; Labels returns "other" for names that are not in the configuration.
type Labels interface {
	Model(name string) string
	Tool(agent, name string) string
}

// meters are the metrics of the conventions for generative AI.
type meters struct {
	labels   Labels
	duration metric.Float64Histogram
	tokens   metric.Int64Histogram

	mu    sync.RWMutex
	known map[series][]metric.RecordOption
}

// series is one combination of attributes. A field that is "" is no attribute.
type series struct {
	operation           genaiconv.OperationNameAttr
	provider            string
	model, answered     string
	token               genaiconv.TokenTypeAttr
	tool, agent, failed string
}

// maxSeries is how many combinations are kept. Labels make far fewer.
const maxSeries = 4096

// newMeters returns the instruments. One that cannot be made records nothing, as the API says.
func newMeters(m metric.Meter, labels Labels) *meters {
	duration, _ := genaiconv.NewClientOperationDuration(m, metric.WithExplicitBucketBoundaries(.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92))
	tokens, _ := genaiconv.NewClientTokenUsage(m, metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864))
	return &meters{labels: labels, duration: duration.Inst(), tokens: tokens.Inst(), known: map[series][]metric.RecordOption{}}
}

// with returns the attributes of a series. They are made once: making them costs more than recording a value.
func (m *meters) with(s series) []metric.RecordOption {
	m.mu.RLock()
	opts := m.known[s]
	m.mu.RUnlock()
	if opts != nil {
		return opts
	}
	attrs := []attribute.KeyValue{semconv.GenAIOperationNameKey.String(string(s.operation)), semconv.GenAIProviderNameKey.String(s.provider)}
	for _, a := range [...]struct {
		key   attribute.Key
		value string
	}{{semconv.GenAIRequestModelKey, s.model}, {semconv.GenAIResponseModelKey, s.answered}, {semconv.GenAITokenTypeKey, string(s.token)}, {semconv.GenAIToolNameKey, s.tool},
		{semconv.GenAIAgentIDKey, s.agent}, {semconv.ErrorTypeKey, s.failed}} {
		if a.value != "" {
			attrs = append(attrs, a.key.String(a.value))
		}
	}
	opts = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attrs...))}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) < maxSeries {
		m.known[s] = opts
	}
	return opts
}

func (m *meters) model(name string) string {
	if m.labels == nil {
		return name
	}
	return m.labels.Model(name)
}

func (m *meters) tool(agent, name string) string {
	if m.labels == nil {
		return name
	}
	return m.labels.Tool(agent, name)
}

// record records an event.
func (m *meters) record(ctx context.Context, ev *trace.Event) {
	took := float64(ev.DurationMS) / 1000
	switch {
	case ev.Inference != nil:
		in := ev.Inference
		by := series{operation: genaiconv.OperationNameChat, provider: provider(in.Provider), model: m.model(in.Model), answered: m.model(in.ResponseModel)}
		if in.TotalTokens > 0 {
			by.token = genaiconv.TokenTypeInput
			m.tokens.Record(ctx, in.InputTokens, m.with(by)...)
			by.token = genaiconv.TokenTypeOutput
			m.tokens.Record(ctx, in.OutputTokens, m.with(by)...)
			by.token = ""
		}
		by.failed = in.ErrorType
		m.duration.Record(ctx, took, m.with(by)...)
	case ev.Tool != nil:
		m.duration.Record(ctx, took, m.with(series{operation: genaiconv.OperationNameExecuteTool, provider: "awaken", tool: m.tool(ev.AgentID, ev.Tool.Name), failed: ev.Tool.Error})...)
	}
}

// runEnded records an activation.
func (m *meters) runEnded(ctx context.Context, s *Summary, took time.Duration) {
	m.duration.Record(ctx, took.Seconds(), m.with(series{operation: genaiconv.OperationNameInvokeAgent, provider: "awaken", agent: s.AgentID, failed: s.ErrorType})...)
}
