package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
)

// plan is a model that follows a list of steps: it replies with a text, or fails.
type plan struct {
	mu    sync.Mutex
	steps []any // string or error; the last is repeated
	asked []string
	at    []time.Time
}

func (p *plan) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		p.mu.Lock()
		step := p.steps[min(len(p.asked), len(p.steps)-1)]
		p.asked, p.at = append(p.asked, req.Model), append(p.at, time.Now())
		p.mu.Unlock()
		switch s := step.(type) {
		case error:
			yield(llm.Delta{}, s)
		case string:
			text, cut := strings.CutSuffix(s, "!")
			if !yield(llm.Delta{Kind: llm.TextDelta, Text: text}, nil) {
				return
			}
			if cut {
				yield(llm.Delta{}, failure(llm.Interrupted, 0))
				return
			}
			yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
		}
	}
}

func failure(k llm.Kind, after time.Duration) error { return &llm.Error{Kind: k, RetryAfter: after} }

func ask(t *testing.T, m llm.Model, thread string) (string, error) {
	t.Helper()
	r, err := llm.Generate(t.Context(), m, &llm.Request{Model: "upstream", Routing: llm.Routing{ThreadID: thread, RunID: "run-" + thread}})
	if err != nil {
		return "", err
	}
	return r.Message.Text(), nil
}

func TestRetryPolicy_Admission(t *testing.T) {
	often := llm.DefaultRetry
	often.MaxRetries = 10
	for attempt, want := range []int{500, 1000, 2000, 4000, 8000, 8000} {
		if got := often.Admission(attempt, failure(llm.Provider, 0)); got != later(want) {
			t.Errorf("attempt %d: %v, want %d ms", attempt, got, want)
		}
	}
	for attempt, want := range []int{2000, 4000, 8000, 8000} {
		if got := often.Admission(attempt, failure(llm.Overloaded, 0)); got != later(want) {
			t.Errorf("overloaded, attempt %d: %v, want %d ms", attempt, got, want)
		}
	}
	for _, tt := range []struct {
		attempt int
		err     error
		want    llm.Admission
	}{
		{0, failure(llm.RateLimited, 30*time.Second), later(30_000)},
		{0, failure(llm.RateLimited, 31*time.Second), llm.Admission{Verdict: llm.Refuse, After: 31 * time.Second}}, // too long to wait
		{2, failure(llm.RateLimited, time.Second), llm.Admission{Verdict: llm.Refuse, After: time.Second}},         // tried often enough
		{0, failure(llm.InvalidRequest, 0), llm.Admission{Verdict: llm.Refuse}},
		{0, failure(llm.CircuitOpen, time.Second), llm.Admission{Verdict: llm.Refuse, After: time.Second}},
		{0, errors.New("odd"), llm.Admission{Verdict: llm.Refuse}},
	} {
		if got := llm.DefaultRetry.Admission(tt.attempt, tt.err); got != tt.want {
			t.Errorf("attempt %d, %v: %v, want %v", tt.attempt, tt.err, got, tt.want)
		}
	}
}

func later(ms int) llm.Admission {
	return llm.Admission{Verdict: llm.SendLater, After: time.Duration(ms) * time.Millisecond}
}

func TestRetryPolicy_JSON(t *testing.T) {
	var p llm.RetryPolicy
	if err := json.Unmarshal([]byte(`{"max_retries":0,"stream_idle_timeout_secs":5}`), &p); err != nil || p.MaxRetries != 0 || p.StreamIdleTimeoutSecs != 5 || p.BackoffBaseMS != 500 {
		t.Errorf("%+v, %v", p, err)
	}
	for doc, want := range map[string]string{`{}`: "max_retries", `{"max_retries":-1}`: "max_retries", `{"max_retries":1,"fallback_models":[]}`: "fallback_models", `{"max_retries":1,"backoff_base_ms":-5}`: "backoff_base_ms"} {
		if err := json.Unmarshal([]byte(doc), &p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want something about %s", doc, err, want)
		}
	}
}

