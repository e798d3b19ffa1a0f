package provider

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/awaken-go/awaken/llm"
)

// statusKinds maps a status to a kind, unless the body is more specific.
var statusKinds = map[int]llm.Kind{
	http.StatusBadRequest:            llm.InvalidRequest,
	http.StatusUnauthorized:          llm.Unauthorized,
	http.StatusPaymentRequired:       llm.QuotaExceeded,
	http.StatusForbidden:             llm.Unauthorized,
	http.StatusNotFound:              llm.ModelNotFound,
	http.StatusRequestTimeout:        llm.Timeout,
	http.StatusRequestEntityTooLarge: llm.ContextOverflow,
	http.StatusUnprocessableEntity:   llm.InvalidRequest,
	http.StatusTooManyRequests:       llm.RateLimited,
	http.StatusServiceUnavailable:    llm.Overloaded,
	http.StatusGatewayTimeout:        llm.Timeout,
	529:                              llm.Overloaded,
}

// bodyKinds lists the terms of providers for each kind: the type, code or status of an error
// body, in lower case.
var bodyKinds = map[llm.Kind][]string{
	llm.Overloaded: {"overloaded_error", "overloaded", "server_overloaded", "slow_down", "unavailable", "service_unavailable", "capacity_exceeded"},
	llm.RateLimited: {
		"rate_limit_error", "rate_limit_exceeded", "rate_limit_reached", "resource_exhausted",
		"too_many_requests", "tokens", "requests",
	},
	llm.QuotaExceeded:   {"insufficient_quota", "billing_error", "billing_hard_limit_reached", "insufficient_balance", "insufficient_funds", "credit_balance_too_low", "arrearage"},
	llm.Timeout:         {"timeout", "timeout_error", "deadline_exceeded", "request_timeout"},
	llm.Provider:        {"server_error", "internal_error", "internal_server_error", "api_error", "internal"},
	llm.ContextOverflow: {"context_length_exceeded", "string_above_max_length", "request_too_large", "exceed_context_size_error"},
	llm.Unauthorized:    {"authentication_error", "permission_error", "invalid_api_key", "permission_denied", "unauthenticated"},
	llm.ModelNotFound:   {"not_found_error", "model_not_found", "not_found"},
	llm.ContentFiltered: {
		"content_filter", "content_policy_violation", "responsibleaipolicyviolation", "moderation_blocked", "cyber_policy_violation",
		"image_content_policy_violation", "data_inspection_failed",
	},
	llm.InvalidRequest: {"invalid_request_error", "invalid_request", "invalid_prompt", "invalid_argument", "failed_precondition", "bad_request"},
}

// namedKind returns the kind of the first known name, or "".
func namedKind(names []string) llm.Kind {
	for _, name := range names {
		for kind, words := range bodyKinds {
			if slices.Contains(words, name) {
				return kind
			}
		}
	}
	return ""
}

// overflows are phrases of providers for a request that is too long.
var overflows = []string{"prompt is too long", "context_length_exceeded", "context length", "input is too long", "maximum context length",
	"reduce the length", "too many tokens", "request too large", "exceeds the maximum number of tokens", "context window", "exceeds the available context size", "input token count",
	"exceeds max length", "range of input length"}

// filters are phrases of providers for a request or response stopped by a filter.
var filters = []string{"content_filter", "content policy", "content management policy", "blocked by safety", "input was flagged"}

// quotas are phrases of providers for an account without credit, which some report as a mistake in
// the request, a wrong key or a rate limit.
var quotas = []string{"credit balance is too low", "insufficient balance", "used all available credits", "doesn't have any credits"}

// locations are phrases of providers for an account that has no access from where it is used, which
// some report as a mistake in the request.
var locations = []string{"user location is not supported"}

// classify converts a response with a status of 400 or more into an error. The status
// determines the kind, except that a body that names an overflow or a filter wins over a 4xx.
func classify(provider string, status int, h http.Header, body []byte) *llm.Error {
	f := readFailure(body)
	e := &llm.Error{Kind: llm.Provider, Provider: provider, Status: status, Message: f.message, Param: f.param,
		RetryAfter: max(retryAfter(h, time.Now()), f.retryAfter)}
	if kind, ok := statusKinds[status]; ok {
		e.Kind = kind
	}
	switch named := f.kind(); {
	case named == llm.QuotaExceeded && status < 500:
		e.Kind = named
	case e.Kind == llm.InvalidRequest, e.Kind == llm.Provider && status < 500:
		if named != "" && named != llm.Provider {
			e.Kind = named
		}
	case (e.Kind == llm.Unauthorized || e.Kind == llm.ModelNotFound) && named == llm.ContentFiltered:
		e.Kind = named
	}
	return e
}

// ErrorBody reads an error that arrived with status 200, such as one inside a stream. It returns
// nil if body is not an error: if it is not a JSON object, or has no field "error" and a type
// other than "error".
func ErrorBody(provider string, body []byte) *llm.Error {
	f := readFailure(body)
	if !f.found {
		return nil
	}
	e := &llm.Error{Kind: f.kind(), Provider: provider, Message: f.message, RetryAfter: f.retryAfter}
	if e.Kind == "" {
		if kind, ok := statusKinds[f.status]; ok {
			e.Kind = kind
		} else {
			e.Kind = wordKind(f.message)
		}
	}
	return e
}

