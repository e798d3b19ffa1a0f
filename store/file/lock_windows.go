package file

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// sharingViolation is the error for a file that another process has opened exclusively.
const sharingViolation = syscall.Errno(32)

// lock locks the folder for this Store. The system releases the lock when the process
// ends, however it ends.
func lock(root *os.Root, name string) (unlock func() error, err error) {
	path, err := syscall.UTF16PtrFromString(filepath.Join(root.Name(), name))
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, err
	}
	return func() error { return syscall.CloseHandle(h) }, nil
}

// syncFolder does nothing: Windows makes names durable itself.
func syncFolder(*os.File, func(*os.File) error) error { return nil }
