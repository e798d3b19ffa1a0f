package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
)

// counted is a plugin that counts how often agents are resolved. It makes a tool for each
// agent that the agent's delegates list, as real ones do, and a variant if the agent's
// section says so.
type counted struct {
	mu   sync.Mutex
	made map[string]int // by agent
}

func (p *counted) Name() string { return "counted" }

func (p *counted) Register(r *awaken.Registrar) error {
	p.mu.Lock()
	p.made[r.Agent.ID]++
	p.mu.Unlock()
	for _, id := range r.Agent.Delegates {
		if spec := r.Lookup(id); spec != nil {
			r.Tool(awaken.NewTool(awaken.ToolSpec{ID: "to_" + id, Description: spec.Description}, func(context.Context, *awaken.ToolCall, args) (string, error) { return "", nil }))
		}
	}
	if r.Agent.Description == "varied" {
		r.Variant("loud", awaken.Overlay{ModelID: new("n")})
	}
	return nil
}

// silent is a model that is never asked.
type silent struct{ name string }

func (*silent) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(func(llm.Delta, error) bool) {}
}

func catalogue(p *counted, more ...*awaken.AgentSpec) registry.Config {
	agents := []*awaken.AgentSpec{
		{ID: "plain", ModelID: "m"},
		{ID: "boss", ModelID: "m", Delegates: []string{"plain"}},
		{ID: "lone", ModelID: "n", AllowedTools: []string{"look"}},
		{ID: "pooled", ModelID: "pool", AllowedTools: []string{}},
		{ID: "varied", ModelID: "o", Description: "varied", AllowedTools: []string{}},
		{ID: "summed", ModelID: "o", AllowedTools: []string{}, ContextPolicy: new(awaken.DefaultContextPolicy()), Sections: map[string]json.RawMessage{"compaction": json.RawMessage(`{"summary_model":"o2"}`)}},
		{ID: "bare", ModelID: "o", AllowedTools: []string{}},
	}
	for _, a := range agents {
		a.PluginIDs = []string{"counted"}
	}
	return registry.Config{Builtin: builtin.For, ID: "1", Agents: append(agents, more...),
		Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}, {ID: "n", ProviderID: "q", UpstreamModel: "n"},
			{ID: "o", ProviderID: "r", UpstreamModel: "o"}, {ID: "o2", ProviderID: "r", UpstreamModel: "o2"}},
		Pools:     []awaken.ModelPoolSpec{{ID: "pool", Members: []awaken.PoolMember{{ModelID: "m"}, {ModelID: "n"}}}},
		Providers: map[string]llm.Model{"p": &silent{"p"}, "q": &silent{"q"}, "r": &silent{"r"}},
		Tools:     []awaken.Tool{echo("look"), echo("walk")},
		Plugins:   []awaken.Plugin{p}}
}

