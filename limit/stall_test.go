package limit_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/llm"
)

// member is a model that answers at once, unless it refuses with an error.
type member struct {
	mu    sync.Mutex
	err   error
	asked int
}

func (m *member) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		m.mu.Lock()
		m.asked++
		err := m.err
		m.mu.Unlock()
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

func (m *member) set(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func tooMany(after time.Duration) error {
	return &llm.Error{Kind: llm.RateLimited, Status: 429, RetryAfter: after}
}

// One refusal is the pause that the provider asks for, and nothing else.
func TestLimiter_OneRefusalIsOnePause(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		m := &member{}
		models, limiters := fleet(t, 2, nil, m)
		ask(t, models[0], request("", "", false))
		time.Sleep(time.Minute)
		m.set(tooMany(time.Second))
		if _, err := llm.Generate(t.Context(), models[0], request("", "", false)); llm.KindOf(err) != llm.RateLimited {
			t.Fatalf("the refusal is %v", err)
		}
		m.set(nil)
		time.Sleep(100 * time.Millisecond) // the store knows
		for i := range 20 {
			if took := ask(t, models[i%2], request("", "", false)); took > 1500*time.Millisecond {
				t.Fatalf("request %d after one refusal that asks for 1 s took %s", i, took)
			}
		}
		for _, k := range limiters[0].Known() {
			t.Errorf("a limit was learned from one refusal: %+v", k)
		}
	})
}

// A ceiling follows from repeated refusals under load. It is what the provider served, is visible, can be
// reset, and is gone a minute after the last refusal.
func TestLimiter_ACeilingIsWhatWorksAndGoes(t *testing.T) {
	for _, reset := range []bool{false, true} {
		bubbletest.Test(t, func(t *testing.T) {
			p := &provider{perMinute: 300, capacity: 20}
			models, limiters := fleet(t, 2, nil, p)
			flood(t, models, 10, false, time.Now().Add(2*time.Minute))
			shared, err := limiters[1].Shared(t.Context())
			if err != nil || len(shared) != 1 || shared[0].Requests.Source != limit.Refused || shared[0].Requests.PerMinute < 200 {
				t.Fatalf("after two minutes of refusals the limits are %+v, %v", shared, err)
			}
			p.mu.Lock()
			p.perMinute, p.capacity, p.level = 1e6, 1e6, 1e6
			p.mu.Unlock()
			if reset {
				if err := limiters[1].Reset(t.Context(), "p", "m"); err != nil {
					t.Fatal(err)
				}
			} else {
				time.Sleep(time.Minute)
			}
			time.Sleep(3 * time.Second) // the other process looks
			if shared, err = limiters[0].Shared(t.Context()); err != nil || len(shared) > 0 {
				t.Errorf("reset %t: the limits are still %+v, %v", reset, shared, err)
			}
			ask(t, models[0], request("", "", false))
			time.Sleep(3 * time.Second)
			began := time.Now()
			for range 200 {
				ask(t, models[0], request("", "", false))
			}
			if took := time.Since(began); took > 200*130*time.Millisecond {
				t.Errorf("reset %t: 200 requests that take 120 ms each took %s", reset, took)
			}
		})
	}
}

// A pool with a member that is paused sends to the one that is not.
func TestPool_DoesNotWaitForAPausedMember(t *testing.T) {
	for _, pause := range []time.Duration{time.Second, 20 * time.Second, 90 * time.Second, time.Hour} {
		bubbletest.Test(t, func(t *testing.T) {
			l := limit.New(limit.Config{})
			defer l.Close()
			a, b := &member{err: tooMany(pause)}, &member{}
			p := poolOf(t, llm.PoolOptions{Home: "first_healthy"}, l, a, b)
			direct := l.Model("p0", a)
			_, _ = llm.Generate(t.Context(), direct, &llm.Request{Model: "up0"}) // the refusal of another request
			time.Sleep(100 * time.Millisecond)
			for i := range 5 {
				if took := ask(t, p, &llm.Request{Routing: llm.Routing{ThreadID: fmt.Sprint(i)}}); took > 0 {
					t.Errorf("request %d waited %s for a member that is paused for %s", i, took, pause)
				}
			}
			if a.asked != 1 {
				t.Errorf("the paused member got %d requests, want 1", a.asked)
			}
		})
	}
}

// A pool with a member whose limit is used up sends to the other at once, and to the first as often as its limit allows.
func TestPool_DoesNotWaitForALimitThatIsUsedUp(t *testing.T) {
	for _, test := range []struct {
		rates *llm.RateLimits
		least int // requests that the limited member gets in a minute
	}{{rates(60, 0), 50}, {rates(1, 0), 0}, {rates(0, 600), 1}} {
		bubbletest.Test(t, func(t *testing.T) {
			l := limit.New(limit.Config{})
			defer l.Close()
			a, b := &member{}, &member{}
			p := poolOf(t, llm.PoolOptions{Home: "first_healthy"}, l, a, b)
			l.Set("p0", test.rates)
			for i := range 600 { // the minute's worth that there is at first
				ask(t, p, &llm.Request{Routing: llm.Routing{ThreadID: fmt.Sprint(i)}})
			}
			before, waited := a.asked, []time.Duration{}
			for i := range 3000 {
				time.Sleep(20 * time.Millisecond)
				if took := ask(t, p, &llm.Request{Routing: llm.Routing{ThreadID: fmt.Sprint("later", i)}}); took > 10*time.Millisecond {
					waited = append(waited, took)
				}
			}
			if len(waited) > 0 {
				t.Errorf("with %+v, %d of 3000 requests waited for a limit that was used up, the first one %s", *test.rates, len(waited), waited[0])
			}
			if got := a.asked - before; got < test.least || test.rates.RequestsPerMinute > 0 && got > test.rates.RequestsPerMinute+2 {
				t.Errorf("with %+v, the limited member got %d requests in a minute, want at least %d", *test.rates, got, test.least)
			}
		})
	}
}

