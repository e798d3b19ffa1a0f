package file

import (
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/internal/threads"
	"github.com/awaken-go/awaken/trace/timeline"
)

// body is the content of a thread. table.mu guards it; elements of its slices are
// immutable.
type body struct {
	threads.Body
	size   int64 // approximate bytes in memory
	runs   map[string]*threads.Run
	blocks []block
	loaded int // entries of blocks before this index are only in the journal
	// commits are the commits of all runs, in order.
	commits []committed
}

// committed is a commit, without what its events say.
type committed struct {
	runID string
	fence uint64
	time  int64
	last  uint64 // the end of the event log
	kinds timeline.Kinds
	block int // that has its events, or -1
}

// block holds the entries of one record.
type block struct {
	at    span
	runID string // of all entries; "" if they differ
	// The highest values in this block and those before it.
	last, epoch uint64
	entries     []awaken.Entry // nil if only the journal has them
	size        int64          // approximate bytes of entries in memory
}

// inMemory estimates how many bytes of memory one byte of JSON takes.
const inMemory = 2

// begin sets the messages that a fork shares with its base.
func (b *body) begin(msgs []*llm.Message, created []int64, size int64) {
	b.View.Append(msgs...)
	b.Created = slices.Clone(created)
	b.size += size
}

// apply applies a record and returns by how many bytes the body grew. Entries is nil if
// only the journal has them; stored is their size there.
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
	if r.Op == opCommit {
		b.addCommit(r, c)
	}
	return b.size - before
}

// addCommit adds a commit whose events, if it has any, are in the last block.
func (b *body) addCommit(r *summary, c *contents) {
	done := committed{runID: r.RunID, fence: r.Fence, time: r.Time, kinds: timeline.CallKinds(c.Calls), block: -1}
	if n := len(b.blocks); n > 0 {
		done.last = b.blocks[n-1].last
		if r.Log != nil {
			done.block = n - 1
		}
	}
	b.commits = append(b.commits, done)
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
