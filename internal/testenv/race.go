//go:build race

package testenv

// Race reports whether the race detector is on, which makes tests about ten times slower.
const Race = true
