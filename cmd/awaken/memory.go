package main

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"strconv"
)

// cgroupLimits are the files in which Linux states the memory limit of a container, in version 2 and
// version 1 of control groups.
var cgroupLimits = []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"}

// memoryShare is the part of a container's memory, in percent, at which the garbage collector works
// harder. The rest is for what it does not count.
const memoryShare = 80

// limitMemory tells the garbage collector how much memory the container has, so that garbage alone
// does not exceed it. $GOMEMLIMIT overrides it. It returns the limit in bytes, or 0 if there is none.
func limitMemory(root fs.FS) int64 {
	if os.Getenv("GOMEMLIMIT") != "" {
		return 0
	}
	for _, name := range cgroupLimits {
		data, err := fs.ReadFile(root, name)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(data)), 10, 64)
		if err != nil || n <= 0 || n >= math.MaxInt64/memoryShare { // "max", or what version 1 says for none
			return 0
		}
		n = n * memoryShare / 100
		debug.SetMemoryLimit(n)
		return n
	}
	return 0
}
