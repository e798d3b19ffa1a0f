package observe

import (
	"context"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/trace"
)

// Sink is told what runs do. Implementations are safe for concurrent use, and do not block: the run waits for Record and RunEnd.
type Sink interface {
	// Record is told of something that has ended. Ctx is that of the run, and has its span. The sink must not change e, nor use it afterwards; it may keep
	// what [trace.Event.Clone] returns.
	Record(ctx context.Context, e *trace.Event)
	// RunEnd is told that an activation of a run has ended, after everything else about it. The sink must not change s, and keeps a copy if it needs one.
	RunEnd(ctx context.Context, s *Summary)
	// Flush writes what the sink has collected.
	Flush(ctx context.Context) error
	// Shutdown flushes and closes the sink. Nothing is recorded afterwards.
	Shutdown(ctx context.Context) error
}

// Summary is about an activation of a run.
type Summary struct {
	trace.Context                        // its type is run
	Outcome       awaken.TerminationType `json:"outcome"`              // "" if the run has another owner or did not start
	ErrorType     string                 `json:"error_type,omitempty"` // of a run that failed or was cancelled
	Mode          string                 `json:"run_mode,omitempty"`   // scheduled if it is a background task
	Inferences    int                    `json:"inference_count"`
	ToolCalls     int                    `json:"tool_count"`
	ToolFailures  int                    `json:"tool_failures"`
	Usage         llm.Usage              `json:"usage,omitzero"`
	CostUSD       float64                `json:"cost_usd,omitempty"`
	trace.Span
}

// failed reports whether the run is one that sampling keeps in any case.
func (s *Summary) failed() bool { return s.Outcome == awaken.Failed }

// maxBuffered is how many events of a run are kept until it is decided whether they are recorded.
const maxBuffered = 10_000

// lowScore is the score below which a run is always kept.
const lowScore = 0.5

// Sampled returns a sink that tells next of only some activations, when they have ended: those that failed or were judged badly (a score
// below 0.5), and of the others the given share, chosen by the id of the run. An activation with more than 10,000 events that is not chosen is left out.
func Sampled(next Sink, rate float64) Sink {
	return &sampled{next: next, rate: rate, runs: map[string]*buffered{}}
}

type sampled struct {
	next Sink
	rate float64
	mu   sync.Mutex
	runs map[string]*buffered // by run id
}

type buffered struct {
	events []*trace.Event
	full   bool
}

func (s *sampled) Record(ctx context.Context, e *trace.Event) {
	if ev := e.Evaluation; ev != nil { // of a run that has ended
		if chosen(e.RunID, s.rate) || ev.Score < lowScore {
			s.next.Record(ctx, e)
		}
		return
	}
	if chosen(e.RunID, s.rate) {
		s.next.Record(ctx, e)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.runs[e.RunID]
	if b == nil {
		b = new(buffered)
		s.runs[e.RunID] = b
	}
	if b.full = b.full || len(b.events) == maxBuffered; b.full {
		b.events = nil
		return
	}
	b.events = append(b.events, e.Clone())
}

func (s *sampled) RunEnd(ctx context.Context, sum *Summary) {
	if chosen(sum.RunID, s.rate) {
		s.next.RunEnd(ctx, sum)
		return
	}
	s.mu.Lock()
	b := s.runs[sum.RunID]
	delete(s.runs, sum.RunID)
	s.mu.Unlock()
	if !sum.failed() || b != nil && b.full {
		return
	}
	if b != nil {
		for _, e := range b.events {
			s.next.Record(ctx, e)
		}
	}
	s.next.RunEnd(ctx, sum)
}

func (s *sampled) Flush(ctx context.Context) error    { return s.next.Flush(ctx) }
func (s *sampled) Shutdown(ctx context.Context) error { return s.next.Shutdown(ctx) }
