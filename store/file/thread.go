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

// thread is what is always known about a thread: as much as a commit needs, and as
// lists show. What it is made of is in its body, which comes and goes.
//
// Whoever changes a thread holds writing from before looking at it until the change is
// applied; so whoever holds it may read without table.mu.
type thread struct {
	writing sync.Mutex
	journal journal
	copies  copies

	// Guarded by table.mu.
	threads.Head
	life   life
	doomed *awaken.ChildStrategy // to be deleted, with the children as said
	unread []string
	runs   []*runRef // in the order they were born
	base   *base     // what its log begins with is another thread's
	copied span      // the record that holds a copy of it instead

	body   *body
	bodyAt *list.Element // in the bodies
}

// life says whether a thread is there.
type life uint8

const (
	beingMade life = iota
	alive
	gone // deleted, or never made
)

// runRef is a run and where its record is.
type runRef struct {
	id     string
	thread *thread
	status awaken.RunStatus
	born   int64
	at     span // no length while its first commit is being written
	stale  bool // is in its thread's copies.stale
}

func newThread(id string) *thread {
	return &thread{Head: threads.Head{Thread: awaken.Thread{ID: id}}, journal: journal{path: journalPath(id), nonce: ids.New()}}
}

// journalPath is where the journal of a thread is, below the store's folder.
func journalPath(threadID string) string { return journalsDir + "/" + fileName(threadID) + ".log" }

var errNotUTF8 = errors.New("it is not UTF-8")

// checkID refuses ids that JSON would change.
func checkID(what, id string) error {
	if !utf8.ValidString(id) {
		return fmt.Errorf("%w: %s id %q: %w", awaken.ErrInvalid, what, id, errNotUTF8)
	}
	return nil
}
