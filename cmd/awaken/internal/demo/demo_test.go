package demo_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/cmd/awaken/internal/demo"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
)

func harness(t *testing.T) *awakentest.Harness {
	t.Helper()
	return awakentest.New(t, demo.Config())
}

// say runs the scenario agent.
func say(t *testing.T, h *awakentest.Harness, thread, text string) *awakentest.Recording {
	t.Helper()
	rec := h.Run(awaken.RunRequest{AgentID: demo.ScenarioAgentID, ThreadID: thread, Messages: []*llm.Message{llm.UserText(text)}})
	if rec.Result == nil {
		t.Fatal(rec.Err)
	}
	return rec
}

// events returns the events of one type.
func events[E awaken.Event](rec *awakentest.Recording) []E {
	var out []E
	for _, e := range rec.Entries {
		if ev, ok := e.Event.(E); ok {
			out = append(out, ev)
		}
	}
	return out
}

// result returns the only tool result of a run.
func result(t *testing.T, rec *awakentest.Recording) *awaken.ToolResult {
	t.Helper()
	done := events[*awaken.ToolCallDone](rec)
	if len(done) != 1 {
		t.Fatalf("%d calls are done, want 1", len(done))
	}
	return done[0].Result
}

func TestTools_Results(t *testing.T) {
	for _, c := range []struct{ prompt, want string }{
		{"RUN_WEATHER_TOOL", `{"location":"Tokyo","temperature_f":70,"condition":"Sunny","humidity_pct":45}`},
		{`RUN_TOOL get_weather {"city":"Paris"}`, `{"location":"Paris","temperature_f":70,"temperature_c":21,"condition":"Sunny","humidity_pct":45}`},
		{"RUN_STOCK_TOOL", `{"symbol":"AAPL","price_usd":188.42,"source":"starter-demo"}`},
		{`RUN_TOOL get_stock_price {"symbol":"MSFT"}`, `{"symbol":"MSFT","price_usd":421.1,"source":"starter-demo"}`},
		{`RUN_TOOL get_stock_price {"symbol":"NVDA"}`, `{"symbol":"NVDA","price_usd":131.75,"source":"starter-demo"}`},
		{`RUN_TOOL get_stock_price {"symbol":"X"}`, `{"symbol":"X","price_usd":99.99,"source":"starter-demo"}`},
		{`RUN_TOOL append_note {"text":"milk"}`, `{"notes":["milk"],"count":1}`},
		{"RUN_TOOL emit_state", `{"counter":2}`},
		{"RUN_TOOL emit_data", `{"id":"demo-1","status":"done","value":2}`},
		{"RUN_TOOL emit_messages", `{"content":"from snapshot","role":"assistant"}`},
		{`RUN_TOOL progress_demo {"steps":2,"delay_ms":1}`, `{"steps":2}`},
	} {
		rec := say(t, harness(t), "", c.prompt)
		if got := result(t, rec); got.Status != awaken.ToolSuccess || string(got.Data) != c.want {
			t.Errorf("%s: %s %s, want %s", c.prompt, got.Message, got.Data, c.want)
		}
		if rec.Result.Termination.Type != awaken.NaturalEnd {
			t.Errorf("%s: %s", c.prompt, rec.Result.Termination)
		}
	}
}

func TestTools_Failures(t *testing.T) {
	for prompt, want := range map[string]string{
		"RUN_TOOL failingTool":                      "failingTool always fails",
		"scenario:tool-error":                       "fail_tool always fails",
		"RUN_TOOL get_weather":                      "location is empty",
		"RUN_TOOL get_stock_price":                  "symbol",
		`RUN_TOOL append_note {"note":" "}`:         "note is empty",
		`RUN_TOOL progress_demo {"steps":-1}`:       "steps is -1, want 1 to 100",
		`RUN_TOOL progress_demo {"delay_ms":20000}`: "delay_ms is 20000, want 1 to 10000",
		"RUN_TOOL delete_file":                      "path",
	} {
		rec := say(t, harness(t), "", prompt)
		if got := result(t, rec); got.Status != awaken.ToolError || !strings.Contains(got.Message, want) {
			t.Errorf("%s: %s %q, want an error with %q", prompt, got.Status, got.Message, want)
		}
		if rec.Result.Termination.Type != awaken.NaturalEnd {
			t.Errorf("%s: %s", prompt, rec.Result.Termination)
		}
	}
}

func TestServerInfo(t *testing.T) {
	var info map[string]string
	if err := json.Unmarshal(result(t, say(t, harness(t), "", "RUN_TOOL serverInfo")).Data, &info); err != nil || info["name"] != "awaken" || info["agent"] != demo.ScenarioAgentID {
		t.Errorf("got %v, %v", info, err)
	}
}

func TestDeleteFile_WaitsAndTouchesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	args, _ := json.Marshal(map[string]string{"path": file})
	for action, want := range map[awaken.DecisionAction]bool{awaken.ActionResume: true, awaken.ActionCancel: false} {
		h := harness(t)
		rec := say(t, h, "", "RUN_TOOL delete_file "+string(args))
		if rec.Result.Termination.Type != awaken.Suspended {
			t.Fatalf("it did not wait: %s", rec.Result.Termination)
		}
		ticket := rec.Result.Waiting.Tickets[0]
		if ticket.Suspension.Action != "tool:delete_file" || string(ticket.Suspension.Parameters) != string(args) {
			t.Errorf("suspension is %+v", ticket.Suspension)
		}
		rec = h.Resume(rec.Result.RunID, awaken.Decision{Target: ticket.TicketID, Action: action})
		resumed := events[*awaken.ToolCallResumed](rec)
		if got := strings.Contains(string(resumed[0].Result), "deleted"); got != want {
			t.Errorf("%s: result is %s", action, resumed[0].Result)
		}
		if got := strings.Contains(rec.Result.Response, "deleted"); got != want {
			t.Errorf("%s: response is %q", action, rec.Result.Response)
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s: %v", action, err)
		}
	}
}

