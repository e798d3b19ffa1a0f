package observe

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"

	"github.com/awaken-go/awaken/trace"
)

// Labels chooses the attributes of metrics. Clients and models choose words (the names of models and tools), and each would
// become a series; Labels returns "other" for what the configuration does not name.
type Labels interface {
	Model(name string) string
	Tool(agent, name string) string
}

// meters are the metrics of the conventions for generative AI.
type meters struct {
	labels   Labels
	duration genaiconv.ClientOperationDuration
	tokens   genaiconv.ClientTokenUsage
}

// newMeters returns the instruments. One that cannot be made records nothing, as the API says.
func newMeters(m metric.Meter, labels Labels) *meters {
	out := &meters{labels: labels}
	out.duration, _ = genaiconv.NewClientOperationDuration(m, metric.WithExplicitBucketBoundaries(.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92))
	out.tokens, _ = genaiconv.NewClientTokenUsage(m, metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864))
	return out
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
		by := genaiconv.ProviderNameAttr(provider(in.Provider))
		attrs := []attribute.KeyValue{semconv.GenAIRequestModel(m.model(in.Model)), semconv.GenAIResponseModel(m.model(in.ResponseModel))}
		if in.TotalTokens > 0 {
			m.tokens.Record(ctx, in.InputTokens, genaiconv.OperationNameChat, by, genaiconv.TokenTypeInput, attrs...)
			m.tokens.Record(ctx, in.OutputTokens, genaiconv.OperationNameChat, by, genaiconv.TokenTypeOutput, attrs...)
		}
		m.duration.Record(ctx, took, genaiconv.OperationNameChat, by, withError(attrs, in.ErrorType)...)
	case ev.Tool != nil:
		attrs := []attribute.KeyValue{semconv.GenAIToolName(m.tool(ev.AgentID, ev.Tool.Name))}
		m.duration.Record(ctx, took, genaiconv.OperationNameExecuteTool, "awaken", withError(attrs, ev.Tool.Error)...)
	}
}

// runEnded records an activation.
func (m *meters) runEnded(ctx context.Context, s *Summary, took time.Duration) {
	m.duration.Record(ctx, took.Seconds(), genaiconv.OperationNameInvokeAgent, "awaken", withError([]attribute.KeyValue{semconv.GenAIAgentID(s.AgentID)}, s.ErrorType)...)
}

func withError(attrs []attribute.KeyValue, errorType string) []attribute.KeyValue {
	if errorType == "" {
		return attrs
	}
	return append(attrs, semconv.ErrorTypeKey.String(errorType))
}
