//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// hold locks a file until release is called or the process ends.
func hold(path string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		// Closing alone is not enough: a child process that is being started shares the
		// file until it executes its program.
		return errors.Join(flock(f, syscall.LOCK_UN), f.Close())
	}, nil
}

// held reports whether a process holds a file. It reports true if that is not known.
func held(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return !os.IsNotExist(err)
	}
	defer f.Close()
	return flock(f, syscall.LOCK_SH|syscall.LOCK_NB) != nil
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
