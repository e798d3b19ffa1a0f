// Package live defines judgements of sampled production runs, and the store that keeps them.
//
//	judgements := db.Judgements() // of a database; new(live.Memory) of this process
//	low, err := judgements.Judgements(ctx, live.Query{Tenant: tenant, AgentID: "support", MaxScore: &half, Limit: 50})
//
// Package eval/live/jury judges.
package live
