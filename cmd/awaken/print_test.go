package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
)

// show prints events and returns what is on stdout and stderr.
func show(t *testing.T, con *console, verbose bool, events ...awaken.Event) (out, err string) {
	t.Helper()
	var o, e bytes.Buffer
	con.out, con.err = &o, &e
	p := newHumanPrinter(con, verbose)
	for _, ev := range events {
		if err := p.Emit(t.Context(), awaken.Entry{Event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	return o.String(), e.String()
}

func TestHuman_LinesNeverRunTogether(t *testing.T) {
	out, err := show(t, &console{}, false,
		&awaken.ReasoningDelta{Delta: "let me "}, &awaken.ReasoningDelta{Delta: "see"},
		&awaken.TextDelta{Delta: "I will "}, &awaken.TextDelta{Delta: "look."},
		&awaken.ToolCallReady{ID: "1", Name: "look", Arguments: []byte("{ }")},
		&awaken.ToolCallStreamDelta{ID: "1", Name: "look", Delta: "left"},
		&awaken.ToolCallStreamDelta{ID: "1", Name: "look", Delta: ", right\n"},
		&awaken.ToolCallDone{ID: "1", Result: awaken.TextResult("nothing"), Outcome: awaken.CallSucceeded},
		&awaken.TextDelta{Delta: "Nothing.\n"}, &awaken.TextDelta{Delta: "Sorry."}, &awaken.RunFinish{})
	if diff := cmp.Diff("I will look.\nNothing.\nSorry.\n", out); diff != "" {
		t.Errorf("stdout (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("let me see\n→ look {}\nleft, right\n✓ look nothing\n", err); diff != "" {
		t.Errorf("stderr (-want +got):\n%s", diff)
	}
}

func TestHuman_Lines(t *testing.T) {
	half, two, eight := 0.5, 2.0, 8.0
	progress := func(p awaken.Progress) *awaken.ActivitySnapshot {
		data, _ := json.Marshal(p)
		return &awaken.ActivitySnapshot{ActivityType: awaken.ProgressActivity, Content: data}
	}
	for _, c := range []struct {
		ev   awaken.Event
		want string
	}{
		{progress(awaken.Progress{Progress: &half, Message: "half way"}), "… 50% half way\n"},
		{progress(awaken.Progress{Loaded: &two, Total: &eight, ToolName: "load", Status: "running"}), "… 25% load running\n"},
		{progress(awaken.Progress{Progress: &two, Message: "more than all"}), "… 100% more than all\n"},
		{progress(awaken.Progress{Message: "who knows"}), "… who knows\n"},
		{&awaken.ActivitySnapshot{ActivityType: awaken.ProgressActivity, Content: []byte(`"odd"`)}, "• tool-call-progress \"odd\"\n"},
		{&awaken.ActivitySnapshot{ActivityType: "plan", Content: []byte(`{"a": 1}`)}, "• plan {\"a\":1}\n"},
		{&awaken.StreamReset{Reason: "broke off"}, "↺ restarting the answer: broke off\n"},
		{&awaken.ToolCallCancel{ID: "1", Name: "look", Reason: "no"}, "✗ look: no\n"},
		{&awaken.ToolCallResumed{TargetID: "c1", Result: []byte(`{"error":"refused"}`)}, "✗ c1: refused\n"},
		{&awaken.ToolCallResumed{TargetID: "c1", Result: []byte(`{"error":{"code":1}}`)}, "✗ c1: {\"code\":1}\n"},
		{&awaken.ToolCallResumed{TargetID: "c1", Result: []byte(`{"error":"x","more":1}`)}, "✓ c1 {\"error\":\"x\",\"more\":1}\n"},
		{&awaken.ToolCallReady{Name: "look", Arguments: json.RawMessage(`"` + strings.Repeat("ä", 300) + `"`)}, "→ look \"" + strings.Repeat("ä", 199) + "…\n"},
		{&awaken.StateDelta{}, ""},
		{&awaken.StepStart{}, ""},
		{&awaken.StepEnd{}, ""},
		{&awaken.InferenceComplete{Model: "m"}, ""},
		{&awaken.MessagesSnapshot{}, ""},
	} {
		if out, err := show(t, &console{}, false, c.ev); err != c.want || out != "" {
			t.Errorf("%s: stdout %q, stderr %q, want %q", c.ev.Type(), out, err, c.want)
		}
	}
}

func TestHuman_ReasoningIsDimOnATerminal(t *testing.T) {
	_, err := show(t, &console{errTTY: true, color: true}, false, &awaken.ReasoningDelta{Delta: "hm"})
	if want := "\x1b[2mhm\x1b[22m"; err != want {
		t.Errorf("stderr is %q, want %q", err, want)
	}
}

// A model's output must not control the terminal.
func TestHuman_ControlCharactersDoNotReachTheTerminal(t *testing.T) {
	evil := "a\x1b[2Jb\rc\u009bd\x7fe\u202ef"
	con := &console{outTTY: true, errTTY: true}
	args, _ := json.Marshal(evil)
	out, err := show(t, con, false,
		&awaken.TextDelta{Delta: evil}, &awaken.ReasoningDelta{Delta: evil},
		&awaken.ToolCallReady{Name: evil, Arguments: args},
		&awaken.ToolCallReady{Name: "raw", Arguments: json.RawMessage("\"" + evil + "\"")},
		&awaken.ToolCallDone{ID: "1", Result: awaken.ErrorResult("", evil), Outcome: awaken.CallFailed})
	for name, s := range map[string]string{"stdout": out, "stderr": err} {
		if strings.ContainsAny(s, "\x1b\r\x7f\u009b") {
			t.Errorf("%s is %q", name, s)
		}
	}
	if notes := err[strings.Index(err, "→"):]; strings.Contains(notes, "\u202e") {
		t.Errorf("stderr is %q", notes)
	}
	ticket := &awaken.WaitingTicket{ToolName: "x\n\x1b[1A", Arguments: json.RawMessage("{\"a\":\"\u202e\"}")}
	if got, want := showCall(ticket), `x \u001b[1A {"a":"\u202e"}`; got != want {
		t.Errorf("showCall = %q, want %q", got, want)
	}

	// A file gets every byte.
	if out, _ := show(t, &console{}, false, &awaken.TextDelta{Delta: evil}); out != evil {
		t.Errorf("stdout is %q, want %q", out, evil)
	}
	// Pieces of a character stay together.
	if got := withoutControls("\xe2\x82") + withoutControls("\xac"); got != "€" {
		t.Errorf("got %q", got)
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestPrinters_ReportABrokenStdout(t *testing.T) {
	con := &console{out: brokenWriter{}, err: brokenWriter{}}
	e := awaken.Entry{Event: &awaken.TextDelta{Delta: "x"}}
	if err := newHumanPrinter(con, false).Emit(t.Context(), e); !errors.Is(err, errBroken) {
		t.Errorf("human: %v", err)
	}
	if err := (jsonPrinter{con.out}).Emit(t.Context(), e); !errors.Is(err, errBroken) {
		t.Errorf("json: %v", err)
	}
	if err := (quietPrinter{con}).end(&awaken.RunResult{Response: "x"}); !errors.Is(err, errBroken) {
		t.Errorf("quiet: %v", err)
	}
	// Stderr is a courtesy.
	if err := newHumanPrinter(con, false).Emit(t.Context(), awaken.Entry{Event: &awaken.ReasoningDelta{Delta: "x"}}); err != nil {
		t.Errorf("reasoning: %v", err)
	}
}

func TestJSON_PrintsTheEventWithItsNumberAndTime(t *testing.T) {
	var out bytes.Buffer
	p := jsonPrinter{&out}
	at := time.Date(2025, 1, 2, 3, 4, 5, 60_000_000, time.UTC).UnixMilli()
	for i, ev := range []awaken.Event{&awaken.TextDelta{Delta: "a\n\"b\""}, &awaken.StepEnd{}} {
		if err := p.Emit(t.Context(), awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: uint64(i + 7)}, Time: at, Event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	want := `{"seq":7,"timestamp":"2025-01-02T03:04:05.060Z","event_type":"text_delta","delta":"a\n\"b\""}
{"seq":8,"timestamp":"2025-01-02T03:04:05.060Z","event_type":"step_end"}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSummary(t *testing.T) {
	res := &awaken.RunResult{Status: awaken.RunDone, Termination: awaken.Termination{Type: awaken.Stopped, Code: "max_rounds"}, Steps: 2, CostUSD: 0.00125}
	res.Usage.PromptTokens, res.Usage.CompletionTokens = 100, 20
	if got, want := summary(res), "done: stopped: max_rounds, 2 steps, 100 tokens in, 20 out, cost $0.001250"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
