package file

import (
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// body is what a thread is made of. It is guarded by table.mu; what its slices hold is
// never changed.
type body struct {
	threads.Body
	size   int64 // about, in memory
	runs   map[string]*threads.Run
	blocks []block
	held   int // blocks before this one have no entries in memory
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
	b.View.Append(msgs...)
	b.Created = slices.Clone(created)
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
		b.Post(c.Items)
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
	b.Append(c.Messages, r.Time)
	b.Read(r.Read)
	run := b.runs[r.RunID]
	if run == nil {
		if b.runs == nil {
			b.runs = map[string]*threads.Run{}
		}
		run = &threads.Run{}
		b.runs[r.RunID] = run
	}
	if c.Run != nil {
		run.Run = *c.Run
	}
	run.Enter(c.Calls)
	for _, ch := range c.State {
		m := &run.State
		if ch.Thread {
			m = &b.State
		}
		threads.Set(m, ch.Key, ch.Value)
	}
}
