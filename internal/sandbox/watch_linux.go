//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// status is what the kernel says about a process.
type status struct {
	state         string
	parent, group int
}

// everyStatus returns the status of all processes, by their numbers.
func everyStatus() map[int]status {
	out := map[int]status{}
	list, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range list {
		data, err := os.ReadFile(dir + "/stat")
		if err != nil {
			continue // it has ended
		}
		text := string(data)
		fields := strings.Fields(text[strings.LastIndex(text, ")")+1:]) // the name before it may have any characters
		if len(fields) < 3 {
			continue
		}
		n, _ := strconv.Atoi(filepath.Base(dir))
		parent, _ := strconv.Atoi(fields[1])
		group, _ := strconv.Atoi(fields[2])
		out[n] = status{fields[0], parent, group}
	}
	return out
}

// runs reports whether a process of a group has not ended.
func runs(group int) bool {
	for _, s := range everyStatus() {
		if s.group == group && s.state != "Z" && s.state != "X" {
			return true
		}
	}
	return false
}

// memoryOf returns how much memory, in bytes, the processes below a process have for themselves.
func memoryOf(pid int) (total int64) {
	all := everyStatus()
	for n := range all {
		at := n
		for depth := 0; at > 1 && at != pid && depth < 1000; depth++ {
			at = all[at].parent
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
