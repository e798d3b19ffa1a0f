package file

import (
	"container/list"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// journalsDir is the folder of the journals.
const journalsDir = "journals"

// journal is the file of a thread's records. The thread's writing guards broken; its
// holder may also read what table.mu guards.
type journal struct {
	path   string // below the store's folder
	nonce  string // tells it from an earlier one of the same name
	broken error  // why it cannot be written any more

	// Guarded by table.mu.
	first span // its first record
	size  int64

	// Guarded by journals.mu.
	file    *os.File
	at      *list.Element // in journals.open
	users   int
	removed bool
}

// name is the file's, below the folder of the journals.
func (j *journal) name() string { return j.path[len(journalsDir)+1:] }

// journals is the folder of the journals, a number of which it keeps open.
type journals struct {
	folder
	max int

	mu   sync.Mutex
	open list.List // of *journal, the least recently used first
}

// get returns the file of a journal, open until put is called.
func (js *journals) get(j *journal) (*os.File, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	if j.file == nil {
		if j.removed { // what has its name now is another's
			return nil, fs.ErrNotExist
		}
		f, err := js.root.OpenFile(j.name(), os.O_RDWR, fileMode)
		if err != nil {
			return nil, err
		}
		j.file, j.at = f, js.open.PushBack(j)
	}
	js.open.MoveToBack(j.at)
	j.users++
	js.trim()
	return j.file, nil
}

// create makes the file of a journal. It counts as got.
func (js *journals) create(j *journal) error {
	js.mu.Lock()
	defer js.mu.Unlock()
	f, err := js.root.OpenFile(j.name(), os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	j.file, j.at, j.users = f, js.open.PushBack(j), 1
	js.trim()
	return nil
}

func (js *journals) put(j *journal) {
	js.mu.Lock()
	defer js.mu.Unlock()
	j.users--
	if j.removed && j.users == 0 {
		_ = js.close(j)
	}
	js.trim()
}

// trim closes journals that nobody uses. Requires js.mu.
func (js *journals) trim() {
	for e := js.open.Front(); e != nil && js.open.Len() > js.max; {
		j, next := e.Value.(*journal), e.Next()
		if j.users == 0 {
			_ = js.close(j) // everything in it is synced
		}
		e = next
	}
}

func (js *journals) close(j *journal) error {
	js.open.Remove(j.at)
	err := j.file.Close()
	j.file, j.at = nil, nil
	return err
}

// remove deletes the file of a journal.
func (js *journals) remove(j *journal) error {
	js.mu.Lock()
	defer js.mu.Unlock()
	j.removed = true
	if j.file != nil && j.users == 0 {
		_ = js.close(j)
	}
	err := js.root.Remove(j.name())
	if missing(err) {
		return nil
	}
	return err
}

// closeAll closes the files that are open, and the folder.
func (js *journals) closeAll() error {
	js.mu.Lock()
	defer js.mu.Unlock()
	var err error
	for e := js.open.Front(); e != nil; e = js.open.Front() {
		err = errors.Join(err, js.close(e.Value.(*journal)))
	}
	if js.root != nil {
		err = errors.Join(err, js.root.Close())
	}
	return err
}

// write appends a sealed record to a journal. When it returns nil the record is on disk.
// Requires the thread's writing.
func (js *journals) write(j *journal, buf []byte) (at span, err error) {
	if j.broken != nil {
		return span{}, fmt.Errorf("%s cannot be written until the store is opened again: %w", j.path, j.broken)
	}
	f, err := js.get(j)
	if err != nil {
		return span{}, err
	}
	defer js.put(j)
	at = span{j.size, int64(len(buf))}
	if j.broken, err = appendSealed(f, j.path, at.Off, buf, js.fsync); err != nil {
		return span{}, err
	}
	return at, nil
}

// read calls fn with the payload of one record. A journal that was removed is
// fs.ErrNotExist.
func (js *journals) read(j *journal, at span, fn func(payload []byte) error) error {
	f, err := js.get(j)
	if err != nil {
		return err
	}
	defer js.put(j)
	payload, err := readRecord(f, j.path, at)
	if err != nil {
		return err
	}
	if err := fn(payload); err != nil {
		return &DamagedError{j.path, at.Off, err}
	}
	return nil
}
