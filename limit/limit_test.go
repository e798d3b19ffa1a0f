package limit_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/limit/limittest"
	"github.com/awaken-go/awaken/llm"
)

func TestMemory(t *testing.T) {
	limittest.Test(t, func(t *testing.T) (limit.Store, func() limit.Store) {
		m := &limit.Memory{}
		return m, func() limit.Store { return m }
	})
}

// provider is a fake: a token bucket that refuses what exceeds it.
type provider struct {
	perMinute, capacity float64
	headers             bool // responses say what the limit is
	usage               int64

	mu      sync.Mutex
	level   float64
	at      time.Time
	served  []sent
	refused []time.Time
}

type sent struct {
	at   time.Time
	name string // of the thread
}

func (p *provider) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		time.Sleep(20 * time.Millisecond)
		p.mu.Lock()
		now := time.Now()
		if p.at.IsZero() {
			p.level = p.capacity
		} else {
			p.level = min(p.capacity, p.level+p.perMinute*now.Sub(p.at).Minutes())
		}
		p.at = now
		ok := p.level >= 1
		if ok {
			p.level--
			p.served = append(p.served, sent{now, req.Routing.ThreadID})
		} else {
			p.refused = append(p.refused, now)
		}
		r := llm.RateReport{Requests: llm.RateState{Limit: int64(p.capacity), Remaining: int64(p.level), Reset: time.Duration((p.capacity - p.level) / p.perMinute * float64(time.Minute))}}
		p.mu.Unlock()
		if p.headers && req.Reported != nil {
			req.Reported(r)
		}
		if !ok {
			yield(llm.Delta{}, &llm.Error{Kind: llm.RateLimited, Status: 429, RetryAfter: 2 * time.Second})
			return
		}
		time.Sleep(100 * time.Millisecond)
		_ = yield(llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{TotalTokens: p.usage, CompletionTokens: p.usage / 2}}, nil) &&
			yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

func (p *provider) counts() (served, refused int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.served), len(p.refused)
}

func request(tenant, name string, background bool) *llm.Request {
	return &llm.Request{Model: "m", Routing: llm.Routing{ThreadID: name}, Caller: &caller{tenant: tenant, background: background}}
}

type caller struct {
	tenant     string
	background bool
	told       []llm.RateWait
}

func (c *caller) Customer() (string, bool) { return c.tenant, c.background }
func (c *caller) RateWaits(w llm.RateWait) { c.told = append(c.told, w) }

func rates(requests, tokens int) *llm.RateLimits {
	return &llm.RateLimits{Rate: llm.Rate{RequestsPerMinute: requests, TokensPerMinute: tokens}}
}

// fleet returns the models of n processes that share a store.
func fleet(t *testing.T, n int, r *llm.RateLimits, p llm.Model) (models []llm.Model, limiters []*limit.Limiter) {
	store := &limit.Memory{}
	for range n {
		l := limit.New(limit.Config{Store: store})
		t.Cleanup(l.Close)
		if r != nil {
			l.Set("p", r)
		}
		limiters = append(limiters, l)
		models = append(models, l.Model("p", p))
	}
	return models, limiters
}

func ask(t *testing.T, m llm.Model, req *llm.Request) time.Duration {
	t.Helper()
	began := time.Now()
	if _, err := llm.Generate(t.Context(), m, req); err != nil {
		t.Error(err)
	}
	return time.Since(began)
}

