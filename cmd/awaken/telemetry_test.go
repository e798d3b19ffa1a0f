package main

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	spans "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/internal/otlptest"
)

const (
	clientTrace = "0af7651916cd43dd8448eb211c80319c"
	clientSpan  = "b7ad6b7169203331"
)

// traced runs an agent for a client that has a trace.
func (h *hosted) traced(agent, text string) string {
	h.t.Helper()
	body, _ := json.Marshal(map[string]any{"agent_id": agent, "messages": []any{map[string]string{"role": "user", "content": text}}})
	var out strings.Builder
	code, err := curl(h.t.Context(), []string{"-H", "Content-Type: application/json", "-H", "Accept: application/json", "-H", "traceparent: 00-" + clientTrace + "-" + clientSpan + "-01", "-d", string(body), h.url + "/v1/runs"}, &out)
	if err != nil || code != 200 {
		h.t.Fatalf("%s: %d %v %s", agent, code, err, out.String())
	}
	return out.String()
}

// scrape returns the metrics as an admin sees them.
func (h *hosted) scrape() string {
	h.t.Helper()
	var out strings.Builder
	if code, err := curl(h.t.Context(), []string{"-H", "Authorization: Bearer " + h.key, h.url + "/metrics"}, &out); err != nil || code != 200 {
		h.t.Fatalf("/metrics: %d %v", code, err)
	}
	return out.String()
}

// metricsOfTheOriginal are the metrics that dashboards of the original use, with their labels.
var metricsOfTheOriginal = map[string]string{
	"awaken_active_runs": "", "awaken_mailbox_queue_depth": "", "awaken_mailbox_dispatch_depth": "status",
	"awaken_mailbox_operations_total": "operation result", "awaken_mailbox_operation_duration_seconds": "operation result",
	"awaken_mailbox_dispatch_signal_pulled_total": "", "awaken_mailbox_dispatch_signal_ack_total": "", "awaken_mailbox_dispatch_signal_nack_total": "delayed",
	"awaken_mailbox_dispatch_signal_redelivery_total": "", "awaken_mailbox_dispatch_signal_republish_total": "",
	"awaken_mailbox_dispatch_enqueue_to_start_seconds": "", "awaken_mailbox_dispatch_eligible_to_start_seconds": "", "awaken_mailbox_dispatch_claim_to_start_seconds": "",
	"awaken_mailbox_dispatch_enqueue_to_complete_seconds": "outcome", "awaken_mailbox_dispatch_runtime_seconds": "outcome",
	"awaken_runs_total": "outcome", "awaken_run_duration_seconds": "outcome",
	"awaken_inference_requests_total": "model provider status", "awaken_inference_duration_seconds": "model provider", "awaken_inference_tokens_total": "model provider type", "awaken_inference_errors_total": "class model provider",
	"awaken_tool_calls_total": "status tool", "awaken_tool_duration_seconds": "tool", "awaken_tool_errors_total": "class tool", "awaken_errors_total": "class",
	"awaken_sse_connections": "", "awaken_http_requests_in_flight": "", "awaken_http_requests_total": "method route status", "awaken_http_request_duration_seconds": "method route status",
	"awaken_audit_events_total": "action", "awaken_audit_write_failures_total": "", "awaken_audit_sweep_pruned_total": "",
	"awaken_agent_suspensions_total": "action resume_mode", "awaken_agent_handoffs_total": "", "awaken_agent_delegations_total": "status", "awaken_agent_delegation_duration_seconds": "", "awaken_agent_session_duration_seconds": "",
	"awaken_background_tasks_total": "status task_type", "awaken_background_task_duration_seconds": "task_type", "awaken_background_task_state_commit_failures_total": "",
}

var (
	sample = regexp.MustCompile(`(?m)^(\w+?)(?:_bucket|_sum|_count)?(?:\{([^}]*)\})? [^ ]+$`)
	label  = regexp.MustCompile(`(\w+)="`)
)

// labelsOf returns the names of the labels of each metric on a page.
func labelsOf(page string) map[string]string {
	out := map[string]string{}
	for _, m := range sample.FindAllStringSubmatch(page, -1) {
		var names []string
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			if l[1] != "le" {
				names = append(names, l[1])
			}
		}
		slices.Sort(names)
		out[m[1]] = strings.Join(names, " ")
	}
	return out
}

