package llm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind classifies what went wrong with a model.
type Kind string

const (
	// Transient kinds: trying again may help.

	Provider    Kind = "provider"     // the provider failed
	RateLimited Kind = "rate_limited" // too many requests or tokens
	Overloaded  Kind = "overloaded"   // the provider has no capacity
	Timeout     Kind = "timeout"      // no answer in time
	Interrupted Kind = "interrupted"  // the stream broke off

	// Permanent kinds: the same request will fail again.

	ContextOverflow Kind = "context_overflow"
	InvalidRequest  Kind = "invalid_request"
	Unauthorized    Kind = "unauthorized"
	ModelNotFound   Kind = "model_not_found"
	ContentFiltered Kind = "content_filtered"

	// Fail-fast kinds: not the provider's doing.

	AllModelsUnavailable  Kind = "all_models_unavailable"
	PoolAttemptsExhausted Kind = "pool_attempts_exhausted"
	Cancelled             Kind = "cancelled"
)

// Kinds lists every kind, transient ones first.
var Kinds = []Kind{Provider, RateLimited, Overloaded, Timeout, Interrupted,
	ContextOverflow, InvalidRequest, Unauthorized, ModelNotFound, ContentFiltered,
	AllModelsUnavailable, PoolAttemptsExhausted, Cancelled}

// Error is a failure reported by a provider or on the way to it.
type Error struct {
	Kind       Kind
	Provider   string // which one, if known
	Status     int    // HTTP status, or 0
	RetryAfter time.Duration
	Message    string
	Err        error // what caused it, or nil
}

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

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case Provider, RateLimited, Overloaded, Timeout, Interrupted:
		return true
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
