package provider

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/awaken-go/awaken/llm"
)

// rateHeaders are the names of the headers that state a limit, what is left of it, and when it is
// there again.
type rateHeaders struct{ limit, remaining, reset string }

var (
	requestHeaders = []rateHeaders{
		{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},                         // OpenAI and compatible servers
		{"Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"}, // Anthropic
		{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"},                                                    // gateways
	}
	tokenHeaders = []rateHeaders{
		{"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
		{"Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
		{"Anthropic-Ratelimit-Input-Tokens-Limit", "Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
	}
)

// readRates returns what the headers of a response say about the provider's limits. Headers that
// make no sense say nothing.
func readRates(h http.Header, now time.Time) llm.RateReport {
	return llm.RateReport{Requests: readRate(h, requestHeaders, now), Tokens: readRate(h, tokenHeaders, now)}
}

func readRate(h http.Header, names []rateHeaders, now time.Time) llm.RateState {
	for _, n := range names {
		limit, ok := readCount(h.Get(n.limit))
		if !ok || limit == 0 {
			continue
		}
		remaining, ok := readCount(h.Get(n.remaining))
		if !ok || remaining > limit {
			continue
		}
		return llm.RateState{Limit: limit, Remaining: remaining, Reset: readReset(h.Get(n.reset), now)}
	}
	return llm.RateState{}
}

// readCount reads a number of requests or tokens.
func readCount(s string) (int64, bool) {
	const most = 1 << 50 // beyond that it is no count
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	return n, err == nil && n >= 0 && n <= most
}

// readReset reads when a limit is there again: as a duration (6m0s, 20ms), in seconds, as a time, or
// in seconds or milliseconds since 1970. It returns 0 if there is none or it has passed.
func readReset(s string, now time.Time) time.Duration {
	const most = 31 * 24 * time.Hour
	s = strings.TrimSpace(s)
	var d time.Duration
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		switch {
		case !(f > 0) || f > 1e14:
			return 0
		case f > 1e11: // ms since 1970
			d = time.UnixMilli(int64(f)).Sub(now)
		case f > 1e9: // seconds since 1970
			d = time.Unix(int64(f), 0).Sub(now)
		default:
			d = time.Duration(min(f, most.Seconds()) * float64(time.Second))
		}
	} else if d, err = time.ParseDuration(s); err != nil {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return 0
		}
		d = at.Sub(now)
	}
	return min(max(d, 0), most)
}
