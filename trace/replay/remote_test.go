package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace"
	"github.com/awaken-go/awaken/trace/replay/replaytest"
)

// pigeon is a remote agent, as a function. It is gone if that is nil.
type pigeon struct {
	t   *testing.T
	fly func(x *registry.Exchange, yield func(llm.Delta, error) bool)
}

func (p pigeon) Agent(*awaken.AgentSpec) (registry.RemoteAgent, error) { return p, nil }

func (p pigeon) Name() string { return "pigeon" }

func (p pigeon) Register(r *awaken.Registrar) error {
	r.On(awaken.PhaseRunEnd, func(_ context.Context, h *awaken.HookCall) error {
		if p.fly == nil {
			p.t.Error("the hook of the remote agent ran")
		}
		builtin.WriteRemoteNotes(h, "far", json.RawMessage(`{"at":99,"over":true}`))
		return nil
	})
	return nil
}

func (p pigeon) Exchange(_ context.Context, x *registry.Exchange) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if p.fly == nil {
			p.t.Error("the remote agent was asked")
			return
		}
		p.fly(x, yield)
	}
}

// Everything that a remote agent may do in an exchange replays without it.
func TestPlay_WithoutTheRemoteAgent(t *testing.T) {
	t.Parallel()
	text := func(s string) llm.Delta { return llm.Delta{Kind: llm.TextDelta, Text: s} }
	end := llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}
	for name, fly := range map[string]func(x *registry.Exchange, yield func(llm.Delta, error) bool){
		"notes": func(x *registry.Exchange, yield func(llm.Delta, error) bool) {
			for _, n := range []string{`1`, `2`, `{"at":3}`} {
				if err := x.Save(context.Background(), json.RawMessage(n), true); err != nil {
					t.Error(err)
				}
			}
			_ = yield(text("coo"), nil) && yield(end, nil)
		},
		"activities": func(x *registry.Exchange, yield func(llm.Delta, error) bool) {
			x.Show("flight", json.RawMessage(`{"at":1}`))
			yield(text("coo"), nil)
			x.Show("flight", json.RawMessage(`{"at":2}`))
			yield(text("coo"), nil)
			x.Show("flight", json.RawMessage(`{"at":3}`))
			yield(end, nil)
		},
		"another answer": func(x *registry.Exchange, yield func(llm.Delta, error) bool) {
			yield(text("coo"), nil)
			x.Show("flight", json.RawMessage(`1`))
			x.Retract("it was a dove")
			x.Show("flight", json.RawMessage(`2`))
			_ = yield(text("curr"), nil) && yield(end, nil)
		},
		"an error": func(x *registry.Exchange, yield func(llm.Delta, error) bool) {
			x.Keep(json.RawMessage(`1`))
			x.Show("flight", json.RawMessage(`1`))
			yield(llm.Delta{}, &llm.Error{Kind: llm.Unauthorized, Message: "the loft is closed"})
		},
		"an error behind an answer": func(_ *registry.Exchange, yield func(llm.Delta, error) bool) {
			yield(text("coo"), nil)
			yield(llm.Delta{}, errors.New("a hawk"))
		},
		"an error behind an answer that was taken back": func(x *registry.Exchange, yield func(llm.Delta, error) bool) {
			yield(text("coo"), nil)
			x.Retract("it was a dove")
			yield(llm.Delta{}, &llm.Error{Kind: llm.InvalidRequest, Message: "a hawk"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memory.New()
			config := func(p pigeon) engine.Config {
				return engine.Config{Agents: []*awaken.AgentSpec{{ID: "far", Endpoint: &awaken.RemoteEndpoint{Backend: "pigeon", BaseURL: "loft"}}},
					Backends: map[string]registry.RemoteBackend{"pigeon": p}, Store: store}
			}
			rt, err := engine.New(config(pigeon{t, fly}))
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{"r1", "r2"} {
				req := awaken.RunRequest{AgentID: "far", ThreadID: "t", RunID: id, Messages: []*llm.Message{llm.UserText("Fly")}}
				_, err := rt.Run(t.Context(), req, nil)
				rec, recErr := trace.Record(t.Context(), store, id)
				if recErr != nil || (err != nil) != (rec.Run.Termination.Type == awaken.Failed) {
					t.Fatalf("run %s: %v, %v", id, err, recErr)
				}
				res, err := replaytest.Play(t.Context(), config(pigeon{t: t}), store, id)
				if err != nil {
					t.Fatalf("run %s: %v", id, err)
				}
				if res.Events != len(rec.Events) {
					t.Errorf("%d events of run %s were compared, want %d", res.Events, id, len(rec.Events))
				}
			}
		})
	}
}
