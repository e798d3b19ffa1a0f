// Package webhook is what is stored of the wish to be told about runs: who is told, and how far that has come.
//
//	hooks := db.Hooks() // of a database; new(webhook.Memory) of this process
//	ok, err := hooks.SwapHook(ctx, &webhook.Hook{RunID: runID, ID: "1", State: webhook.State{Kind: "a2a", Target: webhook.Target{URL: "https://example.com/told"}}})
//
// Package webhook/deliver delivers.
package webhook
