// Package webhook stores webhook subscriptions and their delivery progress.
//
//	hooks := db.Hooks() // of a database; new(webhook.Memory) of this process
//	target := webhook.Target{URL: "https://example.com/events"}
//	ok, err := hooks.SwapHook(ctx, &webhook.Hook{RunID: runID, ID: "1", State: webhook.State{Kind: "a2a", Target: target}})
//
// An [Endpoint] subscribes a tenant's receiver to all runs that it selects; a [Hook] subscribes a receiver to one run and counts the
// messages that it has accepted. Package automate/webhook/deliver sends the messages.
package webhook
