package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

type forecast struct {
	City    string `json:"city" jsonschema:"where"`
	Degrees int    `json:"degrees"`
}

func finalOutput(args string) llmtest.Turn {
	return llmtest.Turn{ToolCalls: []llmtest.Call{{Name: awaken.FinalOutputTool, Arguments: json.RawMessage(args)}}}
}

func TestOutput_DecodesWhatTheRunAnswered(t *testing.T) {
	var out engine.Output[forecast]
	g := newRig(t, []llmtest.Turn{finalOutput(`{"city":"Rome","degrees":21}`)})
	req := say("How warm is it?")
	req.OutputSchema = out.Schema()
	res, _ := g.run(req)
	got, err := out.Decode(res)
	if err != nil || got != (forecast{"Rome", 21}) {
		t.Errorf("the output is %+v, %v", got, err)
	}
	if run := g.record(res.RunID); string(run.StructuredOutput) != `{"city":"Rome","degrees":21}` {
		t.Errorf("the record has %s", run.StructuredOutput)
	}
}

func TestOutput_OfARunWithoutAnswerSaysHowItEnded(t *testing.T) {
	var out engine.Output[forecast]
	if _, err := out.Decode(nil); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("no result: %v, want ErrNotFound", err)
	}
	_, err := out.Decode(&awaken.RunResult{RunID: "r", Termination: awaken.Termination{Type: awaken.Cancelled}})
	if !errors.Is(err, awaken.ErrNotFound) || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("a cancelled run: %v", err)
	}
	if _, err := out.Decode(&awaken.RunResult{RunID: "r", StructuredOutput: json.RawMessage(`{"city":1}`)}); err == nil {
		t.Error("what is not of the type was decoded")
	}
}

func TestOutput_AnAnswerThatNeverFitsIsATypedFailure(t *testing.T) {
	var out engine.Output[forecast]
	turns := []llmtest.Turn{finalOutput(`{"city":1}`), llmtest.Say("Rome"), finalOutput(`{}`), llmtest.Say("never asked for")}
	g := newRig(t, turns)
	req := say("How warm is it?")
	req.OutputSchema = out.Schema()
	res, err := g.rt.Run(t.Context(), req, nil)
	bad, ok := errors.AsType[*engine.OutputError](err)
	if !ok || bad.Attempts != 3 || bad.Answer != "{}" || !strings.Contains(bad.Err.Error(), `missing "city", "degrees"`) {
		t.Errorf("the run failed with %#v", err)
	}
	if res.Termination.Type != awaken.Failed || g.record(res.RunID).ErrorPayload.Code != "invalid_output" {
		t.Errorf("the run ended with %s", res.Termination)
	}
	checkValid(t, g.log(res.ThreadID))
}