// flood keeps every model busy with n requests at a time until the time is over. A request that
// the provider refuses is made again.
func flood(t *testing.T, models []llm.Model, n int, background bool, until time.Time) (waits []time.Duration) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, m := range models {
		for i := range n {
			wg.Go(func() {
				for time.Now().Before(until) {
					began := time.Now()
					_, err := llm.Generate(t.Context(), m, request("", fmt.Sprint(i), background))
					if err != nil && llm.KindOf(err) != llm.RateLimited {
						t.Error(err)
						return
					}
					mu.Lock()
					waits = append(waits, time.Since(began))
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	return waits
}

func TestLimiter_AMinutesWorthAtOnceAndThenEvenly(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		p := &provider{perMinute: 1e9, capacity: 1e9}
		models, _ := fleet(t, 1, rates(60, 0), p)
		began := time.Now()
		for range 70 {
			ask(t, models[0], request("", "", false))
		}
		// A request takes 120 ms, during which there is more room.
		if took := time.Since(began); took < 8*time.Second || took > 12*time.Second {
			t.Errorf("70 requests at 60 a minute took %s", took)
		}
	})
}

func TestLimiter_AFleetUsesTheLimitAndNoMore(t *testing.T) {
	for _, tt := range []struct {
		name      string
		processes int
		headers   bool
		limits    *llm.RateLimits
	}{
		{"configured", 3, false, rates(600, 0)},
		{"learned from headers", 3, true, nil},
		{"both", 3, true, rates(600, 0)},
		{"ten processes", 10, true, rates(600, 0)},
		{"one process", 1, true, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				p := &provider{perMinute: 600, capacity: 600, headers: tt.headers}
				models, _ := fleet(t, tt.processes, tt.limits, p)
				began := time.Now()
				flood(t, models, 60/tt.processes, false, began.Add(2*time.Minute))
				first := began.Add(time.Minute)
				late := 0
				for _, s := range p.served {
					if s.at.After(first) && s.at.Before(began.Add(2*time.Minute)) {
						late++
					}
				}
				if i := slices.IndexFunc(p.refused, func(at time.Time) bool { return at.After(first) }); i >= 0 {
					t.Errorf("refused %d requests, one %s after the beginning", len(p.refused), p.refused[i].Sub(began))
				}
				if want := 600 * 95 / 100; late < want {
					t.Errorf("%d requests in a minute at 600 a minute, want at least %d", late, want)
				}
				t.Logf("%d of 600 requests in the second minute, %d refused in the first", late, len(p.refused))
			})
		})
	}
}

func TestLimiter_UsersDoNotWaitForTheBackground(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		p := &provider{perMinute: 600, capacity: 600, headers: true}
		models, _ := fleet(t, 3, nil, p)
		until := time.Now().Add(3 * time.Minute)
		var wg sync.WaitGroup
		var back []time.Duration
		wg.Go(func() { back = flood(t, models, 30, true, until) })
		time.Sleep(90 * time.Second) // the bucket is empty
		var users []time.Duration
		for i := 0; time.Now().Before(until.Add(-10 * time.Second)); i++ {
			users = append(users, ask(t, models[i%3], request("", "user", false)))
		}
		wg.Wait()
		mean := func(list []time.Duration) (sum time.Duration) {
			for _, d := range list {
				sum += d
			}
			return sum / time.Duration(len(list))
		}
		t.Logf("users wait %s, %d requests; the background %s, %d requests", mean(users), len(users), mean(back), len(back))
		if mean(users) > mean(back)/4 || slices.Max(users) > 3*time.Second {
			t.Errorf("users wait %s, at most %s; the background waits %s", mean(users), slices.Max(users), mean(back))
		}
	})
}

func TestLimiter_TheBackgroundIsNotStarved(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		p := &provider{perMinute: 60, capacity: 60}
		models, _ := fleet(t, 2, rates(60, 0), p)
		until := time.Now().Add(4 * time.Minute)
		var wg sync.WaitGroup
		wg.Go(func() { flood(t, models, 5, false, until) })
		time.Sleep(90 * time.Second)
		took := ask(t, models[0], request("", "late", true))
		if took > 90*time.Second {
			t.Errorf("a request in the background took %s", took)
		}
		wg.Wait()
	})
}

