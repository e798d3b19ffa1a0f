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

// format is the version of the layout. Open refuses a folder with a higher one.
const format = 1

// Permissions: conversations are private.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

// folder is a directory with durable operations on names and whole files.
type folder struct {
	root  *os.Root
	fsync func(*os.File) error
}

// syncDir makes the names in a subfolder durable.
func (f *folder) syncDir(name string) error {
	d, err := f.root.Open(name)
	if err != nil {
		return err
	}
	err = syncFolder(d, f.fsync)
	return errors.Join(err, d.Close())
}

// replace replaces a file atomically and makes it durable.
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

// list returns the names in a subfolder, sorted; none if it does not exist.
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

// home is the folder of a store, which one process at a time can have open.
type home struct {
	folder
	unlock func() error
}

// open creates the folder if it is missing, locks it, and returns its head. It refuses a
// folder that a later version has written. The caller closes h even if open fails.
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

// close unlocks and closes the folder.
func (h *home) close() (err error) {
	if h.unlock != nil {
		err = h.unlock()
	}
	if h.root != nil {
		err = errors.Join(err, h.root.Close())
	}
	return err
}

// make creates the folder durably: its name, and the names of the parents that it
// creates, are synced.
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
		// A process may have died after creating it, before syncing. Usually an operator has
		// prepared the folder, so an error does not matter.
		_ = h.syncPath(filepath.Dir(dir))
	}
	for _, path := range made {
		if err := h.syncPath(filepath.Dir(path)); err != nil {
			return err
		}
	}
	return nil
}

// syncPath makes the names in a folder outside the store durable.
func (h *home) syncPath(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(syncFolder(d, h.fsync), d.Close())
}

// head is the content of store.json.
type head struct {
	Format int    `json:"format"`
	Floor  uint64 `json:"floor,omitempty"`
}

// readHead returns the head, and refuses one that a later version has written.
func (h *home) readHead() (out head, err error) {
	data, err := h.root.ReadFile("store.json")
	if missing(err) {
		return head{}, h.writeHead(0)
	}
	if err != nil {
		return head{}, err
	}
	if err := json.Unmarshal(data, &out); err != nil || out.Format < 1 {
		return head{}, fmt.Errorf("store.json contains %q, want {\"format\":%d}", bytes.TrimSpace(data), format)
	}
	if out.Format > format {
		return head{}, fmt.Errorf("the folder has format %d, this program supports up to %d: use a newer program", out.Format, format)
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
