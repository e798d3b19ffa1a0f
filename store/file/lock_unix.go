//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package file

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// lock locks the folder for this Store. The system releases the lock when the process
// ends, however it ends.
func lock(root *os.Root, name string) (unlock func() error, err error) {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		who, _ := io.ReadAll(io.LimitReader(f, 32))
		err = fmt.Errorf("%w by process %s", ErrLocked, strings.TrimSpace(string(who)))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// The process ID is only for the message above.
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintln(f, os.Getpid())
	}
	return func() error {
		// Closing alone is not enough: a child process that is being started shares the
		// file until it executes its program.
		return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
	}, nil
}

func syncFolder(d *os.File, sync func(*os.File) error) error { return sync(d) }
