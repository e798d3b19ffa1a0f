package awaken_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Records have their times in seconds, as they always had, and in milliseconds; what an earlier version wrote in
// seconds only is still read.
func TestRun_TimesAreInSecondsAndMilliseconds(t *testing.T) {
	t.Parallel()
	run := awaken.Run{RunID: "r", ThreadID: "t", Status: awaken.RunDone, CreatedAt: 1755900000001, StartedAt: 1755900000999, FinishedAt: 1755900002500, UpdatedAt: 1755900003000}
	data, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"created_at": 1755900000, "started_at": 1755900000, "finished_at": 1755900002, "updated_at": 1755900003,
		"created_at_ms": 1755900000001, "started_at_ms": 1755900000999, "finished_at_ms": 1755900002500, "updated_at_ms": 1755900003000} {
		if fields[name] != want {
			t.Errorf("%s is %v, want %.0f", name, fields[name], want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{string(data), "1755900000001 1755900000999 1755900002500 1755900003000"},
		{`{"created_at":1755900000,"started_at":1755900001,"updated_at":1755900003}`, "1755900000000 1755900001000 0 1755900003000"},
		{`{"created_at":5,"created_at_ms":5999,"updated_at":6,"of_a_later_version":1}`, "5999 0 0 6000"},
		{`{}`, "0 0 0 0"},
	} {
		got := run // what was there does not shine through
		if err := json.Unmarshal([]byte(c.text), &got); err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if times := fmt.Sprint(got.CreatedAt, got.StartedAt, got.FinishedAt, got.UpdatedAt); times != c.want {
			t.Errorf("%s has the times %s, want %s", c.text, times, c.want)
		}
	}
	if err := json.Unmarshal([]byte(`{"created_at_ms":"soon"}`), &run); err == nil {
		t.Error("a text is no time")
	}
}

// The place of a cause comes from a record that a client may have imported.
func TestTermination_CauseOutsideTheText(t *testing.T) {
	for _, at := range []int{-1, 6, math.MinInt, math.MaxInt} {
		end := awaken.Termination{Type: awaken.Failed, Message: "it is", Details: &awaken.TerminationDetails{Kind: llm.Overloaded, CauseAt: at}}
		if got := end.Cause(); got != "" {
			t.Errorf("cause at %d is %q, want none", at, got)
		}
	}
	if got := (awaken.Termination{Type: awaken.Failed, Message: "model: busy"}).CausedBy(llm.Overloaded, "busy").Cause(); got != "busy" {
		t.Errorf("cause is %q, want busy", got)
	}
}
