package provider

import (
	"net/http"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
)

var ratesNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestReadRates(t *testing.T) {
	state := func(limit, remaining int64, reset time.Duration) llm.RateState {
		return llm.RateState{Limit: limit, Remaining: remaining, Reset: reset}
	}
	for _, tt := range []struct {
		name   string
		header http.Header
		want   llm.RateReport
	}{
		{"OpenAI", header("X-Ratelimit-Limit-Requests", "60", "X-Ratelimit-Remaining-Requests", "59", "X-Ratelimit-Reset-Requests", "1s",
			"X-Ratelimit-Limit-Tokens", "150000", "X-Ratelimit-Remaining-Tokens", "149984", "X-Ratelimit-Reset-Tokens", "6m0.5s"),
			llm.RateReport{Requests: state(60, 59, time.Second), Tokens: state(150000, 149984, 6*time.Minute+500*time.Millisecond)}},
		{"Anthropic", header("Anthropic-Ratelimit-Requests-Limit", "50", "Anthropic-Ratelimit-Requests-Remaining", "0", "Anthropic-Ratelimit-Requests-Reset", "2026-03-01T12:00:30Z",
			"Anthropic-Ratelimit-Input-Tokens-Limit", "40000", "Anthropic-Ratelimit-Input-Tokens-Remaining", "39000", "Anthropic-Ratelimit-Input-Tokens-Reset", "2026-03-01T11:00:00Z"),
			llm.RateReport{Requests: state(50, 0, 30*time.Second), Tokens: state(40000, 39000, 0)}},
		{"a gateway, seconds", header("X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "7", "X-RateLimit-Reset", "12"), llm.RateReport{Requests: state(100, 7, 12*time.Second)}},
		{"a gateway, Unix seconds", header("X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "7", "X-RateLimit-Reset", "1772366410"), llm.RateReport{Requests: state(100, 7, 10*time.Second)}},
		{"a gateway, Unix ms", header("X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "7", "X-RateLimit-Reset", "1772366410000"), llm.RateReport{Requests: state(100, 7, 10*time.Second)}},
		{"no reset", header("X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "7"), llm.RateReport{Requests: state(100, 7, 0)}},
		{"nothing", http.Header{}, llm.RateReport{}},
		{"only what is left", header("X-Ratelimit-Remaining-Requests", "59"), llm.RateReport{}},
		{"more left than there is", header("X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "70"), llm.RateReport{}},
		{"negative", header("X-RateLimit-Limit", "-1", "X-RateLimit-Remaining", "-1"), llm.RateReport{}},
		{"no number", header("X-RateLimit-Limit", "100, 100;w=60", "X-RateLimit-Remaining", "many"), llm.RateReport{}},
		{"no limit at all", header("X-RateLimit-Limit", "0", "X-RateLimit-Remaining", "0"), llm.RateReport{}},
		{"a reset that is nonsense", header("X-RateLimit-Limit", "9", "X-RateLimit-Remaining", "1", "X-RateLimit-Reset", "soon"), llm.RateReport{Requests: state(9, 1, 0)}},
	} {
		if got := readRates(tt.header, ratesNow); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// FuzzReadRates: whatever a server sends is a limit that makes sense, or none.
func FuzzReadRates(f *testing.F) {
	f.Add("60", "59", "1s")
	f.Add("50", "0", "2026-03-01T12:00:30Z")
	f.Add("100", "7", "1772366410")
	f.Add("1e3", "NaN", "-5")
	f.Add("9223372036854775807", "9223372036854775807", "9e99")
	f.Add("1", "1", "Inf")
	f.Add("1", "0", "106751991167300h")
	f.Fuzz(func(t *testing.T, limit, remaining, reset string) {
		for _, names := range [][]rateHeaders{requestHeaders, tokenHeaders} {
			for _, n := range names {
				h := http.Header{}
				h[n.limit], h[n.remaining], h[n.reset] = []string{limit}, []string{remaining}, []string{reset}
				r := readRates(h, ratesNow)
				for _, s := range []llm.RateState{r.Requests, r.Tokens} {
					if s.Limit < 0 || s.Remaining < 0 || s.Remaining > s.Limit || s.Reset < 0 || s.Reset > 31*24*time.Hour || s.Limit == 0 && s != (llm.RateState{}) {
						t.Fatalf("%q, %q, %q: %+v", limit, remaining, reset, r)
					}
				}
			}
		}
	})
}
