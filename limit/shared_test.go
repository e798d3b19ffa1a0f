package limit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/llm"
)

// Any process can say what the limits of all are, where they come from and how much of them is used.
func TestShared_AnyProcessShowsTheLimitsOfTheFleet(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		p := &provider{perMinute: 120, capacity: 120, headers: true}
		r := &llm.RateLimits{Rate: llm.Rate{RequestsPerMinute: 600}, Models: map[string]llm.Rate{"other": {TokensPerMinute: 5000}}, PerTenant: &llm.Rate{RequestsPerMinute: 60}}
		models, limiters := fleet(t, 3, r, p)
		shown := func(l *limit.Limiter) string {
			t.Helper()
			list, err := l.Shared(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var sb strings.Builder
			for _, s := range list {
				tenant := "all"
				if s.Tenant != nil {
					tenant = *s.Tenant
				}
				fmt.Fprintf(&sb, "%s/%s/%s", s.Provider, s.Model, tenant)
				for unit, m := range map[string]limit.Meter{" requests": s.Requests, " tokens": s.Tokens} {
					if m != (limit.Meter{}) {
						fmt.Fprintf(&sb, "%s %.0f %s %.2f", unit, m.PerMinute, m.Source, m.Used)
					}
				}
				sb.WriteByte('\n')
			}
			return sb.String()
		}
		if got, want := shown(limiters[0]), "p//all requests 600 configured 0.00\np/other/all tokens 5000 configured 0.00\n"; got != want {
			t.Errorf("before the first request:\n%s", cmp.Diff(want, got))
		}
		for i := range 30 {
			ask(t, models[i%2], request("acme", "", false))
		}
		time.Sleep(2 * time.Second) // what the processes do not need is back
		list, err := limiters[2].Shared(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		acme := "acme"
		want := []limit.Shared{
			{Provider: "p", Requests: limit.Meter{PerMinute: 600, Source: limit.Configured}},
			{Provider: "p", Model: "m", Requests: limit.Meter{PerMinute: 120, Source: limit.Learned, Used: 0.15}},
			{Provider: "p", Model: "other", Tokens: limit.Meter{PerMinute: 5000, Source: limit.Configured}},
			{Provider: "p", Tenant: &acme, Requests: limit.Meter{PerMinute: 60, Source: limit.Configured, Used: 0.4}},
		}
		if diff := cmp.Diff(want, list, cmpopts.EquateApprox(0, 0.1)); diff != "" {
			t.Error(diff)
		}
		limiters[2].Set("p", &llm.RateLimits{Learn: new(false)})
		if got := shown(limiters[2]); got != "" {
			t.Errorf("without limits:\n%s", got)
		}
	})
}

// records counts the records of a log by message.
type records struct {
	slog.Handler
	mu   sync.Mutex
	seen []string
}

func (r *records) Enabled(context.Context, slog.Level) bool { return true }

func (r *records) Handle(_ context.Context, rec slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, rec.Level.String()+" "+rec.Message)
	return nil
}

// stuck is a store that fails, or does not answer.
type stuck struct {
	limit.Store
	mu  sync.Mutex
	how string // "", "fails" or "hangs"
}

func (s *stuck) set(how string) { s.mu.Lock(); defer s.mu.Unlock(); s.how = how }

func (s *stuck) LoadBuckets(ctx context.Context, names ...string) ([]limit.Stored, time.Time, error) {
	s.mu.Lock()
	how := s.how
	s.mu.Unlock()
	switch how {
	case "hangs":
		<-ctx.Done()
		return nil, time.Time{}, ctx.Err()
	case "fails":
		return nil, time.Time{}, errors.New("the store is away")
	}
	return s.Store.LoadBuckets(ctx, names...)
}

// An outage of the store is logged once when it begins and once when it ends, whether the store fails or hangs
// and however many providers and requests wait for it.
func TestLimiter_AnOutageOfTheStoreIsLoggedOnce(t *testing.T) {
	for _, how := range []string{"fails", "hangs"} {
		t.Run(how, func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				log, store := &records{}, &stuck{Store: &limit.Memory{}}
				l := limit.New(limit.Config{Store: store, Logger: slog.New(log)})
				defer l.Close()
				p := &provider{perMinute: 1e9, capacity: 1e9}
				outage := func() {
					store.set(how)
					time.AfterFunc(time.Minute, func() { store.set("") })
					var wg sync.WaitGroup
					for i := range 40 {
						name := fmt.Sprint("p", i%2)
						wg.Go(func() { ask(t, l.Model(name, p), request("", "", false)) })
					}
					wg.Wait()
					time.Sleep(10 * time.Second)
				}
				for _, name := range []string{"p0", "p1"} {
					l.Set(name, rates(600, 0))
				}
				outage()
				time.Sleep(time.Minute)
				outage()
				log.mu.Lock()
				defer log.mu.Unlock()
				begun := "WARN cannot share the rate limits of providers; requests beyond the share of this process wait for the store"
				over := "INFO the rate limits of providers are shared again"
				if diff := cmp.Diff([]string{begun, over, begun, over}, log.seen); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
