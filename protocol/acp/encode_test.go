package acp_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol/acp"
)

// encode returns the updates of events, one a line.
func encode(t testing.TB, opts acp.EncoderOptions, events ...awaken.Event) []string {
	t.Helper()
	e := acp.NewEncoder(opts)
	var out []string
	for i, ev := range events {
		for _, u := range e.Encode(&awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: uint64(i + 1)}, Event: ev}) {
			data, err := json.Marshal(u)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(data))
		}
	}
	return out
}

var (
	toolKinds = []string{"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
	statuses  = []string{"", "pending", "in_progress", "completed", "failed"}
)

// Of every golden run, updates are about calls that were announced, in words of the protocol, and no call that was announced
// is left open when the run has ended.
func TestEncoder_GoldenRuns(t *testing.T) {
	files, err := filepath.Glob("../../testdata/runs/*.txtar")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d golden runs, %v", len(files), err)
	}
	calls := 0
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var events []awaken.Event
		over := false
		for _, f := range a.Files {
			if !strings.HasPrefix(f.Name, "events") {
				continue
			}
			for line := range bytes.Lines(f.Data) {
				ev, err := awaken.UnmarshalEvent(line)
				if err != nil {
					t.Fatal(err)
				}
				fin, ok := ev.(*awaken.RunFinish)
				over = ok && fin.Termination.Type != awaken.Suspended
				events = append(events, ev)
			}
		}
		lines := encode(t, acp.EncoderOptions{Cwd: "/src", Window: 1000}, events...)
		if again := encode(t, acp.EncoderOptions{Cwd: "/src", Window: 1000}, events...); !slices.Equal(lines, again) {
			t.Errorf("%s: two encoders differ", file)
		}
		open := map[string]string{}
		for _, l := range lines {
			var u update
			if err := json.Unmarshal([]byte(l), &u); err != nil {
				t.Fatalf("%s: %s: %v", file, l, err)
			}
			if !slices.Contains(statuses, u.Status) || u.Tool != "" && !slices.Contains(toolKinds, u.Tool) {
				t.Errorf("%s: %s", file, l)
			}
			switch u.Kind {
			case "tool_call":
				if open[u.CallID] != "" || u.Title == "" {
					t.Errorf("%s: announced twice, or without a title: %s", file, l)
				}
				open[u.CallID] = u.Status
				calls++
			case "tool_call_update":
				if open[u.CallID] == "" {
					t.Errorf("%s: not announced: %s", file, l)
				}
				if u.Status != "" {
					open[u.CallID] = u.Status
				}
			case "agent_message_chunk", "agent_thought_chunk", "plan", "usage_update":
			default:
				t.Errorf("%s: %s", file, l)
			}
		}
		for id, status := range open {
			if over && status != "completed" && status != "failed" {
				t.Errorf("%s: call %s is %s", file, id, status)
			}
		}
	}
	if calls < 100 {
		t.Errorf("only %d calls", calls)
	}
}

// The kind of a tool follows from the words of its name, not from parts of words.
func TestEncoder_Kinds(t *testing.T) {
	for tool, want := range map[string]string{"read_file": "read", "readFile": "read", "mcp__fs__read": "read", "format_text": "other", "write_todos": "edit", "editor_write_file": "edit", "delete_file": "delete",
		"confirm": "other", "Bash": "execute", "run_command": "execute", "webFetch": "fetch", "grep": "search", "moveFile": "move", "think": "think", "get_weather": "other", "category": "other", "": "other"} {
		lines := encode(t, acp.EncoderOptions{}, &awaken.StepStart{MessageID: "m"}, &awaken.ToolCallStart{ID: "c", Name: tool})
		if !strings.Contains(lines[0], `"kind":"`+want+`"`) {
			t.Errorf("%s: %s", tool, lines[0])
		}
	}
}

