package sandbox

import (
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Temp is a temporary working folder. A process that is killed leaves it; the next one removes it ([SweepTemp]), because the
// lock beside it is not held any more.
type Temp struct {
	Path string
	lock *os.File
}

const lockSuffix = ".lock"

// NewTemp makes a temporary folder in dir, whose name begins with a prefix.
func NewTemp(dir, prefix string) (*Temp, error) {
	for {
		at := filepath.Join(dir, prefix+rand.Text())
		f, err := os.OpenFile(at+lockSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		t := &Temp{Path: at, lock: f}
		if !hold(f) || !t.locked() { // a process that sweeps took it for one that was left
			_ = f.Close()
			continue
		}
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Remove()
			return nil, err
		}
		return t, nil
	}
}

// locked reports whether the lock is still beside the folder.
func (t *Temp) locked() bool {
	mine, err := t.lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(t.lock.Name())
	return err == nil && os.SameFile(mine, there)
}

// Remove removes the folder.
func (t *Temp) Remove() {
	RemoveAll(t.Path)
	_ = os.Remove(t.lock.Name())
	_ = t.lock.Close()
}

// SweepTemp removes the temporary folders in dir whose names begin with a prefix and whose processes are gone. Those of other
// users stay.
func SweepTemp(dir, prefix string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	entries, _ := fs.ReadDir(root.FS(), ".") // what can be read is swept
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), lockSuffix); ok && strings.HasPrefix(name, prefix) && e.Type().IsRegular() {
			sweepTemp(root, name)
		}
	}
}

// sweepTemp removes a temporary folder, if its process is gone.
func sweepTemp(root *os.Root, name string) {
	info, err := root.Lstat(name + lockSuffix)
	if err != nil || !info.Mode().IsRegular() || !own(info) {
		return
	}
	f, err := root.OpenFile(name+lockSuffix, os.O_RDWR|nonblock, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) || !hold(f) {
		return
	}
	if RemoveIn(root, name) == nil { // otherwise the next sweep tries again
		_ = root.Remove(name + lockSuffix)
	}
}