func TestRetry_RetriesOnlyBeforeTheFirstDelta(t *testing.T) {
	for _, tt := range []struct {
		steps []any
		want  string
		kind  llm.Kind
		asked int
	}{
		{[]any{"hi"}, "hi", "", 1},
		{[]any{failure(llm.Provider, 0), failure(llm.Timeout, 0), "hi"}, "hi", "", 3},
		{[]any{failure(llm.Provider, 0)}, "", llm.Provider, 3},
		{[]any{failure(llm.QuotaExceeded, 0), "hi"}, "", llm.QuotaExceeded, 1},
		{[]any{failure(llm.Unauthorized, 0), "hi"}, "", llm.Unauthorized, 1},
		{[]any{errors.New("odd"), "hi"}, "", "", 1},
		{[]any{"half!", "hi"}, "", llm.Interrupted, 1},
	} {
		bubbletest.Test(t, func(t *testing.T) {
			p := &plan{steps: tt.steps}
			got, err := ask(t, llm.Retry(p, llm.DefaultRetry), "t")
			if got != tt.want || llm.KindOf(err) != tt.kind || len(p.asked) != tt.asked || (err != nil) != (tt.want == "") {
				t.Errorf("%v: %q, %v, asked %d times", tt.steps, got, err, len(p.asked))
			}
			for i := 1; i < len(p.at); i++ {
				base := llm.DefaultRetry.Admission(i-1, failure(llm.Provider, 0)).After
				if d := p.at[i].Sub(p.at[i-1]); d < base || d > base+base/4+1 {
					t.Errorf("%v: retry %d after %s, want %s and up to a quarter more", tt.steps, i, d, base)
				}
			}
		})
	}
}

func TestRetry_StopsWaitingWhenCancelled(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := llm.Generate(ctx, llm.Retry(&plan{steps: []any{failure(llm.Provider, 0)}}, llm.DefaultRetry), &llm.Request{})
		if llm.KindOf(err) != llm.Cancelled || time.Since(start) != 100*time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestBreaker_OpensHalfOpensAndCloses(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		p := &plan{steps: []any{failure(llm.Provider, 0)}}
		b := &llm.Breaker{Name: "m"}
		m := llm.Break(p, b)
		for i := range 12 { // the repeats of a thread count once
			_, _ = ask(t, m, fmt.Sprint(i%4))
		}
		if b.State() != llm.BreakerClosed {
			t.Errorf("after failures of 4 threads it is %s", b.State())
		}
		_, _ = ask(t, m, "t")
		p.asked = p.asked[:5]
		_, err := ask(t, m, "t")
		e, _ := errors.AsType[*llm.Error](err)
		if b.State() != llm.BreakerOpen || len(p.asked) != 5 || e == nil || e.Kind != llm.CircuitOpen || !e.Unsent || e.RetryAfter != 30*time.Second {
			t.Errorf("after failures of 5 threads it is %s, asked %d times, %+v", b.State(), len(p.asked), e)
		}
		time.Sleep(30 * time.Second)
		if b.State() != llm.BreakerHalfOpen {
			t.Errorf("after the cooldown it is %s", b.State())
		}
		_, _ = ask(t, m, "t") // the probe fails
		if _, _ = ask(t, m, "t"); b.State() != llm.BreakerOpen || len(p.asked) != 6 {
			t.Errorf("after the probe it is %s, asked %d times", b.State(), len(p.asked))
		}
		time.Sleep(30 * time.Second)
		p.steps = []any{"ok"}
		p.asked = nil
		if got, err := ask(t, m, "t"); got != "ok" || err != nil || b.State() != llm.BreakerClosed {
			t.Errorf("%q, %v, it is %s", got, err, b.State())
		}
		// Errors of the request do not count against the model.
		p.steps, p.asked = []any{failure(llm.InvalidRequest, 0)}, nil
		for range 10 {
			_, _ = ask(t, m, "t")
		}
		if b.State() != llm.BreakerClosed {
			t.Errorf("after bad requests it is %s", b.State())
		}
	})
}

// A probe proves that the model works with its first delta. One that is abandoned before, or is silent, lets
// another follow.
func TestBreaker_AProbeHoldsUpNoOther(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		p := &plan{steps: []any{failure(llm.Provider, 0)}}
		b := &llm.Breaker{BreakerSettings: llm.BreakerSettings{FailureThreshold: 1}}
		_, _ = ask(t, llm.Break(p, b), "t")
		time.Sleep(time.Minute)
		abandoned, err := b.Enter("a")
		if err != nil {
			t.Fatal(err)
		}
		abandoned.Leave(nil, true)
		silent, err := b.Enter("b")
		if err != nil || b.State() != llm.BreakerHalfOpen {
			t.Fatalf("after an abandoned probe it is %s, %v", b.State(), err)
		}
		if a := b.Admission(); a != (llm.Admission{Verdict: llm.Refuse, After: time.Second}) {
			t.Errorf("beside a probe it answers %v", a)
		}
		time.Sleep(10 * time.Second)
		probe, err := b.Enter("c")
		if err != nil {
			t.Fatalf("beside a probe that has been silent for ten seconds: %v", err)
		}
		probe.Answered()
		if b.State() != llm.BreakerClosed {
			t.Errorf("after the first delta of a probe it is %s", b.State())
		}
		silent.Leave(failure(llm.Timeout, 0), false) // late, and alone
		if b.State() != llm.BreakerClosed {
			t.Errorf("after a late failure of an older probe it is %s", b.State())
		}
	})
}

