package replay_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace"
)

// edited is a source with texts replaced in the JSON of what is read from it.
type edited struct {
	trace.Source
	old, new                      string
	entries, messages, calls, run bool
}

func replaced[T any](e *edited, on bool, v T, err error) (T, error) {
	if !on || err != nil {
		return v, err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return v, err
	}
	var out T
	return out, json.Unmarshal([]byte(strings.ReplaceAll(string(data), e.old, e.new)), &out)
}

func (e *edited) Entries(ctx context.Context, threadID string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	v, err := e.Source.Entries(ctx, threadID, q)
	return replaced(e, e.entries, v, err)
}

func (e *edited) Messages(ctx context.Context, threadID string, q awaken.MessageQuery) ([]awaken.MessageRecord, error) {
	v, err := e.Source.Messages(ctx, threadID, q)
	return replaced(e, e.messages, v, err)
}

func (e *edited) Calls(ctx context.Context, runID string) ([]*awaken.CallState, error) {
	v, err := e.Source.Calls(ctx, runID)
	return replaced(e, e.calls, v, err)
}

func (e *edited) LoadRun(ctx context.Context, id string) (*awaken.Run, error) {
	v, err := e.Source.LoadRun(ctx, id)
	return replaced(e, e.run, v, err)
}

// TestPlay_ComparesDigestsOfOneVersion replays a record whose digests another version of the program has computed, with another prompt: they are not
// compared, and the result says so.
func TestPlay_ComparesDigestsOfOneVersion(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, returning().config)
	id := h.Run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("Hello")}}).Result.RunID
	from := edited{Source: h.Store.(*memory.Store), old: `"request":{"prompt":"`, new: `"request":{"version":7,"prompt":"0`, entries: true}
	rec, err := (&trace.Recorder{Source: &from, Before: true}).Record(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	res := returning().replay(t, rec)
	if want := "requests of run " + id + ": written by digest version 7, want 0"; res.Difference != nil || len(res.NotCompared) != 1 || res.NotCompared[0] != want {
		t.Errorf("the replay has %v, and did not compare %q; want %q", res.Difference, res.NotCompared, want)
	}
}

// TestPlay_ComparesErrors changes the kind of the error that ended a run, in its end alone.
func TestPlay_ComparesErrors(t *testing.T) {
	t.Parallel()
	failing := func() *shop {
		sh := newShop(nil)
		sh.config.Providers["p"] = llmtest.NewScript(llmtest.Turn{Error: &llmtest.Failure{Kind: llm.Overloaded, Message: "full", RetryAfterMS: 3_600_000}})
		return sh
	}
	h := awakentest.New(t, failing().config)
	h.Run(awaken.RunRequest{ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("Hello")}})
	for _, tt := range []struct {
		old, new string
		equal    bool
	}{
		{equal: true},
		{old: `"kind":"overloaded"`, new: `"kind":"rate_limited"`},
		{old: `"cause_at":11`, new: `"cause_at":12`},
	} {
		rec, err := (&trace.Recorder{Source: &edited{Source: h.Store.(*memory.Store), old: tt.old, new: tt.new, entries: tt.old != ""}, Before: true}).Record(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		if d := failing().replay(t, rec).Difference; (d == nil) != tt.equal {
			t.Errorf("with %s: the difference is %v", tt.new, d)
		}
	}
}

// till is a plugin whose state has the name of a time.
type till struct{}

var opened = state.NewValue[map[string]int]("till.opened", state.Options{})

func (till) Name() string { return "till" }

func (till) Register(r *awaken.Registrar) error {
	r.Key(opened)
	r.On(awaken.PhaseStepEnd, func(_ context.Context, h *awaken.HookCall) error {
		opened.Update(h, map[string]int{"at": 3})
		return nil
	})
	return nil
}

// returning is a shop whose second run is about to be edited.
func returning() *shop {
	sh := newShop(func(s *awaken.AgentSpec) { s.SystemPrompt, s.PluginIDs = "You sell books.", []string{"till"} })
	sh.config.Plugins = []awaken.Plugin{till{}}
	sh.config.Providers["p"] = llmtest.NewScript(llmtest.Say("Hi."),
		llmtest.Turn{Text: llmtest.Text{"I ", "pay."}, ToolCalls: []llmtest.Call{{Name: "pay", Arguments: json.RawMessage(`{"usd":5,"at":5}`)}}, Usage: &llm.Usage{PromptTokens: 7}},
		llmtest.Say("Paid."))
	return sh
}

