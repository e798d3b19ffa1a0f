package llm

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"
)

// Limiter limits the requests and tokens per minute that are sent to a provider. Requests
// over the limit wait in the order in which they arrived. A Limiter is safe for concurrent
// use; share one among the models of an account.
type Limiter struct {
	requests, tokens bucket
	maxWait          time.Duration

	mu   sync.Mutex
	line chan struct{} // holding it means being first in line
}

// bucket is a token bucket: it fills evenly and holds a minute's worth.
type bucket struct {
	perMinute float64 // 0 means no limit
	level     float64
	at        time.Time
}

// NewLimiter returns a limiter for the given requests and tokens per minute; 0 means no
// limit. A request that would wait longer than maxWait fails with an error of kind
// RateLimited; with a maxWait of 0 it waits until its context ends.
func NewLimiter(requests, tokens int, maxWait time.Duration) *Limiter {
	l := &Limiter{maxWait: maxWait, line: make(chan struct{}, 1)}
	now := time.Now()
	l.requests = bucket{float64(requests), float64(requests), now}
	l.tokens = bucket{float64(tokens), float64(tokens), now}
	return l
}

// fill raises the level to what it is now.
func (b *bucket) fill(now time.Time) {
	b.level = min(b.perMinute, b.level+b.perMinute*now.Sub(b.at).Minutes())
	b.at = now
}

// wait returns how long it takes until n can be taken. A bucket smaller than n waits until
// it is full.
func (b *bucket) wait(n float64) time.Duration {
	if b.perMinute == 0 {
		return 0
	}
	missing := min(n, b.perMinute) - b.level
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing / b.perMinute * float64(time.Minute))
}

// take waits for its turn and takes one request and that many tokens.
func (l *Limiter) take(ctx context.Context, tokens int) error {
	select {
	case l.line <- struct{}{}: // the runtime wakes senders in the order they came
		defer func() { <-l.line }()
	case <-ctx.Done():
		return &Error{Kind: Cancelled, Message: "cancelled while waiting for the rate limit", Err: context.Cause(ctx)}
	}
	for {
		l.mu.Lock()
		now := time.Now()
		l.requests.fill(now)
		l.tokens.fill(now)
		wait := max(l.requests.wait(1), l.tokens.wait(float64(tokens)))
		if wait == 0 {
			l.requests.level--
			l.tokens.level -= float64(tokens)
			l.mu.Unlock()
			return nil
		}
		l.mu.Unlock()
		if l.maxWait > 0 && wait > l.maxWait {
			return &Error{Kind: RateLimited, RetryAfter: wait, Message: fmt.Sprintf("the configured rate limit would delay the request by %s, more than the allowed %s", wait.Round(time.Millisecond), l.maxWait)}
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// correct replaces the estimated tokens of a request with those it used.
func (l *Limiter) correct(estimated, used int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens.level += float64(estimated - used)
}

// Limit returns a model that sends requests to m within the limits of l. Estimate returns
// the expected tokens of a request; the usage that the provider reports replaces it.
func Limit(m Model, l *Limiter, estimate func(*Request) int) Model {
	return ModelFunc(func(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
		return func(yield func(Delta, error) bool) {
			guess := estimate(req)
			if err := l.take(ctx, guess); err != nil {
				yield(Delta{}, err)
				return
			}
			used := -1
			defer func() {
				if used >= 0 {
					l.correct(guess, used)
				}
			}()
			for d, err := range m.Stream(ctx, req) {
				if d.Kind == UsageDelta && d.Usage != nil {
					used = int(max(d.Usage.TotalTokens, d.Usage.PromptTokens+d.Usage.CompletionTokens))
				}
				if !yield(d, err) || err != nil {
					return
				}
			}
		}
	})
}