// Many requests that fail together do not open the breaker of a model that answers others.
func TestBreaker_StaysClosedWhileTheModelAnswers(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		b := &llm.Breaker{}
		bad, good := llm.Break(&plan{steps: []any{failure(llm.Provider, 0)}}, b), llm.Break(&plan{steps: []any{"fine"}}, b)
		for i := range 20 {
			if _, err := ask(t, good, "good"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			for j := range 10 {
				_, _ = ask(t, bad, fmt.Sprint("bad", i, "-", j))
			}
			if b.State() != llm.BreakerClosed {
				t.Fatalf("round %d: it is %s, although the model answered a second ago", i, b.State())
			}
		}
		time.Sleep(5 * time.Second)
		for j := range 5 {
			_, _ = ask(t, bad, fmt.Sprint("late", j))
		}
		if b.State() != llm.BreakerOpen {
			t.Errorf("after five failures and no answer for five seconds it is %s", b.State())
		}
	})
}

// Requests that fail late do not open the breaker of a model that has answered others meanwhile, even seldom or in part.
func TestBreaker_StaysClosedWhileRequestsHang(t *testing.T) {
	hang := &llm.Error{Kind: llm.Timeout, Message: "silent for a minute"}
	enter := func(t *testing.T, b *llm.Breaker, n int, name string) (out []llm.Pass) {
		for i := range n {
			p, err := b.Enter(fmt.Sprint(name, i))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, p)
		}
		return out
	}
	leave := func(passes []llm.Pass) {
		for i := range passes {
			passes[i].Leave(hang, false)
		}
	}
	t.Run("an answer in between", func(t *testing.T) {
		bubbletest.Test(t, func(t *testing.T) {
			b := &llm.Breaker{}
			hung := enter(t, b, 20, "hung")
			time.Sleep(30 * time.Second)
			for _, p := range enter(t, b, 1, "good") {
				p.Leave(nil, false)
			}
			time.Sleep(30 * time.Second)
			if leave(hung); b.State() != llm.BreakerClosed {
				t.Errorf("it is %s, although the model answered after the hung requests were sent", b.State())
			}
			hung = enter(t, b, 5, "later")
			time.Sleep(time.Minute)
			if leave(hung); b.State() != llm.BreakerOpen {
				t.Errorf("after five hung requests and no answer since they were sent it is %s", b.State())
			}
		})
	})
	t.Run("a reply that arrives", func(t *testing.T) {
		bubbletest.Test(t, func(t *testing.T) {
			b := &llm.Breaker{}
			hung, long := enter(t, b, 20, "hung"), enter(t, b, 1, "long")
			for range 60 {
				time.Sleep(time.Second)
				long[0].Answered()
			}
			if leave(hung); b.State() != llm.BreakerClosed {
				t.Errorf("it is %s, although a reply arrives", b.State())
			}
		})
	})
	t.Run("replies that break", func(t *testing.T) {
		bubbletest.Test(t, func(t *testing.T) {
			b := &llm.Breaker{}
			for i := range 5 {
				p := enter(t, b, 1, fmt.Sprint("broken", i, "-"))
				time.Sleep(time.Second)
				p[0].Answered()
				p[0].Leave(&llm.Error{Kind: llm.Interrupted}, false)
			}
			if b.State() != llm.BreakerOpen {
				t.Errorf("after five replies that broke it is %s", b.State())
			}
		})
	})
}

// gate is a model that waits for its outcome.
type gate struct {
	mu     sync.Mutex
	asked  int
	answer chan error
}

func (g *gate) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		g.mu.Lock()
		g.asked++
		g.mu.Unlock()
		if err := <-g.answer; err != nil {
			yield(llm.Delta{}, err)
			return
		}
		yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

