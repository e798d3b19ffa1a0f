package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/store/sqlite"
)

// summaryModel is the model that the agents here are summarised by, so that its requests
// can be distinguished from the agents' own.
const summaryModel = "summary"

// byModel asks one model for summaries and another for everything else.
type byModel struct{ agent, summary llm.Model }

func (m byModel) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	if req.Model == summaryModel {
		return m.summary.Stream(ctx, req)
	}
	return m.agent.Stream(ctx, req)
}

// within gives the default agent a context policy.
func within(context, output int, change ...func(p *awaken.ContextPolicy)) option {
	return withAgent(func(s *awaken.AgentSpec) {
		p := awaken.DefaultContextPolicy()
		p.MaxContextTokens, p.MaxOutputTokens, p.MinRecentMessages, p.CompactionRawSuffixMessages = context, output, 2, 1
		for _, c := range change {
			c(&p)
		}
		s.ContextPolicy = &p
	})
}

func compactAt(tokens int) func(*awaken.ContextPolicy) {
	return func(p *awaken.ContextPolicy) { p.AutocompactThreshold = &tokens }
}

// summaries makes a script answer the requests for summaries.
func summaries(s *llmtest.Script, change ...func(c *registry.CompactionConfig)) option {
	return func(c *engine.Config) {
		c.Providers["p"] = byModel{c.Providers["p"], s.Record()}
		agent := c.Agents[0]
		cfg, err := registry.CompactionSection.Read(agent)
		if err != nil {
			panic(err)
		}
		cfg.SummaryModel = new(summaryModel)
		for _, ch := range change {
			ch(&cfg)
		}
		if err := registry.CompactionSection.Set(agent, cfg); err != nil {
			panic(err)
		}
	}
}

// bubble plays a test in a bubble, and lets summaries that are under way come to an end.
func bubble(t *testing.T, f func(t *testing.T)) {
	bubbletest.Test(t, func(t *testing.T) {
		f(t)
		time.Sleep(time.Hour)
	})
}

// words is a text of so many tokens.
func words(tokens int) string { return strings.Repeat("word", tokens) }

func compactions(t *testing.T, p *tape) builtin.CompactionState {
	t.Helper()
	snaps := eventsOf[awaken.StateSnapshot](p)
	if len(snaps) == 0 {
		t.Fatal("there is no state_snapshot")
	}
	return builtin.Compactions.Get(snaps[len(snaps)-1].Snapshot)
}

func windowState(t *testing.T, p *tape) builtin.WindowState {
	t.Helper()
	snaps := eventsOf[awaken.StateSnapshot](p)
	if len(snaps) == 0 {
		t.Fatal("there is no state_snapshot")
	}
	return builtin.ContextWindow.Get(snaps[len(snaps)-1].Snapshot)
}

func tokensOf(c *llmtest.Captured) int {
	n := 0
	for _, m := range c.Messages {
		n += m.Tokens()
	}
	return n
}

// Truncation.

func TestContext_LeavesOutWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	turns := slices.Repeat([]llmtest.Turn{llmtest.Say(words(100))}, 30)
	g := newRig(t, turns, within(2000, 500))
	for i := range 30 {
		_, p := g.run(say(fmt.Sprint(i, " ", words(100))))
		req := g.request(i + 1)
		checkValid(t, req.Messages)
		if n := tokensOf(req); n > 1500 {
			t.Errorf("request %d has %d tokens", i, n)
		}
		if last := req.Messages[len(req.Messages)-1].Text(); !strings.HasPrefix(last, fmt.Sprint(i, " ")) {
			t.Errorf("request %d ends with %.20q", i, last)
		}
		if s := windowState(t, p); s.Messages != 2*i+1 || s.LeftOut != 2*i+1-len(req.Messages) {
			t.Errorf("request %d has %d messages, and the state says %+v", i, len(req.Messages), s)
		}
	}
	if n := len(g.log("t")); n != 60 {
		t.Errorf("the log has %d messages, want all 60", n)
	}
}

func TestContext_IsBoundedWhateverTheHookFilterSays(t *testing.T) { // L-04
	t.Parallel()
	g := newRig(t, []llmtest.Turn{llmtest.Say("ok"), llmtest.Say("ok")}, within(1000, 200), withPlugins(at(awaken.PhaseRunStart, func(context.Context, *awaken.HookCall) error { return nil })),
		withAgent(func(s *awaken.AgentSpec) { s.ActiveHookFilter = []string{"at-run_start"} }),
		func(c *engine.Config) { c.Models[0].KnowledgeCutoff = "2024-06" })
	g.run(say(words(700)))
	g.run(say(words(400)))
	req := g.request(2)
	if n := tokensOf(req); n > 800 {
		t.Errorf("the request has %d tokens", n)
	}
	if !strings.Contains(req.System, "2024-06") {
		t.Errorf("the system prompt is %q", req.System)
	}
}

func TestContext_SendsTheLimitOfTheAnswer(t *testing.T) { // L-40
	t.Parallel()
	override := func(n int) *awaken.InferenceOverride { return &awaken.InferenceOverride{MaxTokens: &n} }
	for _, tt := range []struct {
		name     string
		opt      option
		model    awaken.ModelSpec
		override *awaken.InferenceOverride
		want     any
	}{
		{name: "no policy", opt: func(*engine.Config) {}},
		{name: "the model's, without a policy", opt: func(*engine.Config) {}, model: awaken.ModelSpec{MaxOutputTokens: 300}, want: 300},
		{name: "the model's, which is its whole window", opt: func(*engine.Config) {}, model: awaken.ModelSpec{ContextWindow: 1000, MaxOutputTokens: 1000}, want: 500},
		{name: "another model, without a policy", opt: func(*engine.Config) {}, model: awaken.ModelSpec{MaxOutputTokens: 300}, override: &awaken.InferenceOverride{UpstreamModel: "large"}},
		{name: "the policy's", opt: within(10_000, 700), want: 700},
		{name: "none in the policy", opt: within(10_000, 0)},
		{name: "the model's", opt: within(10_000, 700), model: awaken.ModelSpec{MaxOutputTokens: 300}, want: 300},
		{name: "half of a small window", opt: within(10_000, 700), model: awaken.ModelSpec{ContextWindow: 1000}, want: 500},
		{name: "an override", opt: within(10_000, 700), override: override(99), want: 99},
		{name: "an override above the model's", opt: within(10_000, 700), model: awaken.ModelSpec{MaxOutputTokens: 300}, override: override(500), want: 300},
		{name: "an override above the model's, without a policy", opt: func(*engine.Config) {}, model: awaken.ModelSpec{MaxOutputTokens: 300}, override: override(500), want: 300},
		{name: "an override that leaves no room", opt: within(1000, 100), override: override(5000), want: 500},
		{name: "an override for another model", opt: func(*engine.Config) {}, model: awaken.ModelSpec{MaxOutputTokens: 300},
			override: &awaken.InferenceOverride{UpstreamModel: "large", MaxTokens: new(500)}, want: 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, []llmtest.Turn{llmtest.Say("ok")}, tt.opt, func(c *engine.Config) {
				c.Models[0].ContextWindow, c.Models[0].MaxOutputTokens = tt.model.ContextWindow, tt.model.MaxOutputTokens
			})
			req := say("hi")
			req.Overrides = tt.override
			g.run(req)
			var got any
			if n := g.request(1).Params.MaxTokens; n != nil {
				got = *n
			}
			if got != tt.want {
				t.Errorf("the request has max_tokens %v, want %v", got, tt.want)
			}
		})
	}
}

