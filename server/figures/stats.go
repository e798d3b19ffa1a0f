package figures

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
)

// Stats are kept in memory, for this process and the last day: for each agent a ring of buckets with
// counts and a sample of durations.
const (
	bucketTime  = 10 * time.Minute
	bucketCount = 144
	bucketSize  = 1024 // samples per bucket
	statsAgents = 1000 // bounds what clients can make the server remember
	statsTools  = 1000 // per agent
)

// durationBounds are the upper bounds of the histograms, in milliseconds. One more bar holds
// everything above the last.
var durationBounds = []int64{10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000}

// Stats counts what agents do. Let its Sink see the events of runs. It is safe for concurrent use.
type Stats struct {
	now func() time.Time

	mu     sync.Mutex
	agents map[string]*ring
}

// NewStats returns stats at zero. Now is the clock; nil means time.Now.
func NewStats(now func() time.Time) *Stats {
	if now == nil {
		now = time.Now
	}
	return &Stats{now: now, agents: map[string]*ring{}}
}

// ring is the activity of an agent in the last day.
type ring [bucketCount]bucket

// since reports whether the agent was active in the bucket of that number or a later one.
func (r *ring) since(number int64) bool {
	for i := range r {
		if r[i].number >= number {
			return true
		}
	}
	return false
}

// bucket is the activity of an agent in ten minutes.
type bucket struct {
	number      int64 // ten-minute intervals since 1970
	errors      int
	input       int64
	output      int64
	suspensions int
	handoffs    int
	delegations int
	inferences  timings
	tools       map[string]*toolTimings
}

type toolTimings struct {
	timings
	failures int
}

// timings summarizes durations in milliseconds.
type timings struct {
	count, sum, min, max int64
	histogram            [11]int64
	samples              []int64
}

func (t *timings) add(ms int64) {
	if t.count == 0 || ms < t.min {
		t.min = ms
	}
	t.max = max(t.max, ms)
	t.count++
	t.sum += ms
	at, _ := slices.BinarySearch(durationBounds, ms)
	t.histogram[at]++
	if len(t.samples) < bucketSize {
		t.samples = append(t.samples, ms)
	} else if i := rand.Int64N(t.count); i < bucketSize {
		t.samples[i] = ms // reservoir sampling: every duration is equally likely to be kept
	}
}

func (t *timings) merge(other *timings) {
	if other.count == 0 {
		return
	}
	if t.count == 0 || other.min < t.min {
		t.min = other.min
	}
	t.max = max(t.max, other.max)
	t.count += other.count
	t.sum += other.sum
	for i, n := range other.histogram {
		t.histogram[i] += n
	}
	t.samples = append(t.samples, other.samples...)
}

// change calls fn with the current bucket of an agent.
func (s *Stats) change(agent string, fn func(b *bucket)) {
	number := s.now().UnixMilli() / bucketTime.Milliseconds()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.agents[agent]
	if r == nil {
		if len(s.agents) >= statsAgents {
			maps.DeleteFunc(s.agents, func(_ string, r *ring) bool { return !r.since(number - bucketCount + 1) })
		}
		if len(s.agents) >= statsAgents {
			return
		}
		r = new(ring)
		s.agents[agent] = r
	}
	b := &r[number%bucketCount]
	if b.number != number {
		*b = bucket{number: number}
	}
	fn(b)
}

// Sink returns a sink that counts the events of one run and passes them to next, which may be nil.
func (s *Stats) Sink(next awaken.Sink) awaken.Sink {
	return &statsSink{stats: s, next: next, begun: map[string]time.Time{}}
}

type statsSink struct {
	stats *Stats
	next  awaken.Sink
	agent string
	begun map[string]time.Time // call id -> start
}

// Emit implements [awaken.Sink].
func (s *statsSink) Emit(ctx context.Context, e awaken.Entry) error {
	switch ev := e.Event.(type) {
	case *awaken.RunStart:
		if ev.Identity != nil {
			s.agent = ev.Identity.AgentID
		}
	case *awaken.RunFinish:
		if ev.Termination.Type == awaken.Failed {
			s.stats.change(s.agent, func(b *bucket) { b.errors++ })
		}
		if ev.Identity != nil && ev.Identity.AgentID != s.agent {
			s.stats.change(s.agent, func(b *bucket) { b.handoffs++ })
		}
	case *awaken.InferenceComplete:
		s.stats.change(s.agent, func(b *bucket) {
			b.inferences.add(ev.DurationMS)
			if ev.Usage != nil {
				b.input += int64(ev.Usage.PromptTokens)
				b.output += int64(ev.Usage.CompletionTokens)
			}
		})
	case *awaken.ToolCallReady:
		s.begun[ev.ID] = s.stats.now()
	case *awaken.ToolCallDone:
		s.call(ev)
	}
	if s.next == nil {
		return nil
	}
	return s.next.Emit(ctx, e)
}

// call counts a call that has ended or was suspended.
func (s *statsSink) call(ev *awaken.ToolCallDone) {
	if ev.Result == nil {
		return
	}
	begun, known := s.begun[ev.ID]
	delete(s.begun, ev.ID)
	s.stats.change(s.agent, func(b *bucket) {
		name := ev.Result.ToolName
		if ev.Outcome == awaken.CallSuspended {
			b.suspensions++
			return
		}
		if strings.HasPrefix(name, delegatePrefix) {
			b.delegations++
		}
		if b.tools == nil {
			b.tools = map[string]*toolTimings{}
		}
		t := b.tools[name]
		if t == nil {
			if len(b.tools) >= statsTools {
				return
			}
			t = &toolTimings{}
			b.tools[name] = t
		}
		var ms int64
		if known {
			ms = s.stats.now().Sub(begun).Milliseconds()
		}
		t.add(ms)
		if ev.Outcome == awaken.CallFailed {
			t.failures++
		}
	})
}

