package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/server/figures"
	"github.com/awaken-go/awaken/server/servertest"
)

// clock is a clock that tests advance.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// counted is stats with a fake clock and fake runs.
func counted() (*figures.Stats, *clock, func(agent string, events ...awaken.Event)) {
	c := &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	s := figures.NewStats(c.now)
	return s, c, func(agent string, events ...awaken.Event) {
		sink := s.Sink(nil)
		_ = sink.Emit(context.Background(), awaken.Entry{Event: &awaken.RunStart{Identity: &awaken.RunInfo{AgentID: agent}}})
		for _, e := range events {
			if wait, ok := e.(*awaken.TextDelta); ok { // time goes by
				d, _ := time.ParseDuration(wait.Delta)
				c.at = c.at.Add(d)
				continue
			}
			_ = sink.Emit(context.Background(), awaken.Entry{Event: e})
		}
	}
}

func inference(ms int64) *awaken.InferenceComplete {
	return &awaken.InferenceComplete{DurationMS: ms, Usage: &llm.Usage{PromptTokens: 10, CompletionTokens: 3}}
}

func called(id, tool string, how awaken.CallStatus) *awaken.ToolCallDone {
	return &awaken.ToolCallDone{ID: id, Result: &awaken.ToolResult{ToolName: tool}, Outcome: how}
}

func TestStats_Counts(t *testing.T) {
	t.Parallel()
	s, _, run := counted()
	run("a", inference(5), inference(30), &awaken.ToolCallReady{ID: "1", Name: "look"}, &awaken.TextDelta{Delta: "40ms"}, called("1", "look", awaken.CallSucceeded),
		called("2", "look", awaken.CallFailed), called("3", "ask", awaken.CallSuspended), called("4", "agent_run_b", awaken.CallSucceeded),
		&awaken.RunFinish{Identity: &awaken.RunInfo{AgentID: "b"}, Termination: awaken.Termination{Type: awaken.NaturalEnd}})
	run("a", inference(20_000), &awaken.RunFinish{Identity: &awaken.RunInfo{AgentID: "a"}, Termination: awaken.Termination{Type: awaken.Failed}})
	got := s.Snapshot("a", time.Hour)
	if got.InferenceCount != 3 || got.InputTokens != 30 || got.OutputTokens != 9 || got.ErrorCount != 1 || got.Suspensions != 1 || got.Handoffs != 1 || got.Delegations != 1 {
		t.Errorf("counted %+v", got)
	}
	if got.Min != 5 || got.Max != 20_000 || got.Avg != 20_035.0/3 || got.P50 != 30 || got.P99 != 20_000 {
		t.Errorf("durations are %+v", got)
	}
	bars := map[string]int64{}
	for _, b := range got.Histogram {
		name := "more"
		if b.UpperBound != nil {
			name = fmt.Sprint(*b.UpperBound)
		}
		bars[name] = b.Count
	}
	if len(bars) != 11 || bars["10"] != 1 || bars["50"] != 1 || bars["more"] != 1 {
		t.Errorf("the histogram is %v", bars)
	}
	if len(got.Tools) != 2 || got.Tools[1].Tool != "look" || got.Tools[1].Calls != 2 || got.Tools[1].Failures != 1 || got.Tools[1].Total != 40 || got.Tools[1].Max != 40 {
		t.Errorf("tools are %+v", got.Tools)
	}
	if got.WindowSeconds != 3600 || got.BucketWindowSeconds != 600 || got.BucketCount != 6 {
		t.Errorf("the window is %+v", got)
	}
	if empty := s.Snapshot("missing", time.Hour); empty.InferenceCount != 0 || empty.Tools == nil || empty.Avg != 0 {
		t.Errorf("an unknown agent did %+v", empty)
	}
}

// Activity older than the window or a day does not count, and its bucket is reused.
func TestStats_RollOver(t *testing.T) {
	t.Parallel()
	s, c, run := counted()
	run("a", inference(1))
	c.at = c.at.Add(20 * time.Minute)
	run("a", inference(2))
	for window, want := range map[time.Duration]int64{10 * time.Minute: 1, 20 * time.Minute: 1, 30 * time.Minute: 2, 24 * time.Hour: 2} {
		if got := s.Snapshot("a", window).InferenceCount; got != want {
			t.Errorf("the last %s have %d, want %d", window, got, want)
		}
	}
	c.at = c.at.Add(23*time.Hour + 50*time.Minute)
	if got := s.Snapshot("a", 24*time.Hour); got.InferenceCount != 1 || got.Max != 2 {
		t.Errorf("after a day there are %d", got.InferenceCount)
	}
	run("a", inference(3)) // in the bucket that the first was in
	if got := s.Snapshot("a", 24*time.Hour); got.InferenceCount != 2 || got.Min != 2 || got.Max != 3 {
		t.Errorf("then there are %d, from %d to %d", got.InferenceCount, got.Min, got.Max)
	}
	if got := s.Agents(); fmt.Sprint(got) != "[a]" {
		t.Errorf("agents are %v", got)
	}
	c.at = c.at.Add(25 * time.Hour)
	if got := s.Agents(); len(got) != 0 {
		t.Errorf("agents are %v", got)
	}
}

