package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// word is the configuration of a plugin that adds a word to the system prompt.
type word struct {
	Word string `json:"word,omitempty"`
}

var wordSection = awaken.NewSection("speaker", word{})

func speaker(name string) plug {
	return plug{name, func(r *awaken.Registrar) {
		r.Section(wordSection)
		cfg, err := wordSection.Read(r.Agent)
		if err != nil {
			return
		}
		r.Transform(func(_ context.Context, _ *awaken.HookCall, req *llm.Request) error {
			req.System = append(slices.Clip(req.System), llm.Text("["+name+" "+cfg.Word+"]"))
			return nil
		})
	}}
}

// version makes a registry as a process does that has nothing but the documents.
func version(t *testing.T, id string, model llm.Model, change func(*awaken.AgentSpec)) *registry.Registry {
	t.Helper()
	spec := &awaken.AgentSpec{ID: "default", ModelID: "m", SystemPrompt: "Be good.", PluginIDs: []string{"gate"}}
	if change != nil {
		change(spec)
	}
	once(spec)
	reg, err := registry.New(registry.Config{Builtin: builtin.For, ID: id, Agents: []*awaken.AgentSpec{spec},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "upstream"}, {ID: "n", ProviderID: "p", UpstreamModel: "other"}},
		Providers: map[string]llm.Model{"p": model},
		Tools:     []awaken.Tool{echo("pay"), echo("look"), echo("walk")},
		Plugins:   []awaken.Plugin{askAbout("pay", awaken.Ticket{}), speaker("speaker")}})
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// versioned is a rig with versions in place of one registry. Its restart is another
// process: nothing but the store is the same.
type versioned struct {
	*rig
	versions *awakentest.Versions
	changes  []func(*awaken.AgentSpec)
}

func newVersioned(t *testing.T, turns []llmtest.Turn, first func(*awaken.AgentSpec)) *versioned {
	g := &versioned{rig: newRig(t, turns)}
	g.changes = []func(*awaken.AgentSpec){first}
	g.restart()
	return g
}

func (g *versioned) restart() {
	g.versions = awakentest.NewVersions()
	for i, change := range g.changes {
		g.versions.Publish(version(g.t, string(rune('1'+i)), g.model, change))
	}
	g.cfg.Versions = g.versions
	g.rig.restart()
}

func (g *versioned) publish(change func(*awaken.AgentSpec)) {
	g.changes = append(g.changes, change)
	g.versions.Publish(version(g.t, string(rune('0'+len(g.changes))), g.model, change))
}

