package file

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// body is what a thread is made of. It is guarded by table.mu; what its slices hold is
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

// records returns a function that makes records of the log as it is now. The function
// needs no lock.
func (b *body) records(threadID string) func(from, to int) []awaken.MessageRecord {
	log, created := b.view.Log(), b.created[:len(b.created):len(b.created)]
	return func(from, to int) []awaken.MessageRecord {
		out := make([]awaken.MessageRecord, 0, to-from)
		for i := from; i < to; i++ {
			r := awaken.MessageRecord{ThreadID: threadID, Seq: i + 1, Message: log[i], Created: created[i]}
			if md := log[i].Metadata; md != nil {
				r.RunID = md.RunID
			}
			out = append(out, r)
		}
		return out
	}
}