func TestBreaker_AdmitsAtMostHalfOpenMaxProbes(t *testing.T) {
	for _, tt := range []struct {
		max, want int
		result    error
		then      llm.BreakerState
	}{
		{0, 1, nil, llm.BreakerClosed},
		{1, 1, failure(llm.Provider, 0), llm.BreakerOpen},
		{3, 3, nil, llm.BreakerClosed},
		{3, 3, failure(llm.Provider, 0), llm.BreakerOpen},
	} {
		t.Run(fmt.Sprint(tt.max, " ", tt.then), func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				g := &gate{answer: make(chan error)}
				b := &llm.Breaker{BreakerSettings: llm.BreakerSettings{FailureThreshold: 2, CooldownSecs: 10, HalfOpenMax: tt.max}}
				m := llm.Break(g, b)
				ask := func() { _, _ = llm.Generate(context.Background(), m, &llm.Request{}) }
				for range 2 {
					go ask()
					g.answer <- failure(llm.Provider, 0)
				}
				synctest.Wait()
				if b.State() != llm.BreakerOpen {
					t.Fatalf("after as many failures as the threshold it is %s", b.State())
				}
				time.Sleep(9 * time.Second)
				if ask(); b.State() != llm.BreakerOpen || g.asked != 2 {
					t.Fatalf("before the cooldown has passed it is %s, asked %d times", b.State(), g.asked)
				}
				time.Sleep(time.Second)
				for range 5 {
					go ask()
				}
				synctest.Wait()
				if probes := g.asked - 2; b.State() != llm.BreakerHalfOpen || probes != tt.want {
					t.Errorf("it is %s with %d probes, want %d", b.State(), probes, tt.want)
				}
				g.answer <- tt.result // the first that ends decides
				synctest.Wait()
				if b.State() != tt.then {
					t.Errorf("after the first probe it is %s, want %s", b.State(), tt.then)
				}
				for range tt.want - 1 {
					g.answer <- tt.result
				}
				synctest.Wait()
				if b.State() != tt.then {
					t.Errorf("after all probes it is %s, want %s", b.State(), tt.then)
				}
			})
		})
	}
}

// pool returns a pool of models by name, each with its plan.
func pool(t *testing.T, opts llm.PoolOptions, plans map[string]*plan, order ...string) *llm.Pool {
	t.Helper()
	var members []llm.PoolMember
	for _, id := range order {
		name, failover := strings.CutSuffix(id, "?")
		members = append(members, llm.PoolMember{ID: name, Model: plans[name], Upstream: "up-" + name, Failover: failover})
	}
	p, err := llm.NewPool(members, opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPool_SessionsStayWithTheirHome(t *testing.T) {
	plans := map[string]*plan{"gpt": {steps: []any{"gpt"}}, "claude": {steps: []any{"claude"}}}
	p := pool(t, llm.PoolOptions{}, plans, "gpt", "claude")
	for range 3 {
		for thread, want := range map[string]string{"thread-1": "gpt", "thread-2": "claude", "t3": "gpt"} {
			if got, err := ask(t, p, thread); got != want || err != nil {
				t.Errorf("%s: %q, %v, want %s", thread, got, err, want)
			}
		}
	}
	if plans["gpt"].asked[0] != "up-gpt" {
		t.Errorf("the provider was asked for %q", plans["gpt"].asked[0])
	}
}

func TestPool_SwitchesOnlyForErrorsThatAnotherMemberMayNotHave(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		opts llm.PoolOptions
		want string
		kind llm.Kind
	}{
		{"at a rate limit", failure(llm.RateLimited, 0), llm.PoolOptions{}, "claude", ""},
		{"when overloaded", failure(llm.Overloaded, 0), llm.PoolOptions{}, "claude", ""},
		{"when the credit is used up", failure(llm.QuotaExceeded, 0), llm.PoolOptions{}, "claude", ""},
		{"not if told not to", failure(llm.RateLimited, 0), llm.PoolOptions{IgnoreQuota: true}, "", llm.RateLimited},
		{"not for a short limit", failure(llm.RateLimited, 2*time.Second), llm.PoolOptions{QuotaAfterSecs: 10}, "", llm.RateLimited},
		{"for a long limit", failure(llm.RateLimited, 20*time.Second), llm.PoolOptions{QuotaAfterSecs: 10}, "claude", ""},
		{"when the key is wrong", failure(llm.Unauthorized, 0), llm.PoolOptions{}, "claude", ""},
		{"when the model is unknown", failure(llm.ModelNotFound, 0), llm.PoolOptions{}, "claude", ""},
		{"not for a bad request", failure(llm.InvalidRequest, 0), llm.PoolOptions{}, "", llm.InvalidRequest},
		{"not at a failure if told not to", failure(llm.Provider, 0), llm.PoolOptions{IgnoreCircuit: true}, "", llm.Provider},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plans := map[string]*plan{"gpt": {steps: []any{tt.err}}, "claude": {steps: []any{"claude"}}}
			p := pool(t, tt.opts, plans, "gpt", "claude")
			got, err := ask(t, p, "thread-1")
			if got != tt.want || llm.KindOf(err) != tt.kind {
				t.Errorf("%q, %v", got, err)
			}
			if tt.want != "" { // and stays where it moved to
				plans["gpt"].steps = []any{"gpt"}
				if got, _ := ask(t, p, "thread-1"); got != "claude" {
					t.Errorf("it went back to %q", got)
				}
			}
		})
	}
}

