package limit

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Source is the source of a limit.
type Source string

// The sources of limits.
const (
	Configured Source = "configured"
	Learned    Source = "learned" // the provider states it
	Refused    Source = "refused" // the provider refused more, without saying what its limit is
)

// Shared is a limit that all processes of a fleet share.
type Shared struct {
	Provider string
	Model    string        // "" if it is one of all models
	Tenant   *string       // nil if it is one of all tenants
	Requests Meter         // the zero Meter means no limit
	Tokens   Meter         //
	Paused   time.Duration // what is left of a pause that the provider asked for
	Waiting  int           // requests of all processes
}

// Meter is a limit and how much of it is used.
type Meter struct {
	PerMinute float64
	Source    Source
	Used      float64 // used share of the burst: 0 if all of it is available, 1 if the next request waits
}

// Shared returns the configured and learned limits in the store, sorted by provider, model and tenant. Limits per tenant are listed for the
// tenants that have used them.
func (l *Limiter) Shared(ctx context.Context) ([]Shared, error) {
	stored, now, err := l.cfg.Store.LoadBuckets(ctx)
	if err != nil {
		return nil, err
	}
	buckets := map[string]*bucket{}
	for _, s := range stored {
		b := &bucket{}
		if json.Unmarshal(s.Data, b) == nil {
			buckets[s.Name] = b
		}
	}
	l.mu.Lock()
	accounts := maps.Clone(l.accounts)
	l.mu.Unlock()
	for _, a := range accounts {
		for _, name := range a.configuredBuckets() {
			if buckets[name] == nil {
				buckets[name] = &bucket{At: now.UnixMilli()}
			}
		}
	}
	out := []Shared{}
	for name, b := range buckets {
		if s, ok := b.shared(name, accounts, now.UnixMilli()); ok {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b Shared) int {
		tenant := func(s *Shared) string {
			if s.Tenant == nil {
				return ""
			}
			return "\x01" + *s.Tenant // after the limits of all tenants
		}
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(tenant(&a), tenant(&b)), cmp.Compare(a.Model, b.Model))
	})
	return out, nil
}

// configuredBuckets returns the names of the buckets that the configuration of a provider names.
func (a *account) configuredBuckets() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := []string{bucketName(a.provider, ofAccount, "")}
	for model := range a.limits.Models {
		out = append(out, bucketName(a.provider, ofModel, model))
	}
	for tenant := range a.limits.Tenants {
		out = append(out, bucketName(a.provider, ofTenant, tenant))
	}
	return out
}

// shared returns what a bucket with a name says at a time of the store's clock, unless it limits nothing.
func (b *bucket) shared(name string, accounts map[string]*account, now int64) (s Shared, ok bool) {
	part := strings.Split(name, "/")
	if len(part) != 3 {
		return s, false
	}
	var err error
	if s.Provider, err = url.PathUnescape(part[0]); err != nil {
		return s, false
	}
	of, err := url.PathUnescape(part[2])
	if err != nil {
		return s, false
	}
	a := accounts[s.Provider]
	if a == nil {
		return s, false // this process does not know the provider
	}
	k := kind(part[1])
	switch k {
	case ofModel:
		s.Model = of
	case ofTenant:
		s.Tenant = &of
	}
	configured, learns := a.configuration(k, of)
	if !learns {
		b.forget()
	}
	if now < b.At {
		b.shift(now - b.At)
	}
	b.expire(now)
	for _, c := range b.Claims {
		for _, d := range c.Demand {
			s.Waiting += int(d.Need[interactive].Requests + d.Need[background].Requests)
		}
	}
	s.Requests = b.Requests.shown(now-b.At, now, configured.Requests)
	s.Tokens = b.Tokens.shown(now-b.At, now, configured.Tokens)
	s.Paused = time.Duration(max(0, b.Paused-now)) * time.Millisecond
	return s, s.Requests.PerMinute > 0 || s.Tokens.PerMinute > 0 || s.Paused > 0
}

// configuration returns the limits of a scope that are configured, and whether it learns others.
func (a *account) configuration(k kind, of string) (amount, bool) {
	s := &scope{kind: k, of: of}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.configure(s)
	return s.configured, s.learns
}

// Reset clears the learned limits of a provider's model, or of all its models if model is "": stated limits, ceilings and pauses.
// Configured limits remain. Other processes follow within seconds.
func (l *Limiter) Reset(ctx context.Context, provider, model string) error {
	for range 16 {
		stored, _, err := l.cfg.Store.LoadBuckets(ctx)
		if err != nil {
			return err
		}
		again := false
		for _, s := range stored {
			if s.Name != bucketName(provider, ofModel, model) && (model != "" || !strings.HasPrefix(s.Name, bucketName(provider, ofModel, ""))) {
				continue
			}
			var b bucket
			if json.Unmarshal(s.Data, &b) != nil {
				b = bucket{}
			}
			if !b.forget() {
				continue
			}
			if s.Data, err = json.Marshal(&b); err != nil {
				return err
			}
			done, err := l.cfg.Store.SwapBucket(ctx, s)
			if err != nil {
				return err
			}
			again = again || !done
		}
		if !again {
			l.account(provider).look(model)
			return nil
		}
	}
	return errContended
}

// look visits the buckets of a model, or of all, at once.
func (a *account) look(model string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.scopes {
		if s.kind == ofModel && (model == "" || s.of == model) {
			s.report, s.refusal, s.again, s.pausedUntil, s.current = nil, nil, time.Time{}, time.Time{}, false
		}
	}
	a.wake()
}

// forget removes what was learned, and reports whether there was anything.
func (b *bucket) forget() bool {
	was := b.Paused != 0 || b.Strikes != 0
	b.Paused, b.Strikes = 0, 0
	for _, m := range []*meter{&b.Requests, &b.Tokens} {
		was = was || m.Learned != 0 || m.Ceiling != 0
		m.Learned, m.LearnedAt, m.Ceiling, m.CeilingAt = 0, 0, 0, 0
	}
	return was
}

// shown returns a meter as people see it. What processes have taken counts as used.
func (m *meter) shown(elapsed, now int64, configured float64) Meter {
	m.fill(elapsed, now, configured)
	out := Meter{PerMinute: m.perMinute(now)}
	switch {
	case !m.On:
		return Meter{}
	case m.ceiling(now) == out.PerMinute:
		out.Source = Refused
	case configured == out.PerMinute:
		out.Source = Configured
	default:
		out.Source = Learned
	}
	out.Used = min(1, max(0, 1-m.Level/m.capacity(now)))
	return out
}
