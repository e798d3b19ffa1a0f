package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// format is the version of the layout. A folder with a higher one is refused.
const format = 1

// Permissions: conversations are private.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

// folder is a folder on the disk in which names and whole files can be made durable.
type folder struct {
	root  *os.Root
	fsync func(*os.File) error
}

// syncDir makes the names in a folder below this one durable.
func (f *folder) syncDir(name string) error {
	d, err := f.root.Open(name)
	if err != nil {
		return err
	}
	err = syncFolder(d, f.fsync)
	return errors.Join(err, d.Close())
}

// replace writes a file as a whole, all or nothing, and makes it durable.
func (f *folder) replace(name string, data []byte) error {
	return f.replaceVia(name, name+".tmp", data)
}

func (f *folder) replaceVia(name, tmp string, data []byte) error {
	err := func() error {
		w, err := f.root.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, fileMode)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		if err == nil {
			err = f.fsync(w)
		}
		return errors.Join(err, w.Close())
	}()
	if err == nil {
		err = f.root.Rename(tmp, name)
	}
	if err != nil {
		_ = f.root.Remove(tmp)
		return err
	}
	return f.syncDir(filepath.Dir(name))
}

// list returns the names in a folder below this one, sorted. What is not there is empty.
func (f *folder) list(name string) ([]string, error) {
	d, err := f.root.Open(name)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, errors.Join(err, d.Close())
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// home is the folder of a store, which one process at a time has open.
type home struct {
	folder
	unlock func() error
}

// open makes the folder if it is not there, locks it, and returns what its head says.
// It refuses a folder that a later version has written. Whether it fails or not, the
// caller closes h.
func (h *home) open(dir string) (out head, err error) {
	if err := h.make(dir); err != nil {
		return head{}, err
	}
	if h.root, err = os.OpenRoot(dir); err != nil {
		return head{}, err
	}
	if h.unlock, err = lock(h.root, ".lock"); err != nil {
		return head{}, err
	}
	return h.readHead()
}

// close releases what open got hold of.
func (h *home) close() (err error) {
	if h.unlock != nil {
		err = h.unlock()
	}
	if h.root != nil {
		err = errors.Join(err, h.root.Close())
	}
	return err
}

// make makes a folder, and makes sure that it is found again: its name and those of the
// folders it is in are as durable as what is going to be in it.
func (h *home) make(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "store.json")); err == nil {
		return nil
	}
	var made []string
	for path := dir; ; path = filepath.Dir(path) {
		if _, err := os.Stat(path); !missing(err) {
			break
		}
		made = append(made, path)
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	if made == nil {
		// Whoever made it may have died before it was synced. Usually it is somebody's
		// who has prepared it for us, and no business of ours.
		_ = h.syncPath(filepath.Dir(dir))
	}
	for _, path := range made {
		if err := h.syncPath(filepath.Dir(path)); err != nil {
			return err
		}
	}
	return nil
}

// syncPath makes the names in a folder outside of the store durable.
func (h *home) syncPath(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(syncFolder(d, h.fsync), d.Close())
}

// head is what store.json says.
type head struct {
	Format int    `json:"format"`
	Floor  uint64 `json:"floor,omitempty"`
}

// readHead refuses a folder that a later version has written.
func (h *home) readHead() (out head, err error) {
	data, err := h.root.ReadFile("store.json")
	if missing(err) {
		return head{}, h.writeHead(0)
	}
	if err != nil {
		return head{}, err
	}
	if err := json.Unmarshal(data, &out); err != nil || out.Format < 1 {
		return head{}, fmt.Errorf("store.json says %q, want {\"format\":%d}", bytes.TrimSpace(data), format)
	}
	if out.Format > format {
		return head{}, fmt.Errorf("the folder has format %d, and this program knows only up to %d: it was written by a later version", out.Format, format)
	}
	return out, nil
}

func (h *home) writeHead(floor uint64) error {
	data, err := json.Marshal(head{format, floor})
	if err != nil {
		return err
	}
	return h.replace("store.json", append(data, '\n'))
}
