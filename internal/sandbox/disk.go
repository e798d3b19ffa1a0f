package sandbox

import (
	"io/fs"
	"math"
	"os"
	"path"
)

// The limits of folders that are looked at. What is deeper, or has more files, exceeds every limit: files could be hidden
// there.
const (
	maxDepth   = 100
	maxEntries = 200_000
)

// overDisk reports whether the folders that the program can write to have more than they may.
func (c *Command) overDisk() bool {
	used, files := Measure(c.Dir)
	if c.Temp != nil {
		more, n := Measure(c.Temp)
		used, files = add(used, more), files+n
	}
	return used > c.Limits.DiskBytes || files > c.Limits.DiskFiles
}

// Measure returns how many bytes the files of a folder have, and how many files and folders there are. A file counts as often as it has
// names, and at least 512 bytes. A folder with too many files, or folders that are too deep, has the largest numbers.
func Measure(root *os.Root) (bytes int64, files int) {
	s := &survey{root: root}
	if !s.folder(".", 0) {
		return math.MaxInt64, math.MaxInt32
	}
	return s.bytes, s.entries
}

// survey adds up the files of a folder.
type survey struct {
	root    *os.Root
	bytes   int64
	entries int
}

// folder adds up the files below a folder. It reports false if there are too many.
func (s *survey) folder(at string, depth int) bool {
	f, err := openFolder(s.root, at)
	if err != nil { // it may be one that the program has closed
		_ = s.root.Chmod(at, 0o700)
		if f, err = openFolder(s.root, at); err != nil {
			return true
		}
	}
	defer func() { _ = f.Close() }()
	for {
		list, err := f.ReadDir(1000)
		for _, e := range list {
			if s.entries++; s.entries > maxEntries || depth > maxDepth {
				return false
			}
			name := path.Join(at, e.Name())
			s.bytes = add(s.bytes, s.size(name, e))
			if e.IsDir() && !s.folder(name, depth+1) {
				return false
			}
		}
		if err != nil || len(list) == 0 {
			return true
		}
	}
}

// openFolder opens a folder for reading. It does not wait for a pipe that a program has put in its place.
func openFolder(root *os.Root, at string) (*os.File, error) {
	return root.OpenFile(at, os.O_RDONLY|nonblock, 0)
}

// size returns how much a file counts. One with holes counts what it has on the disk, if the system says so.
func (s *survey) size(name string, e fs.DirEntry) int64 {
	info, err := s.root.Lstat(name)
	if err != nil || e.IsDir() {
		return 512
	}
	return max(512, onDisk(info))
}

// add adds two numbers, up to the largest one.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
