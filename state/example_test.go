package state_test

import (
	"fmt"

	"github.com/awaken-go/awaken/state"
)

func Example() {
	calls := state.NewKey("demo.calls", func(n, d int) int { return n + d },
		state.Options{Merge: state.Commutative})
	schema, err := state.NewSchema(calls)
	if err != nil {
		fmt.Println(err)
		return
	}
	store := state.NewStore(schema)

	// Two writers see the same snapshot and write at the same time.
	seen := store.Snapshot()
	var one, two state.Batch
	calls.Update(&one, 1)
	calls.Update(&two, 2)
	if err := one.Merge(&two); err != nil {
		fmt.Println(err)
		return
	}
	if err := store.Apply(&one); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(calls.Get(seen), calls.Get(store.Snapshot()))
	// Output: 0 3
}
