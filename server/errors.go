package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/protocol"
)

// ErrorBody is the body of every error response.
type ErrorBody struct {
	Error string `json:"error"`
	Code  string `json:"code"`
	// Decision is the earlier decision, if the code is already_decided.
	Decision *awaken.Decided `json:"decision,omitempty"`
	// Problems are the mistakes in the request, all that were found, if the status is 400 or 422.
	Problems []config.Problem `json:"problems,omitempty"`
	// Gates are the evaluation gates that refuse the change, if the code is gate_closed.
	Gates []config.GateVerdict `json:"gates,omitempty"`
}

// problemsOf returns the mistakes of a request that was answered with f, because of err.
func problemsOf(f *protocol.Failure, err error) []config.Problem {
	if f.Status != http.StatusBadRequest && f.Status != http.StatusUnprocessableEntity {
		return nil
	}
	if list := config.ProblemsOf(err); len(list) > 0 {
		return list
	}
	return []config.Problem{config.RequestProblem(f.Code, f.Message)}
}

func Fail(status int, code, format string, args ...any) *protocol.Failure {
	return &protocol.Failure{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

func Forbidden(format string, args ...any) *protocol.Failure {
	return Fail(http.StatusForbidden, "forbidden", format, args...)
}

// Unavailable returns the failure of a request for a feature that this server lacks. Another server
// may have it.
func Unavailable(message string) *protocol.Failure {
	return &protocol.Failure{Status: http.StatusServiceUnavailable, Code: "unavailable", Message: message, RetryAfter: time.Minute}
}

// FailureOf maps an error to what the client sees of it. Errors that it does not know become 500
// without details; the caller logs them.
func FailureOf(err error) *protocol.Failure {
	if f, ok := errors.AsType[*protocol.Failure](err); ok {
		return f
	}
	if o := fault.OutageOf(err); o != nil {
		return &protocol.Failure{Status: http.StatusServiceUnavailable, Code: "store_unavailable", Message: o.Reason, RetryAfter: time.Second}
	}
	if f, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return Fail(http.StatusRequestEntityTooLarge, "too_large", "the body is longer than %d bytes", f.Limit)
	}
	if _, ok := errors.AsType[*config.GateError](err); ok {
		return Fail(http.StatusConflict, "gate_closed", "%s", Plain(err.Error()))
	}
	if _, ok := errors.AsType[*awaken.ConfigError](err); ok {
		return protocol.BadRequest("%v", err)
	}
	for _, m := range [...]struct {
		target error
		status int
		code   string
	}{
		{config.ErrStale, http.StatusPreconditionFailed, "stale"},
		{config.ErrExists, http.StatusConflict, "exists"},
		{config.ErrConflict, http.StatusConflict, "conflict"},
		{config.ErrNotOverridable, http.StatusUnprocessableEntity, "not_overridable"},
		{config.ErrNotRestorable, http.StatusUnprocessableEntity, "not_restorable"},
		{config.ErrReadOnly, http.StatusBadRequest, "read_only"},
		{config.ErrNoConnector, http.StatusServiceUnavailable, "unavailable"},
		{awaken.ErrDecided, http.StatusConflict, "already_decided"},
		{awaken.ErrExpired, http.StatusConflict, "expired"},
		{awaken.ErrInvalid, http.StatusBadRequest, "invalid_request"},
		{awaken.ErrNotFound, http.StatusNotFound, "not_found"},
		{awaken.ErrPinUnavailable, http.StatusServiceUnavailable, "pin_unavailable"},
		{awaken.ErrBusy, http.StatusConflict, "busy"},
		{awaken.ErrConflict, http.StatusConflict, "conflict"},
		{context.DeadlineExceeded, http.StatusServiceUnavailable, "timeout"},
	} {
		if errors.Is(err, m.target) {
			f := Fail(m.status, m.code, "%s", Plain(err.Error()))
			switch m.target {
			case context.DeadlineExceeded:
				f.Message, f.RetryAfter = "the request took too long", time.Second
			case awaken.ErrPinUnavailable:
				f.Message, f.RetryAfter = awaken.ErrPinUnavailable.Error(), time.Minute
			case awaken.ErrDecided:
				f.Decision, _ = errors.AsType[*awaken.Decided](err)
			case config.ErrNoConnector:
				f.RetryAfter = time.Minute
			}
			return f
		}
	}
	return Fail(http.StatusInternalServerError, "internal", "internal error")
}

// Plain joins the lines of a message, which joined errors have.
func Plain(s string) string { return strings.ReplaceAll(s, "\n", "; ") }

// refusedBody limits how long a client may keep sending the body of a refused request.
const refusedBody = 2 * time.Second

// writeFailure replies with an error.
func writeFailure(w http.ResponseWriter, f *protocol.Failure) { writeProblems(w, f, f) }

// writeProblems replies with an error and the mistakes that caused it.
func writeProblems(w http.ResponseWriter, f *protocol.Failure, err error) {
	body := ErrorBody{Error: f.Message, Code: f.Code, Decision: f.Decision, Problems: problemsOf(f, err)}
	if g, ok := errors.AsType[*config.GateError](err); ok {
		body.Gates = g.Verdicts
	}
	writeFailureAs(w, f, body)
}

// bearer is the challenge of routes that have no other.
const bearer = `Bearer realm="awaken"`

// writeFailureAs replies with an error and a body that describes it.
func writeFailureAs(w http.ResponseWriter, f *protocol.Failure, body any) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusedBody))
	h := w.Header()
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(max(1, int(f.RetryAfter.Seconds()))))
	}
	if f.Status == http.StatusUnauthorized && h.Get("WWW-Authenticate") == "" {
		h.Set("WWW-Authenticate", bearer)
	}
	_ = writeJSON(w, f.Status, body) // strings can always be encoded
}