func TestStats_Percentiles(t *testing.T) {
	t.Parallel()
	s, _, run := counted()
	var events []awaken.Event
	for i := range int64(100) {
		events = append(events, inference(i+1))
	}
	run("a", events...)
	if got := s.Snapshot("a", time.Hour); got.P50 != 51 || got.P95 != 96 || got.P99 != 100 || got.Avg != 50.5 {
		t.Errorf("percentiles are %d %d %d, average %v", got.P50, got.P95, got.P99, got.Avg)
	}
	// More than are kept: a sample of them all.
	events = nil
	for i := range int64(50_000) {
		events = append(events, inference(i))
	}
	run("b", events...)
	got := s.Snapshot("b", time.Hour)
	if got.InferenceCount != 50_000 || got.Max != 49_999 || got.P50 < 20_000 || got.P50 > 30_000 || got.P95 < 45_000 {
		t.Errorf("the sample says %d %d of %d", got.P50, got.P95, got.InferenceCount)
	}
}

// Clients cannot make the stats grow without bound, and idle agents make room for others.
func TestStats_Bounds(t *testing.T) {
	t.Parallel()
	s, c, run := counted()
	for i := range 1100 {
		run(fmt.Sprint("agent", i), inference(1))
	}
	if got := len(s.Agents()); got != 1000 {
		t.Errorf("%d agents are remembered", got)
	}
	c.at = c.at.Add(25 * time.Hour)
	run("new", inference(1))
	if got := s.Snapshot("new", time.Hour).InferenceCount; got != 1 {
		t.Error("agents that did nothing for a day leave no room")
	}
	var events []awaken.Event
	for i := range 1100 {
		events = append(events, called(fmt.Sprint(i), fmt.Sprint("tool", i), awaken.CallFailed))
	}
	run("new", events...)
	if got := len(s.Snapshot("new", time.Hour).Tools); got != 1000 {
		t.Errorf("%d tools are remembered", got)
	}
}

func TestStats_Routes(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.done()
	g.waits()
	got := g.want(200, "GET", "/v1/agents/default/runtime-stats", "", admin...)
	for _, field := range strings.Fields(`agent_id window_seconds bucket_window_seconds bucket_count inference_count error_count input_tokens output_tokens avg_inference_duration_ms
		min_inference_duration_ms max_inference_duration_ms p50_inference_duration_ms p95_inference_duration_ms p99_inference_duration_ms inference_duration_histogram
		suspensions handoffs delegations tool_calls_by_tool`) {
		if _, ok := got[field]; !ok {
			t.Errorf("there is no %s", field)
		}
	}
	if got["inference_count"] != 2.0 || got["suspensions"] != 1.0 || got["window_seconds"] != 86400.0 || got["bucket_count"] != 144.0 {
		t.Errorf("the agent did %v", got)
	}
	if list := g.want(200, "GET", "/v1/agents/runtime-stats?window=10m", "", admin...)["agents"].([]any); len(list) != 1 || list[0].(map[string]any)["window_seconds"] != 600.0 {
		t.Errorf("agents did %v", list)
	}
	for window, want := range map[string]float64{"90s": 90, "600": 600, "6h": 21600, "1d": 86400, "99999d": 86400} {
		if got := g.want(200, "GET", "/v1/agents/other/runtime-stats?window="+window, "", admin...)["window_seconds"]; got != want {
			t.Errorf("window %s has %v seconds", window, got)
		}
	}
	for _, window := range []string{"0", "-1", "x", "1w", "1.5h", "9999999999999999999"} {
		g.says(400, "window is", "GET", "/v1/agents/default/runtime-stats?window="+window, "")
	}
	g.says(404, "missing", "GET", "/v1/agents/missing/runtime-stats", "")
	none := newRig(t, func(c *servertest.Config) { c.Figures.Stats = nil })
	none.says(503, "runtime stats are not configured", "GET", "/v1/agents/default/runtime-stats", "")
	none.says(503, "runtime stats are not configured", "GET", "/v1/agents/runtime-stats", "")
	none.says(200, `"runtime_stats_enabled":false`, "GET", "/v1/system/info", "")
}
