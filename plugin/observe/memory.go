package observe

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/awaken-go/awaken/trace"
)

// Memory is a sink that keeps the latest events in memory, for development and tests.
type Memory struct {
	mu     sync.Mutex
	events []*trace.Event
	runs   []*Summary
}

// maxRemembered is how many events and summaries a Memory keeps.
const maxRemembered = 10_000

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return new(Memory) }

// Record implements [Sink].
func (m *Memory) Record(_ context.Context, e *trace.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = kept(m.events, e.Clone())
}

// RunEnd implements [Sink].
func (m *Memory) RunEnd(_ context.Context, s *Summary) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs = kept(m.runs, new(*s))
}

// kept appends to a list. It forgets the older half of one that is full.
func kept[T any](list []T, v T) []T {
	if len(list) == maxRemembered {
		list = append(list[:0], list[maxRemembered/2:]...)
		clear(list[len(list):maxRemembered])
	}
	return append(list, v)
}

// Flush implements [Sink]. It does nothing.
func (m *Memory) Flush(context.Context) error { return nil }

// Shutdown implements [Sink]. It does nothing.
func (m *Memory) Shutdown(context.Context) error { return nil }

// Metrics returns the recorded events and summaries, oldest first.
func (m *Memory) Metrics() *Metrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := &Metrics{Runs: slices.Clone(m.runs)}
	for _, e := range m.events {
		switch {
		case e.Inference != nil:
			out.Inferences = append(out.Inferences, e)
		case e.Tool != nil:
			out.Tools = append(out.Tools, e)
		default:
			out.Others = append(out.Others, e)
		}
	}
	return out
}

// Metrics holds the events and summaries that a [Memory] has recorded.
type Metrics struct {
	Inferences []*trace.Event
	Tools      []*trace.Event
	Others     []*trace.Event // suspensions, handoffs, delegations, background tasks and results of evaluations
	Runs       []*Summary     // activations that have ended
}

// InputTokens returns the tokens of all requests.
func (m *Metrics) InputTokens() (n int64) {
	for _, e := range m.Inferences {
		n += e.Inference.InputTokens
	}
	return n
}

// OutputTokens returns the tokens of all answers.
func (m *Metrics) OutputTokens() (n int64) {
	for _, e := range m.Inferences {
		n += e.Inference.OutputTokens
	}
	return n
}

// CostUSD returns the cost of all requests.
func (m *Metrics) CostUSD() (usd float64) {
	for _, e := range m.Inferences {
		usd += e.Inference.CostUSD
	}
	return usd
}

// ToolFailures returns the number of calls that failed.
func (m *Metrics) ToolFailures() (n int) {
	for _, e := range m.Tools {
		if e.Tool.Error != "" {
			n++
		}
	}
	return n
}

// DurationMS returns the total duration of all activations.
func (m *Metrics) DurationMS() (ms int64) {
	for _, s := range m.Runs {
		ms += s.DurationMS
	}
	return ms
}

// ModelStats sums up the requests to a model.
type ModelStats struct {
	Model, Provider           string
	Inferences, Failures      int
	InputTokens, OutputTokens int64
	DurationMS                int64
	CostUSD                   float64
}

// ByModel sums up the requests to each model, ordered by its name.
func (m *Metrics) ByModel() []ModelStats {
	all := map[string]*ModelStats{}
	for _, e := range m.Inferences {
		in := e.Inference
		name := cmp.Or(in.ResponseModel, in.Model)
		s := all[name]
		if s == nil {
			s = &ModelStats{Model: name, Provider: in.Provider}
			all[name] = s
		}
		s.Inferences++
		if in.ErrorType != "" {
			s.Failures++
		}
		s.InputTokens += in.InputTokens
		s.OutputTokens += in.OutputTokens
		s.DurationMS += e.DurationMS
		s.CostUSD += in.CostUSD
	}
	return sorted(all)
}

// ToolStats sums up the calls of a tool.
type ToolStats struct {
	Tool            string
	Calls, Failures int
	DurationMS      int64
}

// ByTool sums up the calls of each tool, ordered by its name.
func (m *Metrics) ByTool() []ToolStats {
	all := map[string]*ToolStats{}
	for _, e := range m.Tools {
		s := all[e.Tool.Name]
		if s == nil {
			s = &ToolStats{Tool: e.Tool.Name}
			all[e.Tool.Name] = s
		}
		s.Calls++
		if e.Tool.Error != "" {
			s.Failures++
		}
		s.DurationMS += e.DurationMS
	}
	return sorted(all)
}

// sorted returns the values of a map, ordered by their keys.
func sorted[T any](all map[string]*T) []T {
	out := make([]T, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[name])
	}
	return out
}
