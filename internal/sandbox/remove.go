package sandbox

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"
)

// RemoveAll removes a working folder. A program may have made folders that cannot be read, and more of them inside of
// each other than files can be open: folders are moved to one place before they are removed, so that none is deep.
func RemoveAll(dir string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	empty(root)
	_ = os.Remove(dir)
}

// RemoveIn is [RemoveAll] for a folder below top, which no link leads out of. It is no error if there is none, and one if
// something is left of it. What is no folder is not removed.
func RemoveIn(top *os.Root, name string) error {
	info, err := top.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "remove", Path: name, Err: errors.New("not a folder")}
	}
	root, err := top.OpenRoot(name)
	if errors.Is(err, fs.ErrPermission) && top.Chmod(name, 0o700) == nil {
		root, err = top.OpenRoot(name)
	}
	if err != nil {
		return err
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) { // a link has taken its place
		_ = root.Close()
		return &fs.PathError{Op: "remove", Path: name, Err: errors.New("it changes")}
	}
	empty(root)
	if err := top.Remove(name); !errors.Is(err, fs.ErrNotExist) { // another process may do the same
		return err
	}
	return nil
}

// empty removes what a folder holds, and closes it.
func empty(root *os.Root) {
	defer func() { _ = root.Close() }()
	c := &clearing{root: root, trash: rand.Text()}
	_ = root.Chmod(".", 0o700)
	_ = root.Mkdir(c.trash, 0o700)
	c.clear(".")
	for len(c.folders) > 0 {
		at := c.folders[len(c.folders)-1]
		c.folders = c.folders[:len(c.folders)-1]
		c.clear(at)
		_ = root.Remove(at)
	}
	_ = root.Remove(c.trash)
}

// clearing is the removal of a working folder.
type clearing struct {
	root    *os.Root
	trash   string   // the folder that folders are moved to
	moved   int      // folders
	folders []string // that are to be removed
}

// clear removes the files in a folder, and moves the folders in it to the trash.
func (c *clearing) clear(at string) {
	_ = c.root.Chmod(at, 0o700)
	for progress := true; progress; {
		progress = false
		f, err := openFolder(c.root, at)
		if err != nil {
			return
		}
		entries, _ := f.ReadDir(1000)
		_ = f.Close()
		for _, e := range entries {
			name := path.Join(at, e.Name())
			if name == c.trash {
				continue
			}
			if !e.IsDir() {
				progress = c.root.Remove(name) == nil || progress
				continue
			}
			_ = c.root.Chmod(name, 0o700) // a folder that cannot be written cannot be moved
			top := path.Join(c.trash, strconv.Itoa(c.moved))
			if c.root.Rename(name, top) == nil {
				c.folders, c.moved, progress = append(c.folders, top), c.moved+1, true
			}
		}
	}
}
