//go:build unix

package workspace

import "syscall"

// nonblock opens a pipe without waiting for its other end.
const nonblock = syscall.O_NONBLOCK
