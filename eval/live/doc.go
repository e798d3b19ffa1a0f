// Package live is what is stored of judging a share of the runs of users: which runs are judged, and what was said about them.
//
//	judgements := db.Judgements() // of a database; new(live.Memory) of this process
//	low, err := judgements.Judgements(ctx, live.Query{Tenant: tenant, AgentID: "support", MaxScore: &half, Limit: 50})
//
// Package eval/live/jury judges.
package live
