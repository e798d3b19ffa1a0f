//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// hold locks a file for as long as this process has it open. It reports false if another process holds it.
func hold(f *os.File) bool {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EINTR) {
			return err == nil
		}
	}
}

// own reports whether a file belongs to the user of this process.
func own(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