func TestContext_KeepsTheUsersLatestMessageInALongTurn(t *testing.T) {
	t.Parallel()
	var turns []llmtest.Turn
	for range 8 {
		turns = append(turns, llmtest.Use("echo", fmt.Sprintf(`{"text":%q}`, words(400))))
	}
	g := newRig(t, append(turns, llmtest.Say("done")), within(2200, 200), withTools(tool("echo", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
		return awaken.TextResult("ok"), nil
	})))
	g.run(say("the only question"))
	for n := 1; n <= 9; n++ {
		req := g.request(n)
		checkValid(t, req.Messages)
		if req.Messages[0].Text() != "the only question" || tokensOf(req) > 2000 {
			t.Errorf("request %d begins with %q and has %d tokens", n, req.Messages[0].Text(), tokensOf(req))
		}
	}
}

func TestContext_CountsArgumentsAndTools(t *testing.T) { // L-42, L-43
	t.Parallel()
	call := func(n int) llmtest.Turn {
		return llmtest.Use("echo", fmt.Sprintf(`{"text":%q}`, words(n)))
	}
	turns := []llmtest.Turn{call(700), call(700), call(700), llmtest.Say("done")}
	g := newRig(t, turns, within(2200, 200), withTools(tool("echo", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
		return awaken.TextResult("ok"), nil
	})))
	g.run(say("go"))
	if got := outline(g.request(3).Messages); len(got) != 5 {
		t.Errorf("with room for it, the third request is %q", got)
	}
	last := g.request(4)
	checkValid(t, last.Messages)
	if n := tokensOf(last); n > 2000 || len(last.Messages) >= 7 {
		t.Errorf("the last request has %d messages of %d tokens", len(last.Messages), n)
	}

	// The description of a tool is no more than its text.
	large := awaken.NewTool(awaken.ToolSpec{ID: "large", Description: words(500)}, func(context.Context, *awaken.ToolCall, args) (string, error) { return "", nil })
	g = newRig(t, []llmtest.Turn{llmtest.Say("ok")}, within(1000, 100), withTools(large))
	if _, p := g.run(say(words(200))); windowState(t, p).LeftOut != 0 || tokensOf(g.request(1)) < 200 {
		t.Errorf("a message of 200 tokens does not fit beside a tool of 500 in 900")
	}
}

func TestContext_SaysWhatLeavesNoRoom(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil, within(1000, 200), withAgent(func(s *awaken.AgentSpec) { s.SystemPrompt = words(900) }))
	p := &tape{}
	res, err := g.rt.Run(t.Context(), say("hi"), p)
	if llm.KindOf(err) != llm.ContextOverflow || !strings.Contains(err.Error(), "instructions, tools and context take about 904 of the 800 tokens") {
		t.Errorf("error is %v", err)
	}
	checkTermination(t, res, p, awaken.Failed)
	checkBalanced(t, p)
}

func TestContext_ShowsLargeResultsInPart(t *testing.T) {
	t.Parallel()
	big := tool("big", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
		return awaken.TextResult(words(3000)), nil
	})
	g := newRig(t, []llmtest.Turn{uses("big"), llmtest.Say("done"), llmtest.Say("again")}, within(100_000, 1000), withTools(big))
	g.run(say("go"))
	g.restart()
	g.run(say("go on")) // as another process sees it
	for n := 2; n <= 3; n++ {
		req := g.request(n)
		checkValid(t, req.Messages)
		if text := req.Messages[2].Text(); !strings.HasSuffix(text, "[Shortened: the result has about 3000 tokens, these are the first 1600 characters]") {
			t.Errorf("request %d shows the result as %.60q… %d bytes", n, text, len(text))
		}
	}
	if text := g.log("t")[2].Text(); text != words(3000) {
		t.Errorf("the log has %d bytes of it", len(text))
	}
}

func TestContext_IsCorrectedByWhatTheModelCounts(t *testing.T) {
	t.Parallel()
	counted := llmtest.Say("ok")
	counted.Usage = &llm.Usage{PromptTokens: 1600, CompletionTokens: 1}
	g := newRig(t, []llmtest.Turn{counted, counted, llmtest.Say("ok"), llmtest.Say("ok")}, within(2200, 200), withAgent(func(s *awaken.AgentSpec) { s.SystemPrompt = "" }))
	_, p := g.run(say(words(796)))
	if s := windowState(t, p); s.Ratio != 2 || s.Model != "upstream" {
		t.Errorf("after 1600 tokens for 800 the state is %+v", s)
	}
	g.restart()
	g.run(say(words(596))) // 1401 of 2000, if the model did not count double
	if n := tokensOf(g.request(2)); n > 1000 {
		t.Errorf("the request has %d estimated tokens, and the model counts two for one", n)
	}
	// Another model counts otherwise.
	other := say("hm")
	other.Overrides = &awaken.InferenceOverride{UpstreamModel: "other"}
	if _, p = g.run(other); windowState(t, p).Ratio != 0 || tokensOf(g.request(3)) < 1400 {
		t.Errorf("another model is believed to count the same: %+v", windowState(t, p))
	}
}

func TestContext_KeepsContextMessagesAndWhatTransformsAdd(t *testing.T) {
	t.Parallel()
	plugin := plug{"ctx", func(r *awaken.Registrar) {
		r.On(awaken.PhaseBeforeInference, func(_ context.Context, h *awaken.HookCall) error {
			for _, target := range []awaken.ContextTarget{awaken.TargetSystem, awaken.TargetSession, awaken.TargetConversation, awaken.TargetSuffix} {
				builtin.AddContextMessage.Schedule(h, awaken.ContextMessage{Key: "k" + string(target), Role: llm.User, Target: target, Content: []llm.Block{llm.Text("context " + string(target))}})
			}
			return nil
		})
		r.Transform(func(_ context.Context, _ *awaken.HookCall, req *llm.Request) error {
			req.Messages = req.Messages.Clip().Append(llm.UserText("added " + words(300)))
			return nil
		})
	}}
	g := newRig(t, slices.Repeat([]llmtest.Turn{llmtest.Say(words(100))}, 12), within(1500, 300), withPlugins(plugin))
	for i := range 12 {
		g.run(say(words(100)))
		req := g.request(i + 1)
		checkValid(t, req.Messages)
		if n := tokensOf(req); n > 1200 {
			t.Errorf("request %d has %d tokens", i, n)
		}
		if !strings.HasPrefix(req.Messages[len(req.Messages)-1].Text(), "added ") || req.Messages[len(req.Messages)-2].Text() != "context suffix_system" {
			t.Errorf("request %d ends with %q", i, outline(req.Messages))
		}
	}
}

// The knowledge cutoff.

