package llm_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
)

func TestErrorRetryable_OnlyForTransientKinds(t *testing.T) {
	t.Parallel()
	want := map[llm.Kind]bool{
		llm.Provider:              true,
		llm.RateLimited:           true,
		llm.Overloaded:            true,
		llm.Timeout:               true,
		llm.Interrupted:           true,
		llm.ContextOverflow:       false,
		llm.InvalidRequest:        false,
		llm.Unauthorized:          false,
		llm.QuotaExceeded:         false,
		llm.ModelNotFound:         false,
		llm.ContentFiltered:       false,
		llm.CircuitOpen:           false,
		llm.ReplyTooLarge:         false,
		llm.AllModelsUnavailable:  false,
		llm.PoolAttemptsExhausted: false,
		llm.Cancelled:             false,
	}
	if len(llm.Kinds) != len(want) {
		t.Errorf("there are %d kinds, this test knows %d", len(llm.Kinds), len(want))
	}
	for _, k := range llm.Kinds {
		retryable, known := want[k]
		if !known {
			t.Errorf("kind %s is not in this test", k)
		}
		if got := (&llm.Error{Kind: k}).Retryable(); got != retryable {
			t.Errorf("kind %s: retryable is %v, want %v", k, got, retryable)
		}
	}
	if e := (&llm.Error{Kind: llm.PoolAttemptsExhausted, Err: &llm.Error{Kind: llm.Provider}}); !e.Retryable() {
		t.Errorf("%v is not retryable, although the member's failure is", e)
	}
	if (&llm.Error{}).Retryable() {
		t.Error("an error without a kind is retryable")
	}
}

func TestError_IncludesEveryField(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  llm.Error
		want string
	}{
		{llm.Error{Kind: llm.Timeout}, "timeout"},
		{llm.Error{Kind: llm.ContextOverflow, Message: "too long"}, "context overflow: too long"},
		{llm.Error{Kind: llm.Interrupted, Err: io.ErrUnexpectedEOF}, "interrupted: unexpected EOF"},
		{
			llm.Error{Kind: llm.RateLimited, Provider: "openai", Status: 429, RetryAfter: time.Second, Message: "slow down", Err: io.EOF},
			"openai: rate limited (status 429): slow down: EOF",
		},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("error is %q, want %q", got, tt.want)
		}
	}
}

func TestError_UnwrapsToItsCause(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("ask: %w", &llm.Error{Kind: llm.Interrupted, Err: io.ErrUnexpectedEOF})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v does not wrap its cause", err)
	}
}

func TestKindOf_LooksThroughWrapping(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want llm.Kind
	}{
		{nil, ""},
		{io.EOF, ""},
		{&llm.Error{Kind: llm.Timeout}, llm.Timeout},
		{fmt.Errorf("ask: %w", &llm.Error{Kind: llm.Cancelled}), llm.Cancelled},
	} {
		if got := llm.KindOf(tt.err); got != tt.want {
			t.Errorf("kind of %v is %q, want %q", tt.err, got, tt.want)
		}
	}
}
