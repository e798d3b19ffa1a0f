//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package file

import (
	"errors"
	"os"
)

func lock(*os.Root, string) (func() error, error) {
	return nil, errors.New("this platform has no reliable file locks")
}

func syncFolder(d *os.File, sync func(*os.File) error) error { return sync(d) }
