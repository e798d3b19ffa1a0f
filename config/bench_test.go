package config_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/memory"
)

// catalogue opens a manager with this many agents and tools, published together, and also
// returns the manager's options.
func catalogue(tb testing.TB, agents, tools int) (*config.Manager, config.Options) {
	tb.Helper()
	o := config.Options{Store: memory.NewDB().Config(), Vault: newVault(tb),
		Provider: func(context.Context, *awaken.ProviderSpec) (llm.Model, error) { return parrot{}, nil }}
	for i := range tools {
		o.Code.Tools = append(o.Code.Tools, noop(fmt.Sprint("tool-", i)))
	}
	m, err := config.Open(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { m.Close() })
	if _, err := m.Apply(tb.Context(), many(agents), false, false, me); err != nil {
		tb.Fatal(err)
	}
	return m, o
}

// many returns a provider, a model, and agents that each use ten tools.
func many(agents int) []config.Document {
	docs := documents(`providers/p "adapter":"x"`, `models/m "provider_id":"p","upstream_model":"up"`)
	for i := range agents {
		docs = append(docs, documents(fmt.Sprintf(`agents/a%d %s`, i, agentFields(i, 0)))...)
	}
	return docs
}

func agentFields(i, version int) string {
	tools := ""
	for j := range 10 {
		tools += fmt.Sprintf(`,"tool-%d"`, i*5%4000+j)
	}
	return fmt.Sprintf(`"model_id":"m","system_prompt":"You are agent %d, version %d.","allowed_tools":[%s]`, i, version, tools[1:])
}

func TestBudget_AnEditCostsTheSameInACatalogueOfAnySize(t *testing.T) {
	if testenv.Race {
		t.Skip("the race detector allocates")
	}
	cost := func(agents int) float64 {
		m, _ := catalogue(t, agents, 2100)
		n := 0
		return testing.AllocsPerRun(20, func() {
			n++
			k := key("agents/a1")
			if _, err := m.Put(t.Context(), k, doc(k, agentFields(1, n)), false, config.Condition{}, me); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := cost(20), cost(400); many > 1.05*few {
		t.Errorf("one edit makes %.0f allocations beside 20 agents and %.0f beside 400", few, many)
	}
}

// BenchmarkEdit measures one write of an agent in catalogues of several sizes.
func BenchmarkEdit(b *testing.B) {
	for _, agents := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(agents), func(b *testing.B) {
			m, _ := catalogue(b, agents, 5000)
			n := 0
			for b.Loop() {
				n++
				k := key("agents/a1")
				if _, err := m.Put(b.Context(), k, doc(k, agentFields(1, n)), false, config.Condition{}, me); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPublish measures one change of every agent of a catalogue.
func BenchmarkPublish(b *testing.B) {
	m, _ := catalogue(b, 1000, 5000)
	n := 0
	for b.Loop() {
		n++
		docs := many(1000)
		for i := range 1000 {
			docs[i+2] = documents(fmt.Sprintf(`agents/a%d %s`, i, agentFields(i, n)))[0]
		}
		if _, err := m.Apply(b.Context(), docs, false, false, me); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen measures the start of a process.
func BenchmarkOpen(b *testing.B) {
	_, o := catalogue(b, 1000, 5000)
	for b.Loop() {
		m, err := config.Open(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		m.Close()
	}
}