// TestPlay_FindsEveryEdit changes one thing of what a run was made of, or of its record, and replays it: the difference names the place.
func TestPlay_FindsEveryEdit(t *testing.T) {
	t.Parallel()
	agent := func(change func(*awaken.AgentSpec)) func(*shop) {
		return func(sh *shop) { change(sh.config.Agents[0]) }
	}
	tool := func(change func(*awaken.ToolSpec)) func(*shop) {
		return func(sh *shop) {
			spec := sh.config.Tools[0].Spec()
			change(&spec)
			sh.config.Tools[0] = awaken.NewTool(spec, func(context.Context, *awaken.ToolCall, json.RawMessage) (*awaken.ToolResult, error) { return nil, nil })
		}
	}
	for name, tt := range map[string]struct {
		version func(*shop)
		record  edited
		where   string
	}{
		"the prompt":               {version: agent(func(s *awaken.AgentSpec) { s.SystemPrompt = "You sell bread." }), where: "the prompt of the request"},
		"no prompt":                {version: agent(func(s *awaken.AgentSpec) { s.SystemPrompt = "" }), where: "the prompt of the request"},
		"a space in the prompt":    {version: agent(func(s *awaken.AgentSpec) { s.SystemPrompt += " " }), where: "the prompt of the request"},
		"a tool's description":     {version: tool(func(s *awaken.ToolSpec) { s.Description = "pays back" }), where: "the tools of the request"},
		"a tool's parameters":      {version: tool(func(s *awaken.ToolSpec) { s.Parameters = json.RawMessage(`{"type":"object"}`) }), where: "the tools of the request"},
		"a tool that is missing":   {version: agent(func(s *awaken.AgentSpec) { s.ExcludedTools = []string{"pay"} }), where: "the tools of the request"},
		"a tool more":              {version: func(sh *shop) { sh.config.Tools = append(sh.config.Tools, newShop(nil).renamed("refund")) }, where: "the tools of the request"},
		"the model":                {version: func(sh *shop) { sh.config.Models[0].UpstreamModel = "m-2" }, where: "the parameters of the request"},
		"the model's output limit": {version: func(sh *shop) { sh.config.Models[0].MaxOutputTokens = 100 }, where: "the parameters of the request"},
		"the effort":               {version: agent(func(s *awaken.AgentSpec) { s.ReasoningEffort = &llm.Effort{Level: "high"} }), where: "the parameters of the request"},
		"the output schema":        {version: agent(func(s *awaken.AgentSpec) { s.OutputSchema = json.RawMessage(`{"type":"string"}`) }), where: "of the request"},
		"a parameter of the run":   {record: edited{old: `"temperature":0.5`, new: `"temperature":0.6`, run: true}, where: "the parameters of the request"},
		"the rounds":               {version: agent(func(s *awaken.AgentSpec) { s.MaxRounds = new(1) }), where: "event"},
		"the user's message":       {record: edited{old: "Buy it", new: "Buy me", messages: true}, where: "the messages of the request"},
		"a message before the run": {record: edited{old: "Hello", new: "Hallo", messages: true}, where: "the messages of the request"},
		"an answer before the run": {record: edited{old: "Hi.", new: "Ho.", messages: true}, where: "the messages of the request"},
		"the answer":               {record: edited{old: "pay.", new: "buy.", entries: true}, where: "the messages of the request"},
		"the answer in the log":    {record: edited{old: "Paid.", new: "Done.", messages: true}, where: "message"},
		"the arguments":            {record: edited{old: `\"usd\":5`, new: `\"usd\":6`, entries: true}, where: "event"},
		"at in the arguments":      {record: edited{old: `"at":5`, new: `"at":6`, entries: true}, where: "event"},
		"at in the state":          {record: edited{old: `"at":3`, new: `"at":4`, entries: true}, where: "event"},
		"at in the ledger":         {record: edited{old: `"at":5`, new: `"at":6`, calls: true}, where: "call"},
		"at in the log":            {record: edited{old: `"at":5`, new: `"at":6`, messages: true}, where: "message"},
		"at in a result":           {record: edited{old: `"at":9`, new: `"at":8`, entries: true, calls: true}, where: "the messages of the request"},
		"at in a stored result":    {record: edited{old: `"at":9`, new: `"at":8`, calls: true}, where: "call"},
		"a call's result":          {record: edited{old: "receipt 7", new: "receipt 8", entries: true, calls: true}, where: "the messages of the request"},
		"a result in the log":      {record: edited{old: "receipt 7", new: "receipt 8", messages: true}, where: "message"},
		"a result in the ledger":   {record: edited{old: "receipt 7", new: "receipt 8", calls: true}, where: "call"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := awakentest.New(t, returning().config)
			h.Run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("Hello")}})
			id := h.Run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("Buy it")},
				Overrides: &awaken.InferenceOverride{Temperature: new(0.5)}}).Result.RunID
			from := tt.record
			from.Source = h.Store.(*memory.Store)
			rec, err := (&trace.Recorder{Source: &from, Before: true}).Record(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			sh := returning()
			if tt.version != nil {
				tt.version(sh)
			}
			switch d := sh.replay(t, rec).Difference; {
			case d == nil:
				t.Error("the replay is as recorded")
			case !strings.Contains(d.Where, tt.where):
				t.Errorf("the difference is %s; want one at %q", d, tt.where)
			}
		})
	}
}