func TestKnowledgeCutoff_IsSentWithTheDate(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 23, 30, 0, 0, time.FixedZone("", -3600))
	for _, tt := range []struct {
		name string
		opt  option
		want string
	}{
		{"no cutoff", func(*engine.Config) {}, "Be good."},
		{"a cutoff", func(c *engine.Config) { c.Models[0].KnowledgeCutoff = "2025-01" },
			"Be good.Today is 2026-03-02 (UTC). Your knowledge ends at 2025-01: you do not know what happened after that unless this conversation or a tool tells you."},
		{"turned off", func(c *engine.Config) {
			c.Models[0].KnowledgeCutoff = "2025-01"
			c.Agents[0].Sections = map[string]json.RawMessage{"knowledge_cutoff_context": json.RawMessage(`{"enabled":false}`)}
		}, "Be good."},
		{"said by a plugin", func(c *engine.Config) {
			c.Models[0].KnowledgeCutoff = "2025-01"
			withPlugins(at(awaken.PhaseBeforeInference, func(_ context.Context, h *awaken.HookCall) error {
				builtin.AddContextMessage.Schedule(h, builtin.SystemContext("knowledge_cutoff.context", "It is late."))
				return nil
			}))(c)
		}, "Be good.It is late."},
		{"another model", func(c *engine.Config) {
			c.Models[0].KnowledgeCutoff = "2025-01"
			withPlugins(at(awaken.PhaseBeforeInference, func(_ context.Context, h *awaken.HookCall) error {
				builtin.SetInferenceOverride.Schedule(h, awaken.InferenceOverride{UpstreamModel: "other"})
				return nil
			}))(c)
		}, "Be good."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, []llmtest.Turn{llmtest.Say("ok")}, withAgent(func(s *awaken.AgentSpec) { s.SystemPrompt = "Be good." }), tt.opt,
				func(c *engine.Config) { c.Now = func() time.Time { return noon } })
			g.run(say("hi"))
			if got := g.request(1).System; got != tt.want {
				t.Errorf("the system prompt is %q, want %q", got, tt.want)
			}
			if len(g.log("t")) != 2 {
				t.Errorf("the log is %q", outline(g.log("t")))
			}
		})
	}
}

// Compaction.

// slowly is a turn that takes so long.
func slowly(t llmtest.Turn, ms int) llmtest.Turn {
	t.DelayMS = ms
	return t
}

// talk is so many turns of the model, each after a call of the tool, and an answer.
func talk(steps, tokens, ms int) []llmtest.Turn {
	var turns []llmtest.Turn
	for i := range steps {
		turn := llmtest.Use("echo", fmt.Sprintf(`{"n":%d}`, i))
		turn.Text = llmtest.Text{fmt.Sprint("step ", i, " ", words(tokens))}
		turns = append(turns, slowly(turn, ms))
	}
	return append(turns, slowly(llmtest.Say("done"), ms))
}

func paid(t llmtest.Turn, in, out int64) llmtest.Turn {
	t.Usage = &llm.Usage{PromptTokens: in, CompletionTokens: out}
	return t
}

func readOnlyEcho() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: "echo", Effect: awaken.ReadOnly}, func(_ context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
		return awaken.TextResult("echo " + string(c.Args)), nil
	})
}

func TestCompaction_IsAppliedAtTheNextStepAndKeepsTheLog(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		sum := llmtest.NewScript(slowly(paid(llmtest.Say("They went five steps."), 3000, 50), 50))
		g := newRig(t, append([]llmtest.Turn{llmtest.Say(words(1200))}, talk(4, 10, 100)...), within(20_000, 1000, compactAt(1500)), summaries(sum),
			withTools(readOnlyEcho()), summaryPriced, prices)
		g.run(say("hello " + words(400)))
		res, p := g.run(say("go on"))
		checkBalanced(t, p)

		// The first request of the second run has everything, the second the summary.
		want := []string{"user: hello " + words(400), "assistant: " + words(1200), "user: go on"}
		if diff := cmp.Diff(want, outline(g.request(2).Messages)); diff != "" {
			t.Errorf("the request that did not wait (-want +got):\n%s", diff)
		}
		second := outline(g.request(3).Messages)
		if second[0] != "system(internal): <conversation-summary>\nThey went five steps.\n</conversation-summary>" || second[1] != "user: go on" {
			t.Errorf("the next request is %q", second)
		}
		checkValid(t, g.request(3).Messages)

		asked := sum.Requests()
		if len(asked) != 1 {
			t.Fatalf("%d summaries were made", len(asked))
		}
		prompt := asked[0].Messages[0].Text()
		if !strings.Contains(prompt, "[User]: hello word") || !strings.Contains(prompt, "[Assistant]: word") || strings.Contains(prompt, "go on") || strings.Contains(prompt, "{messages}") {
			t.Errorf("the summariser was asked %.300q", prompt)
		}
		if n := asked[0].Params.MaxTokens; n == nil || *n != 1024 {
			t.Errorf("the summary may have %v tokens", n)
		}

		// The log has all that was said, and the summary behind it.
		log := g.log("t")
		if log[0].Text() != "hello "+words(400) || log[1].Text() != words(1200) {
			t.Errorf("the log begins with %.100q", outline(log)[:2])
		}
		at := slices.IndexFunc(log, func(m *llm.Message) bool { return m.Metadata != nil && m.Metadata.Compaction != nil })
		if at < 0 || *log[at].Metadata.Compaction != (llm.Interval{FromSeq: 1, ToSeq: 2}) || !log[at].IsInternal() {
			t.Fatalf("the log is %q", outline(log))
		}
		s := compactions(t, p)
		if s.Total != 1 || s.InFlight != nil || len(s.Boundaries) != 1 || s.Boundaries[0].MessageID != log[at].ID || s.Boundaries[0].BoundaryMessageID != log[1].ID {
			t.Errorf("the state is %s", toJSON(t, s))
		}
		if rec := g.record(res.RunID); rec.Usage.PromptTokens != 3000 || rec.Usage.CompletionTokens != 50 || rec.CostUSD != 0.0031 {
			t.Errorf("usage is %+v, cost %v", rec.Usage, rec.CostUSD)
		}
	})
}

func TestCompaction_ShowsTheSameAsTheStoredLog(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"keep_recent_raw_suffix", "compact_to_safe_frontier"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				sum := llmtest.NewScript(slowly(llmtest.Say("So far: "+words(20)), 30)).Loop()
				turns := talk(40, 300, 100)
				g := newRig(t, append(slices.Repeat([]llmtest.Turn{slowly(llmtest.Say(words(500)), 100)}, 5), turns...),
					within(50_000, 1000, compactAt(2000), func(p *awaken.ContextPolicy) { p.CompactionMode = mode }), summaries(sum),
					withTools(readOnlyEcho()), withAgent(func(s *awaken.AgentSpec) { s.MaxRounds = new(100) }))
				lead := say("first")
				lead.Messages = []*llm.Message{llm.NewText(llm.System, "You are on a ship."), llm.UserText("first")}
				g.run(lead)
				for range 4 {
					g.run(say("and " + words(300)))
				}
				res, p := g.run(say("the long one"))
				checkTermination(t, res, p, awaken.NaturalEnd)
				s := compactions(t, p)
				if s.Total < 5 {
					t.Errorf("%d compactions in 40 steps", s.Total)
				}
				reqs := g.model.Requests()
				last := reqs[len(reqs)-1].Messages
				if n := tokensOf(reqs[len(reqs)-1]); n > 5000 {
					t.Errorf("the last request has %d tokens", n)
				}
				for _, r := range reqs {
					checkValid(t, r.Messages)
					if r.Messages[0].Text() != "You are on a ship." {
						t.Errorf("a request begins with %q", outline(r.Messages[:1]))
					}
				}
				if !slices.ContainsFunc(last, func(m *llm.Message) bool { return m.Text() == "the long one" }) {
					t.Errorf("what the user asked last is not in the last request: %.300q", outline(last))
				}
				var v awaken.View
				v.Append(g.log("t")...)
				view := v.Messages()
				if diff := cmp.Diff(outline(last), outline(view[:len(view)-1])); diff != "" {
					t.Errorf("the view differs from what the model was shown (-shown +view):\n%s", diff)
				}
			})
		})
	}
}

