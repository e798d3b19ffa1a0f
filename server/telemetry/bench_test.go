package telemetry_test

import (
	"context"
	"slices"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/observe"
	"github.com/awaken-go/awaken/server/telemetry"
	"github.com/awaken-go/awaken/trace"
)

// BenchmarkRun is a run of one answer in 64 pieces, as W6 has it, without the server around it: what an observer adds to it is what observing costs. The
// exporter encodes spans and sends them nowhere.
func BenchmarkRun(b *testing.B) {
	for _, variant := range []struct {
		name   string
		traces bool
		meters bool
		rate   float64
	}{{name: "nothing"}, {name: "sinks"}, {"metrics", false, true, 0}, {"sampling=0", true, true, 0}, {"sampling=1", true, true, 1}} {
		b.Run(variant.name, func(b *testing.B) {
			var plugins []awaken.Plugin
			if variant.name != "nothing" {
				opts := observe.Options{Sinks: []observe.Sink{forgetful{}}, Always: true, Config: observe.Config{SampleRate: &variant.rate}}
				if variant.traces {
					opts.Tracer = encoding(b)
				}
				if variant.meters {
					opts.Meter = sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
				}
				plugins = append(plugins, observe.New(opts))
			}
			turn := llmtest.Turn{Text: slices.Repeat([]string{"ten bytes."}, 64), Usage: &llm.Usage{PromptTokens: 100, CompletionTokens: 20}}
			rt, err := engine.New(engine.Config{
				Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
				Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
				Providers: map[string]llm.Model{"p": llmtest.NewScript(turn).Loop()},
				Plugins:   plugins,
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := rt.Run(b.Context(), awaken.RunRequest{AgentID: "default", Messages: []*llm.Message{llm.UserText("hello")}}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// encoding returns what makes spans and encodes them as OTLP.
func encoding(b *testing.B) oteltrace.TracerProvider {
	p, _, end, err := telemetry.NewProvider(b.Context(), nowhere{}, resource.Empty(), sdktrace.AlwaysSample(), sdktrace.NewSpanLimits())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = end(context.Background()) })
	return p
}

// forgetful is a sink that keeps nothing, like that of /metrics.
type forgetful struct{}

func (forgetful) Record(context.Context, *trace.Event)     {}
func (forgetful) RunEnd(context.Context, *observe.Summary) {}
func (forgetful) Flush(context.Context) error              { return nil }
func (forgetful) Shutdown(context.Context) error           { return nil }

// nowhere is a client of a collector that only encodes.
type nowhere struct{}

func (nowhere) Start(context.Context) error { return nil }
func (nowhere) Stop(context.Context) error  { return nil }
func (nowhere) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	_, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	return err
}