func TestLimiter_ATenantWithManyRequestsDoesNotDelayAnother(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		p := &provider{perMinute: 600, capacity: 600}
		models, _ := fleet(t, 2, rates(600, 0), p)
		var wg sync.WaitGroup
		for range 1200 {
			wg.Go(func() { ask(t, models[0], request("big", "", false)) })
		}
		time.Sleep(time.Second)
		for i := range 5 {
			if took := ask(t, models[i%2], request("small", "", false)); took > 2*time.Second {
				t.Errorf("the other tenant's request took %s", took)
			}
		}
		wg.Wait()
	})
}

func TestLimiter_LimitsOfTenantsAndModels(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		p := &provider{perMinute: 1e9, capacity: 1e9}
		r := &llm.RateLimits{Models: map[string]llm.Rate{"slow": {RequestsPerMinute: 6}}, PerTenant: &llm.Rate{RequestsPerMinute: 60}, Tenants: map[string]llm.Rate{"vip": {}}}
		models, _ := fleet(t, 2, r, p)
		spend := func(tenant, model string, n int) time.Duration {
			began := time.Now()
			for i := range n {
				req := request(tenant, "", false)
				req.Model = model
				ask(t, models[i%2], req)
			}
			return time.Since(began).Round(time.Second)
		}
		if took := spend("a", "m", 80); took < 10*time.Second {
			t.Errorf("80 requests of a tenant with 60 a minute took %s", took)
		}
		if took := spend("b", "m", 40); took > 6*time.Second {
			t.Errorf("40 requests of another tenant took %s", took)
		}
		if took := spend("vip", "m", 200); took > 25*time.Second {
			t.Errorf("200 requests of a tenant without a limit took %s", took)
		}
		if took := spend("vip", "slow", 9); took < 25*time.Second || took > 35*time.Second {
			t.Errorf("9 requests to a model with 6 a minute took %s, want about 30s", took)
		}
	})
}

func TestLimiter_TokensAreReservedAndCorrected(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		p := &provider{perMinute: 1e9, capacity: 1e9, usage: 1000}
		models, _ := fleet(t, 2, rates(0, 60_000), p)
		until := time.Now().Add(4 * time.Minute)
		flood(t, models, 10, false, until)
		used := 1000 * len(p.served)
		if most := 60_000*5 + 20_000; used > most || used < 60_000*5*85/100 {
			t.Errorf("%d tokens were used in 4 minutes at 60,000 a minute that begin with a minute's worth", used)
		}
		// A request larger than the bucket waits until it is full, and is sent.
		large := request("", "", false)
		large.Messages = llm.NewMessages(llm.UserText(string(make([]byte, 400_000))))
		if took := ask(t, models[0], large); took < 10*time.Second || took > 3*time.Minute {
			t.Errorf("a request of 100,000 tokens took %s", took)
		}
	})
}

func TestLimiter_ARefusalPausesAllProcesses(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var times []time.Time
		refuse := true
		m := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
			return func(yield func(llm.Delta, error) bool) {
				mu.Lock()
				times = append(times, time.Now())
				first := refuse
				refuse = false
				mu.Unlock()
				if first {
					yield(llm.Delta{}, &llm.Error{Kind: llm.RateLimited, Status: 429, RetryAfter: 20 * time.Second})
					return
				}
				yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
			}
		})
		models, _ := fleet(t, 2, nil, m)
		began := time.Now()
		if _, err := llm.Generate(t.Context(), models[0], request("", "", false)); llm.KindOf(err) != llm.RateLimited {
			t.Fatalf("the refusal is %v", err)
		}
		time.Sleep(time.Second) // the store knows
		var wg sync.WaitGroup
		for _, m := range models {
			wg.Go(func() { ask(t, m, request("", "", false)) })
		}
		wg.Wait()
		for _, at := range times[1:] {
			if after := at.Sub(began); after < 20*time.Second && after > 3*time.Second || after > 30*time.Second {
				t.Errorf("a request was sent %s after a refusal that asks for 20 s", after)
			}
		}
	})
}