func TestDerive_ResolvesWhatAnEditTouches(t *testing.T) {
	t.Parallel()
	all := []string{"bare", "boss", "lone", "plain", "pooled", "summed", "varied", "varied:loud"}
	tests := []struct {
		name string
		edit registry.Edit
		now  []string // resolved by Derive
		then []string // and when they are next used
	}{
		{"nothing", registry.Edit{}, nil, nil},
		{"an agent", registry.Edit{Agents: []*awaken.AgentSpec{{ID: "bare", ModelID: "o", SystemPrompt: "x", PluginIDs: []string{"counted"}}}}, []string{"bare"}, nil},
		{"an agent that others use", registry.Edit{Agents: []*awaken.AgentSpec{{ID: "plain", ModelID: "m", Description: "x", PluginIDs: []string{"counted"}}}}, []string{"boss", "plain"}, nil},
		{"a new agent", registry.Edit{Agents: []*awaken.AgentSpec{{ID: "new", ModelID: "m", PluginIDs: []string{"counted"}}}}, []string{"new"}, nil},
		{"an agent that goes", registry.Edit{Gone: registry.Gone{Agents: []string{"bare"}}}, nil, nil},
		{"a model", registry.Edit{Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m2"}}}, []string{"boss", "plain", "pooled"}, nil},
		{"a model of a variant", registry.Edit{Models: []awaken.ModelSpec{{ID: "n", ProviderID: "q", UpstreamModel: "n2"}}}, []string{"lone", "pooled", "varied", "varied:loud"}, nil},
		{"a model that summarises", registry.Edit{Models: []awaken.ModelSpec{{ID: "o2", ProviderID: "r", UpstreamModel: "o3"}}}, []string{"summed"}, nil},
		{"a provider", registry.Edit{Providers: map[string]llm.Model{"p": &silent{"p2"}}}, []string{"boss", "plain", "pooled"}, nil},
		{"a pool", registry.Edit{Pools: []awaken.ModelPoolSpec{{ID: "pool", Members: []awaken.PoolMember{{ModelID: "m"}}}}}, []string{"pooled"}, nil},
		{"a plugin", registry.Edit{Plugins: []awaken.Plugin{plug{"counted", func(*awaken.Registrar) {}}}}, nil, nil}, // another counts
		{"a description", registry.Edit{ToolDescriptions: map[string]string{"look": "x"}}, nil, []string{"boss", "lone", "plain"}},
		{"a description of a tool that few have", registry.Edit{ToolDescriptions: map[string]string{"walk": "x"}}, nil, []string{"boss", "plain"}},
		{"a description of a plugin's tool", registry.Edit{ToolDescriptions: map[string]string{"to_plain": "x"}}, nil, []string{"boss"}},
		{"a description of no tool", registry.Edit{ToolDescriptions: map[string]string{"nothing": "x"}}, nil, nil},
		{"a tool", registry.Edit{Tools: []awaken.Tool{echo("walk")}}, nil, []string{"boss", "plain"}},
		{"a new tool", registry.Edit{Tools: []awaken.Tool{echo("run")}}, nil, all},
		{"a tool that goes", registry.Edit{Gone: registry.Gone{Tools: []string{"walk"}}}, nil, all},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := &counted{made: map[string]int{}}
			reg, err := registry.New(catalogue(p))
			if err != nil {
				t.Fatal(err)
			}
			made := func() []string {
				var out []string
				for id, n := range p.made {
					out = append(out, slices.Repeat([]string{id}, n)...)
				}
				clear(p.made)
				slices.Sort(out)
				return out
			}
			if got := made(); !slices.Equal(got, all) {
				t.Fatalf("NewRegistry resolved %q, want %q", got, all)
			}
			next, err := reg.Derive(tt.edit)
			if err != nil {
				t.Fatal(err)
			}
			if got := made(); !slices.Equal(got, tt.now) {
				t.Errorf("Derive resolved %q, want %q", got, tt.now)
			}
			next.Diagnostics()
			if got := made(); !slices.Equal(got, tt.then) {
				t.Errorf("later %q were resolved, want %q", got, tt.then)
			}
			reg.Diagnostics()
			if got := made(); len(got) > 0 {
				t.Errorf("the first registry resolved %q again", got)
			}
			if next.ID() == "1" || next.ID() == "" {
				t.Errorf("the id is %q, want a new one", next.ID())
			}
		})
	}
}