func TestPool_SwitchesWhenABreakerOpens(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		plans := map[string]*plan{"gpt": {steps: []any{failure(llm.Provider, 0)}}, "claude": {steps: []any{"claude"}}}
		p := pool(t, llm.PoolOptions{}, plans, "gpt", "claude")
		for range 3 { // each failure lends the request to another member, and the session stays
			if got, err := ask(t, p, "thread-1"); got != "claude" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		}
		if n := len(plans["gpt"].asked); n != 3 {
			t.Errorf("the session's member was asked %d times, want 3", n)
		}
		for i := 0; len(plans["gpt"].asked) < 7 && i < 100; i++ { // until its breaker opens
			_, _ = ask(t, p, fmt.Sprint("t", i))
		}
		for range 2 { // then the session moves
			if got, err := ask(t, p, "thread-1"); got != "claude" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		}
		if n := len(plans["gpt"].asked); n != 7 {
			t.Errorf("the member with an open breaker was asked %d times, want 7", n)
		}
	})
}

func TestPool_AQuarantinedMemberIsProbedAndComesBack(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		account := uint64(1)
		b := &llm.Breaker{Name: "gpt", BreakerSettings: llm.BreakerSettings{CooldownSecs: 10}, Account: func() uint64 { return account }}
		gpt, claude := &plan{steps: []any{failure(llm.Unauthorized, 0)}}, &plan{steps: []any{"claude"}}
		p, err := llm.NewPool([]llm.PoolMember{{ID: "gpt", Model: gpt, Breaker: b}, {ID: "claude", Model: claude, Failover: true}}, llm.PoolOptions{PerRun: true, Home: "first_healthy"})
		if err != nil {
			t.Fatal(err)
		}
		session := 0
		requests := func(n int, want string, asked int) {
			t.Helper()
			before := len(gpt.asked)
			for range n {
				session++
				got, err := llm.Generate(t.Context(), p, &llm.Request{Routing: llm.Routing{RunID: fmt.Sprint("run-", session)}})
				if err != nil || got.Message.Text() != want {
					t.Errorf("%+v, %v, want %q", got, err, want)
				}
			}
			if len(gpt.asked)-before != asked {
				t.Errorf("the member got %d requests, want %d", len(gpt.asked)-before, asked)
			}
		}
		requests(5, "claude", 1)
		if s := b.Status(); s.State != llm.BreakerQuarantined || s.LastError != llm.Unauthorized || s.RetryAt != time.Now().Add(10*time.Second).UnixMilli() {
			t.Errorf("status %+v", s)
		}
		time.Sleep(10 * time.Second)
		requests(5, "claude", 1) // one probe for each cooldown
		gpt.steps = []any{failure(llm.Provider, 0)}
		time.Sleep(10 * time.Second)
		session++
		_, _ = llm.Generate(t.Context(), p, &llm.Request{Routing: llm.Routing{RunID: fmt.Sprint("run-", session)}})
		requests(5, "claude", 0) // another failure does not end the quarantine
		gpt.steps = []any{"gpt"}
		time.Sleep(10 * time.Second)
		requests(5, "gpt", 5)
		if s := b.State(); s != llm.BreakerClosed {
			t.Errorf("after a success it is %s", s)
		}

		gpt.steps, gpt.asked = []any{failure(llm.ModelNotFound, 0)}, nil
		requests(5, "claude", 1)
		account, gpt.steps, gpt.asked = 2, []any{"gpt"}, nil // a new key needs no probe
		requests(5, "gpt", 5)
		if s := b.Status(); s != (llm.BreakerStatus{State: llm.BreakerClosed, Health: llm.HealthOK, LastSuccessAt: time.Now().UnixMilli()}) {
			t.Errorf("with a new account: %+v", s)
		}
	})
}

