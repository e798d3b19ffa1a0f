package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/store/memory"
)

// afar is an agent that runs elsewhere, as a function.
type afar func(ctx context.Context, x *registry.Exchange, yield func(llm.Delta, error) bool)

func (f afar) Agent(*awaken.AgentSpec) (registry.RemoteAgent, error) { return f, nil }

func (f afar) Name() string { return "afar" }

func (f afar) Register(*awaken.Registrar) error { return nil }

func (f afar) Exchange(ctx context.Context, x *registry.Exchange) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { f(ctx, x, yield) }
}

// runtime returns a runtime whose agent "afar" is f.
func (f afar) runtime(t *testing.T, db *memory.DB) *engine.Runtime {
	t.Helper()
	rt, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{{ID: "afar", Endpoint: &awaken.RemoteEndpoint{Backend: "pigeon", BaseURL: "coop"}}},
		Backends: map[string]registry.RemoteBackend{"pigeon": f}, Store: db.Store("")})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func tellAfar(text string) awaken.RunRequest {
	return awaken.RunRequest{AgentID: "afar", ThreadID: "t", Messages: []*llm.Message{llm.UserText(text)}}
}

// reply yields a whole answer.
func reply(yield func(llm.Delta, error) bool, text string) {
	_ = yield(llm.Delta{Kind: llm.TextDelta, Text: text}, nil) && yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
}

func TestRemote_NotesSurviveALostOwnerAndStayWithTheThread(t *testing.T) {
	t.Parallel()
	db := memory.NewDB()
	ctx, cancel := context.WithCancelCause(t.Context())
	var first string
	dies := afar(func(ctx context.Context, x *registry.Exchange, yield func(llm.Delta, error) bool) {
		first = x.ID
		if err := x.Save(ctx, json.RawMessage(`"begun"`), true); err != nil {
			t.Error(err)
		}
		cancel(awaken.ErrFenced)
		yield(llm.Delta{}, context.Cause(ctx))
	})
	if _, err := dies.runtime(t, db).Run(ctx, tellAfar("hi"), nil); !errors.Is(err, awaken.ErrFenced) {
		t.Fatalf("got %v", err)
	}
	th, err := db.Store("").Thread(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	next := afar(func(_ context.Context, x *registry.Exchange, yield func(llm.Delta, error) bool) {
		seen = append(seen, x.ID, string(x.Notes))
		x.Keep(json.RawMessage(`"done"`))
		reply(yield, "here")
	})
	rt := next.runtime(t, db)
	if res, err := rt.Run(t.Context(), awaken.RunRequest{Continue: th.OpenRunID}, nil); err != nil || res.Response != "here" {
		t.Fatalf("got %+v, %v", res, err)
	}
	if res, err := rt.Run(t.Context(), tellAfar("again"), nil); err != nil || res.Response != "here" {
		t.Fatalf("got %+v, %v", res, err)
	}
	if len(seen) != 4 || seen[0] != first || seen[1] != `"begun"` || seen[2] == first || seen[3] != `"done"` {
		t.Errorf("the exchanges had ids and notes %q, the first one %q", seen, first)
	}
}

func TestRemote_NothingBeginsAfterACancel(t *testing.T) {
	t.Parallel()
	db := memory.NewDB()
	var rt *engine.Runtime
	var got error
	rt = afar(func(ctx context.Context, x *registry.Exchange, yield func(llm.Delta, error) bool) {
		if err := rt.Cancel(context.WithoutCancel(ctx), x.Run.RunID); err != nil {
			t.Error(err)
		}
		got = x.Save(ctx, json.RawMessage(`"begun"`), true)
		yield(llm.Delta{}, got)
	}).runtime(t, db)
	res, err := rt.Run(t.Context(), tellAfar("hi"), nil)
	if err != nil || res.Termination.Type != awaken.Cancelled || got == nil {
		t.Fatalf("got %+v, %v; Save returned %v", res, err, got)
	}
}

func TestRemote_WhatIsRetractedIsNotInTheAnswer(t *testing.T) {
	t.Parallel()
	rt := afar(func(_ context.Context, x *registry.Exchange, yield func(llm.Delta, error) bool) {
		x.Retract("nothing was said")
		if !yield(llm.Delta{Kind: llm.TextDelta, Text: "let me see"}, nil) {
			return
		}
		x.Show("progress", json.RawMessage(`{"n":1}`))
		x.Retract("it was replaced")
		reply(yield, "42")
	}).runtime(t, memory.NewDB())
	var resets, shown []string
	res, err := rt.Run(t.Context(), tellAfar("hi"), awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
		switch ev := e.Event.(type) {
		case *awaken.StreamReset:
			resets = append(resets, ev.Reason)
		case *awaken.ActivitySnapshot:
			shown = append(shown, string(ev.Content))
		}
		return nil
	}))
	if err != nil || res.Response != "42" || strings.Join(resets, "|") != "it was replaced" || strings.Join(shown, "|") != `{"n":1}` {
		t.Fatalf("got %+v, %v, resets %q, shown %q", res, err, resets, shown)
	}
}

func TestRemote_AnExchangeThatFailsIsNotRepeated(t *testing.T) {
	t.Parallel()
	n := 0
	rt := afar(func(_ context.Context, _ *registry.Exchange, yield func(llm.Delta, error) bool) {
		n++
		yield(llm.Delta{}, &llm.Error{Kind: llm.Overloaded, Message: "later"})
	}).runtime(t, memory.NewDB())
	if _, err := rt.Run(t.Context(), tellAfar("hi"), nil); err == nil || n != 1 {
		t.Fatalf("got %v after %d exchanges", err, n)
	}
}
