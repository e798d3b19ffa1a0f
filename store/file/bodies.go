package file

import (
	"cmp"
	"container/list"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// bodies caches the bodies of threads, as many as fit into max bytes, and reads the
// others from their journals.
type bodies struct {
	table    *table
	journals *journals
	max      int64 // approximate bytes

	// Guarded by table.mu.
	size  int64
	order list.List // of *thread, the least recently used first
}

// add caches the body of a thread. Like grow and drop, it requires table.mu.
func (bs *bodies) add(t *thread, b *body) {
	t.body, t.bodyAt = b, bs.order.PushBack(t)
	bs.size += b.size
}

// grow adds to the size of a cached body and marks it as recently used.
func (bs *bodies) grow(t *thread, by int64) {
	bs.size += by
	bs.order.MoveToBack(t.bodyAt)
}

// drop removes the body of a thread from the cache.
func (bs *bodies) drop(t *thread) {
	if t.body != nil {
		bs.size -= t.body.size
		bs.order.Remove(t.bodyAt)
		t.body, t.bodyAt = nil, nil
	}
}

// evict drops bodies, the least recently used first, until the rest fits. Unless max is
// 0 it keeps the last one, and drops its event blocks if it alone is too large. Requires
// table.mu.
func (bs *bodies) evict() {
	for bs.size > bs.max && (bs.order.Len() > 1 || bs.order.Len() > 0 && bs.max == 0) {
		bs.drop(bs.order.Front().Value.(*thread))
	}
	if bs.size > bs.max && bs.order.Len() == 1 {
		b := bs.order.Front().Value.(*thread).body
		for ; b.loaded < len(b.blocks)-1; b.loaded++ {
			bl := &b.blocks[b.loaded]
			b.size, bs.size = b.size-bl.size, bs.size-bl.size
			bl.entries, bl.size = nil, 0
		}
	}
}

// with calls fn with a thread's body, holding table.mu. It loads the body if it is not
// cached.
func (bs *bodies) with(t *thread, fn func(b *body) error) error {
	bs.table.mu.Lock()
	if t.body != nil {
		defer bs.table.mu.Unlock()
		bs.order.MoveToBack(t.bodyAt)
		return fn(t.body)
	}
	bs.table.mu.Unlock()
	t.writing.Lock()
	defer t.writing.Unlock()
	return bs.withLocked(t, fn)
}

// withLocked is with for callers that hold t.writing.
func (bs *bodies) withLocked(t *thread, fn func(b *body) error) error {
	bs.table.mu.Lock()
	if t.body == nil {
		bs.table.mu.Unlock()
		b, err := bs.load(t)
		if err != nil {
			if missing(err) {
				return threads.NotFound(t.ID) // deleted in the meantime
			}
			return fmt.Errorf("thread %s: %w", t.ID, err)
		}
		bs.table.mu.Lock()
		bs.add(t, b)
	}
	defer bs.table.mu.Unlock()
	defer bs.evict()
	bs.order.MoveToBack(t.bodyAt)
	return fn(t.body)
}

// look calls fn with a live thread and its body, holding table.mu.
func (bs *bodies) look(id string, fn func(t *thread, b *body) error) error {
	bs.table.mu.Lock()
	t, err := bs.table.find(id)
	bs.table.mu.Unlock()
	if err != nil {
		return err
	}
	return bs.with(t, func(b *body) error {
		if t.life != alive {
			return threads.NotFound(id)
		}
		return fn(t, b)
	})
}

// load reads a body from its journal. Requires t.writing.
func (bs *bodies) load(t *thread) (*body, error) {
	f, err := bs.journals.get(&t.journal)
	if err != nil {
		return nil, err
	}
	defer bs.journals.put(&t.journal)
	b := &body{}
	switch {
	case t.copied.Len > 0:
		payload, err := readRecord(f, t.journal.path, t.copied)
		if err != nil {
			return nil, err
		}
		_, rest, err := decodeSummary(payload)
		var c contents
		if err == nil {
			_, err = decodeContents(rest, &c)
		}
		if err != nil {
			return nil, &DamagedError{t.journal.path, t.copied.Off, err}
		}
		b.begin(c.Messages, c.Created, inMemory*t.copied.Len)
	case t.base != nil:
		if err := bs.readBase(t, b.begin); err != nil {
			return nil, err
		}
	}
	end, err := scan(f, t.journal.path, 0, t.journal.size, func(at span, payload []byte) error {
		sum, rest, err := decodeSummary(payload)
		if err != nil || sum.Op == opBase {
			return err
		}
		var c contents
		entries, err := decodeContents(rest, &c)
		if err != nil {
			return err
		}
		if n := len(c.Messages); sum.Op == opCommit && len(b.Created)+n != sum.Count {
			return fmt.Errorf("the log has %d messages, but the record counts %d", len(b.Created)+n, sum.Count)
		}
		b.apply(&sum, &c, at, nil, int64(len(entries)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if end != t.journal.size {
		return nil, &DamagedError{t.journal.path, end, errShort}
	}
	return b, nil
}

// readBase calls fn with the messages that a fork shares with its base thread. Requires
// t.writing; it takes writing of the base after that.
func (bs *bodies) readBase(t *thread, fn func(msgs []*llm.Message, created []int64, size int64)) error {
	bs.table.mu.Lock()
	other := bs.table.threads[t.base.Thread]
	bs.table.mu.Unlock()
	if other == nil || other.journal.nonce != t.base.Nonce {
		return fmt.Errorf("%s is a fork of thread %q, which no longer exists", t.journal.path, t.base.Thread)
	}
	return bs.with(other, func(b *body) error {
		if t.base.Seq > len(b.Created) {
			return fmt.Errorf("%s shares %d messages with thread %q, which has only %d", t.journal.path, t.base.Seq, other.ID, len(b.Created))
		}
		fn(b.View.Log()[:t.base.Seq], b.Created[:t.base.Seq], b.size)
		return nil
	})
}

// readBlock reads the entries of a block and caches them.
func (bs *bodies) readBlock(t *thread, bl *block) error {
	err := bs.read(t, bl.at, func(payload []byte) (err error) {
		bl.entries, err = decodeEntries(payload)
		return err
	})
	if err != nil {
		return err
	}
	bs.table.mu.Lock()
	defer bs.table.mu.Unlock()
	if t.body == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(t.body.blocks, bl.at.Off, func(b block, off int64) int { return cmp.Compare(b.at.Off, off) })
	if ok && t.body.blocks[i].entries == nil {
		kept := &t.body.blocks[i]
		kept.entries, kept.size = bl.entries, inMemory*bl.at.Len
		t.body.size, t.body.loaded = t.body.size+kept.size, min(t.body.loaded, i)
		bs.grow(t, kept.size)
		bs.evict()
	}
	return nil
}

// read calls fn with the payload of one record of a thread's journal.
func (bs *bodies) read(t *thread, at span, fn func(payload []byte) error) error {
	err := bs.journals.read(&t.journal, at, fn)
	if missing(err) {
		return threads.NotFound(t.ID) // deleted in the meantime
	}
	return err
}
