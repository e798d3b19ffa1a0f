package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace"
	"github.com/awaken-go/awaken/trace/replay"
	"github.com/awaken-go/awaken/trace/replay/replaytest"
)

// shop is an agent that pays, with a tool that counts how often it did.
type shop struct {
	paid   atomic.Int64
	config engine.Config
}

func newShop(change func(s *awaken.AgentSpec)) *shop {
	sh := &shop{}
	spec := &awaken.AgentSpec{ID: "default", ModelID: "m"}
	if change != nil {
		change(spec)
	}
	sh.config = engine.Config{Agents: []*awaken.AgentSpec{spec}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m-1"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(
			llmtest.Turn{Text: llmtest.Text{"I ", "pay."}, ToolCalls: []llmtest.Call{{Name: "pay", Arguments: json.RawMessage(`{"usd":5}`)}}, Usage: &llm.Usage{PromptTokens: 7}},
			llmtest.Say("Paid."))},
		Tools: []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "pay", Description: "pays"}, func(_ context.Context, call *awaken.ToolCall, in struct {
			USD int `json:"usd"`
			At  int `json:"at,omitempty"` // has the name of a time, and is none
		}) (*awaken.ToolResult, error) {
			sh.paid.Add(1)
			call.Output("paying")
			if in.At > 0 {
				return &awaken.ToolResult{Status: awaken.ToolSuccess, Message: "receipt 7", Data: json.RawMessage(`{"receipt":7,"at":9}`)}, nil
			}
			return awaken.TextResult("receipt 7"), nil
		})}}
	return sh
}

// renamed returns the tool of the shop under another name.
func (sh *shop) renamed(id string) awaken.Tool {
	spec := sh.config.Tools[0].Spec()
	spec.ID = id
	return awaken.NewTool(spec, func(context.Context, *awaken.ToolCall, struct{}) (*awaken.ToolResult, error) { return nil, nil })
}

func (sh *shop) record(t *testing.T) *trace.Recording {
	t.Helper()
	h := awakentest.New(t, sh.config)
	rec, err := trace.Record(t.Context(), h.Store.(trace.Source), h.Say("Buy it").Result.RunID)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func (sh *shop) replay(t *testing.T, rec *trace.Recording) *replay.Result {
	t.Helper()
	reg, err := registry.New(sh.config.Registry())
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&replay.Player{Registry: reg, Store: memory.New(), Open: replaytest.Open}).Play(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestPlay_RepeatsEveryEventAndNoEffect(t *testing.T) {
	t.Parallel()
	sh := newShop(nil)
	rec := sh.record(t)
	res := sh.replay(t, rec)
	if res.Difference != nil {
		t.Fatal(res.Difference)
	}
	if res.Events != len(rec.Events) || res.Events == 0 {
		t.Errorf("%d events were compared, want %d", res.Events, len(rec.Events))
	}
	if n := sh.paid.Load(); n != 1 {
		t.Errorf("it was paid %d times, want once", n)
	}
}

// A run that begins with untrusted content, as those of triggers do, replays equal.
func TestPlay_TaintedFromItsBeginning(t *testing.T) {
	t.Parallel()
	sh := newShop(nil)
	h := awakentest.New(t, sh.config)
	req := awaken.RunRequest{AgentID: "default", ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("Buy it")}, Taint: &awaken.Taint{RunID: "r", Tool: "trigger orders", At: 1}}
	if _, err := h.Runtime.Run(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	rec, err := trace.Record(t.Context(), h.Store.(trace.Source), "r")
	if err != nil {
		t.Fatal(err)
	}
	if rec.Run.Taint == nil {
		t.Fatal("the run is not tainted")
	}
	if res := sh.replay(t, rec); res.Difference != nil {
		t.Fatal(res.Difference)
	}
}

func TestPlay_SaysWhereAnotherVersionParts(t *testing.T) {
	t.Parallel()
	rec := newShop(nil).record(t)
	other := newShop(func(s *awaken.AgentSpec) { s.AllowedTools = []string{"none"} })
	res := other.replay(t, rec)
	d := res.Difference
	if d == nil || !strings.Contains(d.Where, "the tools of the request") {
		t.Fatalf("the difference is %v", d)
	}
	if n := other.paid.Load(); n != 0 {
		t.Errorf("it was paid %d times", n)
	}
}

func TestPlay_NamesWhatTheAgentLacks(t *testing.T) {
	t.Parallel()
	sh := newShop(nil)
	rec := sh.record(t)
	for want, change := range map[string]func(*awaken.AgentSpec){
		`plugin_ids lists "none", which is not defined`: func(s *awaken.AgentSpec) { s.PluginIDs = append(s.PluginIDs, "none") },
		`agent "` + rec.Run.AgentID + `" not found`:     func(s *awaken.AgentSpec) { s.ID = "other" },
	} {
		cfg := newShop(change).config.Registry()
		cfg.Lazy = true
		reg, err := registry.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&replay.Player{Registry: reg, Store: memory.New(), Open: replaytest.Open}).Play(t.Context(), rec)
		if !errors.Is(err, replay.ErrUnplayable) || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

func TestPlay_RefusesARunThatIsNotOver(t *testing.T) {
	t.Parallel()
	sh := newShop(nil)
	rec := sh.record(t)
	running := *rec.Run
	running.Status = awaken.RunRunning
	reg, err := registry.New(sh.config.Registry())
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&replay.Player{Registry: reg, Store: memory.New(), Open: replaytest.Open}).Play(t.Context(), &trace.Recording{Run: &running, Events: rec.Events})
	if !errors.Is(err, replay.ErrUnplayable) {
		t.Errorf("the error is %v", err)
	}
}
