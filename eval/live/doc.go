// Package live stores judgements of sampled production runs.
//
//	judgements := db.Judgements() // of a database; new(live.Memory) of this process
//	low, err := judgements.Judgements(ctx, live.Query{Tenant: tenant, AgentID: "support", MaxScore: &half, Limit: 50})
//
// Package eval/live/jury samples the runs and judges them.
package live
