package main

import (
	"context"
	"os"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// the run is suspended
	// asked: Pay 42?
	// the run is natural_end
	// pay answered: paid 42
}
