package file

import (
	"container/list"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// thread is the part of a thread that is always in memory: as much as commits and lists
// need. Its content is in the body, which is cached.
//
// A writer holds writing from before it reads the thread until its change is applied, so
// the holder may read the thread without table.mu.
type thread struct {
	writing sync.Mutex
	journal journal
	copies  copies

	// Guarded by table.mu.
	threads.Head
	life    life
	doomed  *awaken.ChildStrategy // set while it is being deleted
	unread  []string
	decided []*awaken.Decided // the records that were posted to it
	runs    []*runRef         // in the order they were born
	base    *base             // another thread holds the first messages
	copied  span              // the record that holds a copy of them instead

	body   *body
	bodyAt *list.Element // in bodies.order
}

// life is the life cycle of a thread.
type life uint8

const (
	beingMade life = iota
	alive
	gone // deleted, or its creation failed
)

// runRef is a run and the position of its last record.
type runRef struct {
	id     string
	thread *thread
	status awaken.RunStatus
	born   int64
	at     span // empty while its first commit is being written
	stale  bool // listed in copies.stale of its thread
}

func newThread(id string) *thread {
	return &thread{Head: threads.Head{Thread: awaken.Thread{ID: id}}, journal: journal{path: journalPath(id), nonce: ids.New()}}
}

// journalPath returns the path of a thread's journal, relative to the folder of the store.
func journalPath(threadID string) string { return journalsDir + "/" + fileName(threadID) + ".log" }

var errNotUTF8 = errors.New("not valid UTF-8")

// checkID refuses ids that JSON cannot represent.
func checkID(what, id string) error {
	if !utf8.ValidString(id) {
		return fmt.Errorf("%w: %s id %q: %w", awaken.ErrInvalid, what, id, errNotUTF8)
	}
	return nil
}