// StreamError is [ErrorBody] for an event that is known to report an error. It never returns nil:
// if it cannot read the error, the message is the body.
func StreamError(provider string, body []byte) *llm.Error {
	if e := ErrorBody(provider, body); e != nil {
		return e
	}
	return &llm.Error{Kind: llm.Provider, Provider: provider, Message: clip(string(body))}
}

// wordKind is the last resort: it guesses the kind from the message.
func wordKind(message string) llm.Kind {
	s := strings.ToLower(message)
	switch {
	case containsAny(s, "overloaded", "no capacity"):
		return llm.Overloaded
	case containsAny(s, "rate limit", "429", "too many requests"):
		return llm.RateLimited
	case containsAny(s, "timeout", "timed out"):
		return llm.Timeout
	}
	return llm.Provider
}

func containsAny(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// failure is a decoded error body.
type failure struct {
	found      bool
	names      []string // its code, type and status, in lower case, most specific first
	status     int
	message    string
	param      string
	retryAfter time.Duration
}

// kind returns the kind that the names, or else the phrases for an overflow, a filter or an account
// without credit, indicate, or "".
func (f *failure) kind() llm.Kind {
	s := strings.ToLower(f.message)
	kind := namedKind(f.names)
	switch kind {
	case llm.RateLimited, llm.Unauthorized:
		if containsAny(s, quotas...) {
			return llm.QuotaExceeded
		}
	case "", llm.InvalidRequest:
		switch {
		case containsAny(s, quotas...):
			return llm.QuotaExceeded
		case containsAny(s, locations...):
			return llm.Unauthorized
		case containsAny(s, filters...):
			return llm.ContentFiltered
		case containsAny(s, overflows...):
			return llm.ContextOverflow
		}
	}
	return kind
}

// readFailure reads an error body of any provider: {"error": {...}}, {"error": "text"}, a list
// of one of these, or the error itself. A body that is not JSON becomes the message.
func readFailure(body []byte) failure {
	type inner struct {
		Code    json.RawMessage `json:"code"`
		Type    json.RawMessage `json:"type"`
		Status  json.RawMessage `json:"status"`
		Message json.RawMessage `json:"message"`
		Param   json.RawMessage `json:"param"`
		Inner   struct {
			Code string `json:"code"`
		} `json:"innererror"`
		Details []struct {
			RetryDelay string `json:"retryDelay"`
			Reason     string `json:"reason"`
		} `json:"details"`
	}
	var whole struct {
		inner
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	var f failure
	body = bytes.TrimSpace(body)
	if list := []json.RawMessage(nil); json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		f.message = clip(string(body))
		return f
	}
	_ = json.Unmarshal(body, &whole) // fields of other types stay empty
	in := whole.inner
	if len(whole.Error) > 0 && string(whole.Error) != "null" {
		f.found = true
		if err := json.Unmarshal(whole.Error, &in); err != nil && text(whole.Error) != "" {
			in.Message = whole.Error
		}
	}
	f.found = f.found || text(in.Type) == "error"
	f.message = cmp.Or(clip(text(in.Message)), clip(text(whole.Detail)), clip(string(body)))
	f.param = clip(text(in.Param))
	f.names = append(f.names, strings.ToLower(in.Inner.Code))
	for _, raw := range []json.RawMessage{in.Code, in.Type, in.Status, whole.Code, whole.Type} {
		s := strings.ToLower(text(raw))
		if n, err := strconv.Atoi(s); err == nil && n >= 400 && n < 600 {
			f.status = n
		} else if s != "" {
			f.names = append(f.names, s)
		}
	}
	for _, d := range in.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil {
			f.retryAfter = wait
		}
		if d.Reason == "API_KEY_INVALID" {
			f.names = append([]string{"invalid_api_key"}, f.names...)
		}
	}
	return f
}

// text returns a JSON string or number as text, or "".
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// clip shortens a message, which may be an HTML page.
func clip(s string) string {
	const most = 2000
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= most {
		return s
	}
	for most := most; ; most-- {
		if utf8.RuneStart(s[most]) {
			return s[:most] + "…"
		}
	}
}

// retryAfter returns how long the provider asks to wait, from Retry-After-Ms, or Retry-After in
// seconds or as a date. It returns 0 without one, or if the date has passed.
func retryAfter(h http.Header, now time.Time) time.Duration {
	const most = 30 * 24 * time.Hour
	seconds := func(s string, unit time.Duration) (time.Duration, bool) {
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || math.IsNaN(f) || f < 0 {
			return 0, false
		}
		return time.Duration(min(f*float64(unit), float64(most))), true
	}
	if d, ok := seconds(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := h.Get("Retry-After")
	if d, ok := seconds(value, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), most)
	}
	return 0
}
