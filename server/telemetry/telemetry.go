// Package telemetry sends spans and metrics to a collector, as the standard environment variables of OpenTelemetry say. It is the only package
// that links the SDK: what makes spans has the API alone.
//
//	t, err := telemetry.Open(ctx, "1.2.3", logger)
//	…
//	plugin := observe.New(observe.Options{Tracer: t.Tracer, Meter: t.Meter})
//	…
//	err = t.Shutdown(ctx)
//
// Nothing is sent unless a variable names a collector: OTEL_EXPORTER_OTLP_ENDPOINT, or that of traces or metrics alone. The exporters read the others:
// headers, timeout, compression, certificates. The sampler (OTEL_TRACES_SAMPLER), limits (OTEL_SPAN_*), sizes and intervals (OTEL_BSP_*, OTEL_METRIC_EXPORT_*) are
// those of the SDK.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// Telemetry makes spans and metrics that are sent to a collector.
type Telemetry struct {
	Tracer oteltrace.TracerProvider // nil: no traces are sent
	Meter  metric.MeterProvider     // nil: no metrics are sent

	queue           *queue // nil: no traces are sent
	flush, shutdown []func(ctx context.Context) error
}

// Lost returns how many spans no collector has got: it was away for too long, or refused them.
func (t *Telemetry) Lost() uint64 {
	if t.queue == nil {
		return 0
	}
	return t.queue.lost.Load()
}

// Open returns the telemetry that the environment configures. Version is the service's version, unless the environment overrides it.
func Open(ctx context.Context, version string, log *slog.Logger) (*Telemetry, error) {
	t := new(Telemetry)
	if on(os.Getenv("OTEL_SDK_DISABLED")) {
		return t, nil
	}
	traces, err := wanted("TRACES")
	if err != nil {
		return nil, err
	}
	metrics, err := wanted("METRICS")
	if err != nil {
		return nil, err
	}
	if traces == "" && metrics == "" {
		return t, nil
	}
	if v := os.Getenv("OTEL_SERVICE_VERSION"); v != "" {
		version = v
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "awaken"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES or OTEL_SERVICE_NAME: %w", err)
	}
	otel.SetErrorHandler(&complaints{log: log})
	if traces != "" {
		if err := t.sendTraces(ctx, traces, about); err != nil {
			return nil, err
		}
	}
	if metrics != "" {
		if err := t.sendMetrics(ctx, metrics, about); err != nil {
			return nil, errors.Join(err, t.Shutdown(ctx))
		}
	}
	return t, nil
}

// on reports whether a variable turns something on.
func on(value string) bool { return value == "1" || strings.EqualFold(value, "true") }

// wanted returns the protocol by which a signal is sent, TRACES or METRICS, or "" if it is not.
func wanted(signal string) (protocol string, err error) {
	switch exporter := os.Getenv("OTEL_" + signal + "_EXPORTER"); exporter {
	case "", "otlp":
	case "none":
		return "", nil
	default:
		return "", fmt.Errorf("OTEL_%s_EXPORTER is %q, want otlp or none", signal, exporter)
	}
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") == "" {
		return "", nil
	}
	name := "OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL"
	if protocol = os.Getenv(name); protocol == "" {
		name = "OTEL_EXPORTER_OTLP_PROTOCOL"
		protocol = os.Getenv(name)
	}
	switch protocol {
	case "":
		return "http/protobuf", nil
	case "grpc", "http/protobuf":
		return protocol, nil
	}
	return "", fmt.Errorf("%s is %q, want grpc or http/protobuf", name, protocol)
}

func (t *Telemetry) sendTraces(ctx context.Context, protocol string, about *resource.Resource) error {
	client := otlptracehttp.NewClient()
	if protocol == "grpc" {
		client = otlptracegrpc.NewClient()
	}
	sampler, err := samplerOf()
	if err != nil {
		return err
	}
	q, err := newQueue(ctx, client, about)
	if err != nil {
		return fmt.Errorf("exporter of traces: %w", err)
	}
	t.queue = q
	t.Tracer, t.flush, t.shutdown = &provider{sampler: sampler, limits: sdktrace.NewSpanLimits(), queue: q}, append(t.flush, q.flush), append(t.shutdown, q.shutdown)
	return nil
}

func (t *Telemetry) sendMetrics(ctx context.Context, protocol string, about *resource.Resource) error {
	var to sdkmetric.Exporter
	var err error
	if protocol == "grpc" {
		to, err = otlpmetricgrpc.New(ctx)
	} else {
		to, err = otlpmetrichttp.New(ctx)
	}
	if err != nil {
		return fmt.Errorf("exporter of metrics: %w", err)
	}
	p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(to)), sdkmetric.WithResource(about))
	t.Meter, t.flush, t.shutdown = p, append(t.flush, p.ForceFlush), append(t.shutdown, p.Shutdown)
	return nil
}

// Flush sends what has been collected.
func (t *Telemetry) Flush(ctx context.Context) error { return all(ctx, t.flush) }

// Shutdown sends what has been collected, and ends.
func (t *Telemetry) Shutdown(ctx context.Context) error { return all(ctx, t.shutdown) }

func all(ctx context.Context, steps []func(ctx context.Context) error) error {
	var errs []error
	for _, do := range steps {
		errs = append(errs, do(ctx))
	}
	return errors.Join(errs...)
}