// A pool does not wait, request by request, for a store that fails or does not answer.
func TestPool_DoesNotWaitForAStoreThatIsAway(t *testing.T) {
	for _, silent := range []bool{false, true} {
		bubbletest.Test(t, func(t *testing.T) {
			store := &dying{Store: &limit.Memory{}, silent: silent}
			l := limit.New(limit.Config{Store: store})
			defer l.Close()
			p := poolOf(t, llm.PoolOptions{Home: "first_healthy"}, l, &member{}, &member{})
			l.Set("p0", rates(60, 0))
			ask(t, p, &llm.Request{Routing: llm.Routing{ThreadID: "first"}})
			store.gone.Store(true)
			waited := 0
			for i := range 200 {
				if took := ask(t, p, &llm.Request{Routing: llm.Routing{ThreadID: fmt.Sprint(i)}}); took > 10*time.Millisecond {
					waited++
				}
			}
			if waited > 2 { // they came before the store was known to be away
				t.Errorf("silent %t: %d of 200 requests waited for the store", silent, waited)
			}
			store.gone.Store(false)
		})
	}
}

// poolOf returns a pool of models, each with a provider and a limiter's account of its own.
func poolOf(t *testing.T, opts llm.PoolOptions, l *limit.Limiter, models ...llm.Model) *llm.Pool {
	t.Helper()
	var members []llm.PoolMember
	for i, m := range models {
		members = append(members, llm.PoolMember{ID: fmt.Sprint("m", i), Upstream: fmt.Sprint("up", i), Model: l.Model(fmt.Sprint("p", i), m)})
	}
	p, err := llm.NewPool(members, opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Whatever state the members are in: if one can answer, the request is answered without a wait. If none can
// but a pause ends soon, the request waits for the pause that ends first. Otherwise it is refused at
// once with the time to come back.
func TestPool_NeverWaitsWhileAMemberCanAnswer(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 150 {
		bubbletest.Test(t, func(t *testing.T) {
			l := limit.New(limit.Config{})
			defer l.Close()
			states := make([]string, 2+rnd.IntN(4))
			var models []llm.Model
			var soonest time.Duration
			canAnswer := false
			for i := range states {
				m := &member{}
				models = append(models, m)
				provider := fmt.Sprint("p", i)
				switch states[i] = []string{"fine", "paused", "failing", "limited", "forbidden", "full"}[rnd.IntN(6)]; states[i] {
				case "fine":
					canAnswer = true
				case "paused":
					pause := time.Duration(1+rnd.IntN(100)) * time.Second
					states[i] += pause.String()
					m.set(tooMany(pause))
					_, _ = llm.Generate(t.Context(), l.Model(provider, m), &llm.Request{Model: fmt.Sprint("up", i)})
					m.set(nil)
					if soonest == 0 || pause < soonest {
						soonest = pause
					}
				case "failing":
					m.set(&llm.Error{Kind: llm.Provider, Status: 500})
				case "limited":
					m.set(&llm.Error{Kind: llm.Overloaded, Status: 529})
				case "forbidden":
					m.set(&llm.Error{Kind: llm.Unauthorized, Status: 401})
				case "full": // the configured limit is used up for a minute
					l.Set(provider, rates(1, 0))
					ask(t, l.Model(provider, m), &llm.Request{Model: fmt.Sprint("up", i)})
					if soonest == 0 || soonest > time.Minute {
						soonest = time.Minute
					}
				}
			}
			time.Sleep(300 * time.Millisecond)
			p := poolOf(t, llm.PoolOptions{}, l, models...)
			began := time.Now()
			_, err := llm.Generate(t.Context(), p, &llm.Request{Routing: llm.Routing{ThreadID: fmt.Sprint(rnd.Uint64())}})
			took := time.Since(began)
			switch {
			case canAnswer && (err != nil || took > 10*time.Millisecond):
				t.Errorf("seed %d, %v: took %s, %v, though a member can answer", seed, states, took, err)
			case !canAnswer && soonest == 0 && (err == nil || took > 0):
				t.Errorf("seed %d, %v: took %s, %v, want a failure at once", seed, states, took, err)
			case !canAnswer && soonest > 0 && took > soonest+2*time.Second+time.Duration(len(states))*300*time.Millisecond:
				t.Errorf("seed %d, %v: took %s, %v, though a member can answer after %s", seed, states, took, err, soonest)
			}
		})
	}
}
