// Package webhook defines the subscriptions of other systems to what happens to runs, and the store that keeps them and the state of their deliveries.
//
//	hooks := db.Hooks() // of a database; new(webhook.Memory) of this process
//	ok, err := hooks.SwapHook(ctx, &webhook.Hook{RunID: runID, ID: "1", State: webhook.State{Kind: "a2a", Target: webhook.Target{URL: "https://example.com/told"}}})
//
// Package automate/webhook/deliver delivers.
package webhook
