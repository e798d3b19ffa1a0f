package llm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind classifies the failure of a request to a model.
type Kind string

// The kinds of errors.
const (
	// Transient kinds: a retry may succeed.

	Provider    Kind = "provider"     // the provider failed
	RateLimited Kind = "rate_limited" // too many requests or tokens
	Overloaded  Kind = "overloaded"   // the provider is out of capacity
	Timeout     Kind = "timeout"      // no response in time
	Interrupted Kind = "interrupted"  // the stream ended before its finish

	// Permanent kinds: the same request will fail again.

	ContextOverflow Kind = "context_overflow" // the request exceeds the context window
	InvalidRequest  Kind = "invalid_request"  // the provider or the adapter rejects the request
	Unauthorized    Kind = "unauthorized"     // the key is wrong, or the account lacks access
	QuotaExceeded   Kind = "quota_exceeded"   // the account has no credit left
	ModelNotFound   Kind = "model_not_found"  // the provider does not know the model
	ContentFiltered Kind = "content_filtered" // a filter stopped the prompt or the reply
	ReplyTooLarge   Kind = "reply_too_large"  // the reply exceeded its limits, see [ReplyLimits]

	// Fail-fast kinds: not caused by the provider.

	CircuitOpen           Kind = "circuit_open"            // the model keeps failing, so that its breaker refuses requests
	AllModelsUnavailable  Kind = "all_models_unavailable"  // no member of a pool takes the request
	PoolAttemptsExhausted Kind = "pool_attempts_exhausted" // every member of a pool that took the request failed
	Cancelled             Kind = "cancelled"               // the caller's context ended
)

// Kinds lists every kind, transient ones first.
var Kinds = []Kind{Provider, RateLimited, Overloaded, Timeout, Interrupted,
	ContextOverflow, InvalidRequest, Unauthorized, QuotaExceeded, ModelNotFound, ContentFiltered, ReplyTooLarge,
	CircuitOpen, AllModelsUnavailable, PoolAttemptsExhausted, Cancelled}

// ErrNoKey is returned when a model is opened without a key that its provider requires.
var ErrNoKey = errors.New("no API key")

// Error is a failure of a provider, or of the way to it. Every error of a [Model] is an
// *Error.
type Error struct {
	Kind       Kind
	Provider   string        // name of the provider, if known
	Status     int           // HTTP status, or 0
	RetryAfter time.Duration // how long the provider, or what holds requests back, asks to wait; 0 if unknown
	Unsent     bool          // refused in this process: the provider did not see the request
	Message    string
	Param      string // the parameter that the provider rejects, if it says so in a field
	Err        error  // the cause, or nil
}

// Error returns the provider, the kind, the message and the cause, as far as they are set.
func (e *Error) Error() string {
	kind := strings.ReplaceAll(string(e.Kind), "_", " ")
	if e.Status != 0 {
		kind += fmt.Sprintf(" (status %d)", e.Status)
	}
	parts := []string{e.Provider, kind, e.Message}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed soon. A pool whose members all failed may be
// asked again if the last of them may.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case Provider, RateLimited, Overloaded, Timeout, Interrupted:
		return true
	case PoolAttemptsExhausted:
		return retryable(e.Err)
	}
	return false
}

// KindOf returns the kind of err, or "" when it is not an *Error.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}
