package providertest

import (
	"errors"
	"testing"

	"github.com/awaken-go/awaken/llm"
)

// Capabilities checks that an adapter sends a model only the parameters that it accepts. Plain is
// a well-known model that takes no reasoning effort; unheard is a name that the adapter does not
// know.
func Capabilities(t *testing.T, a Adapter, plain, unheard string) {
	serve := func(t *testing.T, refuse func(*Asked) error) *Fake {
		parts, end := a.Speak(says("ok"))
		f := Serve(t, a, append(parts, end...))
		f.Refuse = refuse
		return f
	}
	asks := func(model string, c llm.ModelCapabilities) *llm.Request {
		req := Hello(model)
		req.ReasoningEffort, req.Temperature, req.Capabilities = &llm.Effort{Level: "low"}, new(1.0), c
		return req
	}
	t.Run("a model that cannot reason gets no effort", func(t *testing.T) {
		f := serve(t, nil)
		Generate(t, f.Model(t), asks(plain, llm.ModelCapabilities{}))
		Generate(t, f.Model(t), asks(unheard, llm.ModelCapabilities{Reasoning: llm.NoReasoning}))
		for n := range f.Requests() {
			if got := f.asks(t, n); got.Effort != "" || got.Temperature == nil {
				t.Errorf("request %d has effort %q and temperature %v", n, got.Effort, got.Temperature)
			}
		}
		if f.Requests() != 2 {
			t.Errorf("%d requests, want 2", f.Requests())
		}
	})
	for _, c := range []struct {
		name, message string
		has           func(*Asked) bool
	}{
		{"reasoning", "Unsupported parameter: 'reasoning_effort' is not supported with this model.", func(a *Asked) bool { return a.Effort != "" }},
		{"thinking", `"unheard" does not support thinking`, func(a *Asked) bool { return a.Effort != "" }},
		{"temperature", "`temperature` is deprecated for this model.", func(a *Asked) bool { return a.Temperature != nil }},
	} {
		t.Run("a rejected parameter is dropped and remembered: "+c.name, func(t *testing.T) {
			f := serve(t, func(a *Asked) error {
				if c.has(a) {
					return errors.New(c.message)
				}
				return nil
			})
			m := f.Model(t)
			req := asks(unheard, llm.ModelCapabilities{})
			if c.name == "temperature" {
				req.ReasoningEffort = nil // some APIs have no temperature with it
			}
			Generate(t, m, req)
			if f.Requests() != 2 {
				t.Fatalf("%d requests, want 2", f.Requests())
			}
			Generate(t, m, req)
			if f.Requests() != 3 {
				t.Errorf("the second reply took %d requests, want 1", f.Requests()-2)
			}
		})
	}
	t.Run("a value that is rejected is not remembered", func(t *testing.T) {
		f := serve(t, func(a *Asked) error {
			if a.Temperature != nil && *a.Temperature > 0.8 {
				return errors.New("temperature: must be at most 0.8")
			}
			return nil
		})
		m := f.Model(t)
		req := Hello(unheard)
		req.Temperature = new(0.9)
		Generate(t, m, req)
		req.Temperature = new(0.5)
		Generate(t, m, req)
		if got := f.asks(t, 2); f.Requests() != 3 || got.Temperature == nil {
			t.Errorf("%d requests, the last with temperature %v", f.Requests(), got.Temperature)
		}
	})
	t.Run("a request is repeated only once, and only without what it had", func(t *testing.T) {
		f := serve(t, func(*Asked) error { return errors.New("temperature and top_p are not supported") })
		m := f.Model(t)
		req := Hello(unheard)
		_, err := llm.Generate(t.Context(), m, req)
		if llm.KindOf(err) != llm.InvalidRequest || f.Requests() != 1 {
			t.Errorf("%d requests, error %v", f.Requests(), err)
		}
		req.Temperature = new(0.5)
		_, err = llm.Generate(t.Context(), m, req)
		if llm.KindOf(err) != llm.InvalidRequest || f.Requests() != 3 {
			t.Errorf("%d requests, error %v", f.Requests(), err)
		}
	})
}
