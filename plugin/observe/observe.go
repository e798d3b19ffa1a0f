// Package observe shows what agents do while they do it: as spans and metrics of OpenTelemetry, and as events for sinks.
//
//	memory := observe.NewMemory()
//	cfg.Plugins = append(cfg.Plugins, observe.New(observe.Options{Sinks: []observe.Sink{memory}}))
//	…
//	fmt.Println(memory.Metrics().ByModel())
//
// An agent that lists "observability" in plugin_ids is observed; its section of that name says how. With
// [Options.Always] every agent is.
//
// # How it works
//
// The plugin is an observer of the engine: each activation of a run gets a recorder of its own, which is told when a request to a
// model, a tool, a step of a tool, a phase, a gate or a handoff begins and ends. So two runs never share one, a request that fails or a
// call that is cancelled ends like any other, and what they surround gets a context with its span: a provider, a server of MCP or a remote agent
// that is called with it belongs to the same trace. When something ends, the recorder tells the sinks, as an [trace.Event].
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
// Attributes are those of the conventions for generative AI and HTTP (1.41), and awaken.*. What fails has error.type: the kind of a provider's error, cancelled, timeout,
// tool_error, in_doubt or error. A call that is in doubt has awaken.tool.outcome too.
//
// # One trace
//
// A run belongs to the trace that its request names (a header traceparent, a call of MCP, the run that started it). The position of the first
// activation is part of the run's record ([awaken.Run.Trace]), saved with its first commit: an activation on another replica, days
// later, continues the same trace. A run whose spans are not recorded saves nothing.
//
// # Sampling
//
// A run that is part of a client's trace is recorded if the trace is. Any other is recorded by sample_rate, decided by its id, so that all its activations are or are
// not. If an activation that is not recorded fails, its spans are made in the end, from what the recorder has kept: failures are always there.
// Metrics and sinks get everything; [Sampled] makes a sink of which the same is true as of spans.
//
// # Content
//
// What people, models and tools say is not part of spans and events, unless the section's content or tool_io says so. Then it
// is shortened to max_bytes, limited to the given fields, and passed through [Options.Redact].
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

// Options configure the plugin. The zero Options observe nothing.
type Options struct {
	Sinks []Sink // are told of every event
	// Tracer makes spans; nil makes none. Meter makes metrics; nil makes none. Both are of the OpenTelemetry API: a program
	// chooses the SDK and the exporters. Spans must not keep the list of attributes that they are given; those of the SDK do not.
	Tracer oteltrace.TracerProvider
	Meter  metric.MeterProvider
	Labels Labels // nil: metrics have the words that runs use
	// Config is the section of agents that have none.
	Config Config
	// Always observes every agent, not only those that list the plugin.
	Always bool
	// Redact changes content before it is recorded. Field is what it is of: the name of a field of a tool's arguments or result, or "". Nil changes nothing.
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

// Follow makes the recorder of an activation; see engine.Observer.
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

// Flush makes all sinks write what they have.
func (p *Plugin) Flush(ctx context.Context) error {
	var errs []error
	for _, s := range p.opts.Sinks {
		errs = append(errs, s.Flush(ctx))
	}
	return errors.Join(errs...)
}

// Shutdown ends all sinks. They must not be told anything afterwards.
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
