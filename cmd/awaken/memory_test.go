package main

import (
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

// The garbage collector knows the memory of a container, unless $GOMEMLIMIT says otherwise.
func TestMemory_IsLimitedToTheContainers(t *testing.T) {
	t.Cleanup(func() { debug.SetMemoryLimit(math.MaxInt64) })
	const two, one = "sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"
	for _, tt := range []struct {
		name, file, text, variable string
		want                       int64
	}{
		{"version 2", two, "1073741824\n", "", 858993459},
		{"version 1", one, "1073741824\n", "", 858993459},
		{"version 2 without a limit", two, "max\n", "", 0},
		{"version 1 without a limit", one, "9223372036854771712\n", "", 0},
		{"no control groups", "etc/hosts", "", "", 0},
		{"an operator's own limit", two, "1073741824\n", "1GiB", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("GOMEMLIMIT", tt.variable)
			debug.SetMemoryLimit(math.MaxInt64)
			got := limitMemory(fstest.MapFS{tt.file: {Data: []byte(tt.text)}})
			want := tt.want
			if want == 0 {
				want = math.MaxInt64
			}
			if set := debug.SetMemoryLimit(-1); got != tt.want || set != want {
				t.Errorf("the limit is %d, and %d was set; want %d", got, set, tt.want)
			}
		})
	}
}
