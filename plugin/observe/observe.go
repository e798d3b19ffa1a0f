// Package observe reports what agents do, as OpenTelemetry spans and metrics and as events for sinks.
//
//	memory := observe.NewMemory()
//	cfg.Plugins = append(cfg.Plugins, observe.New(observe.Options{Sinks: []observe.Sink{memory}}))
//	…
//	fmt.Println(memory.Metrics().ByModel())
//
// The plugin observes agents that list "observability" in plugin_ids, configured by their section of that name. With [Options.Always] it
// observes every agent.
//
// # How it works
//
// The plugin is an observer of the engine. Each activation of a run gets its own recorder, which the engine calls when a model request, a
// tool, a tool step, a phase, a gate or a handoff begins and ends. Failed requests and cancelled calls end like any other. The code in
// between runs with a context that has the span, so that providers, MCP servers and remote agents called with it belong to the same trace.
// When an operation ends, the recorder sends the sinks a [trace.Event].
//
// # Spans
//
//	<method> <route>              a request to the server, see [Plugin.Serve]; what it starts is below, perhaps on another server
//	  <method> <tool>             a message of MCP within it; if the message names a trace itself, it is there, and links to the request
//	invoke_agent <agent>          an activation of a run
//	  awaken.step <n>             a step
//	    awaken.phase <phase>      the hooks of a phase, if there are any
//	    chat <model>              a request to a model, from asking to the last token; a retry is another
//	    awaken.gate <plugin>      a gate that is asked about a call
//	    execute_tool <tool>       a call of a tool
//	      awaken.tool_step <name> a durable step of a tool
//	      awaken.delegation       the call runs another agent; its invoke_agent is below
//	  awaken.suspension           a call has waited for a decision, from the question until then or until it was withdrawn; it links to the request that decided
//	  awaken.handoff <agent>      the run continues as another agent
//	  awaken.background_task      the run was a task of another run
//	  gen_ai.evaluation.result    what a scorer or a judge said about the run after it had ended
//
// Attributes follow the semantic conventions for generative AI and HTTP (1.41); others begin with awaken. A failed span has error.type: the
// kind of the provider's error, cancelled, timeout, tool_error, in_doubt or error. A call in doubt also has awaken.tool.outcome.
//
// # One trace
//
// A run belongs to the trace of its request (from the header traceparent, an MCP call, or the parent run). The span of the first activation
// is stored in the run's record ([awaken.Run.Trace]) with its first commit, so an activation on another replica, days later, continues the
// same trace. A run whose spans are not recorded stores nothing.
//
// # Sampling
//
// A run in a client's trace is recorded if the trace is. Other runs are sampled by sample_rate and their ID, so that either all or none of
// a run's activations are recorded. If an activation that is not sampled fails, its spans are created at the end from the recorder's data,
// so failures are always recorded. Metrics and sinks get everything; [Sampled] samples a sink by the same rules.
//
// # Content
//
// The content of messages and tool calls is not part of spans and events, unless the section enables content or tool_io. Then it is
// truncated to max_bytes, limited to the given fields, and passed through [Options.Redact].
package observe

import (
	"context"
	"errors"
	"hash/fnv"
	"time"

	"go.opentelemetry.io/otel/metric"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/awaken-go/awaken"
)

// Name is the name of the plugin and of its section.
const Name = "observability"

// scope is the name of the instrumentation.
const scope = "github.com/awaken-go/awaken/plugin/observe"

// Options configures the plugin. The zero Options observes nothing.
type Options struct {
	Sinks []Sink // receive every event
	// Tracer creates spans, and Meter metrics, unless they are nil. Both come from the OpenTelemetry API; the program chooses the SDK and
	// the exporters. Spans must not retain the attribute slices passed to them; those of the SDK do not.
	Tracer oteltrace.TracerProvider
	Meter  metric.MeterProvider
	Labels Labels // nil: metrics have the words that runs use
	// Config is the default for agents without the section.
	Config Config
	// Always observes every agent, not only agents that list the plugin.
	Always bool
	// Redact, if set, changes content before it is recorded. Field is the name of the field in a tool's arguments or result, or "".
	Redact func(field, text string) string
	Now    func() time.Time // nil: time.Now, for spans that of their provider
}

// Plugin observes runs. It is safe for concurrent use.
type Plugin struct {
	opts    Options
	section *awaken.Section[Config]
	tracer  oteltrace.Tracer // nil: no spans
	meters  *meters          // nil: no metrics
}

// New returns the plugin. It panics if Options.Config is invalid, which is a programming error.
func New(opts Options) *Plugin {
	opts.Config = opts.Config.withDefaults()
	if err := opts.Config.Validate(); err != nil {
		panic("observe: " + err.Error())
	}
	p := &Plugin{opts: opts, section: newSection(opts.Config)}
	if opts.Tracer != nil {
		p.tracer = opts.Tracer.Tracer(scope)
	}
	if opts.Meter != nil {
		p.meters = newMeters(opts.Meter.Meter(scope), opts.Labels)
	}
	return p
}

// Name implements [awaken.Plugin].
func (p *Plugin) Name() string { return Name }

// Register implements [awaken.Plugin].
func (p *Plugin) Register(r *awaken.Registrar) error {
	r.Section(p.section)
	return nil
}

// Applies implements [awaken.Applier].
func (p *Plugin) Applies(*awaken.AgentSpec) bool { return p.opts.Always }

// Follow returns the recorder of an activation; see engine.Observer.
func (p *Plugin) Follow(ctx context.Context, run *awaken.RunInfo, agent *awaken.AgentSpec, version string) (context.Context, awaken.Sink) {
	cfg, err := p.section.Read(agent)
	if err != nil {
		cfg = p.opts.Config // the registry reports an invalid section
	}
	if cfg.Disabled || len(p.opts.Sinks) == 0 && p.tracer == nil && p.meters == nil {
		return ctx, nil
	}
	r := &recorder{p: p, cfg: cfg, info: run, version: version, ctx: ctx, began: p.now()}
	if p.tracer != nil {
		r.startRoot()
	}
	return r.ctx, r
}

func (p *Plugin) now() time.Time {
	if p.opts.Now != nil {
		return p.opts.Now()
	}
	return time.Now()
}

// Flush flushes all sinks.
func (p *Plugin) Flush(ctx context.Context) error {
	var errs []error
	for _, s := range p.opts.Sinks {
		errs = append(errs, s.Flush(ctx))
	}
	return errors.Join(errs...)
}

// Shutdown shuts down all sinks. The plugin must not be used afterwards.
func (p *Plugin) Shutdown(ctx context.Context) error {
	var errs []error
	for _, s := range p.opts.Sinks {
		errs = append(errs, s.Shutdown(ctx))
	}
	return errors.Join(errs...)
}

// chosen reports whether a rate selects a run. All activations of a run, and all who ask, get the same answer.
func chosen(runID string, rate float64) bool {
	if rate >= 1 {
		return true
	}
	h := fnv.New64a()
	h.Write([]byte(runID))
	return float64(h.Sum64()%10_000) < rate*10_000
}
