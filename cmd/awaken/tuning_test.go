package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
)

// asked is what a model was asked, as far as documents decide it.
type asked struct {
	Model, System, Effort string
	Tools                 []string
	Reminder              bool // one was there
}

// oracle is an endpoint of the Messages API. It answers by the system prompt that it gets,
// and looks something up first if the user says so.
type oracle struct {
	*httptest.Server
	mu      sync.Mutex
	calls   int
	last    map[string]asked  // by what the user said first
	limited map[string]string // models that are limited or overloaded, with the body of the error
	refused []string          // why requests were rejected
}

func startOracle(t *testing.T) *oracle {
	o := &oracle{last: map[string]asked{}}
	o.Server = httptest.NewServer(http.HandlerFunc(o.answer))
	t.Cleanup(o.Close)
	t.Setenv("ANTHROPIC_BASE_URL", o.URL)
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-test")
	return o
}

type block struct{ Type, Text string }

func (o *oracle) answer(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model        string
		System       []block
		Messages     []struct{ Content []block }
		Tools        []struct{ Name string }
		Thinking     json.RawMessage
		OutputConfig json.RawMessage `json:"output_config"`
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &q)
	}
	if err != nil || r.Header.Get("X-Api-Key") != "sk-ant-test" || !strings.HasSuffix(r.URL.Path, "/v1/messages") {
		http.Error(w, fmt.Sprintf(`{"type":"error","error":{"type":"invalid_request_error","message":"%s %v"}}`, r.URL.Path, err), http.StatusBadRequest)
		return
	}
	if o.rejects(w, q.Model, body) {
		return
	}
	a := asked{Model: q.Model, Effort: string(q.Thinking) + string(q.OutputConfig), Reminder: strings.Contains(string(body), "REMINDER")}
	for _, b := range q.System {
		a.System += b.Text
	}
	for _, tool := range q.Tools {
		a.Tools = append(a.Tools, tool.Name)
	}
	slices.Sort(a.Tools)
	said := q.Messages[0].Content[0].Text
	last := q.Messages[len(q.Messages)-1].Content
	done := slices.ContainsFunc(last, func(b block) bool { return b.Type == "tool_result" })
	o.mu.Lock()
	o.calls++
	id := o.calls
	o.last[said] = a
	o.mu.Unlock()

	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind, data string) { fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, data) }
	event("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":3,"output_tokens":1}}`)
	stop := "end_turn"
	if strings.HasPrefix(said, "SEARCH") && !done {
		stop = "tool_use"
		event("content_block_start", fmt.Sprintf(`,"index":0,"content_block":{"type":"tool_use","id":"toolu_%d","name":"web_search","input":{}}`, id))
		event("content_block_delta", `,"index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"coral\"}"}`)
	} else {
		text := "One source: Hughes et al., 2017."
		if strings.Contains(a.System, "at least two independent") {
			text = "I have one source only, and do not answer without a second one."
		}
		event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
		event("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":"text_delta","text":%q}`, text))
	}
	event("content_block_stop", `,"index":0`)
	event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q},"usage":{"output_tokens":4}`, stop))
	event("message_stop", "")
}

// heard is what the model was asked last about what a user said.
func (o *oracle) heard(said string) asked {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last[said]
}

// researchTools are stubs of tools.
func researchTools() []awaken.Tool {
	var out []awaken.Tool
	for _, id := range []string{"web_search", "read_document", "summarize"} {
		out = append(out, awaken.NewTool(awaken.ToolSpec{ID: id, Description: "Does " + id + ".", Effect: awaken.ReadOnly},
			func(context.Context, *awaken.ToolCall, struct {
				Query string `json:"query,omitempty"`
			}) (string, error) {
				return "found", nil
			}))
	}
	return out
}

// researchCode is a program with these tools.
func researchCode(s *settings.Settings) *code {
	c := newCode(s)
	c.tools = append(c.tools, researchTools()...)
	return c
}

func hostResearch(t *testing.T) *hosted {
	s := settings.Defaults()
	s.Server.Address, s.StorageDir, s.Log.Level = "127.0.0.1:0", t.TempDir(), "warn"
	h := &hosted{t: t, settings: s}
	h.start(researchCode(s))
	return h
}

// The walk-through of docs/tuning.md works as written: all commands in order, and the
// second answer differs because the prompt does.
func TestTuning_WalkThrough(t *testing.T) {
	startOracle(t)
	h := hostResearch(t)
	lines := curlLines(t, "docs/tuning.md")
	if len(lines) != 8 {
		t.Fatalf("docs/tuning.md has %d commands, want 8", len(lines))
	}
	vars := map[string]string{"AWAKEN_KEY": h.key}
	var answers []string
	for _, line := range lines {
		if out := runCurl(t, h, line, vars); strings.Contains(line, "/v1/runs") {
			answers = append(answers, out)
		}
	}
	if want := []string{"One source: Hughes et al., 2017.", "I have one source only, and do not answer without a second one."}; !slices.Equal(answers, want) {
		t.Errorf("answers are %q, want %q", answers, want)
	}
}

// call asks the server as an admin and decodes the answer, whose status must be below 300.
func (h *hosted) call(method, path string, body, answer any) {
	h.t.Helper()
	args := []string{"-X", method, "-H", "Authorization: Bearer " + h.key, h.url + path}
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			h.t.Fatal(err)
		}
		args = append(args, "-H", "Content-Type: application/json", "-d", string(data))
	}
	var out strings.Builder
	status, err := curl(h.t.Context(), args, &out)
	if err != nil || status > 299 {
		h.t.Fatalf("%s %s: %d %v %s", method, path, status, err, out.String())
	}
	if answer != nil {
		if err := json.Unmarshal([]byte(out.String()), answer); err != nil {
			h.t.Fatalf("%s %s: %v in %s", method, path, err, out.String())
		}
	}
}

type runView struct {
	RunID        string `json:"run_id"`
	Status       awaken.RunStatus
	Termination  awaken.Termination // in the answer of a run
	Reason       awaken.Termination `json:"termination_reason"` // in a run that is looked up
	ResolutionID string             `json:"resolution_id"`
}

// begin starts a run that waits for the approval of a search, unless it may do nothing
// but ask.
func (h *hosted) begin(agent, thread string) {
	h.t.Helper()
	said := []any{map[string]string{"role": "user", "content": "SEARCH for " + thread}}
	var run runView
	h.call("POST", "/v1/runs", map[string]any{"agent_id": agent, "thread_id": thread, "stream": false, "messages": said}, &run)
	if run.Status != awaken.RunWaiting && run.Termination.Type != awaken.Stopped {
		h.t.Fatalf("%s is %s (%s), want it to wait", thread, run.Status, run.Termination)
	}
}

// finish allows the search of a thread and returns how its run ends.
func (h *hosted) finish(thread string) runView {
	h.t.Helper()
	var waiting struct {
		Items []struct {
			ThreadID   string `json:"thread_id"`
			ToolCallID string `json:"tool_call_id"`
		}
	}
	h.call("GET", "/v1/approvals", nil, &waiting)
	for _, w := range waiting.Items {
		if w.ThreadID == thread {
			h.call("POST", "/v1/threads/"+thread+"/decision", map[string]any{"tool_call_id": w.ToolCallID, "action": "resume"}, nil)
		}
	}
	for range 1000 {
		var run runView
		if h.call("GET", "/v1/threads/"+thread+"/runs/latest", nil, &run); run.Status == awaken.RunDone {
			return run
		}
		time.Sleep(10 * time.Millisecond)
	}
	h.t.Fatalf("the run of %s does not end", thread)
	return runView{}
}

// Every row of the table in docs/tuning.md: a run that waits while a change is published
// continues with the old version, and the next run uses the change, also after a restart.
func TestTuning_ActiveAndNextRuns(t *testing.T) {
	o := startOracle(t)
	agent := func(changes ...any) map[string]any {
		a := map[string]any{"model_id": "research-default", "system_prompt": "Old prompt.", "max_rounds": 12, "reasoning_effort": "low",
			"plugin_ids": []string{"permission"}, "allowed_tools": []string{"web_search", "read_document", "summarize"},
			"sections": map[string]any{"permission": map[string]any{"default_behavior": "ask"}, "reminder": remind("OLD")}}
		for i := 0; i < len(changes); i += 2 {
			a[changes[i].(string)] = changes[i+1]
		}
		return a
	}
	both := []string{"permission", "reminder"}
	rows := map[string]struct {
		before, after map[string]any
		old, new      func(a asked, end awaken.Termination) any // that must be the same as before, and another than before
		wantNew       any
	}{
		"system_prompt":  {agent(), agent("system_prompt", "New prompt."), system, system, "New prompt."},
		"allowed_tools":  {agent(), agent("allowed_tools", []string{"web_search"}), tools, tools, "web_search"},
		"excluded_tools": {agent(), agent("excluded_tools", []string{"summarize"}), tools, tools, "read_document web_search"},
		"max_rounds":     {agent(), agent("max_rounds", 1), ended, ended, "stopped"},
		"effort":         {agent(), agent("reasoning_effort", "high"), effort, effort, nil},
		"model_id":       {agent(), agent("model_id", "research-fallback"), model, model, "claude-3-5-haiku-20241022"},
		"plugin_added":   {agent(), agent("plugin_ids", both), reminded, reminded, true},
		"plugin_removed": {agent("plugin_ids", both), agent(), reminded, reminded, false},
		"section": {agent("plugin_ids", both), agent("plugin_ids", both, "sections", map[string]any{"permission": map[string]any{"default_behavior": "ask"}, "reminder": remind("")}),
			reminded, reminded, false},
	}
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%t", restart), func(t *testing.T) {
			h := hostResearch(t)
			h.call("PUT", "/v1/config/providers/anthropic-prod", map[string]any{"id": "anthropic-prod", "adapter": "anthropic"}, nil)
			for id, upstream := range map[string]string{"research-default": "claude-sonnet-4-6", "research-fallback": "claude-3-5-haiku-20241022"} {
				h.call("PUT", "/v1/config/models/"+id, map[string]any{"id": id, "provider_id": "anthropic-prod", "upstream_model": upstream}, nil)
			}
			reference := map[string]any{}
			for name, row := range rows {
				put(h, name, row.before)
				h.begin(name, name+"-reference")
				end := h.finish(name + "-reference").Reason
				reference[name] = row.old(o.heard("SEARCH for "+name+"-reference"), end)
				h.begin(name, name+"-active")
			}
			for name, row := range rows {
				put(h, name, row.after)
			}
			if restart {
				h.stop()
				h.start(researchCode(h.settings))
			}
			for name, row := range rows {
				active := h.finish(name + "-active")
				if got := row.old(o.heard("SEARCH for "+name+"-active"), active.Reason); got != reference[name] {
					t.Errorf("%s: the run that had started has %v, want %v", name, got, reference[name])
				}
				h.begin(name, name+"-next")
				next := h.finish(name + "-next")
				got := row.new(o.heard("SEARCH for "+name+"-next"), next.Reason)
				if got == reference[name] || row.wantNew != nil && got != row.wantNew {
					t.Errorf("%s: the next run has %v, want %v, and not %v", name, got, cmp.Or(row.wantNew, any("another")), reference[name])
				}
				if active.ResolutionID == "" || active.ResolutionID == next.ResolutionID {
					t.Errorf("%s: the runs have versions %q and %q", name, active.ResolutionID, next.ResolutionID)
				}
			}
		})
	}
}

func put(h *hosted, id string, agent map[string]any) {
	h.t.Helper()
	agent["id"] = id
	h.call("PUT", "/v1/config/agents/"+id, agent, nil)
}

// remind is a section of the reminder plugin that speaks up after a search, or never.
func remind(word string) map[string]any {
	rules := []any{}
	if word != "" {
		rules = append(rules, map[string]any{"tool": "web_search", "output": "any", "message": map[string]any{"target": "suffix_system", "content": "REMINDER " + word}})
	}
	return map[string]any{"rules": rules}
}

func system(a asked, _ awaken.Termination) any {
	if strings.Contains(a.System, "New prompt.") {
		return "New prompt."
	}
	return a.System
}
func tools(a asked, _ awaken.Termination) any    { return strings.Join(a.Tools, " ") }
func effort(a asked, _ awaken.Termination) any   { return a.Effort }
func model(a asked, _ awaken.Termination) any    { return a.Model }
func reminded(a asked, _ awaken.Termination) any { return a.Reminder }
func ended(_ asked, end awaken.Termination) any  { return string(end.Type) }
