//go:build unix

package sandbox

import (
	"io/fs"
	"syscall"
)

// nonblock opens a pipe without waiting for its other end.
const nonblock = syscall.O_NONBLOCK

// onDisk returns how many bytes a file has on the disk.
func onDisk(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}
