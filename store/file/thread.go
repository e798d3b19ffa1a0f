package file

import (
	"bytes"
	"cmp"
	"container/list"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm"
)

// thread is what is always known about a thread: as much as a commit needs, and as
// lists show. What it is made of is in its body, which comes and goes.
//
// Whoever changes a thread holds writing from before looking at it until the change is
// applied; so whoever holds it may read without Store.mu.
type thread struct {
	writing sync.Mutex
	copying sync.Mutex // while its copies are written

	name   string // of the journal
	nonce  string
	broken error // why the journal cannot be written any more; guarded by writing

	// Guarded by Store.mu.
	awaken.Thread
	life              life
	doomed            *awaken.ChildStrategy // to be deleted, with the children as said
	fence, generation uint64
	committed         uint64 // number of the owner's last commit
	touched           int64
	seq               uint64 // the highest in the log of events
	unread            []string
	runs              []*runRef // in the order they were born
	staleRuns         []*runRef // that are not in the copies as they are now
	base              *base     // what its log begins with is another thread's
	copied            span      // the record that holds a copy of it instead
	first             span      // the journal's first record
	size              int64     // of the journal
	copiedTo          int64     // so much of the journal is in the copies for people,
	copiedSeq         int       // and so many messages

	body   *body
	bodyAt *list.Element // in the cache

	// Guarded by handles.mu.
	file      *os.File
	fileAt    *list.Element
	fileUsers int
	removed   bool
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
	stale  bool // is in its thread's staleRuns
}

func (t *thread) markStale(r *runRef) {
	if !r.stale {
		r.stale = true
		t.staleRuns = append(t.staleRuns, r)
	}
}

func newThread(id string) *thread {
	return &thread{Thread: awaken.Thread{ID: id}, name: fileName(id) + ".log", nonce: ids.New()}
}

// path is the journal's, for messages.
func (t *thread) path() string { return "journals/" + t.name }

func (t *thread) export() *awaken.Thread {
	out := t.Thread
	out.Metadata.Custom = maps.Clone(t.Metadata.Custom)
	out.End = awaken.Cursor{Epoch: t.fence, Seq: t.seq}
	return &out
}

func notFound(id string) error { return fmt.Errorf("thread %s: %w", id, awaken.ErrNotFound) }

// find returns a thread that is there. Requires s.mu.
func (s *Store) find(id string) (*thread, error) {
	if t := s.threads[id]; t != nil && t.life == alive {
		return t, nil
	}
	return nil, notFound(id)
}

// take returns a thread with writing held.
func (s *Store) take(id string) (*thread, error) {
	s.mu.Lock()
	t, err := s.find(id)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	t.writing.Lock()
	if t.life != alive { // it was deleted meanwhile
		t.writing.Unlock()
		return nil, notFound(id)
	}
	return t, nil
}

// append makes a change of a thread durable and then visible. Requires t.writing.
func (s *Store) append(t *thread, r *record) error {
	buf := buffers.Get().(*bytes.Buffer)
	defer recycle(buf)
	entries, err := r.encode(buf)
	if err != nil {
		return err
	}
	at, err := s.write(t, buf.Bytes())
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apply(t, &r.summary, at)
	s.grown += at.Len
	if t.body != nil {
		s.cache.grow(t, t.body.apply(&r.summary, &r.contents, at, r.entries, entries))
		s.evict()
	}
	return nil
}

// apply does what a record says to what is always known. Requires s.mu, or that
// nobody else knows the store.
func (s *Store) apply(t *thread, r *summary, at span) {
	if at.Off == 0 {
		t.first = at
	}
	t.size = at.end()
	s.clock = max(s.clock, r.Clock)
	switch r.Op {
	case opCreate, opAcquire:
		t.fence, t.committed = r.Fence, 0
	case opFork:
		t.base, t.ParentThreadID, t.MessageCount, t.touched, t.fence = r.Base, r.Parent, r.Count, r.Clock, r.Fence
		t.ResourceID = r.Resource
		if r.Metadata != nil {
			t.Metadata = *r.Metadata
		}
		if r.Base != nil {
			t.copiedSeq = r.Base.Seq
		}
	case opCommit:
		s.applyCommit(t, r, at)
	case opInterrupt:
		t.generation = r.Generation
	case opPost:
		t.unread = append(t.unread, r.Posted...)
	case opMetadata:
		t.Metadata.Title, t.Metadata.Custom = r.Metadata.Title, r.Metadata.Custom
		t.Metadata.UpdatedAt = max(t.Metadata.UpdatedAt, r.Time)
		t.ResourceID, t.ParentThreadID, t.touched = r.Resource, r.Parent, r.Clock
	case opDetach:
		t.ParentThreadID = ""
	case opBase:
		t.base, t.copied, t.copiedSeq = nil, at, 0
	case opDelete:
		t.doomed = r.Children
	}
}

