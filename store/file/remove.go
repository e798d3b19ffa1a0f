package file

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// keepChildren is the strategy of Prune: children keep their parent ID.
const keepChildren awaken.ChildStrategy = "keep"

// remover deletes threads. It first writes the decision to the journal and then carries it
// out, in steps that can be repeated after a crash.
type remover struct {
	home     *home
	table    *table
	journals *journals
	bodies   *bodies
	writer   *writer
	copier   *copier
	files    *blobs

	inferences *inferences

	// mu is held while a thread is created, forked, updated or deleted. Locks are taken
	// in this order: mu, a thread's copies.writing, its writing, that of the thread it
	// was forked from, table.mu.
	mu sync.Mutex
}

// doom decides to delete a thread, which hides it from now on. It writes the decision to
// the journal, so that the deletion is finished even if the process dies. Requires rm.mu
// and t.writing.
func (rm *remover) doom(t *thread, children awaken.ChildStrategy) error {
	rm.table.mu.Lock()
	kids, forks := rm.table.related(t)
	if children == keepChildren {
		kids = nil
	} else if err := threads.CheckDelete(children, len(kids)); err != nil {
		rm.table.mu.Unlock()
		return err
	}
	t.life = gone
	rm.table.mu.Unlock()
	err := rm.writer.append(t, &record{summary: summary{Op: opDelete, Children: &children}})
	if len(kids)+len(forks) == 0 {
		return nil // deleting must work on a full disk; removing a single journal is atomic
	}
	if err != nil {
		rm.table.mu.Lock()
		t.life = alive
		rm.table.mu.Unlock()
	}
	return err
}

// bury detaches or deletes the children of a doomed thread and then erases it. It can be
// repeated. Requires rm.mu.
func (rm *remover) bury(t *thread, children awaken.ChildStrategy) error {
	rm.table.mu.Lock()
	kids, _ := rm.table.related(t)
	rm.table.mu.Unlock()
	switch children {
	case awaken.DetachChildren:
		for _, k := range kids {
			if err := rm.detach(k); err != nil {
				return err
			}
		}
	case awaken.CascadeChildren:
		// The deepest are erased first: what is left is always a tree whose root is the
		// doomed thread.
		all := rm.table.descendants(t)
		if err := rm.raiseFloor(all...); err != nil {
			return err
		}
		for _, d := range slices.Backward(all) {
			d.writing.Lock()
			rm.table.mu.Lock()
			d.life = gone
			rm.table.mu.Unlock()
			d.writing.Unlock()
			if err := rm.erase(d); err != nil {
				return err
			}
		}
	}
	return rm.erase(t)
}

// detach removes the parent of a thread.
func (rm *remover) detach(t *thread) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	if t.life != alive {
		return nil
	}
	return rm.writer.append(t, &record{summary: summary{Op: opDetach}})
}

// erase removes the files of a deleted thread. The journal is last: until then everything
// can be repeated. Requires rm.mu.
func (rm *remover) erase(t *thread) error {
	rm.table.mu.Lock()
	_, forks := rm.table.related(t)
	rm.table.mu.Unlock()
	for _, f := range forks {
		if err := rm.keepBase(f); err != nil {
			return err
		}
	}
	if err := rm.raiseFloor(t); err != nil {
		return err
	}
	t.copies.writing.Lock()
	defer t.copies.writing.Unlock()
	if err := rm.copier.remove(t); err != nil {
		return err
	}
	if err := rm.files.release(t.ID); err != nil {
		return err
	}
	if err := rm.inferences.remove(t.ID); err != nil {
		return err
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	atRemove.Hit()
	if err := rm.journals.remove(&t.journal); err != nil {
		return err
	}
	rm.table.mu.Lock()
	delete(rm.table.threads, t.ID)
	for _, r := range t.runs {
		delete(rm.table.runs, r.id)
	}
	rm.table.decided.Remove(t.ID)
	rm.bodies.drop(t)
	rm.table.mu.Unlock()
	return rm.journals.syncDir(".")
}

// keepBase copies the messages that a fork shares with its base into its own journal.
func (rm *remover) keepBase(f *thread) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	if f.base == nil {
		return nil
	}
	r := &record{summary: summary{Op: opBase}}
	err := rm.bodies.readBase(f, func(msgs []*llm.Message, created []int64, _ int64) { r.Messages, r.Created = msgs, created })
	if err != nil {
		return err
	}
	return rm.writer.append(f, r)
}

// finish carries out the deletions that an earlier process had decided.
func (rm *remover) finish() error {
	var doomed []*thread
	for _, t := range rm.table.threads {
		if t.doomed != nil {
			doomed = append(doomed, t)
		}
	}
	for _, t := range doomed {
		if err := rm.bury(t, *t.doomed); err != nil {
			return fmt.Errorf("finish deleting thread %q: %w", t.ID, err)
		}
	}
	return nil
}

// settle waits until a deleted thread is erased, and retries an erasure that failed.
func (rm *remover) settle(t *thread) error {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	rm.table.mu.Lock()
	left := rm.table.threads[t.ID] == t && t.life == gone
	children := keepChildren
	if t.doomed != nil {
		children = *t.doomed
	}
	rm.table.mu.Unlock()
	if !left {
		return nil
	}
	if err := rm.bury(t, children); err != nil {
		return errors.Join(fmt.Errorf("thread %s was deleted but its files remain", t.ID), err)
	}
	return nil
}

// raiseFloor makes sure that new threads get higher fences than these threads had, so that
// an owner of a deleted thread stays fenced. Requires rm.mu.
func (rm *remover) raiseFloor(threads ...*thread) error {
	rm.table.mu.Lock()
	floor := rm.table.floor
	for _, t := range threads {
		floor = max(floor, t.Fence+1)
	}
	raise := floor > rm.table.floor
	rm.table.mu.Unlock()
	if !raise {
		return nil
	}
	if err := rm.home.writeHead(floor); err != nil {
		return err
	}
	rm.table.mu.Lock()
	rm.table.floor = floor
	rm.table.mu.Unlock()
	return nil
}
