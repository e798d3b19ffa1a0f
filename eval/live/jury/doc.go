// Package jury judges sampled production runs by the policies of their agents.
//
//	w := &jury.Worker{Store: db.Judgements(), Budgets: profile, Runs: runs, Registry: registry, Ask: ask}
//	roller := &rollup.Roller{Store: db.Rollups(), Runs: …, Ended: w.Offer}
//	go w.Work(ctx)
//
// The section "eval_live" of an agent sets the sampled share of its runs, the scorers, the judging model, and the daily budget; see
// [Policy]. A background process judges a run after it has ended and only reads it: judging neither delays nor changes the run. The judge
// is a model with a route of its own.
//
// Runs are sampled by their IDs, so all processes select the same runs. [Worker.Offer] stores a pending judgement before the run is
// counted; offering a run again has no effect. A process takes a judgement by compare-and-swap, and records that it asks a model before it
// does. If that process dies, the judgement is in doubt: the judge may have been paid, so it is asked again only on a client's request.
// Scorers cost nothing and simply run again.
//
// Only runs started by users and MCP clients are judged: no child runs, forks, previews or evaluations.
package jury
