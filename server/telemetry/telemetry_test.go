package telemetry_test

import (
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/awaken-go/awaken/internal/otlptest"
	"github.com/awaken-go/awaken/server/telemetry"
)

var quiet = slog.New(slog.DiscardHandler)

// not parallel: the environment belongs to the process.
func TestOpen_SendsAsTheEnvironmentSays(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf", ""} {
		t.Run(protocol, func(t *testing.T) {
			c := otlptest.Start(t)
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
			if protocol == "grpc" {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.Target)
			}
			t.Setenv("OTEL_SERVICE_NAME", "mine")
			tel, err := telemetry.Open(t.Context(), "1", quiet)
			if err != nil {
				t.Fatal(err)
			}
			_, span := tel.Tracer.Tracer("t").Start(t.Context(), "awaken.test", oteltrace.WithAttributes(attribute.String("a", "b")))
			span.End()
			h, err := tel.Meter.Meter("t").Float64Histogram("gen_ai.client.operation.duration")
			if err != nil {
				t.Fatal(err)
			}
			h.Record(t.Context(), 1)
			if err := tel.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := tel.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s := c.Spans(); len(s) != 1 || s[0].GetName() != "awaken.test" {
				t.Errorf("the collector has %v", s)
			}
			if len(c.Metrics()) == 0 {
				t.Error("no metric arrived")
			}
		})
	}
}

func TestOpen_SendsNothingUnlessAsked(t *testing.T) {
	for _, env := range []map[string]string{
		{},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"},
	} {
		for k, v := range env {
			t.Setenv(k, v)
		}
		if tel, err := telemetry.Open(t.Context(), "1", quiet); err != nil || tel.Tracer != nil || tel.Meter != nil {
			t.Errorf("with %v: %+v, %v", env, tel, err)
		}
		for k := range env {
			t.Setenv(k, "")
		}
	}
}

func TestOpen_RefusesWhatItDoesNotKnow(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	for _, tt := range []struct{ name, value, want string }{
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", `OTEL_EXPORTER_OTLP_PROTOCOL is "http/json", want grpc or http/protobuf`},
		{"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "x", `OTEL_EXPORTER_OTLP_METRICS_PROTOCOL is "x"`},
		{"OTEL_TRACES_EXPORTER", "jaeger", `OTEL_TRACES_EXPORTER is "jaeger", want otlp or none`},
	} {
		t.Setenv(tt.name, tt.value)
		if _, err := telemetry.Open(t.Context(), "1", quiet); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s=%s: %v, want %q", tt.name, tt.value, err, tt.want)
		}
		t.Setenv(tt.name, "")
	}
}
