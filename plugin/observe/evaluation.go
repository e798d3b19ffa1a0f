package observe

import (
	"context"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/trace"
)

// Evaluated records the score that a scorer or a judge gave an ended run: as a span in the trace of the run, if that is recorded, and for
// sinks. The explanation is omitted unless [Options.Config] records content, because it may quote the conversation.
func (p *Plugin) Evaluated(ctx context.Context, run *awaken.Run, e trace.Evaluation) {
	if !p.opts.Config.Content {
		e.Explanation = ""
	}
	now := p.now()
	ev := &trace.Event{Context: contextOf(run.Info(), run.ResolutionID, "evaluation_result"), Evaluation: &e, Span: spanOf(now, now)}
	ev.Operation = "evaluate"
	began := tracecontext.ParseText(run.Trace)
	if ctx = tracecontext.With(remote(ctx, began), began); p.tracer != nil && began.Sampled() {
		p.makeSpan(ctx, ev)
	}
	for _, s := range p.opts.Sinks {
		s.Record(ctx, ev)
	}
}