func TestCompaction_UsesTheAgentsModelByDefault(t *testing.T) { // L-44
	t.Parallel()
	config := func(section string, models ...awaken.ModelSpec) option {
		return func(c *engine.Config) {
			c.Models = append(c.Models, models...)
			c.Agents[0].Sections = map[string]json.RawMessage{"compaction": json.RawMessage(section)}
		}
	}
	for _, tt := range []struct {
		name string
		opt  option
		want string
	}{
		{"nothing said", func(*engine.Config) {}, "upstream"},
		{"null", config(`{"summary_model":null}`), "upstream"},
		{"the provider's name", config(`{"summary_model":"tiny-1"}`), "tiny-1"},
		{"the id of a model", config(`{"summary_model":"tiny"}`, awaken.ModelSpec{ID: "tiny", ProviderID: "p", UpstreamModel: "tiny-2"}), "tiny-2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				asked := make(chan string, 10)
				g := newRig(t, []llmtest.Turn{llmtest.Say(words(1200)), llmtest.Say("ok")}, within(20_000, 100, compactAt(1100)), tt.opt, func(c *engine.Config) {
					agent := c.Providers["p"]
					c.Providers["p"] = llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
						if !strings.HasPrefix(req.System[0].Text, "You summarise") {
							return agent.Stream(ctx, req)
						}
						asked <- req.Model
						return llmtest.NewScript(llmtest.Say("sum")).Stream(ctx, req)
					})
				})
				g.run(say("hi"))
				g.run(say("go on"))
				synctest.Wait()
				if got := <-asked; got != tt.want {
					t.Errorf("the summary was asked of %q, want %q", got, tt.want)
				}
			})
		})
	}
}

func TestCompaction_IsNeitherShownNorContinuesARun(t *testing.T) { // L-45
	t.Parallel()
	bubble(t, func(t *testing.T) {
		// The summary is there just before the answer is, and at the end of the second run.
		sum := llmtest.NewScript(slowly(llmtest.Say("sum"), 50))
		g := newRig(t, []llmtest.Turn{llmtest.Say(words(1200)), slowly(llmtest.Say("bye"), 100)}, within(20_000, 100, compactAt(1100)), summaries(sum))
		g.run(say("hi"))
		_, p := g.run(say("go on"))
		if n := g.model.Calls(); n != 2 {
			t.Errorf("the model was asked %d times, want 2", n)
		}
		if s := compactions(t, p); s.Total != 1 {
			t.Errorf("the state is %s", toJSON(t, s))
		}
		for _, m := range g.log("t") {
			if !m.IsInternal() && (strings.Contains(m.Text(), "sum") || strings.Contains(m.Text(), "task")) {
				t.Errorf("the user is shown %q", m.Text())
			}
		}
		if n := len(eventsOf[awaken.MessagesSnapshot](p)); n != 0 {
			t.Errorf("%d messages_snapshot", n)
		}
	})
}

func TestCompaction_CanBeTurnedOffWithOneField(t *testing.T) { // L-46
	t.Parallel()
	bubble(t, func(t *testing.T) {
		g := newRig(t, []llmtest.Turn{llmtest.Say(words(1200)), llmtest.Say("ok")}, within(20_000, 100, compactAt(1100)), withAgent(func(s *awaken.AgentSpec) {
			s.Sections = map[string]json.RawMessage{"compaction": json.RawMessage(`{"mode":"off"}`)}
		}))
		g.run(say("hi"))
		g.run(say("go on"))
		synctest.Wait()
		if n := g.model.Calls(); n != 2 {
			t.Errorf("the model was asked %d times, want 2", n)
		}
	})
}

func TestCompaction_FinishedAfterTheRunIsAppliedByTheNext(t *testing.T) { // L-47
	t.Parallel()
	for _, how := range []string{"ended", "waiting"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				sum := llmtest.NewScript(slowly(paid(llmtest.Say("They talked."), 100, 10), 5000))
				second := llmtest.Say("ok")
				opts := []option{within(20_000, 100, compactAt(1100)), summaries(sum), withTools(echo("ask"))}
				if how == "waiting" {
					second = uses("ask")
					opts = append(opts, withPlugins(askAbout("ask", awaken.Ticket{})))
				}
				g := newRig(t, []llmtest.Turn{llmtest.Say(words(1200)), second, llmtest.Say("later")}, opts...)
				g.run(say("hi"))
				began := time.Now()
				res, p := g.run(say("go on"))
				if d := time.Since(began); d > 0 {
					t.Errorf("the run took %v, so it waited for the summary", d)
				}
				if s := compactions(t, p); s.InFlight == nil {
					t.Errorf("the state is %s", toJSON(t, s))
				}
				time.Sleep(10 * time.Second)
				if items, err := g.store.Unread(t.Context(), "t"); err != nil || len(items) != 1 || items[0].Compaction == nil {
					t.Fatalf("the inbox has %s, %v", toJSON(t, items), err)
				}
				g.restart()
				if how == "waiting" {
					res, p = g.resume(res.RunID, approve("c1"))
				} else {
					res, p = g.run(say("and then"))
				}
				checkTermination(t, res, p, awaken.NaturalEnd)
				if s := compactions(t, p); s.Total != 1 || s.InFlight != nil {
					t.Errorf("the state is %s", toJSON(t, s))
				}
				last := g.model.Requests()[2].Messages
				checkValid(t, last)
				if !strings.Contains(last[0].Text(), "They talked.") || last[1].Text() != "go on" {
					t.Errorf("the next request is %q", outline(last))
				}
				want := int64(100)
				if got := g.record(res.RunID).Usage.PromptTokens; got != want {
					t.Errorf("%d prompt tokens are on the run that took it in, want %d", got, want)
				}
				if items, _ := g.store.Unread(t.Context(), "t"); len(items) != 0 {
					t.Errorf("the inbox has %s", toJSON(t, items))
				}
			})
		})
	}
}