// The arguments of a call say what it does: the file with its line, and the change.
func TestEncoder_Arguments(t *testing.T) {
	for _, tt := range []struct{ tool, args, want string }{
		{"read_file", `{"path":"a/b.go","line":7}`, `"title":"read_file: a/b.go","kind":"read","status":"in_progress","locations":[{"path":"/src/a/b.go","line":7}]`},
		{"read_file", `{"path":"/etc/x"}`, `"title":"read_file: /etc/x","kind":"read","status":"in_progress","locations":[{"path":"/etc/x"}]`},
		{"edit_file", `{"file_path":"a","old_string":"x","new_string":"y"}`, `"content":[{"type":"diff","path":"/src/a","oldText":"x","newText":"y"}]`},
		{"write_file", `{"path":"a","content":""}`, `"content":[{"type":"diff","path":"/src/a","newText":""}]`},
		{"bash", `{"command":"make\nall"}`, `"title":"bash: make"`},
		{"read_file", `{"path":7}`, `"title":"read_file"`},
		{"read_file", `not JSON`, `"title":"read_file"`},
		{"update_plan", `{"plan":[{"step":"first","status":"done"},{"content":"second","status":"in_progress","priority":"high"},{"content":"third"}]}`,
			`{"sessionUpdate":"plan","entries":[{"content":"first","priority":"medium","status":"completed"},{"content":"second","priority":"high","status":"in_progress"},{"content":"third","priority":"medium","status":"pending"}]}`},
		{"update_plan", `{"plan":[]}`, `{"sessionUpdate":"plan","entries":[]}`},
	} {
		got := strings.Join(encode(t, acp.EncoderOptions{Cwd: "/src"}, &awaken.StepStart{MessageID: "m"}, &awaken.ToolCallReady{ID: "c", Name: tt.tool, Arguments: json.RawMessage(tt.args)}), "\n")
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s %s:\n%s\nwant %s", tt.tool, tt.args, got, tt.want)
		}
	}
	got := encode(t, acp.EncoderOptions{}, &awaken.ActivitySnapshot{ActivityType: "plan", Content: json.RawMessage(`[{"content":"only"}]`)})
	if len(got) != 1 || !strings.Contains(got[0], `"entries":[{"content":"only","priority":"medium","status":"pending"}]`) {
		t.Errorf("%v", got)
	}
}

// What is void is followed by a remark, and calls that are void have failed.
func TestEncoder_Reset(t *testing.T) {
	got := encode(t, acp.EncoderOptions{}, &awaken.StepStart{MessageID: "m"}, &awaken.TextDelta{Delta: "half"}, &awaken.ToolCallStart{ID: "c", Name: "read"}, &awaken.StreamReset{Reason: "x"}, &awaken.TextDelta{Delta: "whole"}, &awaken.ToolCallStart{ID: "c", Name: "read"})
	all := strings.Join(got, "\n")
	if len(got) != 6 || !strings.Contains(got[2], "begins again") || !strings.Contains(got[3], `"status":"failed"`) || strings.Count(all, `"tool_call"`) != 2 {
		t.Errorf("\n%s", all)
	}
	if got := encode(t, acp.EncoderOptions{}, &awaken.StepStart{MessageID: "m"}, &awaken.StreamReset{Reason: "x"}); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// Tokens are told if the window is known, and costs add up.
func TestEncoder_Usage(t *testing.T) {
	done := &awaken.InferenceComplete{Usage: &llm.Usage{PromptTokens: 30, CompletionTokens: 12}, CostUSD: 0.25}
	got := encode(t, acp.EncoderOptions{Window: 1000, Cost: 1}, done, done)
	if len(got) != 2 || got[1] != `{"sessionUpdate":"usage_update","used":42,"size":1000,"cost":{"amount":1.5,"currency":"USD"}}` {
		t.Errorf("%v", got)
	}
	if got := encode(t, acp.EncoderOptions{}, done); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// What a tool writes while it runs costs the client a few times its length, not its square, and is bounded.
func TestEncoder_Output(t *testing.T) {
	events := []awaken.Event{&awaken.StepStart{MessageID: "m"}, &awaken.ToolCallStart{ID: "c", Name: "bash"}}
	total := 0
	for range 10_000 {
		events = append(events, &awaken.ToolCallStreamDelta{ID: "c", Name: "bash", Delta: "a line of é output\n"})
		total += 20
	}
	sent := 0
	for _, l := range encode(t, acp.EncoderOptions{}, events...) {
		sent += len(l)
		if len(l) > 64<<10 {
			t.Fatalf("an update has %d bytes", len(l))
		}
	}
	if sent < 1000 || sent > 10*total {
		t.Errorf("%d bytes for an output of %d", sent, total)
	}
}