func TestLimiter_AProviderThatDoesNotSayItsLimitIsLearned(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		p := &provider{perMinute: 300, capacity: 20}
		models, _ := fleet(t, 3, nil, p)
		began := time.Now()
		flood(t, models, 10, false, began.Add(6*time.Minute))
		served, refused := p.counts()
		t.Logf("%d served of %d, %d refused", served, 300*6, refused)
		if refused > served/8 { // three refusals at full load, and a few each time that the ceiling is tried
			t.Errorf("%d of %d requests were refused", refused, served)
		}
		if served < 300*6*4/5 {
			t.Errorf("%d requests were served in 6 minutes at 300 a minute", served)
		}
	})
}

func TestLimiter_AWaitEndsWithItsContextAndTakesNothing(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		p := &provider{perMinute: 1e9, capacity: 1e9}
		models, _ := fleet(t, 1, rates(1, 0), p)
		ask(t, models[0], request("", "", false))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		_, err := llm.Generate(ctx, models[0], request("", "", false))
		if took := time.Since(began); llm.KindOf(err) != llm.Cancelled || took != 5*time.Second {
			t.Errorf("after %s: %v", took, err)
		}
		if took := ask(t, models[0], request("", "", false)); took > 58*time.Second {
			t.Errorf("the next request took %s: the cancelled one has used its place", took)
		}
	})
}

func TestLimiter_LimitsChangeWhileRequestsWait(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		p := &provider{perMinute: 1e9, capacity: 1e9}
		models, limiters := fleet(t, 1, rates(1, 0), p)
		ask(t, models[0], request("", "", false))
		for name, next := range map[string]*llm.RateLimits{"raised": rates(6000, 0), "removed": nil} {
			limiters[0].Set("p", rates(1, 0))
			time.Sleep(5 * time.Second)
			done := make(chan time.Duration)
			go func() { done <- ask(t, models[0], request("", "", false)) }()
			time.Sleep(3 * time.Second)
			limiters[0].Set("p", next)
			if took := <-done; took > 4500*time.Millisecond {
				t.Errorf("the limit was %s after 3s, and the request took %s", name, took)
			}
		}
	})
}

// dying is a store that its process cannot reach any more.
type dying struct {
	limit.Store
	gone   atomic.Bool
	silent bool // it does not even fail
}

var errGone = errors.New("the store is away")

func (d *dying) LoadBuckets(ctx context.Context, names ...string) ([]limit.Stored, time.Time, error) {
	if d.gone.Load() {
		if d.silent {
			<-ctx.Done()
		}
		return nil, time.Time{}, errGone
	}
	return d.Store.LoadBuckets(ctx, names...)
}

func (d *dying) SwapBucket(ctx context.Context, b limit.Stored) (bool, error) {
	if d.gone.Load() {
		return false, errGone
	}
	return d.Store.SwapBucket(ctx, b)
}

func TestLimiter_AProcessThatDiesLeavesTheRestToOthers(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		p := &provider{perMinute: 600, capacity: 600}
		store := &dying{Store: &limit.Memory{}}
		dead, living := limit.New(limit.Config{Store: store}), limit.New(limit.Config{Store: store.Store})
		defer dead.Close()
		defer living.Close()
		dead.Set("p", rates(600, 0))
		living.Set("p", rates(600, 0))
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		m := dead.Model("p", p)
		for range 2000 { // it never stops asking
			wg.Go(func() { _, _ = llm.Generate(ctx, m, request("", "dead", false)) })
		}
		time.Sleep(90 * time.Second)
		store.gone.Store(true)
		died := time.Now()
		flood(t, []llm.Model{living.Model("p", p)}, 60, false, died.Add(time.Minute))
		cancel()
		wg.Wait()
		n := 0
		for _, s := range p.served {
			if s.name != "dead" && s.at.Before(died.Add(time.Minute)) {
				n++
			}
		}
		if n < 600*90/100 || len(p.refused) > 0 {
			t.Errorf("%d requests of 600 were served in the minute after another process died, %d refused (%s)", n, len(p.refused), time.Since(began))
		}
	})
}

