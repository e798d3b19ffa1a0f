// Package trace reads what a run left behind as one thing: what it was given, what its models said, what it did,
// who decided, and what it cost.
//
// Nothing is recorded for it, except what package trace/body keeps if you ask for it. A run writes its conversation, its ledger and its events anyway
// ([github.com/awaken-go/awaken.Committer]); a [Recording] is their reading, by step, with the runs that it started below it. So every
// run has a trace, however long ago it ended, and a run costs the same whether its trace is ever read or not:
//
//	rec, err := trace.Record(ctx, store, runID)
//	for _, turn := range rec.Turns {
//		fmt.Println(turn.Step, turn.Text, len(turn.ToolCalls), turn.CostUSD)
//	}
//
// Package trace/replay plays a recording again.
package trace
