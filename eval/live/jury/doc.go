// Package jury judges sampled production runs by the policies of their agents.
//
//	w := &jury.Worker{Store: db.Judgements(), Budgets: profile, Runs: runs, Registry: registry, Ask: ask}
//	roller := &rollup.Roller{Store: db.Rollups(), Runs: …, Ended: w.Offer}
//	go w.Work(ctx)
//
// An agent says in its section "eval_live" which share of its runs is judged, by which scorers, by which model, and what that may cost in a
// day; see [Policy]. A run is judged after it has ended, by a process in the background that only reads it: nothing of the run waits for that or
// is changed by it. The judge is a model with a route of its own.
//
// Which runs are judged follows from their ids, so every process selects the same. [Worker.Offer] stores that a run is to be judged before the run is
// counted, and as often as it is called with a run, there is one judgement of it. A process takes a judgement by its revision, and says so before it
// asks a model. If that process dies, the judgement is in doubt: the judge may have been paid, so it is asked again only if a client wants that.
// Scorers cost nothing, and are asked again.
//
// Only what users and MCP clients have started is judged: no runs of other runs, no forks, no previews, and no evaluations, which run elsewhere.
package jury