// Every row of "active runs keep, the next run has": a run that waits is resumed by another
// process after the change, and another is started.
func TestSnapshots_ActiveRunsKeepTheirVersion(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		before, after func(*awaken.AgentSpec)
		look          func(r *llmtest.Captured) string
		old, new      string
	}{
		{"system_prompt", nil, func(s *awaken.AgentSpec) { s.SystemPrompt = "Be bad." }, system, "Be good.", "Be bad."},
		{"allowed_tools", nil, func(s *awaken.AgentSpec) { s.AllowedTools = []string{"pay"} }, tools, "look pay walk", "pay"},
		{"excluded_tools", nil, func(s *awaken.AgentSpec) { s.ExcludedTools = []string{"look"} }, tools, "look pay walk", "pay walk"},
		{"reasoning_effort", func(s *awaken.AgentSpec) { s.ReasoningEffort = &llm.Effort{Level: "low"} }, func(s *awaken.AgentSpec) { s.ReasoningEffort = &llm.Effort{Level: "high"} },
			func(r *llmtest.Captured) string { return toJSON(t, r.Params.ReasoningEffort) }, `"low"`, `"high"`},
		{"model_id", nil, func(s *awaken.AgentSpec) { s.ModelID = "n" }, func(r *llmtest.Captured) string { return r.Model }, "upstream", "other"},
		{"plugin_ids (add)", nil, func(s *awaken.AgentSpec) { s.PluginIDs = append(s.PluginIDs, "speaker") }, system, "Be good.", "Be good.[speaker ]"},
		{"plugin_ids (remove)", func(s *awaken.AgentSpec) { s.PluginIDs = append(s.PluginIDs, "speaker") }, nil, system, "Be good.[speaker ]", "Be good."},
		{"sections", saying("hello"), saying("goodbye"), system, "Be good.[speaker hello]", "Be good.[speaker goodbye]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newVersioned(t, []llmtest.Turn{uses("pay"), llmtest.Say("Paid."), llmtest.Say("New.")}, tt.before)
			res, _ := g.run(say("Go"))
			g.publish(tt.after)
			g.restart()
			old, p := g.resume(res.RunID, approve("c1"))
			checkTermination(t, old, p, awaken.NaturalEnd)
			fresh, _ := g.run(awaken.RunRequest{ThreadID: "u", Messages: []*llm.Message{llm.UserText("Go")}})
			if first, then := tt.look(g.request(1)), tt.look(g.request(2)); first != tt.old || then != tt.old {
				t.Errorf("the run that was active had %q and after the change %q, want %q", first, then, tt.old)
			}
			if got := tt.look(g.request(3)); got != tt.new {
				t.Errorf("the next run had %q, want %q", got, tt.new)
			}
			if a, b := g.record(res.RunID).ResolutionID, g.record(fresh.RunID).ResolutionID; a != "1" || b != "2" {
				t.Errorf("the runs are pinned to %q and %q, want 1 and 2", a, b)
			}
		})
	}
	t.Run("max_rounds", func(t *testing.T) {
		t.Parallel()
		g := newVersioned(t, []llmtest.Turn{uses("pay"), uses("look"), llmtest.Say("Old."), uses("look")}, nil)
		res, _ := g.run(say("Go"))
		g.publish(func(s *awaken.AgentSpec) { s.MaxRounds = new(1) })
		g.restart()
		old, p := g.resume(res.RunID, approve("c1"))
		checkTermination(t, old, p, awaken.NaturalEnd)
		fresh, p := g.run(awaken.RunRequest{ThreadID: "u", Messages: []*llm.Message{llm.UserText("Go")}})
		checkTermination(t, fresh, p, awaken.Stopped)
	})
}

func saying(text string) func(*awaken.AgentSpec) {
	return func(s *awaken.AgentSpec) {
		s.PluginIDs = append(s.PluginIDs, "speaker")
		s.Sections = map[string]json.RawMessage{"speaker": json.RawMessage(`{"word":"` + text + `"}`)}
	}
}

func system(r *llmtest.Captured) string { return strings.ReplaceAll(r.System, "\n", "") }
func tools(r *llmtest.Captured) string {
	return strings.Join(slices.Sorted(slices.Values(r.Tools)), " ")
}

func TestSnapshots_DecisionsAreCheckedAgainstTheVersionOfTheirRun(t *testing.T) {
	t.Parallel()
	strict := func(field string) awaken.Tool {
		return awaken.NewTool(awaken.ToolSpec{ID: "pay", Parameters: json.RawMessage(`{"type":"object","properties":{"` + field + `":{"type":"string"}},"additionalProperties":false}`)},
			func(_ context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
				return awaken.TextResult(string(c.Args)), nil
			})
	}
	g := newVersioned(t, []llmtest.Turn{uses("pay"), llmtest.Say("Paid.")}, nil)
	one, err := g.versions.Registry().Derive(registry.Edit{ID: "a", Tools: []awaken.Tool{strict("old")}})
	if err != nil {
		t.Fatal(err)
	}
	two, err := one.Derive(registry.Edit{ID: "b", Tools: []awaken.Tool{strict("new")}})
	if err != nil {
		t.Fatal(err)
	}
	g.versions.Publish(one)
	res, _ := g.run(say("Go"))
	g.versions.Publish(two)
	edit := func(args string) error {
		return g.rt.Decide(t.Context(), res.RunID, awaken.Decision{Target: "c1", Action: awaken.ActionResume, Arguments: json.RawMessage(args)})
	}
	if err := edit(`{"new":"x"}`); !errors.Is(err, awaken.ErrInvalid) {
		t.Errorf("arguments of the new version: %v, want ErrInvalid", err)
	}
	if err := edit(`{"old":"x"}`); err != nil {
		t.Errorf("arguments of the run's version: %v", err)
	}
	g.resume(res.RunID)
	if got := g.calls(res.RunID)[0].Result; got == nil || !strings.Contains(toJSON(t, got), `{\"old\":\"x\"}`) {
		t.Errorf("the call came to %s", toJSON(t, got))
	}
}

