//go:build unix

package engine_test

import (
	"syscall"
	"time"
)

// cpu returns the CPU time that this process has used, with that of the garbage collector.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
