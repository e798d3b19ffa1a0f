package file

import (
	"context"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
	"github.com/awaken-go/awaken/trace/timeline"
)

// eventLog implements [awaken.EventLog] and [timeline.Log].
type eventLog struct {
	gate   *gate
	bodies *bodies
}

// Commits returns commits of a run.
func (l *eventLog) Commits(_ context.Context, runID string, q timeline.Query) ([]timeline.Commit, error) {
	if err := l.gate.enter(); err != nil {
		return nil, err
	}
	defer l.gate.leave()
	l.bodies.table.mu.Lock()
	ref, err := l.bodies.table.findRun(runID)
	l.bodies.table.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var out []timeline.Commit
	var blocks []*block // of the events of each; nil if there are none
	err = l.bodies.look(ref.thread.ID, func(_ *thread, b *body) error {
		numbers := timeline.Numbering{Query: q}
		for i := range b.commits {
			c := &b.commits[i]
			if c.runID != runID || numbers.Full() {
				continue
			}
			place, selected := numbers.Next(c.fence)
			if !selected {
				continue
			}
			var bl *block
			if c.block >= 0 {
				copied := b.blocks[c.block]
				bl = &copied
			}
			out, blocks = append(out, timeline.Commit{Place: place, Time: c.time, Last: c.last, Kinds: c.kinds}), append(blocks, bl)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, bl := range blocks {
		if bl == nil {
			continue
		}
		if bl.entries == nil {
			if err := l.bodies.readBlock(ref.thread, bl); err != nil {
				return nil, err
			}
		}
		out[i].First = bl.entries[0].Seq
		out[i].Kinds |= timeline.EventKinds(bl.entries)
	}
	return out, nil
}

// Entries returns entries of a thread's event log.
func (l *eventLog) Entries(_ context.Context, threadID string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	if err := l.gate.enter(); err != nil {
		return nil, err
	}
	defer l.gate.leave()
	var out []awaken.Entry
	full := func(entries []awaken.Entry) bool {
		for i := range entries {
			if threads.SelectsEntry(&q, &entries[i]) {
				if out = append(out, entries[i]); q.Limit > 0 && len(out) == q.Limit {
					return true
				}
			}
		}
		return false
	}
	// Cached blocks are filtered under the lock. From the first block that is not cached
	// on, blocks are read without it.
	var t *thread
	var toRead []block
	err := l.bodies.look(threadID, func(th *thread, b *body) error {
		t = th
		from, _ := slices.BinarySearchFunc(b.blocks, q, func(bl block, q awaken.EntryQuery) int {
			if bl.last > q.After && bl.epoch > q.Epoch {
				return 1
			}
			return -1
		})
		for i := from; i < len(b.blocks); i++ {
			bl := &b.blocks[i]
			switch {
			case q.RunID != "" && bl.runID != "" && bl.runID != q.RunID:
			case bl.entries == nil:
				toRead = slices.Clone(b.blocks[i:])
				return nil
			case full(bl.entries):
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range toRead {
		bl := &toRead[i]
		if q.RunID != "" && bl.runID != "" && bl.runID != q.RunID {
			continue
		}
		if bl.entries == nil {
			if err := l.bodies.readBlock(t, bl); err != nil {
				return nil, err
			}
		}
		if full(bl.entries) {
			break
		}
	}
	return out, nil
}
