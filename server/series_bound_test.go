package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/trace"
)

// seriesOf counts the series of /metrics.
func (g *rig) seriesOf() (n int) {
	g.t.Helper()
	_, text := g.ask("GET", "/metrics", "", admin...)
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			n++
		}
	}
	return n
}

// Runs, threads, users, models of clients, tools that models make up, paths and methods do not become series.
func TestMetrics_SeriesAreBounded(t *testing.T) {
	t.Parallel()
	m := server.NewMetrics()
	g := newRig(t, func(c *servertest.Config) { c.Metrics = m })
	sink := m.Observer()
	round := func(i int) {
		word := fmt.Sprintf("made-up-%d", i)
		about := trace.Context{RunID: "run-" + word, ThreadID: "thread-" + word, AgentID: "agent-" + word, ParentRunID: "parent-" + word}
		for _, ev := range []*trace.Event{
			{Inference: &trace.Inference{Model: word, ResponseModel: word, Provider: "p", InputTokens: 1, TotalTokens: 1, CostUSD: 1, ErrorType: "timeout", ResponseContent: word}},
			{Tool: &trace.Tool{Name: word, CallID: word, Status: awaken.CallFailed, Error: "tool_error"}},
			{Suspension: &trace.Suspension{ToolName: word, ToolCallID: word, Action: "tool:" + word, Message: word}},
			{Suspension: &trace.Suspension{ToolName: word, Action: word, Decision: &awaken.Decision{ID: word, Reason: word}}},
			{Evaluation: &trace.Evaluation{Name: "judge", Score: .5, Model: word, Explanation: word}},
			{Child: &trace.Child{ChildRunID: word, ChildAgentID: word}},
		} {
			ev.Context = about
			if ev.Child != nil {
				ev.Type = "delegation"
			}
			sink.Record(t.Context(), ev)
		}
	}
	request := func(i int) {
		g.ask("GET", fmt.Sprintf("/made-up-%d", i), "")
		g.ask("GET", fmt.Sprintf("/v1/runs/made-up-%d?q=%d", i, i), "", "X-Request-Id", fmt.Sprint("made-up-", i))
		g.ask(fmt.Sprint("MADEUP", i), "/v1/runs", "")
	}
	for i := range 10 {
		round(i)
		request(i)
	}
	g.seriesOf() // which makes series itself
	before := g.seriesOf()
	for i := range 10_000 {
		round(10 + i)
	}
	for i := range 100 {
		request(10 + i)
	}
	if after := g.seriesOf(); after != before {
		t.Errorf("10,000 runs with words of their own made %d series of %d", after, before)
	}
	if _, text := g.ask("GET", "/metrics", "", admin...); strings.Contains(strings.ToLower(text), "made-up") || strings.Contains(text, "MADEUP") {
		t.Error("a word that is not of the configuration is a label")
	}
}

// Models that clients choose and errors that providers write do not become series, in runs as they happen.
func TestMetrics_SeriesOfRunsAreBounded(t *testing.T) {
	t.Parallel()
	g := newTracedRig(t)
	round := func(i int) {
		g.ask("POST", "/v1/runs", fmt.Sprintf(`{"agent_id":"default","thread_id":"made-up-%d","messages":[{"role":"user","content":"made-up-%d"}],"overrides":{"upstream_model":"made-up-%d"}}`, i, i, i), "Accept", "application/json", "X-Session-Id", fmt.Sprint("made-up-", i))
	}
	for i := range 5 {
		round(i)
	}
	g.seriesOf() // which makes series itself
	before := g.seriesOf()
	for i := range 50 {
		round(10 + i)
	}
	after := g.seriesOf()
	if _, text := g.ask("GET", "/metrics", "", admin...); after != before || strings.Contains(text, "made-up") {
		t.Errorf("50 runs made %d series of %d", after, before)
	}
}

// Durations link to the traces that are recorded, and to no others.
func TestMetrics_ExemplarsAreTracesThatAreRecorded(t *testing.T) {
	t.Parallel()
	const openMetrics = "application/openmetrics-text;version=1.0.0"
	g := newTracedRig(t)
	g.want(200, "PUT", "/v1/config/agents/quiet", `{"id":"quiet","model_id":"m","sections":{"observability":{"sample_rate":0}}}`, admin...)
	g.told("quiet", "hello", admin...)
	g.told("default", "hello", "traceparent", "00-"+clientTrace+"-b7ad6b7169203331-00")
	if _, text := g.ask("GET", "/metrics", "", append([]string{"Accept", openMetrics}, admin...)...); strings.Contains(text, "trace_id") || !strings.HasSuffix(text, "# EOF") {
		t.Error("a run that is not recorded has an exemplar")
	}
	g.told("default", "hello", "traceparent", clientParent)
	g.eventually("the exemplar", func() bool {
		_, text := g.ask("GET", "/metrics", "", append([]string{"Accept", openMetrics}, admin...)...)
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "awaken_inference_duration_seconds_bucket{") && strings.Contains(line, `# {trace_id="`+clientTrace+`"}`) {
				return true
			}
		}
		return false
	})
	if _, text := g.ask("GET", "/metrics", "", admin...); strings.Contains(text, "trace_id") {
		t.Error("the page for other scrapers has exemplars")
	}
}
