package provider

import (
	"net/http"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
)

func TestClassify_StatusDecidesUnlessTheBodyIsMoreSpecific(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   llm.Kind
	}{
		{400, `{"error":{"message":"no","type":"invalid_request_error"}}`, llm.InvalidRequest},
		{400, `{"error":{"message":"This model's maximum context length is 8192 tokens"}}`, llm.ContextOverflow},
		{400, `{"error":{"code":"context_length_exceeded","message":"too much"}}`, llm.ContextOverflow},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 1 > 0"}}`, llm.ContextOverflow},
		{400, `{"error":{"code":"content_filter","message":"no","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.ContentFiltered},
		{400, `{"error":{"status":"INVALID_ARGUMENT","message":"API key not valid","details":[{"reason":"API_KEY_INVALID"}]}}`, llm.Unauthorized},
		{400, `[{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"The input token count (9) exceeds the maximum"}}]`, llm.ContextOverflow},
		{401, ``, llm.Unauthorized}, {402, ``, llm.QuotaExceeded}, {403, `nope`, llm.Unauthorized}, {404, ``, llm.ModelNotFound},
		{408, ``, llm.Timeout}, {413, ``, llm.ContextOverflow}, {422, ``, llm.InvalidRequest}, {409, ``, llm.Provider},
		{429, `{"error":{"code":"insufficient_quota"}}`, llm.QuotaExceeded}, {429, `{"error":{"type":"insufficient_quota","code":null}}`, llm.QuotaExceeded}, {500, ``, llm.Provider}, {502, `<html>`, llm.Provider},
		{503, ``, llm.Overloaded}, {504, ``, llm.Timeout}, {529, `{"type":"error","error":{"type":"overloaded_error"}}`, llm.Overloaded},
		// What providers say of accounts without credit or access, in the words that they use.
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}`, llm.QuotaExceeded},
		{429, `{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}`, llm.QuotaExceeded},
		{403, `{"code":"The caller does not have permission to execute the specified operation","error":"Your newly created team doesn't have any credits yet."}`, llm.QuotaExceeded},
		{429, `{"code":"Some resource has been exhausted","error":"Your team has either used all available credits or reached its monthly spending limit."}`, llm.QuotaExceeded},
		{400, `{"error":{"code":"Arrearage","type":"Arrearage","message":"Access denied, please make sure your account is in good standing."}}`, llm.QuotaExceeded},
		{400, `{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`, llm.Unauthorized},
		{429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}`, llm.RateLimited},
		{498, `{"error":{"message":"Flex tier capacity exceeded","type":"server_error","code":"capacity_exceeded"}}`, llm.Overloaded},
		{403, `{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged."}}`, llm.ContentFiltered},
		{400, `{"error":{"code":"data_inspection_failed","type":"data_inspection_failed","message":"Input data may contain inappropriate content."}}`, llm.ContentFiltered},
		{400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, llm.ContextOverflow},
		{400, `{"error":{"code":"invalid_parameter_error","message":"Range of input length should be [1, 30720]"}}`, llm.ContextOverflow},
		{400, `{"message":"too many tokens: total number of tokens in the prompt exceeds the limit of 4081"}`, llm.ContextOverflow},
		{500, `{"error":{"message":"context length"}}`, llm.Provider}, // the status of a server's failure decides
	} {
		e := classify("p", c.status, nil, []byte(c.body))
		if e.Kind != c.want || e.Status != c.status || e.Provider != "p" {
			t.Errorf("%d %s: %+v, want %s", c.status, c.body, e, c.want)
		}
	}
}

func TestErrorBody(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]llm.Kind{
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:                      llm.Overloaded,
		`{"type":"error","code":"rate_limit_exceeded","message":"slow"}`:                                   llm.RateLimited,
		`{"error":{"message":"The server had an error","type":"server_error"}}`:                            llm.Provider,
		`{"error":{"code":503,"message":"The model is overloaded","status":"UNAVAILABLE"}}`:                llm.Overloaded,
		`{"error":{"code":429,"message":"Provider returned error"}}`:                                       llm.RateLimited,
		`{"error":"model runner has unexpectedly stopped"}`:                                                llm.Provider,
		`{"error":{"message":"rate limit reached"}}`:                                                       llm.RateLimited,
		`{"error":{"message":"Your input exceeds the context window of this model","code":"whatever"}}`:    llm.ContextOverflow,
		`{"error":{"message":"The response was filtered","code":"content_filter"}}`:                        llm.ContentFiltered,
		`{"object":"error","message":"Requested 9000 tokens, maximum context length is 8","type":"error"}`: llm.ContextOverflow,
	} {
		if e := ErrorBody("p", []byte(body)); e == nil || e.Kind != want || e.Message == "" {
			t.Errorf("%s: %+v, want %s", body, e, want)
		}
	}
	for _, body := range []string{``, `{}`, `{"error":null}`, `{"choices":[]}`, `[]`, `7`} {
		if e := ErrorBody("p", []byte(body)); e != nil {
			t.Errorf("%q: %+v", body, e)
		}
	}
	if e := ErrorBody("p", []byte(`{"error":{"code":429,"details":[{"retryDelay":"34.5s"}]}}`)); e.RetryAfter != 34500*time.Millisecond {
		t.Errorf("%+v", e)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "0.5": 500 * time.Millisecond, "-1": 0, "soon": 0, "NaN": 0, "1e300": 30 * 24 * time.Hour,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
		now.Add(time.Hour).Format(time.RFC850): time.Hour,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
	if got := retryAfter(http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"1"}}, now); got != 250*time.Millisecond {
		t.Errorf("milliseconds: %s", got)
	}
}
