package llmtest

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/awaken-go/awaken/llm"
)

// Script is a model that replies to its nth call with its nth turn. It is safe for concurrent
// use: each call gets its own turn.
type Script struct {
	takes  []*take
	loop   bool
	record bool
	calls  atomic.Int64

	mu       sync.Mutex
	requests []*Captured
}

// NewScript returns a model that plays turns. Calls after the last turn fail with an
// *llm.Error of kind InvalidRequest.
func NewScript(turns ...Turn) *Script {
	s := &Script{takes: make([]*take, len(turns))}
	for i, t := range turns {
		s.takes[i] = newTake(t)
	}
	return s
}

// Loop makes s start over after the last turn, and returns s. Call it before the first Stream.
func (s *Script) Loop() *Script {
	s.loop = true
	return s
}

// Record makes s record its requests, and returns s. Call it before the first Stream.
func (s *Script) Record() *Script {
	s.record = true
	return s
}

// Calls returns the number of calls.
func (s *Script) Calls() int { return int(s.calls.Load()) }

// Requests returns the recorded requests, in the order of the calls.
func (s *Script) Requests() []*Captured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Stream plays the next turn. A call counts if its iteration starts before its context ends.
func (s *Script) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if ctx.Err() != nil {
			yield(llm.Delta{}, cancelled(ctx))
			return
		}
		n := s.next(req)
		i := n - 1
		if s.loop && len(s.takes) > 0 {
			i %= len(s.takes)
		}
		if i >= len(s.takes) {
			yield(llm.Delta{}, invalid("script exhausted after %d turns", len(s.takes)))
			return
		}
		s.takes[i].play(ctx, req, n, yield)
	}
}

// next counts a call and returns its number, starting at 1.
func (s *Script) next(req *llm.Request) int {
	if !s.record {
		return int(s.calls.Add(1))
	}
	s.mu.Lock() // so that requests are in the order of the calls
	defer s.mu.Unlock()
	s.requests = append(s.requests, capture(req))
	return int(s.calls.Add(1))
}

// Captured is a copy of a request.
type Captured struct {
	Model       string
	System      string // the system prompt: system blocks and system messages
	Messages    []*llm.Message
	Tools       []string // their names
	Params      llm.Params
	CachePrompt bool
	Routing     llm.Routing
}

func capture(req *llm.Request) *Captured {
	return &Captured{
		Model:    req.Model,
		System:   systemText(req),
		Messages: req.Messages.Slice(),
		Tools:    toolNames(req),
		Params: llm.Params{
			Temperature:     clone(req.Temperature),
			TopP:            clone(req.TopP),
			MaxTokens:       clone(req.MaxTokens),
			ReasoningEffort: clone(req.ReasoningEffort),
			StopSequences:   slices.Clone(req.StopSequences),
			Seed:            clone(req.Seed),
			ToolChoice:      clone(req.ToolChoice),
			ParallelTools:   clone(req.ParallelTools),
			Output:          clone(req.Output),
		},
		CachePrompt: req.CachePrompt,
		Routing:     req.Routing,
	}
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

var _ llm.Model = (*Script)(nil)