func TestSnapshots_ChooseSeesTheThreadBeforeTheRun(t *testing.T) {
	t.Parallel()
	g := newVersioned(t, []llmtest.Turn{llmtest.Say("1"), llmtest.Say("2"), llmtest.Say("3")}, nil)
	g.publish(nil)
	old, err := g.versions.Pinned(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	g.versions.Divert(func(th *awaken.Thread) *registry.Registry {
		seen = append(seen, th.ID+"/"+th.LatestRunID)
		if th.LatestRunID == "" {
			return nil
		}
		return old
	})
	a, _ := g.run(say("Go"))
	b, _ := g.run(say("Go"))
	if want := []string{"t/", "t/" + a.RunID}; !slices.Equal(seen, want) {
		t.Errorf("threads were %q, want %q", seen, want)
	}
	if x, y := g.record(a.RunID).ResolutionID, g.record(b.RunID).ResolutionID; x != "2" || y != "1" {
		t.Errorf("the runs are pinned to %q and %q, want 2 and 1", x, y)
	}
	named, _ := g.run(awaken.RunRequest{ThreadID: "u", ResolutionID: "1", Messages: []*llm.Message{llm.UserText("Go")}})
	if got := g.record(named.RunID).ResolutionID; got != "1" || len(seen) != 2 {
		t.Errorf("a run that names version 1 is pinned to %q after %d choices", got, len(seen))
	}
}

func TestSnapshots_RequestsForUnknownVersionsFail(t *testing.T) {
	t.Parallel()
	g := newVersioned(t, nil, nil)
	req := say("Go")
	req.ResolutionID = "9"
	p := &tape{}
	if res, err := g.rt.Run(t.Context(), req, p); res != nil || !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("a version that does not exist: %v, %v, want ErrNotFound", res, err)
	}
	if e := eventsOf[awaken.Error](p); len(e) != 1 || e[0].Code != "not_found" {
		t.Errorf("the sink got %s", toJSON(t, e))
	}
	g.versions.Lose("1", errors.New("no connection"))
	req.ResolutionID = "1"
	if res, err := g.rt.Run(t.Context(), req, nil); res != nil || !errors.Is(err, awaken.ErrPinUnavailable) {
		t.Errorf("a version that is lost: %v, %v, want ErrPinUnavailable", res, err)
	}
	plain := newRig(t, []llmtest.Turn{llmtest.Say("Hi")}, func(c *engine.Config) { c.RegistryID = "mine" })
	if _, err := plain.rt.Run(t.Context(), req, nil); !errors.Is(err, awaken.ErrNotFound) || !strings.Contains(err.Error(), `"1"`) {
		t.Errorf("without versions: %v, want ErrNotFound", err)
	}
	req.ResolutionID = "mine"
	if res, _ := plain.run(req); plain.record(res.RunID).ResolutionID != "mine" {
		t.Errorf("the run is pinned to %q, want mine", plain.record(res.RunID).ResolutionID)
	}
}

