//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// memoryOf returns how much memory, in bytes, the processes below a process have for themselves.
func memoryOf(pid int) (total int64) {
	parents := map[int]int{}
	list, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range list {
		data, err := os.ReadFile(dir + "/stat")
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(data[max(0, strings.LastIndex(string(data), ")")):]), " ")
		fields := strings.Fields(rest)
		if len(fields) < 2 {
			continue
		}
		n, _ := strconv.Atoi(filepath.Base(dir))
		parents[n], _ = strconv.Atoi(fields[1])
	}
	for n := range parents {
		at := n
		for depth := 0; at > 1 && at != pid && depth < 1000; depth++ {
			at = parents[at]
		}
		if at != pid || n == pid {
			continue
		}
		data, _ := os.ReadFile("/proc/" + strconv.Itoa(n) + "/statm")
		if fields := strings.Fields(string(data)); len(fields) > 2 {
			resident, _ := strconv.ParseInt(fields[1], 10, 64)
			shared, _ := strconv.ParseInt(fields[2], 10, 64)
			total += max(0, resident-shared) * int64(os.Getpagesize())
		}
	}
	return total
}
