package sqlstore

import (
	linked "container/list"
	"encoding/json"
	"maps"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

// Warm keeps what this process knows of the threads that it owned last: their checkpoints, as its own commits left them. While the fence in
// a thread's row is that of the last commit, no other owner has changed the thread, so its next run need not read it. What is not
// written by owners (metadata, notes, posted items) the row tells: [Thread].Edits and Unread. A Warm is safe for concurrent use, and
// keeps a bounded number of bytes.
type Warm struct {
	max int // bytes

	mu     sync.Mutex
	bytes  int
	floors map[string]uint64 // the highest fence of a removed thread, by tenant; a new thread begins behind it
	byKey  map[logKey]*linked.Element
	order  linked.List // of *warmThread, the last one that was used first
}

const (
	warmBytes = 16 << 20 // that a Warm keeps at most
	warmBase  = 1 << 10  // of a thread, without its messages and its state
)

// warmThread is a thread as an owner's last commit left it.
type warmThread struct {
	key   logKey
	cp    awaken.Checkpoint // without View; Fence is the owner's
	view  awaken.View
	edits int64
	ready bool // a new run can begin: no run is open, and the inbox is empty
	bytes int
}

// NewWarm returns an empty Warm.
func NewWarm() *Warm {
	return &Warm{max: warmBytes, floors: map[string]uint64{}, byKey: map[logKey]*linked.Element{}}
}

// Expected returns the checkpoint of the next owner of a thread, if the thread is as it was left, or else the one of a new
// thread.
func (w *Warm) Expected(tenant, thread string) *awaken.Checkpoint {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.byKey[logKey{tenant, thread}]
	if e == nil {
		return &awaken.Checkpoint{Fence: w.floors[tenant] + 1, Thread: awaken.Thread{ID: thread}}
	}
	t := e.Value.(*warmThread)
	if !t.ready {
		return nil
	}
	w.order.MoveToFront(e)
	return t.next()
}

// next returns the checkpoint of the next owner.
func (t *warmThread) next() *awaken.Checkpoint {
	cp := t.cp
	cp.Fence++
	cp.View, cp.Index, cp.HasBlobs = t.view.Messages(), t.view.Index(), t.view.HasBlobs()
	return &cp
}

// Begins returns how often the thread of a first commit was edited, if the thread is as it was left when its checkpoint was
// expected. It reports false if it is not known any more. A thread that is expected to be new has 0 edits.
func (w *Warm) Begins(tenant string, c *awaken.Commit) (edits int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.byKey[logKey{tenant, c.ThreadID}]; e != nil {
		t := e.Value.(*warmThread)
		return t.edits, t.ready && t.cp.Fence == c.Fence-1
	}
	return 0, c.Expect == 0 && c.Fence == w.floors[tenant]+1
}

// Acquired keeps the thread of a checkpoint that was read, with the row it was read from.
func (w *Warm) Acquired(tenant string, t *Thread, cp *awaken.Checkpoint, view *awaken.View) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := &warmThread{key: logKey{tenant, t.ID}, cp: *cp, view: view.Clip(), edits: t.Edits, bytes: warmBase}
	n.cp.View, n.cp.Index, n.cp.Calls, n.cp.RunState, n.cp.Inbox = nil, nil, nil, nil, nil
	for _, m := range view.Log() {
		n.bytes += size(m)
	}
	for _, list := range []map[string]json.RawMessage{cp.ThreadState, t.Notes, t.Metadata.Custom} {
		for _, v := range list {
			n.bytes += len(v)
		}
	}
	n.bytes += weight(cp.Run)
	w.put(n)
}

// Take returns the checkpoint for an owner that has just acquired a thread with that row, or nil if the thread is not as it was left.
func (w *Warm) Take(tenant string, t *Thread) *awaken.Checkpoint {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.byKey[logKey{tenant, t.ID}]
	if e == nil {
		return nil
	}
	n := e.Value.(*warmThread)
	if !n.ready || n.cp.Fence != t.Fence-1 || n.edits != t.Edits || t.Unread > 0 || t.OpenRunID != "" {
		w.remove(e)
		return nil
	}
	w.order.MoveToFront(e)
	cp := n.next()
	n.cp.Fence, n.cp.Generation, n.ready = t.Fence, t.Generation, false
	n.cp.Thread.End.Epoch = t.Fence
	cp.Generation, cp.Thread = t.Generation, t.Thread
	return cp
}

