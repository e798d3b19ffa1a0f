// Package testenv provides the environment of tests: a PostgreSQL server, programs of
// other projects, the length of the tests, and the folder of the module. Only tests import it.
package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Long reports whether to run the long variants of tests: AWAKEN_LONG is set to anything but
// "0". scripts/test -long sets it to 1.
func Long() bool {
	v := os.Getenv("AWAKEN_LONG")
	return v != "" && v != "0"
}

// Times returns how often a test repeats something: short times, or long times in long tests. If AWAKEN_LONG is a number between 0 and
// 1, it is that share of long, but never less than short: AWAKEN_LONG=0.1 kills a tenth of the processes.
func Times(short, long int) int {
	if !Long() {
		return short
	}
	if share, err := strconv.ParseFloat(os.Getenv("AWAKEN_LONG"), 64); err == nil && share > 0 && share < 1 {
		return max(short, int(share*float64(long)))
	}
	return long
}

// ModuleRoot returns the nearest folder with a go.mod, at or above that of the running test.
func ModuleRoot(tb testing.TB) string {
	tb.Helper()
	dir, err := moduleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

func moduleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod at or above %s", start)
		}
	}
}
