// Package limit keeps the requests of a fleet within the rate limits of its providers: requests and
// tokens per minute, of an account, of each of its models and of each tenant.
//
//	limiter := limit.New(limit.Config{Store: db.Limits()}) // nil: this process is the only one
//	defer limiter.Close()
//	limiter.Set("openai", &llm.RateLimits{Rate: llm.Rate{RequestsPerMinute: 600}})
//	model := limiter.Model("openai", client) // an llm.Model around another
//
// # What is shared
//
// Each limit is a bucket in the store: a level that rises with time, and the demand of each process. A process claims a slice of the bucket
// when its requests need one. Slices go first to requests that a user waits for, then to background requests, in equal parts for tenants.
// The process spends its slice without asking the store again, returns unused parts within a second, and loses the slice if it dies. So the
// store sees a few statements a second from each process, whatever the rate of requests, and the fleet never exceeds the limit.
//
// # What is learned
//
// Unless disabled in its limits, the limiter also learns from the provider. Response headers state the limit of a model and what is left of
// it. A refused request pauses the model for all processes, for as long as the provider asks. If the provider keeps refusing requests after
// its pauses without stating a limit, the model gets a ceiling: the rate that the provider served meanwhile. Without further refusals the
// ceiling grows after half a minute and is gone after a minute. A single refusal causes only a pause. [Limiter.Reset] clears learned
// limits.
//
// # Who waits
//
// Requests wait in their process, in two queues: requests that a user waits for go before background requests, tenants take turns, and the
// requests of a tenant are served in order. A background request that has waited for half a minute counts like the others, to prevent
// starvation. A wait ends with its context. It costs no connection, because the request is not sent yet. A request is refused, with the
// time to retry, if the provider's pause is longer than the request's [llm.Patience]. A pool, which can use another model instead, sends
// requests without patience.
//
// The files: bucket.go and meter.go have the rules of buckets, scope.go a process's view of a bucket, account.go and line.go the waiting
// requests, round.go the exchange with the store, and model.go the llm.Model.
package limit
