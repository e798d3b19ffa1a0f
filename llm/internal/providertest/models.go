package providertest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/awaken-go/awaken/llm"
)

// ModelSpeaker is a [Speaker] of a provider that lists its models.
type ModelSpeaker interface {
	// Models returns a handler that lists some models, and the expected result. The handler
	// rejects requests without the key.
	Models(key string) (provider http.Handler, want []llm.ModelInfo)
}

// modelCases test lists of models.
func modelCases() []testCase {
	fails := func(name string, sc script, want llm.Kind) testCase {
		return testCase{name, []Power{listing}, func(t *testing.T, a *Adapter) {
			s := newServer(t, sc)
			list, err := a.open(t, s).(llm.Lister).ListModels(t.Context())
			equal(t, "kind", llm.KindOf(err), want)
			equal(t, "models", len(list), 0)
			equal(t, "requests", len(s.requests()), 1)
		}}
	}
	page := map[string]string{"Content-Type": "application/json"}
	return []testCase{
		{"List", []Power{listing}, func(t *testing.T, a *Adapter) {
			h, want := a.Speaker.(ModelSpeaker).Models(key)
			s := &server{Server: httptest.NewServer(h)}
			t.Cleanup(s.Close)
			m := a.open(t, s)
			got, err := m.(llm.Lister).ListModels(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "models", got, want)
			if d, ok := m.(llm.Describer); ok {
				for _, info := range want {
					equal(t, "what was discovered about "+info.ID, d.Knowledge(info.ID).Discovered, info.Capabilities)
				}
			}
		}},
		fails("Unauthorized", script{status: 401, header: page, frames: [][]byte{[]byte(`{"error":{"message":"who?"}}`)}}, llm.Unauthorized),
		fails("Overloaded", script{status: 503, header: page}, llm.Overloaded),
		fails("NotAList", script{header: page, frames: [][]byte{[]byte("<html>")}}, llm.Interrupted),
		fails("Reset", script{refuse: true}, llm.Provider),
	}
}

// listing is the power of adapters whose speaker is a ModelSpeaker.
const listing Power = "listing"