func TestLimiter_RequestsWaitWhileTheStoreIsAway(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		p := &provider{perMinute: 1e9, capacity: 1e9}
		store := &dying{Store: &limit.Memory{}}
		l := limit.New(limit.Config{Store: store})
		defer l.Close()
		l.Set("p", rates(600, 0))
		store.gone.Store(true)
		time.AfterFunc(30*time.Second, func() { store.gone.Store(false) })
		if took := ask(t, l.Model("p", p), request("", "", false)); took < 30*time.Second || took > 32*time.Second {
			t.Errorf("the store was away for 30s, and the request took %s", took)
		}
	})
}

func TestLimiter_ARequestThatWaitsSaysSo(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		p := &provider{perMinute: 1e9, capacity: 1e9}
		var mu sync.Mutex
		var waited []limit.Waited
		l := limit.New(limit.Config{Waited: func(w limit.Waited) { mu.Lock(); waited = append(waited, w); mu.Unlock() }})
		defer l.Close()
		l.Set("p", rates(6, 0))
		m := l.Model("p", p)
		w := &caller{tenant: "t", background: true}
		for range 7 {
			req := request("t", "", true)
			req.Caller = w
			ask(t, m, req)
		}
		if want := []llm.RateWait{{Provider: "p", Model: "m"}}; !slices.Equal(w.told, want) {
			t.Errorf("the request was told %v, want %v", w.told, want)
		}
		last := waited[len(waited)-1]
		if last.For < 5*time.Second || !last.Sent || !last.Background || last.Provider != "p" || last.Model != "m" || last.Tenant != "t" {
			t.Errorf("the wait is reported as %+v", last)
		}
	})
}

// TestLimiter_StatementsDoNotGrowWithRequests holds how often the store is asked.
func TestLimiter_StatementsDoNotGrowWithRequests(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := &counting{Memory: &limit.Memory{}}
		l := limit.New(limit.Config{Store: store})
		defer l.Close()
		l.Set("p", rates(60_000, 0))
		p := &provider{perMinute: 1e9, capacity: 1e9}
		m := l.Model("p", p)
		flood(t, []llm.Model{m}, 100, false, time.Now().Add(20*time.Second))
		served, _ := p.counts()
		t.Logf("%d requests in 20 seconds: %d statements", served, store.n)
		if served < 15_000 || store.n > served/20 {
			t.Errorf("%d requests took %d statements", served, store.n)
		}
	})
}

type counting struct {
	*limit.Memory
	mu sync.Mutex
	n  int
}

func (c *counting) count() { c.mu.Lock(); c.n++; c.mu.Unlock() }

func (c *counting) LoadBuckets(ctx context.Context, names ...string) ([]limit.Stored, time.Time, error) {
	c.count()
	return c.Memory.LoadBuckets(ctx, names...)
}

func (c *counting) SwapBucket(ctx context.Context, b limit.Stored) (bool, error) {
	c.count()
	return c.Memory.SwapBucket(ctx, b)
}

// A provider that counts tokens wrongly does not stop its requests for ever, nor free them from their limit.
func TestLimiter_AbsurdUsageSaysNothing(t *testing.T) {
	for _, usage := range []int64{math.MaxInt64, -math.MaxInt64, 1 << 40} {
		bubbletest.Test(t, func(t *testing.T) {
			p := &provider{perMinute: 1e9, capacity: 1e9, usage: usage}
			models, _ := fleet(t, 1, rates(0, 10_000), p)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			n := 0
			for ; n < 2000; n++ {
				if _, err := llm.Generate(ctx, models[0], request("", "", false)); err != nil {
					break
				}
			}
			if n < 100 || n > 400 { // each is estimated at some 256 tokens
				t.Errorf("with a usage of %d tokens, %d requests were sent in 5 minutes", usage, n)
			}
		})
	}
}
