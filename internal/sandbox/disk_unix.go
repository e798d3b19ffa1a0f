//go:build unix

package sandbox

import (
	"io/fs"
	"syscall"
)

// onDisk returns how many bytes a file has on the disk.
func onDisk(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}
