package remote

import (
	"errors"
	"net/http"
	"testing"

	"github.com/awaken-go/awaken/internal/httpguard"
)

// What may pass is tried again, and only a server that may have acted leaves a message in doubt.
func TestFailures_AreTransientOrInDoubt(t *testing.T) {
	for _, c := range []struct {
		f               *Failure
		transient, sent bool
	}{
		{readFailure(http.StatusServiceUnavailable, http.Header{"Retry-After": {"3"}}, nil), true, false},
		{readFailure(http.StatusTooManyRequests, http.Header{}, nil), true, false},
		{readFailure(http.StatusBadGateway, http.Header{}, nil), true, true},
		{readFailure(http.StatusNotImplemented, http.Header{}, nil), false, false},
		{readFailure(http.StatusBadRequest, http.Header{}, []byte(`{"error":{"code":400,"message":"no","details":[{"reason":"INVALID_PARAMS"}]}}`)), false, false},
		{readFailure(http.StatusInternalServerError, nil, []byte(`{"error":{"code":404,"message":"no"}}`)), false, false}, // an event
		{(&rpcFailure{Code: codeInternal}).failure(), true, true},
		{(&rpcFailure{Code: -32001}).failure(), false, false},
		{(&rpcFailure{Code: -32601}).failure(), false, false},
		{malformed("x"), false, true},
		{&Failure{Err: errors.New("connection reset"), Sent: true}, true, true},
		{&Failure{Err: httpguard.ErrAddress}, false, false},
	} {
		if c.f.transient() != c.transient || c.f.Sent != c.sent {
			t.Errorf("%v: transient is %v and sent %v, want %v and %v", c.f, c.f.transient(), c.f.Sent, c.transient, c.sent)
		}
	}
}
