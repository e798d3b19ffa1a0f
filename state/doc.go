// Package state provides typed state with scopes and conflict detection.
//
// A [Key] names a slot that holds a value of type V and changes by updates of type U. Readers
// get an immutable [Snapshot]. Writers record updates in a [Batch]. A [Store] applies batches
// one after another, each atomically.
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
// Two batches that were made from the same snapshot can be merged, unless both update the
// same exclusive key; see [Batch.Merge].
//
// In an agent runtime, hooks and tools are Readers and Writers, and the runtime owns the Store.
// The package can be used without one; it depends only on the standard library and on internal
// packages for JSON.
package state