func TestCompaction_NeverBlocksOrFailsTheRunAndBacksOff(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		broken := llmtest.Turn{Error: &llmtest.Failure{Kind: llm.Unauthorized, Message: "no key"}}
		sum := llmtest.NewScript(broken).Loop()
		g := newRig(t, append([]llmtest.Turn{llmtest.Say(words(1200))}, talk(100, 1, 1000)...), within(20_000, 100, compactAt(1100)), summaries(sum),
			withTools(readOnlyEcho()), withAgent(func(s *awaken.AgentSpec) { s.MaxRounds = new(200) }))
		g.run(say("hi"))
		res, p := g.run(say("go on")) // 101 seconds
		checkTermination(t, res, p, awaken.NaturalEnd)
		s := compactions(t, p)
		if s.Failures != 3 || s.InFlight != nil || !strings.Contains(s.LastError, "no key") || s.NotBefore == 0 {
			t.Errorf("the state is %s", toJSON(t, s))
		}
		if n := sum.Calls(); n != 3 { // after 0, 31 and 92 seconds: each failure is noticed at the next step
			t.Errorf("%d attempts in 101 seconds, want 3", n)
		}
	})
}

func TestCompaction_ThatSavesTooLittleIsNotUsed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		sum := llmtest.NewScript(llmtest.Say(words(900)), llmtest.Say("short"))
		g := newRig(t, slices.Repeat([]llmtest.Turn{slowly(llmtest.Say(words(300)), 10)}, 9), within(20_000, 100, compactAt(1100)), summaries(sum))
		var states []builtin.CompactionState
		for range 9 {
			_, p := g.run(say("more"))
			states = append(states, compactions(t, p))
		}
		if s := states[5]; s.Skipped != 1 || s.Total != 0 || sum.Calls() < 1 {
			t.Errorf("after six runs the state is %s", toJSON(t, s))
		}
		if s := states[8]; s.Skipped != 1 || s.Total != 1 || sum.Calls() != 2 { // once there was half as much again
			t.Errorf("after nine runs the state is %s, and %d summaries were made", toJSON(t, s), sum.Calls())
		}
	})
}

func TestCompaction_SummarisesLongTranscriptsInParts(t *testing.T) { // L-47
	t.Parallel()
	bubble(t, func(t *testing.T) {
		sum := llmtest.NewScript(slices.Repeat([]llmtest.Turn{paid(llmtest.Say("part "+words(50)), 10, 1)}, 40)...)
		g := newRig(t, append(slices.Repeat([]llmtest.Turn{llmtest.Say(words(2000))}, 8), slowly(llmtest.Say("ok"), 1000), llmtest.Say("ok")), within(200_000, 100, compactAt(15_000)),
			func(c *engine.Config) {
				c.Models = append(c.Models, awaken.ModelSpec{ID: summaryModel, ProviderID: "p", UpstreamModel: summaryModel, ContextWindow: 4000})
			}, summaries(sum))
		for range 8 {
			g.run(say("more"))
		}
		_, p := g.run(say("go on"))
		if s := compactions(t, p); s.Total != 1 {
			t.Fatalf("the state is %s", toJSON(t, s))
		}
		reqs := sum.Requests()
		if len(reqs) < 6 {
			t.Errorf("16,000 tokens were summarised with %d requests to a model of 4,000", len(reqs))
		}
		for i, r := range reqs {
			n := tokensOf(r) + len(r.System)/4 + *r.Params.MaxTokens
			if n > 4000 {
				t.Errorf("request %d takes %d tokens of 4000", i, n)
			}
		}
		if last := reqs[len(reqs)-1].Messages[0].Text(); !strings.Contains(last, "[Summary of part 1 of ") {
			t.Errorf("the last request is %.200q", last)
		}
		var whole strings.Builder
		for _, r := range reqs {
			whole.WriteString(r.Messages[0].Text())
		}
		if n := strings.Count(whole.String(), "word"); n < 16_000 {
			t.Errorf("%d of 16,000 words were summarised", n)
		}
	})
}

func TestCompaction_FindsOutThatASummarisersWindowIsSmaller(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		takes int // what the model takes, in tokens
		fails string
	}{{"smaller", 2500, ""}, {"far too small", 10, "context overflow"}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				g := newRig(t, append(slices.Repeat([]llmtest.Turn{llmtest.Say(words(2000))}, 5), slowly(llmtest.Say("ok"), 1000)), within(200_000, 100, compactAt(9000)),
					summaries(llmtest.NewScript()), func(c *engine.Config) {
						small := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
							turn := llmtest.Say("part")
							if req.Tokens() > tt.takes {
								turn = llmtest.Turn{Error: &llmtest.Failure{Kind: llm.ContextOverflow, Message: "too large"}}
							}
							return llmtest.NewScript(turn).Stream(ctx, req)
						})
						c.Providers["p"] = byModel{c.Providers["p"].(byModel).agent, small}
						c.Models = append(c.Models, awaken.ModelSpec{ID: summaryModel, ProviderID: "p", UpstreamModel: summaryModel, ContextWindow: 8000})
					})
				var p *tape
				for range 6 {
					_, p = g.run(say("more"))
				}
				s := compactions(t, p)
				if tt.fails == "" && s.Total != 1 || tt.fails != "" && (s.Failures != 1 || !strings.Contains(s.LastError, tt.fails)) {
					t.Errorf("the state is %s", toJSON(t, s))
				}
			})
		})
	}
}

func TestCompaction_OfASummariserThatPanics(t *testing.T) {
	t.Parallel()
	for _, tokens := range []int{1200, 60_000} { // at once, and in parts
		bubble(t, func(t *testing.T) {
			g := newRig(t, []llmtest.Turn{llmtest.Say(words(tokens)), slowly(llmtest.Say("ok"), 100)}, within(20_000, 100, compactAt(1100)), summaries(llmtest.NewScript()), func(c *engine.Config) {
				c.Providers["p"] = byModel{c.Providers["p"].(byModel).agent, llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] { panic("no summaries today") })}
			})
			g.run(say("hi"))
			_, p := g.run(say("go on"))
			if s := compactions(t, p); s.Failures != 1 || !strings.Contains(s.LastError, "no summaries today") || s.InFlight != nil {
				t.Errorf("the state is %s", toJSON(t, s))
			}
		})
	}
}

func TestCompaction_KeepsTheSummarySoFar(t *testing.T) {
	t.Parallel()
	for name, prompt := range map[string]string{"with a place for it": "Old: {previous_summary} New: {messages}", "without": "New: {messages}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				sum := llmtest.NewScript(llmtest.Say("{messages} once"), llmtest.Say("twice"))
				g := newRig(t, slices.Repeat([]llmtest.Turn{slowly(llmtest.Say(words(1200)), 10)}, 3), within(20_000, 100, compactAt(1100)),
					summaries(sum, func(c *registry.CompactionConfig) { c.SummarizerUserPrompt = prompt }))
				for range 3 {
					g.run(say("more"))
				}
				if len(sum.Requests()) != 2 {
					t.Fatalf("%d summaries were made", len(sum.Requests()))
				}
				if second := sum.Requests()[1].Messages[0].Text(); strings.Count(second, "{messages} once") != 1 {
					t.Errorf("the second summary was asked for with %.100q", second)
				}
				var v awaken.View
				v.Append(g.log("t")...)
				if got := outline(v.Messages()); !strings.Contains(got[0], "twice") || got[1] != "user: more" || len(got) != 3 {
					t.Errorf("the view is %.200q", got)
				}
			})
		})
	}
}

// Overflow.

