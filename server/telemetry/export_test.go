package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// NewProvider returns what makes the spans that client sends, and what sends all that have ended.
func NewProvider(ctx context.Context, client otlptrace.Client, about *resource.Resource, s sdktrace.Sampler, l sdktrace.SpanLimits) (oteltrace.TracerProvider, func(context.Context) error, func(context.Context) error, error) {
	q, err := newQueue(ctx, client, about)
	if err != nil {
		return nil, nil, nil, err
	}
	return &provider{sampler: s, limits: l, queue: q}, q.flush, q.shutdown, nil
}

// NewComplaints returns what logs errors of sending.
func NewComplaints(log *slog.Logger) interface{ Handle(err error) } { return &complaints{log: log} }
