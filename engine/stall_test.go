package engine_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/memory"
)

// moody is a model that fails the prompts that begin with a kind of error.
type moody struct{}

func (moody) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		prompt := ""
		for _, m := range req.Messages.All() {
			if m.Role == llm.User {
				prompt = m.Text()
			}
		}
		if kind, bad := strings.CutPrefix(prompt, "fail: "); bad {
			status := map[llm.Kind]int{llm.Provider: 500, llm.InvalidRequest: 400, llm.ContentFiltered: 400, llm.ContextOverflow: 413, llm.RateLimited: 429}
			yield(llm.Delta{}, &llm.Error{Kind: llm.Kind(kind), Status: status[llm.Kind(kind)], Message: "no"})
			return
		}
		_ = yield(llm.Delta{Kind: llm.TextDelta, Text: "fine"}, nil) && yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

// stallRig returns a function that runs a prompt on a thread of its own, and how long that took.
func stallRig(t *testing.T) (func(prompt string) (*awaken.RunResult, time.Duration), *engine.Runtime, awaken.Store) {
	store := memory.New()
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "upstream"}},
		Providers: map[string]llm.Model{"p": moody{}},
		Store:     store,
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	return func(prompt string) (*awaken.RunResult, time.Duration) {
		t.Helper()
		n++
		began := time.Now()
		res, err := rt.Run(t.Context(), awaken.RunRequest{AgentID: "default", ThreadID: fmt.Sprint("thread-", n), Messages: []*llm.Message{llm.UserText(prompt)}}, nil)
		if res == nil {
			t.Fatal(err)
		}
		return res, time.Since(began)
	}, rt, store
}

// Two prompts that the model fails, with their retries, are two pieces of evidence: no other run notices.
func TestRun_TwoFailingPromptsHoldUpNoOther(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		run, _, _ := stallRig(t)
		for range 2 {
			if res, _ := run("fail: provider"); res.Termination.Type != awaken.Failed {
				t.Fatalf("the failing prompt ended with %+v", res.Termination)
			}
		}
		if res, took := run("hi"); res.Termination.Type != awaken.NaturalEnd || took > time.Second {
			t.Errorf("another prompt took %s and ended with %+v", took, res.Termination)
		}
	})
}

// Errors that are the request's own, or ask for a pause, never open the breaker.
func TestRun_AUsersOwnErrorHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for _, kind := range []llm.Kind{llm.InvalidRequest, llm.ContentFiltered, llm.ContextOverflow, llm.RateLimited} {
		bubbletest.Test(t, func(t *testing.T) {
			run, rt, _ := stallRig(t)
			for range 12 {
				run("fail: " + string(kind))
			}
			if h := rt.Registry().Health()[0]; h.State != llm.BreakerClosed || h.Failures != 0 {
				t.Errorf("after twelve errors of kind %s the model is %+v", kind, h)
			}
			if res, took := run("hi"); res.Termination.Type != awaken.NaturalEnd || took > time.Second {
				t.Errorf("after %s, another prompt took %s and ended with %+v", kind, took, res.Termination)
			}
		})
	}
}

// While the breaker is open, a run fails at once and says when to come back.
func TestRun_NeverWaitsBehindABreaker(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		run, rt, store := stallRig(t)
		for range 5 {
			run("fail: provider")
		}
		if h := rt.Registry().Health()[0]; h.State != llm.BreakerOpen {
			t.Fatalf("after five failing threads the model is %+v", h)
		}
		res, took := run("hi")
		if res.Termination.Type != awaken.Failed || took > 0 {
			t.Fatalf("the run took %s and ended with %+v, want a failure at once", took, res.Termination)
		}
		rec, err := store.LoadRun(t.Context(), res.RunID)
		if err != nil || rec.ErrorPayload == nil || rec.ErrorPayload.Code != "circuit_open" || rec.ErrorPayload.RetryAfterMS < 20_000 {
			t.Errorf("the record has the error %+v, %v", rec.ErrorPayload, err)
		}
		time.Sleep(30 * time.Second)
		if res, took := run("hi"); res.Termination.Type != awaken.NaturalEnd || took > time.Second {
			t.Errorf("after the cooldown the run took %s and ended with %+v", took, res.Termination)
		}
	})
}