func TestSnapshots_ARunWaitsForItsVersion(t *testing.T) {
	t.Parallel()
	kept := state.NewKey("kept", func(old, v string) string { return v }, state.Options{})
	keeper := plug{"keeper", func(r *awaken.Registrar) {
		r.Key(kept)
		r.On(awaken.PhaseRunStart, func(_ context.Context, h *awaken.HookCall) error {
			kept.Update(h, "me")
			return nil
		})
	}}
	g := newVersioned(t, []llmtest.Turn{uses("pay"), llmtest.Say("Paid.")}, nil)
	spec := &awaken.AgentSpec{ID: "default", ModelID: "m", PluginIDs: []string{"gate", "keeper"}}
	reg, err := g.versions.Registry().Derive(registry.Edit{ID: "k", Plugins: []awaken.Plugin{keeper}, Agents: []*awaken.AgentSpec{spec}})
	if err != nil {
		t.Fatal(err)
	}
	g.versions.Publish(reg)
	res, _ := g.run(say("Go"))
	// A process whose code has no such plugin.
	broken, err := registry.New(registry.Config{Builtin: builtin.For, ID: "k", Agents: []*awaken.AgentSpec{spec}, Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	lost := map[string]error{"is not available now": errors.New("secret of the store"), "not found": awaken.ErrNotFound, "cannot be used here": nil}
	for text, err := range lost {
		g.versions.Publish(reg)
		if g.versions.Lose("k", err); err == nil {
			g.versions.Publish(broken)
		}
		// What comes with a request is not taken, and that is an error.
		got, err := g.rt.Resume(t.Context(), res.RunID, nil, approve("c1"))
		if !errors.Is(err, awaken.ErrPinUnavailable) || got == nil || got.Waiting == nil || got.Waiting.Reason != awaken.WaitPin {
			t.Fatalf("%s: a decision on a run without its version: %s, %v", text, toJSON(t, got), err)
		}
		// To go on is no more than to try.
		again, p := g.run(awaken.RunRequest{Continue: res.RunID})
		checkTermination(t, again, p, awaken.Suspended)
		checkBalanced(t, p)
		rec := g.record(res.RunID)
		if w := rec.Waiting; rec.Status != awaken.RunWaiting || rec.StatusReason != "pin_unavailable" || w.Reason != awaken.WaitPin || !strings.Contains(w.Message, text) ||
			strings.Contains(w.Message, "secret") || len(w.Tickets) != 1 || w.Tickets[0].ToolCallID != "c1" || rec.ResolutionID != "k" {
			t.Errorf("%s: the record is %s", text, toJSON(t, rec))
		}
		// A wake-up without a request publishes nothing.
		if _, p := g.run(awaken.RunRequest{Continue: res.RunID, Mode: "internal_wake"}); len(p.entries) != 0 {
			t.Errorf("%s: a wake-up without a request published %q", text, p.types())
		}
	}
	if err := g.rt.Decide(t.Context(), res.RunID, approve("c1")); err != nil {
		t.Fatalf("a decision can be left: %v", err)
	}
	if _, p := g.run(awaken.RunRequest{Continue: res.RunID}); !slices.Equal(p.types(), []string{"run_start", "state_snapshot", "run_finish"}) {
		t.Errorf("the run did %q without its version", p.types())
	}
	g.versions.Lose("k", nil)
	g.versions.Publish(reg)
	done, p := g.run(awaken.RunRequest{Continue: res.RunID})
	checkTermination(t, done, p, awaken.NaturalEnd)
	if done.Response != "Paid." || g.record(res.RunID).ResolutionID != "k" {
		t.Errorf("the run came to %s", toJSON(t, done))
	}
	cp, err := g.store.Acquire(t.Context(), "t")
	if err != nil || string(cp.RunState["kept"]) != `"me"` {
		t.Errorf("the state of a plugin is %s, %v", cp.RunState["kept"], err)
	}
}

func TestSnapshots_ARunCanBeEndedWithoutItsVersion(t *testing.T) {
	t.Parallel()
	g := newVersioned(t, []llmtest.Turn{uses("pay")}, nil)
	res, _ := g.run(say("Go"))
	g.versions.Lose("1", awaken.ErrNotFound)
	if err := g.rt.Cancel(t.Context(), res.RunID); err != nil {
		t.Fatal(err)
	}
	if rec := g.record(res.RunID); rec.Status != awaken.RunDone || rec.Termination.Type != awaken.Cancelled || rec.ResolutionID != "1" {
		t.Errorf("the record is %s", toJSON(t, rec))
	}
}

// A run that was cut off in the middle of a step waits like any other, and is then recovered.
func TestSnapshots_ARunThatWasCutOffKeepsItsVersion(t *testing.T) {
	t.Parallel()
	g := newVersioned(t, []llmtest.Turn{uses("look"), uses("look"), llmtest.Say("Done.")}, nil)
	req := say("Go")
	p := &tape{}
	p.on = func(ev awaken.Event) {
		if _, ok := ev.(*awaken.StepEnd); ok { // another owner takes the thread
			if _, err := g.store.Acquire(context.Background(), "t"); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := g.rt.Run(t.Context(), req, p); !errors.Is(err, awaken.ErrFenced) {
		t.Fatalf("run: %v, want ErrFenced", err)
	}
	runs, err := g.store.ListRuns(t.Context(), awaken.RunQuery{ThreadID: "t"})
	if err != nil || len(runs) != 1 || runs[0].Status != awaken.RunRunning {
		t.Fatalf("runs are %s, %v", toJSON(t, runs), err)
	}
	g.publish(func(s *awaken.AgentSpec) { s.SystemPrompt = "Be bad." })
	g.restart()
	g.versions.Lose("1", errors.New("no connection"))
	res, _ := g.run(awaken.RunRequest{Continue: runs[0].RunID})
	if res.Waiting == nil || res.Waiting.Reason != awaken.WaitPin {
		t.Fatalf("the run came to %s", toJSON(t, res))
	}
	g.versions.Lose("1", nil)
	res, p = g.run(awaken.RunRequest{Continue: runs[0].RunID})
	checkTermination(t, res, p, awaken.NaturalEnd)
	for i, r := range g.model.Requests() {
		if system(r) != "Be good." {
			t.Errorf("request %d has the prompt %q", i+1, r.System)
		}
	}
}

func TestHasAgent(t *testing.T) {
	t.Parallel()
	g := newVersioned(t, []llmtest.Turn{uses("pay"), llmtest.Say("Paid.")}, nil)
	g.run(say("Go")) // on version 1, whose agent is default
	two, err := g.versions.Registry().Derive(registry.Edit{ID: "2", Agents: []*awaken.AgentSpec{{ID: "other", ModelID: "m"}}, Gone: registry.Gone{Agents: []string{"default"}}})
	if err != nil {
		t.Fatal(err)
	}
	canary, err := two.Derive(registry.Edit{ID: "3", Agents: []*awaken.AgentSpec{{ID: "bird", ModelID: "m"}}})
	if err != nil {
		t.Fatal(err)
	}
	g.versions.Publish(canary, two)
	g.versions.Divert(func(th *awaken.Thread) *registry.Registry {
		if th.ID == "mine" {
			return canary
		}
		return nil
	})
	for _, tt := range []struct {
		req  awaken.RunRequest
		want bool
	}{
		{awaken.RunRequest{}, true},
		{awaken.RunRequest{AgentID: "other"}, true},
		{awaken.RunRequest{AgentID: "default"}, false},
		{awaken.RunRequest{AgentID: "default", ThreadID: "t"}, true}, // its run is open
		{awaken.RunRequest{AgentID: "default", ThreadID: "u"}, false},
		{awaken.RunRequest{AgentID: "default", ResolutionID: "1"}, true},
		{awaken.RunRequest{AgentID: "bird", ThreadID: "u"}, false},
		{awaken.RunRequest{AgentID: "bird", ThreadID: "mine"}, true},
	} {
		if got, err := g.rt.HasAgent(t.Context(), &tt.req); got != tt.want || err != nil {
			t.Errorf("HasAgent(%s) is %v, %v, want %v", toJSON(t, tt.req), got, err, tt.want)
		}
	}
}
