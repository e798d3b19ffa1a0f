package observe

import (
	"context"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/trace"
)

// Sink receives events of runs. Implementations are safe for concurrent use and do not block: runs wait for Record and RunEnd.
type Sink interface {
	// Record receives an event when the operation has ended. Ctx is the context of the run, with its span. The sink must not modify e or
	// use it after Record returns; it may keep the result of [trace.Event.Clone].
	Record(ctx context.Context, e *trace.Event)
	// RunEnd is called when an activation of a run has ended, after all its events. The sink must not modify s or use it after RunEnd
	// returns.
	RunEnd(ctx context.Context, s *Summary)
	// Flush writes buffered events.
	Flush(ctx context.Context) error
	// Shutdown flushes and closes the sink. Record and RunEnd are not called afterwards.
	Shutdown(ctx context.Context) error
}

// Summary summarises an activation of a run.
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

// maxBuffered is the maximum number of events of a run that are buffered until the sampling decision.
const maxBuffered = 10_000

// lowScore is the score below which a run is always kept.
const lowScore = 0.5

// Sampled returns a sink that passes sampled activations to next: the given share, sampled by run ID, and, when they have ended, all others
// that failed. Scores below 0.5 are always passed. An activation with more than 10,000 events that is not sampled is dropped, even if it
// failed.
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
