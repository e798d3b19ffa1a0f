package sandbox

import (
	"crypto/rand"
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
	defer func() { _ = os.Remove(dir) }()
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