func TestOverflow_CompactsAndAsksAgainOnce(t *testing.T) { // L-47
	t.Parallel()
	overflow := llmtest.Turn{Error: &llmtest.Failure{Kind: llm.ContextOverflow, Message: "prompt is too long"}}
	history := slices.Repeat([]llmtest.Turn{llmtest.Say(words(1000))}, 3)
	for _, tt := range []struct {
		name  string
		turns []llmtest.Turn
		sum   []llmtest.Turn
		opts  []option
		fails bool
		check func(t *testing.T, retried []string, s builtin.CompactionState)
	}{
		{name: "it is summarised", turns: []llmtest.Turn{overflow, llmtest.Say("ok")}, sum: []llmtest.Turn{slowly(llmtest.Say("They talked."), 500)},
			check: func(t *testing.T, retried []string, s builtin.CompactionState) {
				if len(retried) != 2 || !strings.Contains(retried[0], "They talked.") || s.Total != 1 {
					t.Errorf("the second request is %.300q, the state %s", retried, toJSON(t, s))
				}
			}},
		{name: "the summary fails", turns: []llmtest.Turn{overflow, llmtest.Say("ok")}, sum: []llmtest.Turn{{Error: &llmtest.Failure{Kind: llm.Unauthorized}}},
			check: func(t *testing.T, retried []string, s builtin.CompactionState) {
				if len(retried) >= 7 || retried[len(retried)-1] != "user: go on" || s.Failures != 1 {
					t.Errorf("the second request is %.300q, the state %s", retried, toJSON(t, s))
				}
			}},
		{name: "the summary takes too long", turns: []llmtest.Turn{overflow, llmtest.Say("ok")}, sum: []llmtest.Turn{{Hang: true}},
			check: func(t *testing.T, retried []string, s builtin.CompactionState) {
				if len(retried) >= 7 || retried[len(retried)-1] != "user: go on" || s.InFlight == nil {
					t.Errorf("the second request is %.300q, the state %s", retried, toJSON(t, s))
				}
			}},
		{name: "there is no summariser", turns: []llmtest.Turn{overflow, llmtest.Say("ok")}, opts: []option{within(100_000, 100)},
			check: func(t *testing.T, retried []string, s builtin.CompactionState) {
				if len(retried) >= 7 || retried[len(retried)-1] != "user: go on" || s.Total+s.Failures != 0 {
					t.Errorf("the second request is %.300q, the state %s", retried, toJSON(t, s))
				}
			}},
		{name: "it is too large again", turns: []llmtest.Turn{overflow, overflow}, sum: []llmtest.Turn{llmtest.Say("They talked.")}, fails: true},
		{name: "it has begun to answer", turns: []llmtest.Turn{{Text: llmtest.Text{"Well"}, Error: overflow.Error}}, fails: true},
		{name: "there is no policy", turns: []llmtest.Turn{overflow}, opts: []option{withAgent(func(s *awaken.AgentSpec) { s.ContextPolicy = nil })}, fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				opts := append([]option{within(100_000, 100, compactAt(90_000)), summaries(llmtest.NewScript(tt.sum...))}, tt.opts...)
				g := newRig(t, slices.Concat(history, tt.turns), opts...)
				for range history {
					g.run(say("more"))
				}
				p := &tape{}
				res, err := g.rt.Run(t.Context(), say("go on"), p)
				checkBalanced(t, p)
				if tt.fails {
					if llm.KindOf(err) != llm.ContextOverflow {
						t.Errorf("error is %v", err)
					}
					checkTermination(t, res, p, awaken.Failed)
					if n := g.model.Calls(); n != len(history)+len(tt.turns) {
						t.Errorf("the model was asked %d times", n)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				reqs := g.model.Requests()
				first, second := reqs[len(reqs)-2], reqs[len(reqs)-1]
				checkValid(t, second.Messages)
				if tokensOf(second) > tokensOf(first)*3/4 {
					t.Errorf("after %d tokens were too many, %d were sent", tokensOf(first), tokensOf(second))
				}
				tt.check(t, outline(second.Messages), compactions(t, p))
				if s := windowState(t, p); s.Limit == 0 {
					t.Errorf("nothing was learned: %+v", s)
				}
			})
		})
	}
}

func TestOverflow_TeachesHowLargeRequestsMayBe(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		overflow := llmtest.Turn{Error: &llmtest.Failure{Kind: llm.ContextOverflow}}
		more := slowly(llmtest.Say(words(300)), 10)
		sum := llmtest.NewScript(llmtest.Say("once"), llmtest.Say("twice"), llmtest.Say("three times"))
		g := newRig(t, slices.Concat(slices.Repeat([]llmtest.Turn{more}, 8), []llmtest.Turn{overflow}, slices.Repeat([]llmtest.Turn{more}, 8)),
			within(100_000, 100, compactAt(90_000)), summaries(sum))
		for i := range 16 {
			_, p := g.run(say("more"))
			if s := windowState(t, p); i >= 8 && (s.Limit < 1500 || s.Limit > 2100 || s.Tokens > s.Limit) {
				t.Errorf("after run %d the state is %+v", i, s)
			}
			if i == 15 && compactions(t, p).Total != 2 { // one for the request, one before the next would be too large
				t.Errorf("the state is %s", toJSON(t, compactions(t, p)))
			}
		}
	})
}

func TestOverflow_RunsTransformsOnce(t *testing.T) {
	t.Parallel()
	overflow := llmtest.Turn{Error: &llmtest.Failure{Kind: llm.ContextOverflow}}
	g := newRig(t, []llmtest.Turn{llmtest.Say(words(1000)), overflow, llmtest.Say("ok")}, within(100_000, 100), withPlugins(plug{"x", func(r *awaken.Registrar) {
		r.On(awaken.PhaseBeforeInference, func(_ context.Context, h *awaken.HookCall) error {
			builtin.AddContextMessage.Schedule(h, awaken.ContextMessage{Key: "k", Role: llm.User, Target: awaken.TargetSuffix, Content: []llm.Block{llm.Text("context")}})
			return nil
		})
		r.Transform(func(_ context.Context, _ *awaken.HookCall, req *llm.Request) error {
			req.Messages = req.Messages.Clip().Append(llm.UserText("added"))
			return nil
		})
	}}))
	g.run(say("hi"))
	g.run(say("go on"))
	got := outline(g.request(3).Messages)
	if want := []string{"user: go on", "user: context", "user: added"}; !slices.Equal(got[len(got)-3:], want) {
		t.Errorf("the second request ends with %.200q", got)
	}
}

// Ownership.

