package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// NewExporter returns the exporter of spans.
func NewExporter(ctx context.Context, client otlptrace.Client) (sdktrace.SpanExporter, error) {
	return newExporter(ctx, client)
}
