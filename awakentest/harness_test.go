package awakentest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

func clockTool() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: "approve", Description: "Asks a person."},
		func(_ context.Context, call *awaken.ToolCall, _ struct{}) (*awaken.ToolResult, error) {
			if call.Resume == nil {
				return nil, awaken.Suspend(awaken.Ticket{ExpiresIn: time.Hour})
			}
			return awaken.TextResult("approved"), nil
		})
}

func TestHarness_IsDeterministic(t *testing.T) {
	t.Parallel()
	play := func() string {
		h := awakentest.New(t, engine.Config{Tools: []awaken.Tool{clockTool()}}, llmtest.Use("approve", "{}"), llmtest.Say("Thanks."))
		first := h.Say("Please")
		second := h.Resume(first.Result.RunID, awaken.Decision{Target: "call_approve_1", Action: awaken.ActionResume})
		if first.Err != nil || second.Err != nil {
			t.Fatal(first.Err, second.Err)
		}
		return awakentest.Lines(t, first.Entries) + awakentest.Lines(t, second.Entries)
	}
	once := play()
	if again := play(); once != again {
		t.Errorf("two runs differ:\n%s\n%s", once, again)
	}
	if !strings.Contains(once, `"run_id":"id-2"`) || !strings.Contains(once, fmt.Sprint(awakentest.Epoch.UnixMilli())) {
		t.Errorf("ids or times are not the harness's:\n%s", once)
	}
}

func TestHarness_AdvanceMovesTheClock(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, engine.Config{Tools: []awaken.Tool{clockTool()}}, llmtest.Use("approve", "{}"), llmtest.Say("Too late."))
	waiting := h.Say("Please")
	if waiting.Result.Waiting == nil {
		t.Fatalf("the run does not wait: %v", waiting.Result.Termination)
	}
	h.Advance(time.Hour)
	err := h.Runtime.Decide(t.Context(), waiting.Result.RunID, awaken.Decision{Target: "call_approve_1", Action: awaken.ActionResume})
	if !errors.Is(err, awaken.ErrExpired) {
		t.Errorf("decision after an hour: %v, want %v", err, awaken.ErrExpired)
	}
}

func TestHarness_OnEventCanCancelInTheMiddle(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, engine.Config{}, llmtest.Say("One ", "two ", "three"))
	h.OnEvent = func(e awaken.Entry) {
		if d, ok := e.Event.(*awaken.TextDelta); ok && d.Delta == "two " {
			if err := h.Runtime.Cancel(t.Context(), e.RunID); err != nil {
				t.Error(err)
			}
		}
	}
	run := h.Say("Count")
	if run.Result.Termination.Type != awaken.Cancelled || awakentest.Text(run.Entries) != "One two " {
		t.Errorf("got %v after %q", run.Result.Termination, awakentest.Text(run.Entries))
	}
	log := h.Messages(run.Result.ThreadID)
	if len(log) != 2 || log[1].Text() != "One two " || !log[1].Metadata.Interrupted {
		t.Errorf("the log lacks the streamed text: %v", log)
	}
}

func TestHarness_RecordsRequests(t *testing.T) {
	t.Parallel()
	spec := &awaken.AgentSpec{ID: "default", SystemPrompt: "Be brief."}
	h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{spec}}, llmtest.Say("Hi."))
	h.Run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("Hello")}})
	reqs := h.Requests()
	if len(reqs) != 1 || reqs[0].System != "Be brief." || reqs[0].Messages[0].Text() != "Hello" {
		t.Errorf("got %+v", reqs)
	}
	if spec.ModelID != "" {
		t.Errorf("the harness changed the test's spec: model %q", spec.ModelID)
	}
}

func TestHarness_RecordsARunThatCannotStart(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, engine.Config{})
	run := h.Run(awaken.RunRequest{AgentID: "nonesuch"})
	if run.Result != nil || !errors.Is(run.Err, awaken.ErrNotFound) || len(awakentest.All[*awaken.Error](run.Entries)) != 1 {
		t.Errorf("got %v, %v, %q", run.Result, run.Err, awakentest.Types(run.Entries))
	}
}

func TestHarness_ToleratesALostThread(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, engine.Config{}, llmtest.Say("One ", "two"), llmtest.Say("Three"))
	h.OnEvent = func(e awaken.Entry) {
		if _, ok := e.Event.(*awaken.TextDelta); ok && h.OnEvent != nil {
			h.OnEvent = nil
			if _, err := h.Store.Acquire(t.Context(), "t"); err != nil {
				t.Error(err)
			}
		}
	}
	lost := h.Run(awaken.RunRequest{ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("Count")}})
	if !errors.Is(lost.Err, awaken.ErrFenced) {
		t.Fatalf("got %v, want %v", lost.Err, awaken.ErrFenced)
	}
	next := h.Resume("r")
	if next.Err != nil || next.Result.Response != "Three" {
		t.Errorf("the next owner got %v, %v", next.Result, next.Err)
	}
}