func (s *Store) applyCommit(t *thread, r *summary, at span) {
	t.committed, t.touched = r.Number, r.Clock
	if t.Metadata.CreatedAt == 0 {
		t.Metadata.CreatedAt, t.ParentThreadID = r.Time, r.Parent
	}
	t.Metadata.UpdatedAt = r.Time
	t.MessageCount = r.Count
	if r.Log != nil {
		t.seq = max(t.seq, r.Log.Last)
	}
	if len(r.Read) > 0 {
		t.unread = slices.DeleteFunc(t.unread, func(id string) bool { return slices.Contains(r.Read, id) })
	}
	run := s.runs[r.RunID]
	if run == nil {
		run = &runRef{id: r.RunID, thread: t}
		s.runs[r.RunID] = run
	}
	if run.at.Len == 0 {
		run.born = r.Clock
		t.runs = append(t.runs, run)
	}
	run.status, run.at = r.Status, at
	t.markStale(run)
	t.LatestRunID, t.OpenRunID = r.RunID, ""
	if r.Status != awaken.RunDone {
		t.OpenRunID = r.RunID
	}
}

// stale reports whether the copies for people are older than the journal. Requires
// Store.mu.
func (t *thread) stale() bool { return t.life == alive && t.touched > 0 && t.copiedTo < t.size }

// recoverThread finds out about a thread from its journal, or from the index as far as
// that knows it, and cuts a torn end.
func (s *Store) recoverThread(name string, index map[string]*indexThread) (whole bool, err error) {
	path := "journals/" + name
	f, err := s.journals.OpenFile(name, os.O_RDWR, fileMode)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	size := info.Size()
	var t *thread
	start := func(payload []byte) error {
		first, _, err := decodeSummary(payload)
		switch {
		case err != nil:
			return err
		case fileName(first.Thread)+".log" != name:
			return fmt.Errorf("it holds thread %q, whose journal is called %s.log", first.Thread, fileName(first.Thread))
		case first.Op != opCreate && first.Op != opFork:
			return fmt.Errorf("its first record is %q, want %q or %q", first.Op, opCreate, opFork)
		}
		t = newThread(first.Thread)
		t.nonce, t.life = first.Nonce, alive
		return nil
	}
	from := int64(0)
	if known := index[name]; known != nil && known.Size <= size {
		if payload, err := readRecord(f, path, known.First); err == nil && start(payload) == nil && t.nonce == known.Nonce {
			s.restore(t, known)
			from = known.Size
		}
	}
	end, err := scan(f, path, from, size, func(at span, payload []byte) error {
		if at.Off == 0 {
			if err := start(payload); err != nil {
				return err
			}
		}
		sum, _, err := decodeSummary(payload)
		if err != nil {
			return err
		}
		if other := s.runs[sum.RunID]; sum.Op == opCommit && other != nil && other.thread != t {
			return fmt.Errorf("run %q is of thread %q too", sum.RunID, other.thread.ID)
		}
		s.apply(t, &sum, at)
		return nil
	})
	if err != nil {
		return false, err
	}
	torn := end < size
	if torn {
		s.opts.Logger.Warn("a journal ends in a record that was not written to its end; it is cut off", "file", path, "offset", end, "bytes", size-end)
		if err := f.Truncate(end); err != nil {
			return false, err
		}
	}
	if torn || end > from { // what is shown now was perhaps never synced
		if err := s.fsync(f); err != nil {
			return false, err
		}
	}
	if end == 0 { // nobody was ever told that the thread exists
		if err := s.journals.Remove(name); err != nil {
			return false, err
		}
		return true, s.syncDir(s.journals, ".")
	}
	s.threads[t.ID] = t
	return from == 0, nil
}

// body is what a thread is made of. It is guarded by Store.mu; what its slices hold is
// never changed.
type body struct {
	size    int64 // about, in memory
	view    awaken.View
	created []int64 // of each record, unix ms
	state   map[string]json.RawMessage
	inbox   []awaken.InboxItem
	posted  map[string]bool
	runs    map[string]*runBody
	blocks  []block
	held    int // blocks before this one have no entries in memory
}

