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
// Each limit is a bucket in the store: a level that rises with time, and what the processes that use
// it need. A process asks for a slice of it when its requests need one, and gets what is there: first
// for requests that a user waits for, then for those in the background, in equal parts for tenants. It
// spends the slice without asking again, returns what it does not need within a second, and loses it if
// it dies. So the store sees a few statements a second from each process, whatever the rate of
// requests, and the fleet sends no more than the limit.
//
// # What is learned
//
// Unless its limits say otherwise, a provider's own statements count as well. Headers of a response
// say what a model's limit is and how much is left of it; a request that is refused pauses the model
// for all processes, for as long as the provider asks. A provider that goes on refusing requests after
// its pauses, and does not say what its limit is, gets a ceiling: what it served meanwhile. Without
// further refusals the ceiling grows after half a minute and is gone after a minute. One refusal is a pause and nothing else.
// [Limiter.Reset] forgets what was learned.
//
// # Who waits
//
// Requests wait in their process, in two lines: those that a user waits for go before those in the
// background, tenants take turns, and a tenant's requests go in the order in which they came. A request
// in the background that has waited for half a minute counts like the others, so that none is starved.
// A wait ends with its context. It costs no connection: the request is not sent. A request is refused,
// with the time to come back, if the provider asked for a longer pause than the request's
// [llm.Patience], or if another model can answer it: a pool sends it with no patience at all.
//
// The files: bucket.go and meter.go have the rules of what is shared, scope.go is a bucket as a process
// sees it, account.go and line.go have the requests that wait, round.go visits the store, and model.go
// is the llm.Model.
package limit