// One trace goes from a client through an agent, a delegate, a tool of MCP that is an agent of another server, and an agent that is reached by A2A; a strict
// collector accepts every span and metric; and every metric of the original is there. It is not parallel: the environment belongs to the process.
func TestTelemetry_OneTraceThroughEverything(t *testing.T) {
	type doc = map[string]any
	collector := otlptest.Start(t)
	dir := filepath.Join(t.TempDir(), "events")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("AWAKEN_PERSISTENT_SINK_DIR", dir)
	t.Setenv("AWAKEN_TRACE_SAMPLING_DISABLE", "true")
	far := host(t, func(s *settings.Settings) { s.SeedProfile = "demo" })
	near := host(t, func(s *settings.Settings) { s.SeedProfile, s.Outbound.Allow = "demo", []string{"127.0.0.0/8"} })
	near.call("PUT", "/v1/config/agents/cousin", doc{"id": "cousin", "endpoint": doc{"base_url": far.url, "target": "default", "auth": doc{"type": "bearer", "token": far.key}}}, nil)
	near.call("POST", "/v1/config/mcp-servers", doc{"id": "far", "transport": "http", "url": far.url + "/v1/mcp"}, nil)
	near.call("PUT", "/v1/config/agents/helper", doc{"id": "helper", "model_id": "default", "plugin_ids": []string{"mcp"}}, nil)
	near.call("PUT", "/v1/config/agents/chief", doc{"id": "chief", "model_id": "default", "delegates": []string{"helper", "cousin"}}, nil)
	near.call("PUT", "/v1/config/providers/broken", doc{"id": "broken", "adapter": "openai", "base_url": "http://127.0.0.1:1/v1", "api_key": "k"}, nil)
	near.call("PUT", "/v1/config/models/broken", doc{"id": "broken", "provider_id": "broken", "upstream_model": "b"}, nil)
	near.call("PUT", "/v1/config/agents/broken", doc{"id": "broken", "model_id": "broken", "sections": doc{"retry": doc{"max_retries": 0}}}, nil)

	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) { // until the tools of the server are known
		if got, _, _ := near.run("helper", `RUN_TOOL mcp__far__default {"message":"hello"}`); strings.Contains(got, "Scripted response") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the tool of the other server does not work")
		}
	}
	if got := near.traced("chief", `RUN_TOOL agent_run_helper {"prompt":"RUN_TOOL mcp__far__default {\"message\":\"hello\"}"}`); !strings.Contains(got, "Scripted response") {
		t.Fatalf("the delegate said %s", got)
	}
	if got := near.traced("chief", `RUN_TOOL agent_run_cousin {"prompt":"hello"}`); !strings.Contains(got, "Scripted response") {
		t.Fatalf("the remote agent said %s", got)
	}
	near.call("PUT", "/v1/config/agents/spawner", doc{"id": "spawner", "model_id": "default", "plugin_ids": []string{"background"}, "delegates": []string{"default"}}, nil)
	near.traced("spawner", `RUN_TOOL spawn_task {"agent":"default","prompt":"in the background"}`)
	near.run("broken", "hello")
	near.run("default", "RUN_TOOL nothing {}")
	near.run("scenario", "scenario:approval")
	text := near.scrape()
	have := labelsOf(text)
	for name, want := range metricsOfTheOriginal {
		if got, ok := have[name]; !ok || got != want {
			t.Errorf("%s is there: %v, with the labels %q; want %q", name, ok, got, want)
		}
	}
	for _, want := range []string{`awaken_errors_total{class="`, `awaken_inference_errors_total{class="`, `awaken_tool_errors_total{class="tool_error"`, `awaken_background_tasks_total{status="success",task_type="sub_agent"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
	near.stop()
	far.stop()

	if err := collector.Check(clientSpan); err != nil {
		t.Error(err)
	}
	runs, tools, requests, one := map[string]int{}, map[string]int{}, map[string]int{}, 0
	around := map[string]string{} // the names of spans, by their ids
	for _, s := range collector.Spans() {
		around[string(s.GetSpanId())] = s.GetName()
	}
	for _, s := range collector.Spans() {
		if hex.EncodeToString(s.GetTraceId()) != clientTrace {
			continue
		}
		one++
		if agent, ok := strings.CutPrefix(s.GetName(), "invoke_agent "); ok {
			runs[agent]++
		}
		if tool, ok := strings.CutPrefix(s.GetName(), "execute_tool "); ok {
			tools[tool]++
		}
		if s.GetKind() == spans.Span_SPAN_KIND_SERVER {
			requests[s.GetName()]++
			for _, l := range s.GetLinks() {
				requests[s.GetName()+" within "+around[string(l.GetSpanId())]]++
			}
		}
	}
	if runs["chief"] != 2 || runs["helper"] != 1 || runs["cousin"] != 1 || runs["default"] != 3 || tools["mcp__far__default"] != 1 {
		t.Errorf("the client's trace has %d spans, with runs of %v and tools %v; want two of chief, of helper and cousin one, of default two on the other server and one in the background", one, runs, tools)
	}
	if requests["POST /v1/runs"] != 3 || requests["POST /v1/a2a/{path...}"] == 0 || requests["tools/call default within POST /v1/mcp"] != 1 {
		t.Errorf("the client's trace has the requests %v, want those of the client, of A2A, and a message of MCP, which names the trace itself and links to its request", requests)
	}
	seen := map[string]bool{}
	for _, m := range collector.Metrics() {
		seen[m.GetName()] = true
	}
	if !seen["gen_ai.client.operation.duration"] || !seen["gen_ai.client.token.usage"] {
		t.Errorf("the metrics are %v", seen)
	}
	events, err := os.ReadFile(filepath.Join(dir, "events.ndjson"))
	if err != nil || !strings.Contains(string(events), `"type":"delegation"`) || !strings.Contains(string(events), `"type":"inference"`) {
		t.Errorf("the file of events has %.300s, %v", events, err)
	}
}

func TestTelemetry_CanBeTurnedOff(t *testing.T) {
	t.Setenv("AWAKEN_OBSERVABILITY_DISABLE", "true")
	h := host(t, func(s *settings.Settings) { s.SeedProfile = "demo" })
	h.run("default", "hello")
	if text := h.scrape(); strings.Contains(text, "awaken_inference_requests_total{") || !strings.Contains(text, "awaken_runs_total{") {
		t.Error("runs are observed, or not counted")
	}
}