func TestFrontendTools_TakeTheClientsAnswer(t *testing.T) {
	for _, prompt := range []string{"scenario:frontend-tool", `RUN_TOOL askUserQuestion {"question":"Where?"}`, `RUN_TOOL set_background_color {"color":"red"}`} {
		h := harness(t)
		rec := say(t, h, "", prompt)
		if rec.Result.Waiting == nil || rec.Result.Waiting.Tickets[0].ResumeMode != awaken.UseDecisionAsToolResult {
			t.Fatalf("%s: %s, waiting %+v", prompt, rec.Result.Termination, rec.Result.Waiting)
		}
		rec = h.Resume(rec.Result.RunID, awaken.Decision{Target: rec.Result.Waiting.TicketIDs[0], Action: awaken.ActionResume, Result: []byte(`"Berlin"`)})
		if rec.Err != nil || !strings.Contains(rec.Result.Response, "Berlin") {
			t.Errorf("%s: %q, %v", prompt, rec.Result.Response, rec.Err)
		}
	}
}

func TestAppendNote_KeepsNotesOnTheThread(t *testing.T) {
	h := harness(t)
	say(t, h, "t1", `RUN_TOOL append_note {"note":"one"}`)
	if got := string(result(t, say(t, h, "t1", `RUN_TOOL append_note {"note":"two"}`)).Data); got != `{"notes":["one","two"],"count":2}` {
		t.Errorf("second note: %s", got)
	}
	if got := string(result(t, say(t, h, "t2", `RUN_TOOL append_note {"note":"three"}`)).Data); got != `{"notes":["three"],"count":1}` {
		t.Errorf("another thread: %s", got)
	}
}

func TestFinish_EndsTheRun(t *testing.T) {
	rec := say(t, harness(t), "", `RUN_TOOL finish {"summary":"all done"}`)
	if rec.Result.Termination.Type != awaken.BehaviorRequested || rec.Result.Steps != 1 {
		t.Errorf("%s after %d steps", rec.Result.Termination, rec.Result.Steps)
	}
}

func TestProgressDemo_ReportsItsSteps(t *testing.T) {
	rec := say(t, harness(t), "", `RUN_TOOL progress_demo {"steps":4,"delay_ms":1}`)
	var got []float64
	for _, a := range events[*awaken.ActivitySnapshot](rec) {
		var p awaken.Progress
		if err := json.Unmarshal(a.Content, &p); err != nil || a.ActivityType != awaken.ProgressActivity {
			t.Fatalf("%s %s: %v", a.ActivityType, a.Content, err)
		}
		got = append(got, *p.Progress)
	}
	if !slices.Equal(got, []float64{0.25, 0.5, 0.75, 1}) {
		t.Errorf("progress is %v", got)
	}
}

func TestEmitActivity(t *testing.T) {
	rec := say(t, harness(t), "", "scenario:activity")
	snap, delta := events[*awaken.ActivitySnapshot](rec), events[*awaken.ActivityDelta](rec)
	if len(snap) != 1 || len(delta) != 1 || string(snap[0].Content) != `{"steps":["a"]}` {
		t.Fatalf("snapshots %v, deltas %v", snap, delta)
	}
	if op := delta[0].Patch[0]; op.Op != "add" || op.Path != "/steps/-" || string(op.Value) != `"b"` || delta[0].MessageID != snap[0].MessageID {
		t.Errorf("delta is %+v", delta[0])
	}
}

func TestEmitData_SendsTheSameIDTwice(t *testing.T) {
	rec := say(t, harness(t), "", "scenario:data")
	var kinds []string
	for _, a := range events[*awaken.ActivitySnapshot](rec) {
		kinds = append(kinds, a.ActivityType)
	}
	if !slices.Equal(kinds, []string{"demo-data", "demo-data-transient", "demo-data"}) {
		t.Errorf("activities are %v", kinds)
	}
}

func TestEmitState_CountsTwice(t *testing.T) {
	h := harness(t)
	say(t, h, "t", "scenario:state")
	rec := say(t, h, "t", "scenario:state") // the counter is 2 by now
	delta := events[*awaken.StateDelta](rec)
	if len(delta) != 1 || delta[0].Delta[0].Path != "/extensions/client.state" || string(delta[0].Delta[0].Value) != `{"counter":3}` {
		t.Fatalf("deltas are %+v", delta)
	}
	snaps := events[*awaken.StateSnapshot](rec)
	if doc, _, err := snaps[0].Snapshot.Value("client.state"); err != nil || string(doc) != `{"counter":4}` {
		t.Errorf("the first snapshot has %s, %v", doc, err)
	}
}

func TestScenario_Text(t *testing.T) {
	for word, want := range map[string]string{"scenario:tool": "21", "scenario:text": "short text", "scenario:reasoning": "after some thought", "scenario:messages": "from snapshot"} {
		if got := say(t, harness(t), "", word).Result.Response; !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", word, got, want)
		}
	}
	rec := say(t, harness(t), "", "scenario:error")
	if rec.Err == nil || !strings.Contains(rec.Err.Error(), "boom") {
		t.Errorf("scenario:error: %v", rec.Err)
	}
}

// The model of the default agent does not know scenarios.
func TestDefaultAgent(t *testing.T) {
	rec := harness(t).Say("scenario:error")
	if rec.Err != nil || rec.Result.Response != "Scripted response to: scenario:error" || rec.Result.AgentID != engine.DefaultAgentID {
		t.Errorf("%+v, %v", rec.Result, rec.Err)
	}
}