func TestCompaction_IsDroppedByACancelAndByAYield(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"cancel", "yield"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				stopped := make(chan error, 1)
				slow := llm.ModelFunc(func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
					return func(yield func(llm.Delta, error) bool) {
						<-ctx.Done()
						stopped <- ctx.Err()
						yield(llm.Delta{}, &llm.Error{Kind: llm.Cancelled})
					}
				})
				g := newRig(t, append([]llmtest.Turn{llmtest.Say(words(1200))}, talk(3, 1, 100)...), within(20_000, 100, compactAt(1100)),
					summaries(llmtest.NewScript()), withTools(readOnlyEcho()), func(c *engine.Config) {
						c.Providers["p"] = byModel{c.Providers["p"].(byModel).agent, slow}
					})
				g.run(say("hi"))
				p := &tape{on: func(ev awaken.Event) {
					if _, ok := ev.(*awaken.InferenceComplete); !ok {
						return
					}
					if how == "yield" {
						g.rt.Yield("t")
					} else if err := g.rt.Cancel(t.Context(), "t"); err != nil {
						t.Error(err)
					}
				}}
				_, err := g.rt.Run(t.Context(), say("go on"), p)
				if how == "yield" && !errors.Is(err, awaken.ErrYielded) || how == "cancel" && err != nil {
					t.Fatalf("error is %v", err)
				}
				synctest.Wait()
				select {
				case <-stopped:
				default:
					t.Error("the summary is still being made")
				}
				if s := compactions(t, p); s.InFlight != nil {
					t.Errorf("the state is %s", toJSON(t, s))
				}
				if items, _ := g.store.Unread(t.Context(), "t"); len(items) != 0 {
					t.Errorf("the inbox has %s", toJSON(t, items))
				}
			})
		})
	}
}

// A process that dies, or is slow, while it summarises costs the attempt and nothing else:
// another does not begin while the first may be running, and only one summary is ever
// applied.
func TestCompaction_IsMadeOnceByManyProcesses(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "threads.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		store := db.Store("")
		gate := make(chan struct{})
		process := func(name string, turns ...llmtest.Turn) (*rig, *llmtest.Script) {
			sum := llmtest.NewScript(llmtest.Say("of " + name)).Record()
			g := newRig(t, turns, within(20_000, 100, compactAt(1100)), summaries(sum), func(c *engine.Config) {
				c.Store, c.NewID = store, counter(name+"-")
				if name != "a" {
					return
				}
				c.Providers["p"] = byModel{c.Providers["p"].(byModel).agent, llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
					return func(yield func(llm.Delta, error) bool) {
						<-gate // and does not heed its context
						sum.Stream(context.WithoutCancel(ctx), req)(yield)
					}
				})}
			})
			return g, sum
		}
		a, sumA := process("a", llmtest.Say(words(1200)), llmtest.Say("ok"))
		a.run(say("hi"))
		_, p := a.run(say("go on")) // a has begun to summarise
		task := compactions(t, p).InFlight
		if task == nil {
			t.Fatalf("the state is %s", toJSON(t, compactions(t, p)))
		}
		b, sumB := process("b", slices.Repeat([]llmtest.Turn{llmtest.Say("ok")}, 4)...)
		_, p = b.run(say("hello"))
		if s := compactions(t, p); sumB.Calls() != 0 || s.InFlight == nil || *s.InFlight != *task {
			t.Errorf("b began a second summary: %s", toJSON(t, s))
		}
		time.Sleep(6 * time.Minute) // a must be dead
		b.run(say("hello again"))
		synctest.Wait()
		if sumB.Calls() != 1 {
			t.Errorf("b made %d summaries, want 1", sumB.Calls())
		}
		close(gate) // but it was not
		synctest.Wait()
		_, p = b.run(say("and now"))
		if s := compactions(t, p); s.Total != 1 || sumA.Calls() != 1 || sumB.Calls() != 1 {
			t.Errorf("the state is %s after %d and %d summaries", toJSON(t, s), sumA.Calls(), sumB.Calls())
		}
		recs, err := store.Messages(t.Context(), "t", awaken.MessageQuery{})
		if err != nil {
			t.Fatal(err)
		}
		var sums []string
		for _, r := range recs {
			if r.Message.Metadata != nil && r.Message.Metadata.Compaction != nil {
				sums = append(sums, r.Message.Text())
			}
		}
		if len(sums) != 1 || !strings.Contains(sums[0], "of b") {
			t.Errorf("the log has the summaries %q, want the one of b", sums)
		}
		if items, err := store.Unread(t.Context(), "t"); len(items) != 0 || err != nil {
			t.Errorf("the inbox has %s, %v", toJSON(t, items), err)
		}
	})
}

func TestRewind_IntoWhatWasSummarisedShowsItAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		sum := llmtest.NewScript(llmtest.Say("They talked.")).Loop()
		g := newRig(t, []llmtest.Turn{llmtest.Say(words(600)), llmtest.Say(words(600)), slowly(llmtest.Say("third"), 10), llmtest.Say("other")}, within(20_000, 100, compactAt(1100)), summaries(sum))
		for i := range 3 {
			req := say(fmt.Sprint("question ", i))
			req.Messages[0].ID = fmt.Sprint("q", i)
			_, p := g.run(req)
			if i == 2 && compactions(t, p).Total != 1 {
				t.Fatalf("the state is %s", toJSON(t, compactions(t, p)))
			}
		}
		back := say("instead")
		back.Rewind = "q1"
		_, p := g.run(back)
		want := []string{"user: question 0", "assistant: " + words(600), "user: instead"}
		if diff := cmp.Diff(want, outline(g.request(4).Messages)); diff != "" {
			t.Errorf("after the rewind the model is shown (-want +got):\n%s", diff)
		}
		if n := len(eventsOf[awaken.MessagesSnapshot](p)); n != 1 {
			t.Errorf("%d messages_snapshot", n)
		}
		var v awaken.View
		v.Append(g.log("t")...)
		if diff := cmp.Diff(append(want, "assistant: other"), outline(v.Messages())); diff != "" {
			t.Errorf("the view is (-want +got):\n%s", diff)
		}
		back.Rewind, back.Messages = "nonesuch", nil
		if _, err := g.rt.Run(t.Context(), back, nil); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestHandoff_TakesTheWindowOfTheNextAgent(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		sum := llmtest.NewScript(slowly(llmtest.Say("They talked."), 10))
		hand := llmtest.Use("hand", `{}`)
		g := newRig(t, []llmtest.Turn{llmtest.Say(words(1200)), hand, slowly(llmtest.Say("here"), 100), llmtest.Say("back")}, within(20_000, 100, compactAt(1100)), summaries(sum),
			withTools(tool("hand", func(_ context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
				builtin.ActiveAgent.Update(c, "other")
				return awaken.TextResult("ok"), nil
			})), func(c *engine.Config) {
				c.Agents = append(c.Agents, &awaken.AgentSpec{ID: "other", ModelID: "m"})
			})
		g.run(say("hi"))
		res, p := g.run(say("go on"))
		checkTermination(t, res, p, awaken.NaturalEnd)
		if req := g.request(3); req.Params.MaxTokens != nil {
			t.Errorf("the other agent sends the first one's limit %d", *req.Params.MaxTokens)
		}
		// The other agent has no policy. The first one takes its summary in, if it can.
		req := say("back")
		req.AgentID = "default"
		if res, _ = g.run(req); res.Termination.Type != awaken.NaturalEnd {
			t.Errorf("the run ended with %s", res.Termination)
		}
		checkValid(t, g.request(4).Messages)
	})
}

// Configuration.

