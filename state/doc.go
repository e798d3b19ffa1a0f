// Package state is typed, scoped, mergeable state.
//
// A [Key] names a slot that holds a V and changes by applying a U. Code that
// reads is given an immutable [Snapshot]; code that writes records updates in a
// [Batch]; a [Store] applies batches one after another. Nobody ever sees half of
// a batch.
//
//	var calls = state.NewKey("demo.calls", func(n, d int) int { return n + d },
//		state.Options{Merge: state.Commutative})
//
//	func count(r state.Reader, w state.Writer) {
//		if calls.Get(r) < 10 {
//			calls.Update(w, 1)
//		}
//	}
//
// Two batches that were made from the same snapshot can be merged when no
// exclusive key is touched by both; see [Batch.Merge].
//
// The package imports only the standard library.
package state
