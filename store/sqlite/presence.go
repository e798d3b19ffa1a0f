package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/awaken-go/awaken/internal/fault"
)

// presence tells whether the files of an open database are still where they were. SQLite does not
// notice that they were deleted, moved or replaced: what it writes to them then is lost.
type presence struct {
	files []present // the database first; none before the database is open

	mu  sync.Mutex
	at  time.Time // when err was found
	err error
}

// present is a file that was there.
type present struct {
	path string
	info os.FileInfo
}

// presenceFor is how old the last finding may be that a read relies on.
const presenceFor = time.Second

// begin makes the files known that the database at path consists of while it is open. SQLite has
// the others beside the file that path names, also if it is a link.
func (p *presence) begin(path string) error {
	named, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for _, name := range []string{path, named + "-wal", named + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		p.files = append(p.files, present{name, info})
	}
	return nil
}

// recent returns an outage if the files were not there up to a second ago.
func (p *presence) recent() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.at) >= presenceFor {
		p.look()
	}
	return p.err
}

// now returns an outage if the files are not there.
func (p *presence) now() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.look()
	return p.err
}

// look looks for the files. Requires p.mu.
func (p *presence) look() {
	p.at, p.err = time.Now(), nil
	for i := range p.files {
		reason, err := p.files[i].gone(i == 0)
		if err != nil {
			p.err = &fault.Outage{Reason: reason, Err: err}
			return
		}
	}
}

// gone returns what has become of a file that is no longer there. A log may be empty, a database
// not.
func (f *present) gone(database bool) (reason string, err error) {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "the file of the store is missing", fmt.Errorf("%s was deleted or moved while it was open; put it back, or stop all processes and restore a backup", f.path)
	case err != nil:
		return "the file of the store cannot be read", err
	case !os.SameFile(info, f.info):
		return "the file of the store was replaced", fmt.Errorf("%s is not the file that was opened; restart the process to use it", f.path)
	case database && info.Size() == 0:
		return "the file of the store is empty", fmt.Errorf("%s was emptied while it was open; stop all processes and restore a backup", f.path)
	}
	return "", nil
}
