package providertest

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
)

// errorCases test the errors that a provider reports.
func errorCases() []testCase {
	var cases []testCase
	for _, c := range []struct {
		name    string
		status  int
		named   llm.Kind // in the body
		message string
		want    llm.Kind
	}{
		{"BadRequest", 400, llm.InvalidRequest, "temperature is out of range", llm.InvalidRequest},
		{"ContextOverflow", 400, llm.ContextOverflow, "the prompt is too long: maximum context length is 128000 tokens", llm.ContextOverflow},
		{"Unauthorized", 401, llm.Unauthorized, "the key is wrong", llm.Unauthorized},
		{"Forbidden", 403, llm.Unauthorized, "no access to this model", llm.Unauthorized},
		{"NotFound", 404, llm.ModelNotFound, "there is no such model", llm.ModelNotFound},
		{"RequestTimeout", 408, llm.Timeout, "too slow", llm.Timeout},
		{"TooLarge", 413, llm.ContextOverflow, "request too large", llm.ContextOverflow},
		{"Unprocessable", 422, llm.InvalidRequest, "not like this", llm.InvalidRequest},
		{"RateLimited", 429, llm.RateLimited, "slow down", llm.RateLimited},
		{"InternalError", 500, llm.Provider, "something broke", llm.Provider},
		{"BadGateway", 502, llm.Provider, "something broke on the way", llm.Provider},
		{"Unavailable", 503, llm.Overloaded, "no capacity", llm.Overloaded},
		{"GatewayTimeout", 504, llm.Timeout, "too slow", llm.Timeout},
		{"Overloaded529", 529, llm.Overloaded, "no capacity", llm.Overloaded},
	} {
		cases = append(cases, testCase{c.name, nil, func(t *testing.T, a *Adapter) {
			s := newServer(t, script{status: c.status, header: map[string]string{"Content-Type": "application/json"},
				frames: [][]byte{a.ErrorBody(Failure{Kind: c.named, Status: c.status, Message: c.message})}})
			o := ask(t, a.open(t, s), a.request())
			e, _ := o.err.(*llm.Error)
			if e == nil {
				t.Fatalf("no error: %+v", o.reply)
			}
			equal(t, "kind", e.Kind, c.want)
			equal(t, "status", e.Status, c.status)
			if !strings.Contains(e.Error(), c.message) {
				t.Errorf("the message %q is lost: %v", c.message, e)
			}
			if strings.Contains(e.Error(), key) {
				t.Errorf("the key is in the error: %v", e)
			}
			if e.Provider == "" {
				t.Error("the error does not say which provider")
			}
			equal(t, "requests", len(s.requests()), 1) // the adapter did not retry
		}})
	}
	return slices.Concat(cases, retryAfterCases(), oddErrorCases(), midStreamCases())
}

func retryAfterCases() []testCase {
	is := func(name string, header func() map[string]string, low, high time.Duration) testCase {
		return testCase{name, nil, func(t *testing.T, a *Adapter) {
			h := header()
			h["Content-Type"] = "application/json"
			s := newServer(t, script{status: 429, header: h, frames: [][]byte{a.ErrorBody(Failure{Kind: llm.RateLimited, Status: 429, Message: "slow down"})}})
			e, _ := ask(t, a.open(t, s), a.request()).err.(*llm.Error)
			if e == nil || e.Kind != llm.RateLimited || e.RetryAfter < low || e.RetryAfter > high {
				t.Errorf("error: %+v", e)
			}
		}}
	}
	return []testCase{
		is("RetryAfterSeconds", func() map[string]string { return map[string]string{"Retry-After": "7"} }, 7*time.Second, 7*time.Second),
		is("RetryAfterDate", func() map[string]string {
			return map[string]string{"Retry-After": time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat)}
		}, 20*time.Second, 31*time.Second),
		is("RetryAfterPastDate", func() map[string]string {
			return map[string]string{"Retry-After": time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)}
		}, 0, 0),
		is("RetryAfterNonsense", func() map[string]string { return map[string]string{"Retry-After": "soon"} }, 0, 0),
	}
}

// oddErrorCases test responses that deviate from the provider's documentation.
func oddErrorCases() []testCase {
	is := func(name string, status int, kind, body string, want llm.Kind) testCase {
		return testCase{name, nil, func(t *testing.T, a *Adapter) {
			s := newServer(t, script{status: status, header: map[string]string{"Content-Type": kind}, frames: [][]byte{[]byte(body)}})
			o := ask(t, a.open(t, s), a.request())
			equal(t, "kind", o.kind(), want)
			equal(t, "requests", len(s.requests()), 1)
		}}
	}
	return []testCase{
		is("PageOfAProxy", 502, "text/html", "<html><body>Bad gateway</body></html>", llm.Provider),
		is("PageWithStatus200", 200, "text/html", "<html><body>Log in</body></html>", llm.Provider),
		is("EmptyBody", 503, "text/plain", "", llm.Overloaded),
		is("PlainText", 429, "text/plain", "too many requests", llm.RateLimited),
		is("HalfABody", 500, "application/json", `{"error":{"mess`, llm.Provider),
		is("Teapot", 418, "text/plain", "short and stout", llm.Provider),
		{"ErrorWithStatus200", nil, func(t *testing.T, a *Adapter) {
			s := newServer(t, script{header: map[string]string{"Content-Type": "application/json"}, frames: [][]byte{a.ErrorBody(Failure{Kind: llm.Overloaded, Status: 503, Message: "no capacity"})}})
			o := ask(t, a.open(t, s), a.request())
			equal(t, "kind", o.kind(), llm.Overloaded)
		}},
	}
}

// midStreamCases test errors after the stream has started.
func midStreamCases() []testCase {
	var cases []testCase
	for _, c := range []struct {
		name string
		f    Failure
	}{
		{"MidStreamOverloaded", Failure{llm.Overloaded, 503, "no capacity"}},
		{"MidStreamRateLimited", Failure{llm.RateLimited, 429, "slow down"}},
		{"MidStreamServerError", Failure{llm.Provider, 500, "something broke"}},
	} {
		cases = append(cases, testCase{c.name, []Power{MidStreamErrors}, func(t *testing.T, a *Adapter) {
			parts, _ := a.Speak(says("Once ", "upon"))
			o := a.sayFrames(t, append(parts, a.ErrorFrame(c.f)))
			equal(t, "kind", o.kind(), c.f.Kind)
			equal(t, "text", o.reply.Message.Text(), "Once upon")
			if o.err != nil && !strings.Contains(o.err.Error(), c.f.Message) {
				t.Errorf("the message is lost: %v", o.err)
			}
		}}, testCase{c.name + "AtOnce", []Power{MidStreamErrors}, func(t *testing.T, a *Adapter) {
			o := a.sayFrames(t, [][]byte{a.ErrorFrame(c.f)})
			equal(t, "kind", o.kind(), c.f.Kind)
		}})
	}
	return cases
}
