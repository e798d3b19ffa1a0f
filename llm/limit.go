package llm

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"
)

// Limiter keeps requests within what a provider allows: so many requests and tokens in a
// minute. Requests that have to wait do so in the order they came. It is safe for
// concurrent use, and shared by the models of an account.
type Limiter struct {
	requests, tokens bucket
	maxWait          time.Duration

	mu   sync.Mutex
	line chan struct{} // whoever holds it is first in line
}

// bucket fills evenly and holds a minute's worth.
type bucket struct {
	perMinute float64 // 0 means no limit
	level     float64
	at        time.Time
}

// NewLimiter returns a limiter for so many requests and tokens per minute; 0 means no
// limit. A request that would wait longer than maxWait is refused; 0 waits for as long as
// its context.
func NewLimiter(requests, tokens int, maxWait time.Duration) *Limiter {
	l := &Limiter{maxWait: maxWait, line: make(chan struct{}, 1)}
	now := time.Now()
	l.requests = bucket{float64(requests), float64(requests), now}
	l.tokens = bucket{float64(tokens), float64(tokens), now}
	return l
}

// fill brings the level up to date.
func (b *bucket) fill(now time.Time) {
	b.level = min(b.perMinute, b.level+b.perMinute*now.Sub(b.at).Minutes())
	b.at = now
}

// wait is how long it takes until n can be taken; a bucket too small for n waits until it
// is full.
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

// take waits for its turn and takes one request and so many tokens.
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

// correct replaces an estimate by what was used.
func (l *Limiter) correct(estimated, used int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens.level += float64(estimated - used)
}

// Limit returns a model that asks m within the limits of l. Estimate guesses the tokens of
// a request; what the provider reports is what counts in the end.
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
