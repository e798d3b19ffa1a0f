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

// journal is the file with the records of a thread. The thread's writing guards broken;
// its holder may also read the fields that table.mu guards.
type journal struct {
	path   string // relative to the folder of the store
	nonce  string // distinguishes it from an earlier journal of the same name
	broken error  // why it is no longer writable

	// Guarded by table.mu.
	first span // its first record
	size  int64

	// Guarded by journals.mu.
	file    *os.File
	at      *list.Element // in journals.open
	users   int
	removed bool
}

// name is the name of the file in the folder of the journals.
func (j *journal) name() string { return j.path[len(journalsDir)+1:] }

// journals is the folder of the journals. It keeps up to max of them open.
type journals struct {
	folder
	max int

	mu   sync.Mutex
	open list.List // of *journal, the least recently used first
}

// get returns the file of a journal, which stays open until the caller calls put.
func (js *journals) get(j *journal) (*os.File, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	if j.file == nil {
		if j.removed { // a file of that name belongs to another thread
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

// create creates the file of a journal. The caller calls put, as after get.
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

// trim closes journals that are not in use until no more than max are open. Requires
// js.mu.
func (js *journals) trim() {
	for e := js.open.Front(); e != nil && js.open.Len() > js.max; {
		j, next := e.Value.(*journal), e.Next()
		if j.users == 0 {
			_ = js.close(j) // all of it is synced
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

// closeAll closes all open files and the folder.
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
		return span{}, fmt.Errorf("%s is not writable until the store is reopened: %w", j.path, j.broken)
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

// read calls fn with the payload of one record. It returns fs.ErrNotExist for a removed
// journal.
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