// The request's schema, how often the answer was repaired, and an answer that came before a
// crash are there for the next owner of the run.
func TestOutput_SurvivesACrash(t *testing.T) {
	var out engine.Output[forecast]
	turns := []llmtest.Turn{finalOutput(`{}`), uses("echo"), finalOutput(`{"city":"Rome","degrees":21}`)}
	var lost *dying
	g := newRig(t, turns, withTools(echo("echo")), withStore(func(s awaken.Store) awaken.Store {
		lost = &dying{Store: s, after: 3}
		return lost
	}))
	req := say("How warm is it?")
	req.RunID, req.ThreadID, req.OutputSchema = "r", "t", out.Schema()
	if _, err := g.rt.Run(t.Context(), req, nil); err == nil {
		t.Fatal("the store did not fail")
	}
	lost.after = 1 << 30
	g.restart()
	res, err := g.rt.Run(t.Context(), awaken.RunRequest{Continue: "r"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := out.Decode(res); err != nil || got.Degrees != 21 {
		t.Errorf("the output is %+v, %v", got, err)
	}
	if run := g.record("r"); run.OutputRepairs != 1 {
		t.Errorf("%d repairs are counted, want 1", run.OutputRepairs)
	}
}

// dying is a store that fails for good after some commits, as if its process were gone.
type dying struct {
	awaken.Store
	after, commits int
}

func (s *dying) Commit(ctx context.Context, c *awaken.Commit) error {
	if s.commits++; s.commits > s.after {
		return errors.New("the process is gone")
	}
	return s.Store.Commit(ctx, c)
}

func TestOutput_IsRequestedAsTheModelSupports(t *testing.T) {
	var out engine.Output[forecast]
	for _, tt := range []struct {
		name   string
		spec   *bool
		model  bool // says that it can
		native bool
	}{
		{"nothing says so", nil, false, false},
		{"the model says so", nil, true, true},
		{"the spec overrules the model", new(false), true, false},
		{"the spec says so", new(true), false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newRig(t, []llmtest.Turn{llmtest.Say(`{"city":"Rome","degrees":21}`)}, func(c *engine.Config) {
				c.Models[0].StructuredOutput = tt.spec
				c.Models[0].Modalities = &awaken.Modalities{Input: []string{"text"}} // which wraps the model
				c.Providers["p"] = forming{c.Providers["p"], tt.model}
			}, withAgent(func(a *awaken.AgentSpec) { a.OutputSchema = out.Schema() }))
			res, _ := g.run(say("How warm is it?"))
			if _, err := out.Decode(res); err != nil {
				t.Error(err)
			}
			r := g.request(1)
			if native := r.Params.Output != nil; native != tt.native || native == (len(r.Tools) > 0) {
				t.Errorf("the model was asked for %v with tools %v", r.Params.Output, r.Tools)
			}
		})
	}
}

type forming struct {
	llm.Model
	forms bool
}

func (f forming) SupportsSchema(string) bool { return f.forms }

func (f forming) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return f.Model.Stream(ctx, req)
}

func TestOutput_BadSchemasAreRefused(t *testing.T) {
	cfg := func() engine.Config {
		return engine.Config{Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "u"}}, Providers: map[string]llm.Model{"p": llmtest.NewScript()},
			Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m"}}, Store: memory.New()}
	}
	c := cfg()
	c.Agents[0].OutputSchema = json.RawMessage(`{"type":"nonsense"}`)
	if _, err := engine.New(c); err == nil || !strings.Contains(err.Error(), "output_schema") {
		t.Errorf("the agent's schema: %v", err)
	}
	c = cfg()
	c.Agents[0].OutputSchema, c.Tools = json.RawMessage(`{"type":"object"}`), []awaken.Tool{echo(awaken.FinalOutputTool)}
	if _, err := engine.New(c); err == nil || !strings.Contains(err.Error(), awaken.FinalOutputTool) {
		t.Errorf("a tool of the same name: %v", err)
	}
	rt := mustNew(t, cfg())
	req := say("Hello")
	req.OutputSchema = json.RawMessage(`{"type":"nonsense"}`)
	if _, err := rt.Run(t.Context(), req, nil); !errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), "output_schema") {
		t.Errorf("the request's schema: %v", err)
	}
	req = say("Hello")
	req.OutputSchema, req.FrontendTools = json.RawMessage(`{"type":"object"}`), []awaken.ToolSpec{{ID: awaken.FinalOutputTool}}
	if _, err := rt.Run(t.Context(), req, nil); !errors.Is(err, awaken.ErrInvalid) {
		t.Errorf("a tool of the client's of the same name: %v", err)
	}
}

// checked is a plugin that checks answers.
type checked func(text string) error

func (checked) Name() string { return "checked" }

func (c checked) Register(r *awaken.Registrar) error {
	r.CheckAnswer(c)
	return nil
}

// A plugin that checks answers and panics fails the run, not the process.
func TestCheckAnswer_Panics(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, engine.Config{Plugins: []awaken.Plugin{checked(func(string) error { panic("oh") })}, Agents: []*awaken.AgentSpec{{ID: engine.DefaultAgentID, PluginIDs: []string{"checked"}}}}, llmtest.Say("hello"))
	if rec := h.Say("go"); rec.Result.Termination.Type != awaken.Failed || !strings.Contains(rec.Result.Termination.Message, "check of an answer") {
		t.Errorf("%+v", rec.Result)
	}
}