func TestDerive_ChangesOnlyTheDerivedRegistry(t *testing.T) {
	t.Parallel()
	reg, err := registry.New(catalogue(&counted{made: map[string]int{}}))
	if err != nil {
		t.Fatal(err)
	}
	next, err := reg.Derive(registry.Edit{ID: "2", Agents: []*awaken.AgentSpec{{ID: "new", ModelID: "m", SystemPrompt: "x"}}, Tools: []awaken.Tool{echo("run")},
		Gone: registry.Gone{Agents: []string{"boss"}, Tools: []string{"walk"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		reg           *registry.Registry
		agents, tools string
	}{{reg, "bare boss lone plain pooled summed varied", "look walk"}, {next, "bare lone new plain pooled summed varied", "look run"}} {
		if got := strings.Join(tt.reg.AgentIDs(), " "); got != tt.agents {
			t.Errorf("registry %s has the agents %q, want %q", tt.reg.ID(), got, tt.agents)
		}
		if got := strings.Join(tt.reg.ToolIDs("plain"), " "); got != tt.tools {
			t.Errorf("registry %s offers %q, want %q", tt.reg.ID(), got, tt.tools)
		}
	}
	if reg.Agent("lone") != next.Agent("lone") || next.Agent("boss") != nil || next.Agent("varied:loud") == nil {
		t.Error("the agents are not what they should be")
	}
}

func TestDerive_RefusesMistakes(t *testing.T) {
	t.Parallel()
	broken := &awaken.AgentSpec{ID: "broken", ModelID: "m", PluginIDs: []string{"ghost"}}
	cfg := catalogue(&counted{made: map[string]int{}}, broken)
	cfg.Lazy = true // what is stored may have been right for another program
	reg, err := registry.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		edit registry.Edit
		want []string // "code namespace/id dependsOn"
	}{
		{"an agent", registry.Edit{Agents: []*awaken.AgentSpec{{ID: "x", ModelID: "gone"}}}, []string{"agent_missing_model agents/x models/gone"}},
		{"an agent that was broken", registry.Edit{Agents: []*awaken.AgentSpec{broken}}, []string{"agent_missing_plugin agents/broken plugins/ghost"}},
		{"twice", registry.Edit{Agents: []*awaken.AgentSpec{{ID: "x", ModelID: "m"}, {ID: "x", ModelID: "m"}}}, []string{"duplicate_id agents/x "}},
		{"a delegate that goes", registry.Edit{Gone: registry.Gone{Agents: []string{"plain"}}}, []string{"agent_missing_delegate agents/boss agents/plain"}},
		{"a model that goes", registry.Edit{Gone: registry.Gone{Models: []string{"n"}}},
			[]string{"model_pool_missing_model model-pools/pool models/n", "agent_missing_model agents/lone models/n", "agent_missing_model agents/varied:loud models/n"}},
		{"a provider that goes", registry.Edit{Gone: registry.Gone{Providers: []string{"q"}}},
			[]string{"model_missing_provider model-pools/pool providers/q", "model_missing_provider agents/lone providers/q", "model_missing_provider agents/varied:loud providers/q"}},
		{"a pool that goes", registry.Edit{Gone: registry.Gone{Pools: []string{"pool"}}}, []string{"agent_missing_model agents/pooled models/pool"}},
		{"a plugin that goes", registry.Edit{Gone: registry.Gone{Plugins: []string{"counted"}}}, []string{"agent_missing_plugin agents/bare plugins/counted",
			"agent_missing_plugin agents/boss plugins/counted", "agent_missing_plugin agents/lone plugins/counted", "agent_missing_plugin agents/plain plugins/counted",
			"agent_missing_plugin agents/pooled plugins/counted", "agent_missing_plugin agents/summed plugins/counted", "agent_missing_plugin agents/varied plugins/counted"}},
		{"a hook filter", registry.Edit{Agents: []*awaken.AgentSpec{{ID: "x", ModelID: "m", ActiveHookFilter: []string{"counted"}}}}, []string{"agent_hook_filter_plugin_not_loaded agents/x "}},
		{"a model with the id of a pool", registry.Edit{Models: []awaken.ModelSpec{{ID: "pool", ProviderID: "p", UpstreamModel: "x"}}}, []string{"ambiguous_model_reference models/pool "}},
		{"a tool that a plugin has", registry.Edit{Tools: []awaken.Tool{echo("to_plain")}}, []string{"tool_conflict agents/boss "}},
		{"a model of an agent that is broken anyway", registry.Edit{Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m9"}}}, nil},
	}
	reg.Diagnostics() // resolves all
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := reg.Derive(tt.edit)
			var got []string
			if bad, ok := errors.AsType[*awaken.ConfigError](err); ok {
				for _, p := range bad.Problems {
					got = append(got, fmt.Sprintf("%s %s/%s %s", p.Code, p.Namespace, p.ID, p.DependsOn))
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("problems are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestDerive_ModelsThatAreTheSameKeepTheirHealth(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil, func(c *engine.Config) {
		c.Providers["p"] = &namedModel{err: &llm.Error{Kind: llm.Provider, Message: "down"}}
		c.Models = append(c.Models, awaken.ModelSpec{ID: "n", ProviderID: "p", UpstreamModel: "n"})
	})
	for range 5 {
		_, _ = g.rt.Run(t.Context(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("Go")}}, nil)
	}
	health := func(reg *registry.Registry) llm.BreakerState {
		for _, h := range reg.Health() {
			if h.ModelID == "m" {
				return h.State
			}
		}
		return ""
	}
	reg := g.rt.Registry()
	if health(reg) != llm.BreakerOpen {
		t.Fatalf("the breaker is %s, want open", health(reg))
	}
	for _, tt := range []struct {
		name string
		edit registry.Edit
		want llm.BreakerState
	}{
		{"an agent", registry.Edit{Agents: []*awaken.AgentSpec{{ID: "x", ModelID: "m"}}}, llm.BreakerOpen},
		{"another model", registry.Edit{Models: []awaken.ModelSpec{{ID: "n", ProviderID: "p", UpstreamModel: "n2"}}}, llm.BreakerOpen},
		{"what is known of the model", registry.Edit{Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "upstream", ContextWindow: 9}}}, llm.BreakerOpen},
		{"the model", registry.Edit{Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "better"}}}, llm.BreakerClosed},
		{"its provider", registry.Edit{Providers: map[string]llm.Model{"p": &silent{}}}, llm.BreakerClosed},
	} {
		next, err := reg.Derive(tt.edit)
		if err != nil {
			t.Fatal(err)
		}
		if got := health(next); got != tt.want {
			t.Errorf("after an edit of %s the breaker is %s, want %s", tt.name, got, tt.want)
		}
	}
	if health(reg) != llm.BreakerOpen {
		t.Error("an edit has changed the registry that it was made from")
	}
}

