// Package trace reads the complete record of a run: its input, the answers of its models, its tool calls, the decisions about them, and its
// cost.
//
// Traces need no extra writes, unless you enable package trace/body. A run stores its conversation, its ledger and its events anyway
// ([github.com/awaken-go/awaken.Committer]); a [Recording] arranges them by step, with the recordings of child runs. So every run has a
// trace, however long ago it ended, and a run costs the same whether or not its trace is ever read:
//
//	rec, err := trace.Record(ctx, store, runID)
//	for _, turn := range rec.Turns {
//		fmt.Println(turn.Step, turn.Text, len(turn.ToolCalls), turn.CostUSD)
//	}
//
// Package trace/replay replays a recording.
package trace
