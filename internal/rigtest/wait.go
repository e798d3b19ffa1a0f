package rigtest

import (
	"slices"
	"testing"
	"time"
)

// Patience is how long a test waits for what should take seconds, on a busy machine.
const Patience = time.Minute

// Until waits until a condition is true that only other processes know of, and returns when it was.
func Until(tb testing.TB, what string, limit time.Duration, ok func() bool) time.Time {
	tb.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		if ok() {
			return time.Now()
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%s: not within %s", what, limit)
		}
	}
}

// Quantile returns a quantile of durations, or 0 if there are none.
func Quantile(ds []time.Duration, q float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	ds = slices.Sorted(slices.Values(ds))
	return ds[int(q*float64(len(ds)-1))]
}
