package llm

import "time"

// RateLimits says how much may be sent to a provider by all processes together. Its JSON is the field
// "rate_limits" of a provider. The zero value configures no limit.
type RateLimits struct {
	Rate                      // of the account: all models together
	Models    map[string]Rate `json:"models,omitempty"`     // of single models, by the provider's name
	PerTenant *Rate           `json:"per_tenant,omitempty"` // of each tenant: all models together
	Tenants   map[string]Rate `json:"tenants,omitempty"`    // of single tenants, in place of per_tenant
	Learn     *bool           `json:"learn,omitempty"`      // whether the provider's headers and refusals are heeded as well; nil means true
}

// Rate is an amount per minute. 0 means no limit.
type Rate struct {
	RequestsPerMinute int `json:"requests_per_minute,omitempty"` // 0 means no limit
	TokensPerMinute   int `json:"tokens_per_minute,omitempty"`   // of requests and replies; 0 means no limit
}

// RateReport has the provider's rate limits for the model, as a response reports them.
type RateReport struct {
	Requests, Tokens RateState
}

// RateState is one of the provider's limits. The zero value means that the response does not say.
type RateState struct {
	Limit     int64
	Remaining int64         // of Limit, at the time of the response
	Reset     time.Duration // until Remaining is Limit again; 0 if the response does not say
}

// Caller identifies the client of a request, for rate limits.
type Caller interface {
	// Customer returns the tenant, "" for the default one, and whether no user waits for the
	// reply, so that other requests go first.
	Customer() (tenant string, background bool)
	// RateWaits is called in the goroutine of the stream, once, when the request has waited for
	// a rate limit of the provider for a second.
	RateWaits(w RateWait)
}

// RateWait describes what a request waits for.
type RateWait struct {
	Provider string // the account's name
	Model    string // the provider's name for the model
	Paused   bool   // the provider has asked for a pause
}