func TestToolDescriptions_OverrideTheToolsOwn(t *testing.T) {
	t.Parallel()
	described := func(id string) awaken.Tool {
		return awaken.NewTool(awaken.ToolSpec{ID: id, Description: "its own"}, func(context.Context, *awaken.ToolCall, args) (string, error) { return "", nil })
	}
	var asked []string
	model := llmtest.NewRules(llmtest.Rule{Turn: func(r *llm.Request) llmtest.Turn {
		asked = nil
		for _, tool := range r.Tools {
			asked = append(asked, tool.Name+": "+tool.Description)
		}
		return llmtest.Say("ok")
	}})
	g := newRig(t, nil, withTools(described("a"), described("b")), withPlugins(plug{"maker", func(r *awaken.Registrar) { r.Tool(described("made")) }}),
		func(c *engine.Config) {
			c.Providers["p"] = model
			c.ToolDescriptions = map[string]string{"b": "other", "absent": "x"}
		})
	check := func(want string) {
		t.Helper()
		g.run(awaken.RunRequest{Messages: []*llm.Message{llm.UserText("Go")}})
		if got := strings.Join(asked, ", "); got != want {
			t.Errorf("the model sees %q, want %q", got, want)
		}
	}
	publish := func(e registry.Edit) {
		t.Helper()
		reg, err := g.rt.Registry().Derive(e)
		if err != nil {
			t.Fatal(err)
		}
		g.rt.Publish(reg)
	}
	check("a: its own, b: other, made: its own")
	publish(registry.Edit{ToolDescriptions: map[string]string{"a": "new", "made": "changed"}})
	check("a: new, b: other, made: changed")
	publish(registry.Edit{Tools: []awaken.Tool{described("b")}})
	check("a: new, b: other, made: changed")
	publish(registry.Edit{ToolDescriptions: map[string]string{"a": "", "b": "", "made": ""}})
	check("a: its own, b: its own, made: its own")
}

// big is the configuration of a catalogue: each agent has ten tools, and ten agents share a
// model.
func big(agents, tools int) registry.Config {
	cfg := registry.Config{Builtin: builtin.For, Providers: map[string]llm.Model{"p": &silent{"p"}}}
	for i := range max(1, agents/10) {
		cfg.Models = append(cfg.Models, awaken.ModelSpec{ID: fmt.Sprint("m", i), ProviderID: "p", UpstreamModel: "u"})
	}
	for i := range tools {
		cfg.Tools = append(cfg.Tools, echo(fmt.Sprint("tool", i)))
	}
	for i := range agents {
		a := &awaken.AgentSpec{ID: fmt.Sprint("agent", i), ModelID: fmt.Sprint("m", i%len(cfg.Models)), SystemPrompt: "Be good.", AllowedTools: []string{}}
		for k := range 10 {
			a.AllowedTools = append(a.AllowedTools, fmt.Sprint("tool", (i*10+k)%tools))
		}
		cfg.Agents = append(cfg.Agents, a)
	}
	return cfg
}

func BenchmarkRegistry(b *testing.B) {
	b.Run("new/1000_agents_5000_tools", func(b *testing.B) {
		cfg := big(1000, 5000)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := registry.New(cfg); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, n := range []int{10, 100, 1000} {
		reg, err := registry.New(big(n, 5000))
		if err != nil {
			b.Fatal(err)
		}
		spec := *reg.Agent("agent0")
		edits := map[string]registry.Edit{
			"agent":       {Agents: []*awaken.AgentSpec{&spec}},
			"model":       {Models: []awaken.ModelSpec{{ID: "m0", ProviderID: "p", UpstreamModel: "v"}}},
			"description": {ToolDescriptions: map[string]string{"tool0": "x"}},
		}
		for _, name := range []string{"agent", "model", "description"} {
			b.Run(fmt.Sprintf("derive_%s/%d_agents_5000_tools", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := reg.Derive(edits[name]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
