package registry_test

import (
	"context"
	"iter"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
)

// knowing is a provider that knows of a model "plain" that takes no reasoning effort.
type knowing struct {
	llm.Model
	asked *llm.Request
}

func (*knowing) Knowledge(model string) (k llm.ModelKnowledge) {
	if model == "plain" {
		k.Known.Reasoning = llm.NoReasoning
	}
	return k
}

func (k *knowing) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	k.asked = req
	return k.Model.Stream(ctx, req)
}

func TestCapabilities_AnEffortThatIsDroppedIsDiagnosed(t *testing.T) {
	for name, c := range map[string]struct {
		upstream   string
		configured *llm.ModelCapabilities
		warned     bool
	}{
		"known to the provider":   {"plain", nil, true},
		"unknown":                 {"other", nil, false},
		"configured":              {"other", &llm.ModelCapabilities{Reasoning: llm.NoReasoning}, true},
		"configured otherwise":    {"plain", &llm.ModelCapabilities{Reasoning: llm.ReasoningLevels}, false},
		"other things configured": {"plain", &llm.ModelCapabilities{Seed: new(true)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			effort := &llm.Effort{Level: "high"}
			provider := &knowing{Model: llmtest.Demo()}
			reg, err := registry.New(registry.Config{Builtin: builtin.For,
				Agents: []*awaken.AgentSpec{{ID: "direct", ModelID: "m", ReasoningEffort: effort}, {ID: "pooled", ModelID: "pool", ReasoningEffort: effort}, {ID: "without", ModelID: "m"}},
				Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: c.upstream, Capabilities: c.configured, Modalities: &awaken.Modalities{Input: []string{"text"}}},
					{ID: "n", ProviderID: "p", UpstreamModel: "able"}},
				Pools:     []awaken.ModelPoolSpec{{ID: "pool", Members: []awaken.PoolMember{{ModelID: "m"}, {ModelID: "n"}}, Routing: awaken.PoolRouting{Home: "first_healthy"}}},
				Providers: map[string]llm.Model{"p": provider}})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, d := range reg.Diagnostics() {
				got[d.ID] = d.Code
			}
			want := ""
			if c.warned {
				want = "reasoning_unsupported"
			}
			if got["direct"] != want || got["pooled"] != want || got["without"] != "" {
				t.Errorf("diagnostics are %v, want %q for two agents", got, want)
			}
			a, err := reg.Runnable("pooled")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := llm.Generate(t.Context(), a.Model, &llm.Request{Model: "pool", Messages: llm.NewMessages(llm.UserText("hi"))}); err != nil {
				t.Fatal(err)
			}
			if c.configured != nil && provider.asked.Capabilities != *c.configured {
				t.Errorf("the provider was asked with %+v, want what is configured", provider.asked.Capabilities)
			}
		})
	}
}
