package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/awaken-go/awaken/internal/strict"
)

// RetryPolicy configures how often and after which delay a failed request is retried. Its
// JSON is the section "retry" of an agent. The zero policy does not retry; begin with
// [DefaultRetry] to change a single field.
type RetryPolicy struct {
	MaxRetries              int `json:"max_retries"`                          // of a request that failed before its first delta
	BackoffBaseMS           int `json:"backoff_base_ms,omitempty"`            // delay before the first retry; doubles with each
	OverloadedBackoffBaseMS int `json:"overloaded_backoff_base_ms,omitempty"` // the same if the provider is overloaded
	MaxStreamRetries        int `json:"max_stream_retries,omitempty"`         // of a reply that was interrupted
	StreamIdleTimeoutSecs   int `json:"stream_idle_timeout_secs,omitempty"`   // how long a stream may be silent
	// MaxRetryAfterSecs is the longest delay of a provider that is waited for. A longer one ends the retries.
	MaxRetryAfterSecs int `json:"max_retry_after_secs,omitempty"`
}

// DefaultRetry is the policy of agents that do not configure one.
var DefaultRetry = RetryPolicy{
	MaxRetries:              2,
	BackoffBaseMS:           500,
	OverloadedBackoffBaseMS: 2000,
	MaxStreamRetries:        2,
	StreamIdleTimeoutSecs:   60,
	MaxRetryAfterSecs:       int(DefaultMaxPause / time.Second),
}

// UnmarshalJSON reads a policy. Absent fields get their defaults, except max_retries,
// which is required.
func (p *RetryPolicy) UnmarshalJSON(data []byte) error {
	type plain RetryPolicy
	v := plain(DefaultRetry)
	v.MaxRetries = -1
	if err := strict.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("retry: %w", err)
	}
	if v.MaxRetries < 0 {
		return fmt.Errorf(`retry: max_retries is missing or negative, want 0 or more`)
	}
	for name, n := range map[string]int{"backoff_base_ms": v.BackoffBaseMS, "overloaded_backoff_base_ms": v.OverloadedBackoffBaseMS,
		"max_stream_retries": v.MaxStreamRetries, "stream_idle_timeout_secs": v.StreamIdleTimeoutSecs, "max_retry_after_secs": v.MaxRetryAfterSecs} {
		if n < 0 {
			return fmt.Errorf("retry: %s is %d, want 0 or more", name, n)
		}
	}
	*p = RetryPolicy(v)
	return nil
}

const maxBackoff = 8 * time.Second

// Admission answers whether a request that failed is sent again: after a growing delay or the one that
// the provider asks for, whichever is longer. It refuses after MaxRetries, after an error that is not
// [Error.Retryable], and if the provider asks for more than MaxRetryAfterSecs. Attempts count from 0.
func (p RetryPolicy) Admission(attempt int, err error) Admission {
	return p.admission(attempt, p.MaxRetries, err)
}

// Recovery is like Admission for an answer that was interrupted, which MaxStreamRetries limits.
func (p RetryPolicy) Recovery(attempt int, err error) Admission {
	return p.admission(attempt, p.MaxStreamRetries, err)
}

func (p RetryPolicy) admission(attempt, most int, err error) Admission {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return Admission{Verdict: Refuse}
	}
	if attempt >= most || !e.Retryable() || e.RetryAfter > time.Duration(p.MaxRetryAfterSecs)*time.Second {
		return Admission{Refuse, e.RetryAfter}
	}
	base := p.BackoffBaseMS
	if e.Kind == Overloaded {
		base = p.OverloadedBackoffBaseMS
	}
	return Admission{SendLater, max(e.RetryAfter, min(time.Duration(base)*time.Millisecond<<min(attempt, 10), maxBackoff))}
}

// Wait waits until the request may be sent, and up to a quarter longer, so that requests that failed
// together do not return together. If ctx ends first, it returns an error of kind Cancelled.
func (a Admission) Wait(ctx context.Context) error {
	if a.After <= 0 {
		return nil
	}
	return sleep(ctx, a.After+rand.N(a.After/4+1))
}

// Retry returns a model that retries requests to m that fail before the first delta. A
// reply that has begun is not retried: its reader has already seen a part of it.
func Retry(m Model, p RetryPolicy) Model {
	if p.MaxRetries <= 0 {
		return m
	}
	return retrying{m, p}
}

type retrying struct {
	Model
	policy RetryPolicy
}

func (r retrying) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		for attempt := 0; ; attempt++ {
			err, over := relay(r.Model.Stream(ctx, req), yield)
			if over {
				return
			}
			again := r.policy.Admission(attempt, err)
			if again.Verdict == Refuse || ctx.Err() != nil {
				yield(Delta{}, err)
				return
			}
			if waitErr := again.Wait(ctx); waitErr != nil {
				yield(Delta{}, waitErr)
				return
			}
		}
	}
}

// relay forwards a stream to yield. If the stream fails before its first delta, relay
// returns the error instead of yielding it; otherwise the stream is over.
func relay(stream iter.Seq2[Delta, error], yield func(Delta, error) bool) (failed error, over bool) {
	given := false
	for d, err := range stream {
		if err != nil && !given {
			return err, false
		}
		given = true
		if !yield(d, err) || err != nil {
			return nil, true
		}
	}
	if !given {
		return &Error{Kind: Interrupted, Message: "the stream ended before the first delta"}, false
	}
	return nil, true
}

func retryable(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Retryable()
}

// sleep waits for d, or returns an error of kind Cancelled if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return &Error{Kind: Cancelled, Message: "cancelled while waiting to retry", Err: context.Cause(ctx)}
	}
}
