// Package testenv helps the tests of this module.
//
// Only tests import this package.
package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// Long reports whether the tests should do their bigger runs. It is true if AWAKEN_LONG is set to
// anything but "0"; scripts/test -long sets it.
func Long() bool {
	v := os.Getenv("AWAKEN_LONG")
	return v != "" && v != "0"
}

// ModuleRoot returns the folder that holds go.mod, at or above the folder of the running test.
func ModuleRoot(tb testing.TB) string {
	tb.Helper()
	start, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			tb.Fatalf("no go.mod at or above %s", start)
		}
	}
}
