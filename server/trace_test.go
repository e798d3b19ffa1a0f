package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/trace/body"
)

func TestTraces_ARunIsReadAsEvents(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, run, ticket := g.waits(admin...)
	g.want(202, "POST", "/v1/approvals/"+run+"/"+ticket, `{"action":"resume"}`, admin...)
	g.eventually("the end of the run", func() bool { return g.want(200, "GET", "/v1/runs/"+run, "", admin...)["status"] == "done" })
	req, err := http.NewRequestWithContext(t.Context(), "GET", g.http.URL+"/v1/traces/"+run+"?limit=2", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type") + " " + resp.Header.Get("X-Trace-Next-Offset"); got != "application/x-ndjson 2" {
		t.Errorf("type and next offset are %s", got)
	}
	var total int
	if _, err := fmt.Sscan(resp.Header.Get("X-Trace-Total-Events"), &total); err != nil || total < 4 {
		t.Errorf("%d events, %v", total, err)
	}
	_, text := g.ask("GET", "/v1/traces/"+run, "", admin...)
	var kinds []string
	for line := range strings.Lines(text) {
		var ev map[string]any
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		if ev["run_id"] != run || ev["agent_id"] != "default" {
			t.Errorf("an event is %s", line)
		}
		kinds = append(kinds, ev["type"].(string))
	}
	if got := strings.Join(kinds, " "); got != "inference suspension tool inference" {
		t.Errorf("the events are %s", got)
	}
	if !strings.Contains(text, `"call_result":{"tool_name":"ask"`) || !strings.Contains(text, `"request_messages"`) {
		t.Errorf("the trace has no bodies: %s", text)
	}
	g.want(404, "GET", "/v1/traces/none", "", admin...)
}

func TestTraces_AreListedWithTheFiltersOfRuns(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, run := g.done(admin...)
	g.done(admin...)
	list := g.want(200, "GET", "/v1/traces?agent_id=default&limit=1", "", admin...)
	runs := list["runs"].([]any)
	if len(runs) != 1 || list["has_more"] != true {
		t.Fatalf("the list is %v", list)
	}
	next := g.want(200, "GET", "/v1/traces?agent_id=default&limit=1&cursor="+url.QueryEscape(list["next_cursor"].(string)), "", admin...)["runs"].([]any)
	first := next[0].(map[string]any)
	if first["run_id"] != run || first["final_status"] != "natural_end" || first["started_at"] == nil || first["ended_at"] == nil || len(first["prompt_ids"].([]any)) != 0 {
		t.Errorf("the run is %v", first)
	}
	for query, want := range map[string]int{"agent_id=other": 0, "outcome=error": 0, "min_cost_usd=1000": 0, "min_duration_ms=3600000": 0, "pinned=true": 0, "experiment_id=x": 0, "root=true": 2, "since=2001-01-01T00:00:00Z": 2} {
		if got := len(g.want(200, "GET", "/v1/traces?"+query, "", admin...)["runs"].([]any)); got != want {
			t.Errorf("%s: %d runs, want %d", query, got, want)
		}
	}
	for _, query := range []string{"agent=default", "since=yesterday", "outcome=odd"} {
		g.want(400, "GET", "/v1/traces?"+query, "", admin...)
	}
}

func TestTraces_AreOffUnlessAskedFor(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Runs.Traces = false })
	_, run := g.done(admin...)
	g.want(404, "GET", "/v1/traces", "", admin...)
	g.want(404, "GET", "/v1/traces/"+run, "", admin...)
}

func TestTraces_APinKeepsARun(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, run := g.done(admin...)
	_, other := g.done(admin...)
	g.want(204, "POST", "/v1/traces/"+run+"/pin", "", admin...)
	g.want(204, "POST", "/v1/traces/"+run+"/pin", `{"kind":"evidence","ref":"eval-1","reason":"it failed"}`, admin...)
	list := g.want(200, "GET", "/v1/traces/"+run+"/pin", "", admin...)["pins"].([]any)
	if len(list) != 2 || list[0].(map[string]any)["kind"] != "operator" || list[1].(map[string]any)["reason"] != "it failed" || list[1].(map[string]any)["by"] == "" {
		t.Errorf("the pins are %v", list)
	}
	pinned := g.want(200, "GET", "/v1/traces?pinned=true", "", admin...)["runs"].([]any)
	if len(pinned) != 1 || pinned[0].(map[string]any)["run_id"] != run || pinned[0].(map[string]any)["pinned"] != true {
		t.Errorf("pinned runs are %v", pinned)
	}
	for _, r := range g.want(200, "GET", "/v1/traces", "", admin...)["runs"].([]any) {
		if r := r.(map[string]any); (r["pinned"] == true) != (r["run_id"] == run) || r["run_id"] != run && r["run_id"] != other {
			t.Errorf("a run is %v", r)
		}
	}
	store := g.db.Handle("").(awaken.ThreadEditor)
	if n, err := store.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 1 {
		t.Errorf("pruned %d threads, %v, want that of the other run", n, err)
	}
	g.want(404, "GET", "/v1/runs/"+other, "", admin...)
	g.want(204, "DELETE", "/v1/traces/"+run+"/pin", "", admin...)
	g.want(204, "DELETE", "/v1/traces/"+run+"/pin?kind=evidence&ref=eval-1", "", admin...)
	if list := g.want(200, "GET", "/v1/traces/"+run+"/pin", "", admin...)["pins"].([]any); len(list) != 0 {
		t.Errorf("the pins are %v, want none", list)
	}
	if n, err := store.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 1 {
		t.Errorf("pruned %d threads, %v, want that of the run", n, err)
	}
	for _, body := range []string{`{"kind":"odd"}`, `{"ref":"` + strings.Repeat("x", 201) + `"}`, `{"reason":"` + strings.Repeat("x", 1001) + `"}`} {
		_, again := g.done(admin...)
		g.want(400, "POST", "/v1/traces/"+again+"/pin", body, admin...)
	}
	g.want(404, "POST", "/v1/traces/none/pin", "", admin...)
}

