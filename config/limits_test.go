package config

import (
	"encoding/json"
	"testing"

	"github.com/awaken-go/awaken/llm"
)

func TestManager_TellsTheRateLimitsOfTheLiveProviders(t *testing.T) {
	told := map[string]*llm.RateLimits{}
	calls := 0
	c := &current{limits: func(id string, r *llm.RateLimits) { told[id] = r; calls++ }}
	live := func(docs map[string]string, same map[string]*provider) *state {
		out := &compiled{providers: map[string]*provider{}}
		for id, doc := range docs {
			if out.providers[id] = same[id]; same[id] == nil {
				out.providers[id] = &provider{doc: newDocument(Key{Providers, id}, json.RawMessage(doc), 1)}
			}
		}
		return &state{live: out}
	}
	first := live(map[string]string{"a": `{"adapter":"x","id":"a","rate_limits":{"requests_per_minute":60}}`, "b": `{"adapter":"x","id":"b"}`}, nil)
	c.tellLimits(nil, first)
	if told["a"] == nil || told["a"].RequestsPerMinute != 60 || told["b"] != nil || calls != 2 {
		t.Fatalf("at the start: %v after %d calls", told, calls)
	}
	second := live(map[string]string{"a": `{"adapter":"x","id":"a","rate_limits":{"requests_per_minute":600}}`, "b": `{}`}, map[string]*provider{"b": first.live.providers["b"]})
	c.tellLimits(first, second)
	if told["a"].RequestsPerMinute != 600 || calls != 3 {
		t.Errorf("after a change: %+v after %d calls", told["a"], calls)
	}
	c.tellLimits(second, live(map[string]string{"b": `{}`}, map[string]*provider{"b": first.live.providers["b"]}))
	if told["a"] != nil || calls != 4 {
		t.Errorf("after a removal: %+v after %d calls", told["a"], calls)
	}
}