type runBody struct {
	awaken.Run
	calls []*awaken.CallState
	state map[string]json.RawMessage
}

// block is the entries of one record.
type block struct {
	at    span
	runID string // of all of them, or ""
	// The highest of this block and those before it.
	last, epoch uint64
	entries     []awaken.Entry // nil when they have to be read
	size        int64          // of entries in memory, about
}

// inMemory is about how much larger something is in memory than in JSON.
const inMemory = 2

// load reads a body from the journal. Requires t.writing.
func (s *Store) load(t *thread) (*body, error) {
	f, err := s.files.get(t)
	if err != nil {
		return nil, err
	}
	defer s.files.put(t)
	b := &body{}
	switch {
	case t.copied.Len > 0:
		payload, err := readRecord(f, t.path(), t.copied)
		if err != nil {
			return nil, err
		}
		_, rest, err := decodeSummary(payload)
		var c contents
		if err == nil {
			_, err = decodeContents(rest, &c)
		}
		if err != nil {
			return nil, &DamagedError{t.path(), t.copied.Off, err}
		}
		b.begin(c.Messages, c.Created, inMemory*t.copied.Len)
	case t.base != nil:
		if err := s.readBase(t, b.begin); err != nil {
			return nil, err
		}
	}
	end, err := scan(f, t.path(), 0, t.size, func(at span, payload []byte) error {
		sum, rest, err := decodeSummary(payload)
		if err != nil || sum.Op == opBase {
			return err
		}
		var c contents
		entries, err := decodeContents(rest, &c)
		if err != nil {
			return err
		}
		if n := len(c.Messages); sum.Op == opCommit && len(b.created)+n != sum.Count {
			return fmt.Errorf("it makes %d messages, and says that there are %d", len(b.created)+n, sum.Count)
		}
		b.apply(&sum, &c, at, nil, int64(len(entries)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if end != t.size {
		return nil, &DamagedError{t.path(), end, errShort}
	}
	return b, nil
}

// readBase calls fn with the messages that a fork shares with another thread.
// Requires t.writing; that of the other thread comes after it.
func (s *Store) readBase(t *thread, fn func(msgs []*llm.Message, created []int64, size int64)) error {
	s.mu.Lock()
	other := s.threads[t.base.Thread]
	s.mu.Unlock()
	if other == nil || other.nonce != t.base.Nonce {
		return fmt.Errorf("%s begins as thread %q was, and that is not there any more", t.path(), t.base.Thread)
	}
	return s.withBody(other, func(b *body) error {
		if t.base.Seq > len(b.created) {
			return fmt.Errorf("%s begins with %d messages of thread %q, which has only %d", t.path(), t.base.Seq, other.ID, len(b.created))
		}
		fn(b.view.Log()[:t.base.Seq], b.created[:t.base.Seq], b.size)
		return nil
	})
}

// begin gives a fork its first messages.
func (b *body) begin(msgs []*llm.Message, created []int64, size int64) {
	b.view.Append(msgs...)
	b.created = slices.Clone(created)
	b.size += size
}

// apply does what a record says, and returns by how much the body grew. The entries are
// nil if they are only in the journal; stored is how many bytes they take there.
func (b *body) apply(r *summary, c *contents, at span, entries []awaken.Entry, stored int64) int64 {
	before := b.size
	b.size += 256 + inMemory*(at.Len-stored)
	switch r.Op {
	case opCommit:
		b.applyCommit(r, c)
	case opPost:
		if b.posted == nil {
			b.posted = map[string]bool{}
		}
		for _, it := range c.Items {
			b.posted[it.ID] = true
			b.inbox = append(b.inbox, it)
		}
	}
	if l := r.Log; l != nil {
		bl := block{at: at, runID: l.RunID, last: l.Last, epoch: l.Epoch, entries: entries}
		if n := len(b.blocks); n > 0 {
			bl.last, bl.epoch = max(bl.last, b.blocks[n-1].last), max(bl.epoch, b.blocks[n-1].epoch)
		}
		if entries != nil {
			bl.size = inMemory * stored
			b.size += bl.size
		}
		b.blocks = append(b.blocks, bl)
	}
	return b.size - before
}

func (b *body) applyCommit(r *summary, c *contents) {
	b.view.Append(c.Messages...)
	for range c.Messages {
		b.created = append(b.created, r.Time)
	}
	if len(r.Read) > 0 {
		b.inbox = slices.DeleteFunc(b.inbox, func(it awaken.InboxItem) bool { return slices.Contains(r.Read, it.ID) })
	}
	run := b.runs[r.RunID]
	if run == nil {
		if b.runs == nil {
			b.runs = map[string]*runBody{}
		}
		run = &runBody{}
		b.runs[r.RunID] = run
	}
	if c.Run != nil {
		run.Run = *c.Run
	}
	for _, call := range c.Calls {
		at, found := slices.BinarySearchFunc(run.calls, call, func(a, b *awaken.CallState) int {
			return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Index, b.Index))
		})
		if found {
			run.calls[at] = call
		} else {
			run.calls = slices.Insert(run.calls, at, call)
		}
	}
	for _, ch := range c.State {
		m := &run.state
		if ch.Thread {
			m = &b.state
		}
		if ch.Value == nil {
			delete(*m, ch.Key)
			continue
		}
		if *m == nil {
			*m = map[string]json.RawMessage{}
		}
		(*m)[ch.Key] = ch.Value
	}
}

// cache is the bodies in memory.
type cache struct {
	size  int64
	order list.List // of *thread, the least recently used first
}

func (c *cache) add(t *thread, b *body) {
	t.body, t.bodyAt = b, c.order.PushBack(t)
	c.size += b.size
}

// grow counts what a body grew by.
func (c *cache) grow(t *thread, by int64) {
	c.size += by
	c.order.MoveToBack(t.bodyAt)
}

func (c *cache) drop(t *thread) {
	if t.body != nil {
		c.size -= t.body.size
		c.order.Remove(t.bodyAt)
		t.body, t.bodyAt = nil, nil
	}
}

// evict forgets bodies until the rest fits. The last one stays, unless nothing may:
// without its thread's events, if it alone is too large. Requires s.mu.
func (s *Store) evict() {
	c := &s.cache
	for c.size > s.opts.Cache && (c.order.Len() > 1 || c.order.Len() > 0 && s.opts.Cache == 0) {
		c.drop(c.order.Front().Value.(*thread))
	}
	if c.size > s.opts.Cache && c.order.Len() == 1 {
		b := c.order.Front().Value.(*thread).body
		for ; b.held < len(b.blocks)-1; b.held++ {
			bl := &b.blocks[b.held]
			b.size, c.size = b.size-bl.size, c.size-bl.size
			bl.entries, bl.size = nil, 0
		}
	}
}

// withBody calls fn with a thread's body, under s.mu. It reads the body if it is not in
// memory.
func (s *Store) withBody(t *thread, fn func(b *body) error) error {
	s.mu.Lock()
	if t.body != nil {
		defer s.mu.Unlock()
		s.cache.order.MoveToBack(t.bodyAt)
		return fn(t.body)
	}
	s.mu.Unlock()
	t.writing.Lock()
	defer t.writing.Unlock()
	return s.withBodyLocked(t, fn)
}

// withBodyLocked is withBody for those who hold t.writing.
func (s *Store) withBodyLocked(t *thread, fn func(b *body) error) error {
	s.mu.Lock()
	if t.body == nil {
		s.mu.Unlock()
		b, err := s.load(t)
		if err != nil {
			if missing(err) {
				return notFound(t.ID) // it was deleted meanwhile
			}
			return fmt.Errorf("thread %s: %w", t.ID, err)
		}
		s.mu.Lock()
		s.cache.add(t, b)
	}
	defer s.mu.Unlock()
	defer s.evict()
	s.cache.order.MoveToBack(t.bodyAt)
	return fn(t.body)
}

// look calls fn with a thread that is there and its body, under s.mu.
func (s *Store) look(id string, fn func(t *thread, b *body) error) error {
	s.mu.Lock()
	t, err := s.find(id)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.withBody(t, func(b *body) error {
		if t.life != alive {
			return notFound(id)
		}
		return fn(t, b)
	})
}

var errNotUTF8 = errors.New("it is not UTF-8")

// checkID refuses ids that JSON would change.
func checkID(what, id string) error {
	if !utf8.ValidString(id) {
		return fmt.Errorf("%w: %s id %q: %w", awaken.ErrInvalid, what, id, errNotUTF8)
	}
	return nil
}
