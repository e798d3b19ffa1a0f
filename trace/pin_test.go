package trace_test

import (
	"errors"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/delegate"
	"github.com/awaken-go/awaken/trace"
)

// delegated runs an agent that delegates, and returns its run and the one below.
func delegated(t *testing.T) (h *awakentest.Harness, parent, child *awaken.Run) {
	t.Helper()
	h = awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{{ID: "default", Delegates: []string{"writer"}}, {ID: "writer", Description: "Writes."}},
		Plugins: []awaken.Plugin{delegate.New(delegate.Options{})}},
		llmtest.Use("agent_run_writer", `{"prompt":"A line"}`), llmtest.Say("A line."), llmtest.Say("Here."))
	rec := record(t, h, h.Say("Go").Result.RunID)
	return h, rec.Run, rec.Children[0].Run
}

func TestPins_KeepARunWithTheRunsBelow(t *testing.T) {
	t.Parallel()
	h, parent, child := delegated(t)
	pins := trace.Pins{Store: h.Store.(trace.PinStore), Now: func() time.Time { return time.UnixMilli(42) }}
	if err := pins.Add(t.Context(), parent.RunID, trace.Pin{Kind: trace.PinEvidence, Ref: "eval-1", Reason: "it failed", By: "ann"}); err != nil {
		t.Fatal(err)
	}
	want := trace.Pin{Kind: trace.PinEvidence, Ref: "eval-1", Reason: "it failed", By: "ann", At: 42}
	if list, err := pins.Of(t.Context(), parent); err != nil || len(list) != 1 || list[0] != want {
		t.Errorf("pins are %+v, %v", list, err)
	}
	want.Of = parent.RunID
	if list, err := pins.Of(t.Context(), child); err != nil || len(list) != 1 || list[0] != want {
		t.Errorf("pins of the run below are %+v, %v", list, err)
	}
	future := time.Now().Add(time.Hour)
	if n, err := h.Store.(awaken.ThreadEditor).Prune(t.Context(), future); err != nil || n != 0 {
		t.Errorf("pruned %d, %v, want none", n, err)
	}
	if had, err := pins.Remove(t.Context(), parent.RunID, trace.PinEvidence, "another"); had || err != nil {
		t.Errorf("a pin that is not there: %t, %v", had, err)
	}
	if had, err := pins.Remove(t.Context(), parent.RunID, trace.PinEvidence, "eval-1"); !had || err != nil {
		t.Errorf("the pin: %t, %v", had, err)
	}
	if n, err := h.Store.(awaken.ThreadEditor).Prune(t.Context(), future); err != nil || n != 2 {
		t.Errorf("pruned %d, %v, want both", n, err)
	}
	if err := pins.Add(t.Context(), parent.RunID, trace.Pin{Kind: trace.PinOperator}); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("a run that was pruned: %v", err)
	}
}

func TestPins_EachReasonCounts(t *testing.T) {
	t.Parallel()
	h, parent, _ := delegated(t)
	pins := trace.Pins{Store: h.Store.(trace.PinStore)}
	for _, p := range []trace.Pin{{Kind: trace.PinDataset, Ref: "a"}, {Kind: trace.PinDataset, Ref: "b"}, {Kind: trace.PinDataset, Ref: "a", Reason: "again"}} {
		if err := pins.Add(t.Context(), parent.RunID, p); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := pins.Of(t.Context(), parent); err != nil || len(list) != 2 {
		t.Fatalf("pins are %+v, %v, want one for each dataset", list, err)
	}
	if _, err := pins.Remove(t.Context(), parent.RunID, trace.PinDataset, "a"); err != nil {
		t.Fatal(err)
	}
	if n, err := h.Store.(awaken.ThreadEditor).Prune(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 0 {
		t.Errorf("pruned %d, %v: the other dataset needs the run", n, err)
	}
	if err := pins.Add(t.Context(), parent.RunID, trace.Pin{Kind: "odd"}); !errors.Is(err, awaken.ErrInvalid) {
		t.Errorf("a pin of no kind: %v", err)
	}
}