func TestCompactionSection_IsChecked(t *testing.T) {
	t.Parallel()
	policy := awaken.DefaultContextPolicy()
	config := func(section string) engine.Config {
		return engine.Config{
			Agents:    []*awaken.AgentSpec{{ID: "a", ModelID: "m", ContextPolicy: &policy, Sections: map[string]json.RawMessage{"compaction": json.RawMessage(section)}}},
			Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "u"}, {ID: "foreign", ProviderID: "q", UpstreamModel: "u"}},
			Providers: map[string]llm.Model{"p": llmtest.NewScript(), "q": llmtest.NewScript()},
		}
	}
	for section, want := range map[string]string{
		`{"mode":"sometimes"}`:                       `mode is "sometimes", want background or off`,
		`{"min_savings_ratio":2}`:                    "min_savings_ratio is 2, want 0 to 1",
		`{"summary_max_tokens":0}`:                   "summary_max_tokens is 0, want 1 or more",
		`{"summarizer_user_prompt":"Sum it up."}`:    "summarizer_user_prompt lacks {messages}",
		`{"raw_retention":"none"}`:                   `raw_retention is "none", want preserve_durable`,
		`{"summary_model":"foreign"}`:                `summary_model is "foreign" of provider "q", want a model of provider "p"`,
		`{"summary_modle":"m"}`:                      "summary_modle",
		`{"summary_model":" "}`:                      "summary_model is empty",
		`{"mode":5,"summarizer_user_prompt":"also"}`: "mode",
	} {
		if _, err := engine.New(config(section)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %q", section, err, want)
		}
	}
	pool := config(`{"summary_model":"m"}`)
	pool.Pools = []awaken.ModelPoolSpec{{ID: "pool", Members: []awaken.PoolMember{{ModelID: "m"}}}}
	pool.Agents[0].ModelID = "pool"
	if _, err := engine.New(pool); err == nil || !strings.Contains(err.Error(), `model_id "pool" is a pool`) {
		t.Errorf("with a pool, error is %v", err)
	}
	bare := config(`{"mode":"off"}`)
	bare.Agents[0].ContextPolicy = nil
	rt, err := engine.New(bare)
	if err != nil {
		t.Fatal(err)
	}
	if d := rt.Registry().Diagnostics(); len(d) != 1 || d[0].Code != "section_without_policy" {
		t.Errorf("diagnostics are %v", d)
	}
	transform := config(`{}`)
	transform.Agents[0].Sections["context_transform"] = json.RawMessage(`{"artifact_compaction":{"threshold_tokens":100,"preview_max_lines":-1}}`)
	if _, err := engine.New(transform); err == nil || !strings.Contains(err.Error(), "preview_max_lines is -1, want 1 or more") {
		t.Errorf("error is %v", err)
	}
	transform.Agents[0].Sections["context_transform"] = json.RawMessage(`{"artifact_compaction":{"threshold_tokens":100}}`)
	if _, err := engine.New(transform); err != nil {
		t.Error(err)
	}
}

// cutOff takes the thread away from its owner at one commit: before it, so that it fails,
// or after it, so that the owner learns of it later. For what is stored that is a crash.
type cutOff struct {
	awaken.Store
	at    int
	after bool
	n     int
}

func (s *cutOff) Commit(ctx context.Context, c *awaken.Commit) error {
	s.n++
	take := func() {
		if _, err := s.Store.Acquire(ctx, c.ThreadID); err != nil {
			panic(err)
		}
	}
	if s.n == s.at && !s.after {
		take()
	}
	err := s.Store.Commit(ctx, c)
	if s.n == s.at && s.after && err == nil {
		take()
	}
	return err
}

func TestCompaction_SurvivesALossAtAnyCommit(t *testing.T) {
	t.Parallel()
	losses := 0
	for at := 1; at < 40; at++ {
		for _, after := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				sum := llmtest.NewScript(slices.Repeat([]llmtest.Turn{slowly(llmtest.Say("So far."), 150)}, 50)...)
				turns := slices.Repeat(talk(4, 500, 100), 8)
				g := newRig(t, turns, within(20_000, 1000, compactAt(1500)), summaries(sum), withTools(readOnlyEcho()),
					withStore(func(s awaken.Store) awaken.Store { return &cutOff{Store: s, at: at, after: after} }))
				lost := func(err error) bool { return errors.Is(err, awaken.ErrFenced) }
				do := func(req awaken.RunRequest) {
					res, err := g.rt.Run(t.Context(), req, nil)
					for tries := 0; err != nil; tries++ {
						if !lost(err) || res != nil || tries > 3 {
							t.Fatalf("commit %d: %v", at, err)
						}
						losses++
						g.restart()
						runs, listErr := g.store.ListRuns(t.Context(), awaken.RunQuery{ThreadID: "t", Limit: 1})
						switch {
						case listErr != nil:
							t.Fatal(listErr)
						case len(runs) > 0 && runs[0].Status != awaken.RunDone:
							res, err = g.rt.Run(t.Context(), awaken.RunRequest{Continue: runs[0].RunID}, nil)
						case len(runs) > 0 && len(g.log("t")) > 0 && g.log("t")[len(g.log("t"))-1].Role == llm.Assistant:
							return // only its end was not heard of
						default:
							res, err = g.rt.Run(t.Context(), req, nil)
						}
					}
				}
				do(say("first"))
				do(say("second"))
				time.Sleep(7 * time.Minute) // what was announced and lost is over
				do(say("third"))
				time.Sleep(time.Minute)
				do(say("fourth"))

				log := g.log("t")
				var v awaken.View
				v.Append(log...)
				checkValid(t, v.Messages())
				for _, r := range g.model.Requests() {
					checkValid(t, r.Messages)
				}
				seen := map[llm.Interval]bool{}
				for _, m := range log {
					if m.Metadata == nil || m.Metadata.Compaction == nil {
						continue
					}
					if iv := *m.Metadata.Compaction; seen[iv] || iv.FromSeq < 1 || iv.ToSeq <= iv.FromSeq {
						t.Errorf("commit %d: %+v was summarised twice, or is not an interval", at, iv)
					} else {
						seen[iv] = true
					}
				}
				if len(seen) == 0 {
					t.Errorf("commit %d: nothing was summarised", at)
				}
				if items, _ := g.store.Unread(t.Context(), "t"); len(items) > 1 {
					t.Errorf("commit %d: the inbox has %s", at, toJSON(t, items))
				}
			})
		}
	}
	if losses < 40 {
		t.Errorf("the thread was lost %d times: that shows little", losses)
	}
}

func TestCompaction_OfARuntimeThatKeepsNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		sum := llmtest.NewScript(slices.Repeat([]llmtest.Turn{slowly(llmtest.Say("So far."), 50)}, 10)...)
		g := newRig(t, talk(6, 600, 100), within(20_000, 1000, compactAt(1500)), summaries(sum), withTools(readOnlyEcho()),
			func(c *engine.Config) { c.Store = nil })
		res, p := g.run(say("go"))
		checkTermination(t, res, p, awaken.NaturalEnd)
		if s := compactions(t, p); s.Total == 0 {
			t.Errorf("the state is %s", toJSON(t, s))
		}
		reqs := g.model.Requests()
		last := reqs[len(reqs)-1]
		checkValid(t, last.Messages)
		if n := tokensOf(last); n > 3000 {
			t.Errorf("the last request has %d tokens", n)
		}
	})
}
