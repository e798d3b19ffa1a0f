package registry_test

import (
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
)

// mistaken is a plugin that registers a section that panics when it is used.
type mistaken func(r *awaken.Registrar)

func (mistaken) Name() string { return "mistaken" }

func (f mistaken) Register(r *awaken.Registrar) error {
	f(r)
	return nil
}

func TestContribute_ReportsAPanicAsAProblemOfThePlugin(t *testing.T) {
	for name, f := range map[string]mistaken{
		"no tool":         func(r *awaken.Registrar) { r.Tool(nil) },
		"no section":      func(r *awaken.Registrar) { r.Section(nil) },
		"no spec":         func(r *awaken.Registrar) { r.Tool(struct{ awaken.Tool }{}) },
		"a panic of ours": func(*awaken.Registrar) { panic("oops") },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := registry.Config{Builtin: builtin.For, Plugins: []awaken.Plugin{f},
				Agents: []*awaken.AgentSpec{{ID: "a", ModelID: "m", PluginIDs: []string{"mistaken"}}},
				Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "u"}}, Providers: map[string]llm.Model{"p": llmtest.Demo()}}
			if _, err := registry.New(cfg); err == nil || !strings.Contains(err.Error(), `agent "a": plugin "mistaken": register panicked: `) {
				t.Errorf("got %v", err)
			}
			cfg.Lazy = true
			reg, err := registry.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // also the second time it is asked for
				if _, err := reg.Runnable("a"); err == nil || !strings.Contains(err.Error(), "register panicked: ") {
					t.Errorf("resolved when it is needed: %v", err)
				}
			}
		})
	}
}

func TestNew_RequiresBuiltin(t *testing.T) {
	if _, err := registry.New(registry.Config{}); err == nil || !strings.Contains(err.Error(), "builtin.For") {
		t.Errorf("got %v", err)
	}
}
