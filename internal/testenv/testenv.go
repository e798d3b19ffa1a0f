// Package testenv provides the environment of tests: a PostgreSQL server, the length of the
// tests, and the folder of the module. Only tests import it.
package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// Long reports whether to run the long variants of tests: AWAKEN_LONG is set to anything but
// "0". scripts/test -long sets it.
func Long() bool {
	v := os.Getenv("AWAKEN_LONG")
	return v != "" && v != "0"
}

// ModuleRoot returns the nearest folder with a go.mod, at or above that of the running test.
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