// Started applies the first commit of a run, which has acquired its thread. A new thread belongs to the user.
func (w *Warm) Started(tenant, user string, c *awaken.Commit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := logKey{tenant, c.ThreadID}
	if e := w.byKey[key]; e != nil {
		e.Value.(*warmThread).cp.Fence = c.Fence
	} else {
		t := &warmThread{key: key, bytes: warmBase}
		t.cp.Thread = awaken.Thread{ID: c.ThreadID, UserID: user, ParentThreadID: c.ParentThreadID}
		t.cp.Thread.Metadata.CreatedAt = c.Time
		t.cp.Fence, t.cp.Generation = c.Fence, c.Generation
		w.put(t)
	}
	w.commit(key, c)
}

// Committed applies a commit that was made.
func (w *Warm) Committed(tenant string, c *awaken.Commit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.commit(logKey{tenant, c.ThreadID}, c)
}

// commit applies a commit to a thread, if it is known. Requires w.mu.
func (w *Warm) commit(key logKey, c *awaken.Commit) {
	e := w.byKey[key]
	if e == nil {
		return
	}
	t := e.Value.(*warmThread)
	if t.cp.Fence != c.Fence || t.cp.Thread.MessageCount != c.Expect {
		w.remove(e)
		return
	}
	before := t.bytes
	t.apply(c)
	w.bytes += t.bytes - before
	w.order.MoveToFront(e)
	w.shrink()
}

// apply applies a commit.
func (t *warmThread) apply(c *awaken.Commit) {
	t.view.Append(c.Messages...)
	for _, m := range c.Messages {
		t.bytes += size(m)
	}
	cloned := false
	for _, ch := range c.State {
		if ch.Scope != state.Thread {
			continue
		}
		if !cloned { // readers have the map of before
			t.cp.ThreadState, cloned = maps.Clone(t.cp.ThreadState), true
		}
		t.bytes += len(ch.Value) - len(t.cp.ThreadState[ch.Key])
		if ch.Value == nil {
			delete(t.cp.ThreadState, ch.Key)
			continue
		}
		if t.cp.ThreadState == nil {
			t.cp.ThreadState = map[string]json.RawMessage{}
		}
		t.cp.ThreadState[ch.Key] = ch.Value
	}
	th, run := &t.cp.Thread, c.Run
	t.bytes += weight(&run) - weight(t.cp.Run)
	t.cp.Run = &run
	th.MessageCount += len(c.Messages)
	th.Metadata.UpdatedAt, th.LatestRunID, th.OpenRunID = c.Time, run.RunID, run.RunID
	th.End.Epoch = c.Fence
	for i := range c.Entries {
		th.End.Seq = max(th.End.Seq, c.Entries[i].Last())
	}
	if run.Status == awaken.RunDone {
		th.OpenRunID = ""
	}
	t.ready = th.OpenRunID == "" && !c.Unread
}

// SetFloor sets the highest fence of a removed thread of a tenant.
func (w *Warm) SetFloor(tenant string, fence uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.floors, tenant); fence > 0 {
		w.floors[tenant] = fence
	}
}

// weight returns the bytes of a run that may be many. A nil run has none.
func weight(r *awaken.Run) int {
	if r == nil {
		return 0
	}
	n := len(r.FinalOutput) + len(r.StructuredOutput) + len(r.OutputSchema)
	for i := range r.FrontendTools {
		n += len(r.FrontendTools[i].Description) + len(r.FrontendTools[i].Parameters)
	}
	if r.Call != nil {
		n += len(r.Call.Arguments)
	}
	for i := range r.Diagnostics {
		n += len(r.Diagnostics[i].Message)
	}
	return n
}

// Drop forgets a thread: what became of a commit is not known, or another process owns it.
func (w *Warm) Drop(tenant, thread string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.byKey[logKey{tenant, thread}]; e != nil {
		w.remove(e)
	}
}

// put keeps a thread. Requires w.mu.
func (w *Warm) put(t *warmThread) {
	if e := w.byKey[t.key]; e != nil {
		w.remove(e)
	}
	w.byKey[t.key] = w.order.PushFront(t)
	w.bytes += t.bytes
	w.shrink()
}

// shrink forgets the threads that were not used for longest. Requires w.mu.
func (w *Warm) shrink() {
	for w.bytes > w.max && w.order.Len() > 0 {
		w.remove(w.order.Back())
	}
}

// remove removes an element. Requires w.mu.
func (w *Warm) remove(e *linked.Element) {
	t := e.Value.(*warmThread)
	w.order.Remove(e)
	delete(w.byKey, t.key)
	w.bytes -= t.bytes
}
