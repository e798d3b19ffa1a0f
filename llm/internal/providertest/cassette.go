package providertest

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// cassetteCases test that what is played back equals the recorded call, piece by piece and failure by
// failure, without the server and without the key.
func cassetteCases() []testCase {
	plays := func(name string, sc func(a *Adapter) script, needs ...Power) testCase {
		return testCase{name, needs, func(t *testing.T, a *Adapter) {
			file := filepath.Join(t.TempDir(), "tape.jsonl")
			rec := &provider.Recorder{Base: &http.Transport{}, File: file}
			s := newServer(t, sc(a))
			hasty := func(c *provider.Config) {
				c.HTTPClient, c.IdleTimeout = &http.Client{Transport: rec}, 100*time.Millisecond
			}
			live := ask(t, a.open(t, s, hasty), a.request())
			if err := rec.Close(); err != nil {
				t.Fatal(err)
			}
			if data, _ := os.ReadFile(file); strings.Contains(string(data), key) || len(data) == 0 {
				t.Errorf("the cassette has the key, or nothing:\n%s", data)
			}
			tape, err := provider.OpenPlayer(file)
			if err != nil {
				t.Fatal(err)
			}
			m := a.Open(t, provider.Config{APIKey: "another-key", BaseURL: "http://nowhere.invalid", HTTPClient: &http.Client{Transport: tape}})
			again := ask(t, m, a.request())
			equal(t, "deltas", again.deltas, live.deltas)
			equal(t, "kind", again.kind(), live.kind())
			if l, ok := live.err.(*llm.Error); ok {
				r := again.err.(*llm.Error)
				equal(t, "status and wait", [2]any{r.Status, r.RetryAfter.Round(time.Minute)}, [2]any{l.Status, l.RetryAfter.Round(time.Minute)})
			}
			equal(t, "exchanges left", tape.Left(), 0)
			// Requests that were not recorded, or that are repeated more often, fail.
			equal(t, "kind of a request that was not recorded", ask(t, m, a.request()).kind(), llm.InvalidRequest)
		}}
	}
	whole := func(r Reply) func(a *Adapter) script {
		return func(a *Adapter) script {
			parts, end := a.Speak(r)
			return script{frames: slices.Concat(parts, end)}
		}
	}
	broken := func(r Reply, end func(*server, *http.Request)) func(a *Adapter) script {
		return func(a *Adapter) script {
			parts, _ := a.Speak(r)
			return script{frames: parts, end: end}
		}
	}
	return []testCase{
		plays("Text", whole(says("naïve ", "café ", "🙂"))),
		plays("Calls", whole(calls(Call{"call_1", "look", []string{`{"at":`, `"it"}`}}, Call{"call_2", "take", []string{`{}`}}))),
		plays("Reasoning", whole(Reply{Parts: []Part{{Reasoning: []string{"Hm, ", "hm."}}, {Opaque: "b3BhcXVl"}, text("42")}, Finish: llm.EndTurn}), Reasoning, Opaque),
		plays("CutEveryByte", func(a *Adapter) script {
			parts, end := a.Speak(says(mixed))
			return script{frames: cut(slices.Concat(parts, end), 1)}
		}),
		plays("ResetInText", broken(says("Once ", "upon"), reset)),
		plays("EndsWithoutFinish", broken(says("Once ", "upon"), nil), FinishSays),
		plays("Silence", broken(says("Once ", "upon"), stall)),
		plays("ResetBeforeAnAnswer", func(*Adapter) script { return script{refuse: true} }),
		plays("RateLimited", func(a *Adapter) script {
			return script{status: 429, header: map[string]string{"Content-Type": "application/json", "Retry-After": "600"},
				frames: [][]byte{a.ErrorBody(Failure{Kind: llm.RateLimited, Status: 429, Message: "slow down"})}}
		}),
		plays("TheKeyInAnError", func(a *Adapter) script {
			return script{status: 401, header: map[string]string{"Content-Type": "application/json"},
				frames: cut([][]byte{a.ErrorBody(Failure{Kind: llm.Unauthorized, Status: 401, Message: "the key " + key + " is wrong"})}, 5)}
		}),
		plays("MidStreamError", func(a *Adapter) script {
			parts, _ := a.Speak(says("Once"))
			return script{frames: append(parts, a.ErrorFrame(Failure{llm.Overloaded, 503, "no capacity"}))}
		}, MidStreamErrors),
	}
}