// delegatePrefix begins the names of tools that run other agents.
const delegatePrefix = "agent_run_"

// AgentStats is the recent activity of an agent. Durations are in milliseconds.
type AgentStats struct {
	AgentID             string         `json:"agent_id"`
	WindowSeconds       int64          `json:"window_seconds"`
	BucketWindowSeconds int64          `json:"bucket_window_seconds"`
	BucketCount         int            `json:"bucket_count"` // buckets in the window
	InferenceCount      int64          `json:"inference_count"`
	ErrorCount          int            `json:"error_count"`
	InputTokens         int64          `json:"input_tokens"`
	OutputTokens        int64          `json:"output_tokens"`
	Avg                 float64        `json:"avg_inference_duration_ms"`
	Min                 int64          `json:"min_inference_duration_ms"`
	Max                 int64          `json:"max_inference_duration_ms"`
	P50                 int64          `json:"p50_inference_duration_ms"`
	P95                 int64          `json:"p95_inference_duration_ms"`
	P99                 int64          `json:"p99_inference_duration_ms"`
	Histogram           []histogramBar `json:"inference_duration_histogram,omitempty"`
	Suspensions         int            `json:"suspensions"`
	Handoffs            int            `json:"handoffs"`
	Delegations         int            `json:"delegations"`
	Tools               []toolStats    `json:"tool_calls_by_tool"`
}

type histogramBar struct {
	UpperBound *int64 `json:"upper_bound_ms"` // null for the last bar
	Count      int64  `json:"count"`
}

type toolStats struct {
	Tool      string         `json:"tool"`
	Calls     int64          `json:"call_count"`
	Failures  int            `json:"failure_count"`
	Total     int64          `json:"total_duration_ms"`
	Avg       float64        `json:"avg_duration_ms"`
	Min       int64          `json:"min_duration_ms"`
	Max       int64          `json:"max_duration_ms"`
	P50       int64          `json:"p50_duration_ms"`
	P95       int64          `json:"p95_duration_ms"`
	P99       int64          `json:"p99_duration_ms"`
	Histogram []histogramBar `json:"duration_histogram,omitempty"`
}

// Agents returns the ids of the agents that were active in the last day, sorted.
func (s *Stats) Agents() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := s.now().UnixMilli()/bucketTime.Milliseconds() - bucketCount + 1
	var out []string
	for id, r := range s.agents {
		if r.since(oldest) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// Snapshot returns the activity of an agent in the last window, rounded up to ten minutes.
func (s *Stats) Snapshot(agent string, window time.Duration) *AgentStats {
	buckets := min(bucketCount, int((window+bucketTime-1)/bucketTime))
	out := &AgentStats{AgentID: agent, WindowSeconds: int64(window.Seconds()), BucketWindowSeconds: int64(bucketTime.Seconds()), BucketCount: buckets, Tools: []toolStats{}}
	newest := s.now().UnixMilli() / bucketTime.Milliseconds()
	var inferences timings
	tools := map[string]*toolTimings{}
	s.mu.Lock()
	if r := s.agents[agent]; r != nil {
		for i := range r {
			b := &r[i]
			if b.number == 0 || b.number <= newest-int64(buckets) || b.number > newest {
				continue
			}
			out.ErrorCount += b.errors
			out.InputTokens += b.input
			out.OutputTokens += b.output
			out.Suspensions += b.suspensions
			out.Handoffs += b.handoffs
			out.Delegations += b.delegations
			inferences.merge(&b.inferences)
			for name, t := range b.tools {
				if tools[name] == nil {
					tools[name] = &toolTimings{}
				}
				tools[name].merge(&t.timings)
				tools[name].failures += t.failures
			}
		}
	}
	s.mu.Unlock()
	out.InferenceCount, out.Min, out.Max = inferences.count, inferences.min, inferences.max
	out.Avg, out.P50, out.P95, out.P99 = inferences.spread()
	out.Histogram = inferences.bars()
	for name, t := range tools {
		v := toolStats{Tool: name, Calls: t.count, Failures: t.failures, Total: t.sum, Min: t.min, Max: t.max, Histogram: t.bars()}
		v.Avg, v.P50, v.P95, v.P99 = t.spread()
		out.Tools = append(out.Tools, v)
	}
	slices.SortFunc(out.Tools, func(a, b toolStats) int { return cmp.Compare(a.Tool, b.Tool) })
	return out
}

func (t *timings) spread() (avg float64, p50, p95, p99 int64) {
	if t.count == 0 {
		return 0, 0, 0, 0
	}
	slices.Sort(t.samples)
	at := func(q float64) int64 { return t.samples[min(len(t.samples)-1, int(q*float64(len(t.samples))))] }
	return float64(t.sum) / float64(t.count), at(.5), at(.95), at(.99)
}

func (t *timings) bars() []histogramBar {
	if t.count == 0 {
		return nil
	}
	out := make([]histogramBar, len(t.histogram))
	for i, n := range t.histogram {
		out[i].Count = n
		if i < len(durationBounds) {
			out[i].UpperBound = &durationBounds[i]
		}
	}
	return out
}
