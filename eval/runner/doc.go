// Package runner runs the cases of a dataset through the real engine and reports what the agents did.
//
// A [Plan] has cells: every case with every [Variant] of an agent, as often as there are samples. A [Runner] runs them, several at
// a time and within limits, and passes on the report of each as soon as there is one:
//
//	r := &runner.Runner{Open: open} // open makes an engine.Runtime with a store of its own
//	err := r.Run(ctx, &runner.Plan{Fixtures: dataset.Fixtures, Variants: []runner.Variant{runner.Scripted()}},
//		func(_ int, item eval.Item) error { items = append(items, item); return nil })
//
// A cell has a runtime and a store of its own, so that it sees nothing of other cells and leaves nothing behind. Its model is the
// agent's, or the script of the case. Its tools do not act: a call gets the result that the case has for it; if it has none, a tool
// that only reads is called, and any other call fails with a message that says so. What happened becomes an
// [eval.Observation], which a [Judge] may look at too, and the observation becomes a report.
//
// Cells that are equal up to what is expected of them are run once. A cell that a limit cuts off has a report that says so; one that is
// cut off because ctx is done has none, so that it can be run later.
package runner