func TestTraces_ADatasetKeepsTheRunsItIsMadeOf(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, run := g.done(admin...)
	kept := func() (refs []string) {
		for _, p := range g.want(200, "GET", "/v1/traces/"+run+"/pin", "", admin...)["pins"].([]any) {
			refs = append(refs, fmt.Sprint(p.(map[string]any)["kind"], " ", p.(map[string]any)["ref"]))
		}
		return refs
	}
	for _, id := range []string{"one", "two"} {
		g.want(201, "POST", "/v1/eval/datasets", `{"id":"`+id+`","spec":{"fixtures":[]}}`, admin...)
		g.want(201, "POST", "/v1/eval/datasets/"+id+"/items", `{"from_run_id":"`+run+`"}`, admin...)
	}
	if got := strings.Join(kept(), ", "); got != "dataset one, dataset two" {
		t.Errorf("the pins are %s", got)
	}
	g.want(200, "PUT", "/v1/eval/datasets/one", `{"expected_revision":2,"spec":{"fixtures":[]}}`, admin...)
	if got := strings.Join(kept(), ", "); got != "dataset two" {
		t.Errorf("without the case, the pins are %s", got)
	}
	g.want(204, "DELETE", "/v1/eval/datasets/two", "", admin...)
	if got := kept(); len(got) != 0 {
		t.Errorf("without the datasets, the pins are %s", got)
	}
	g.want(201, "POST", "/v1/eval/datasets", `{"id":"three","spec":{"fixtures":[{"id":"a","user_input":"x","source_run_id":"elsewhere","expect":{}}]}}`, admin...)
}

// The trace of a run has the requests to its models that were kept, and says of every step what its request was made of.
func TestTraces_HaveTheRequestsThatWereKept(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.want(200, "PUT", "/v1/config/agents/thinker", `{"id":"thinker","model_id":"m","system_prompt":"Think.","reasoning_effort":"low"}`, admin...)
	got := g.want(200, "POST", "/v1/runs", runBody("thinker", g.id(), "hello"), append([]string{"Accept", "application/json"}, admin...)...)
	run, thread := got["run_id"].(string), got["thread_id"].(string)
	read := func() map[string]any {
		t.Helper()
		_, text := g.ask("GET", "/v1/traces/"+run, "", admin...)
		var ev map[string]any
		if err := json.NewDecoder(strings.NewReader(text)).Decode(&ev); err != nil {
			t.Fatal(err)
		}
		return ev
	}
	ev := read()
	if digest, _ := ev["request_digest"].(string); len(digest) != 64 || ev["requests"] != nil || ev["reasoning_effort"] != "low" {
		t.Errorf("without bodies, an inference is %v", ev)
	}
	w := body.NewWriter(body.Config{Policy: body.All, Store: func(tenant string) body.Store { return body.Of(g.db.Handle(tenant)) }})
	w.Inferred(0, &llm.Exchange{Request: &llm.Request{Model: "m", Params: llm.Params{Temperature: new(0.5)}, Messages: llm.NewMessages(llm.UserText("hello")), Routing: llm.Routing{ThreadID: thread, RunID: run}},
		Reply: func() *llm.Message { return &llm.Message{Role: llm.Assistant, Content: []llm.Block{llm.Text("hi")}} }, Finish: llm.EndTurn, Ended: time.UnixMilli(7)})
	w.Flush(t.Context())
	ev = read()
	list, _ := ev["requests"].([]any)
	if len(list) != 1 || ev["temperature"] != 0.5 || ev["reasoning_effort"] != nil {
		t.Fatalf("with bodies, an inference is %v", ev)
	}
	kept := list[0].(map[string]any)
	if kept["finish_reason"] != "EndTurn" || kept["ended_at_ms"] != 7.0 || len(kept["request"].(map[string]any)["messages"].([]any)) != 1 || kept["response"] == nil {
		t.Errorf("a request is %v", kept)
	}
}

// A page of a trace ends when it is large, and the next one begins there.
func TestTraces_PagesAreBounded(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Runs.PageBytes = 64 << 10 })
	thread, run, _ := g.waits(admin...)
	w := body.NewWriter(body.Config{Policy: body.All, MaxBytes: 8 << 20, Store: func(tenant string) body.Store { return body.Of(g.db.Handle(tenant)) }})
	for range 3 {
		w.Inferred(0, &llm.Exchange{Request: &llm.Request{Model: "m", Messages: llm.NewMessages(llm.UserText(strings.Repeat("large ", 8<<10))), Routing: llm.Routing{ThreadID: thread, RunID: run}},
			Reply: func() *llm.Message { return llm.UserText("hi") }, Ended: time.UnixMilli(7)})
	}
	w.Flush(t.Context())
	page := func(query string) (text, next string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", g.http.URL+"/v1/traces/"+run+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+adminKey)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(data), resp.Header.Get("X-Trace-Next-Offset")
	}
	if text, next := page(""); strings.Count(text, "\n") != 1 || strings.Count(text, `"request_digest"`) != 4 || next != "1" {
		t.Errorf("the page has %d bytes, %d lines and the next begins at %q, want one line and 1", len(text), strings.Count(text, "\n"), next)
	}
	if text, next := page("?offset=1"); !strings.Contains(text, `"type":"suspension"`) || next != "" {
		t.Errorf("the rest is %s, the next page %q", text, next)
	}
}