func TestPool_ReportsThatNoMemberIsLeft(t *testing.T) {
	plans := map[string]*plan{"gpt": {steps: []any{failure(llm.RateLimited, 0)}}, "claude": {steps: []any{failure(llm.RateLimited, 0)}}, "spare": {steps: []any{"spare"}}}
	p := pool(t, llm.PoolOptions{}, plans, "gpt", "claude")
	if _, err := ask(t, p, "t"); llm.KindOf(err) != llm.PoolAttemptsExhausted {
		t.Errorf("all limited: %v", err)
	}
	p = pool(t, llm.PoolOptions{}, plans, "gpt", "claude", "spare?")
	if got, err := ask(t, p, "t"); got != "spare" || err != nil {
		t.Errorf("with a spare: %q, %v", got, err)
	}
	plans["gpt"].steps, plans["claude"].steps = []any{failure(llm.Unauthorized, 0)}, []any{failure(llm.Unauthorized, 0)}
	p = pool(t, llm.PoolOptions{}, plans, "gpt", "claude")
	_, _ = ask(t, p, "t")
	if _, err := ask(t, p, "t"); llm.KindOf(err) != llm.AllModelsUnavailable {
		t.Errorf("all quarantined: %v", err)
	}
	plans["gpt"].steps, plans["claude"].steps = []any{failure(llm.RateLimited, 0)}, []any{failure(llm.RateLimited, 0)}
	plans["spare"].steps = []any{failure(llm.RateLimited, 0)}
	p = pool(t, llm.PoolOptions{MaxSwitches: 1}, plans, "gpt", "claude", "spare?")
	if _, err := ask(t, p, "t"); llm.KindOf(err) != llm.RateLimited {
		t.Errorf("with one switch: %v", err)
	}
	if _, err := llm.NewPool([]llm.PoolMember{{ID: "x", Failover: true}}, llm.PoolOptions{}); err == nil {
		t.Error("a pool without a home")
	}
}

func TestPool_RoundRobinFollowsTheWeights(t *testing.T) {
	counts := map[string]int{}
	members := []llm.PoolMember{{ID: "a", Model: &plan{steps: []any{"a"}}, Weight: 3}, {ID: "b", Model: &plan{steps: []any{"b"}}, Weight: 1}}
	p, err := llm.NewPool(members, llm.PoolOptions{Home: "round_robin"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		got, err := ask(t, p, fmt.Sprint("t", i))
		if err != nil {
			t.Fatal(err)
		}
		counts[got]++
	}
	if counts["a"] != 30 || counts["b"] != 10 {
		t.Errorf("homes are %v", counts)
	}
}

func TestGuard_RejectsUnsupportedMedia(t *testing.T) {
	p := &plan{steps: []any{"ok"}}
	image := llm.Block{Type: llm.ImageBlock, Source: &llm.Source{Type: "url", URL: "https://example.com/a.png"}}
	pdf := llm.Block{Type: llm.DocumentBlock, Source: &llm.Source{Type: "url", URL: "https://example.com/A.PDF?x=1"}}
	note := llm.Block{Type: llm.DocumentBlock, Source: &llm.Source{Type: "base64", MediaType: "text/plain", Data: "aGk="}}
	inTool := llm.Block{Type: llm.ToolResultBlock, Tool: &llm.ToolPart{ID: "c", Content: []llm.Block{image}}}
	for _, tt := range []struct {
		input  []string
		block  llm.Block
		passes bool
	}{
		{nil, image, true}, {[]string{"text"}, image, false}, {[]string{"text", "image"}, image, true},
		{[]string{"text"}, pdf, false}, {[]string{"pdf"}, pdf, true}, {[]string{"text"}, note, true},
		{[]string{"text"}, inTool, false}, {[]string{"image"}, inTool, true}, {[]string{"image"}, llm.Text("hi"), true},
	} {
		_, err := llm.Generate(t.Context(), llm.Guard(p, tt.input), &llm.Request{Model: "m", Messages: llm.NewMessages(&llm.Message{Role: llm.User, Content: []llm.Block{tt.block}})})
		if (err == nil) != tt.passes || err != nil && llm.KindOf(err) != llm.InvalidRequest {
			t.Errorf("%v, %s: %v", tt.input, tt.block.Type, err)
		}
	}
}
