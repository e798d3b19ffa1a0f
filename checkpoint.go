package awaken

import (
	"context"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken/llm"
)

type commitOptions struct {
	begins bool // a tool is about to begin
	rest   bool // the run parks or ends
}

// commit makes everything since the last commit durable, publishes the events that
// were held for it, and does the effects it asked for. If it fails nothing is
// published, and what was to be committed stays for the next try.
func (r *run) commit(ctx context.Context, o commitOptions) error {
	changes, err := r.st.Changes()
	if err != nil {
		return err
	}
	now := r.rt.cfg.Now()
	r.rec.UpdatedAt = now.Unix()
	if n := len(r.added); n > 0 && r.rec.Input != nil {
		first := r.count + 1
		if r.rec.Output == nil && first > r.rec.Input.ToSeq {
			r.rec.Output = &llm.Interval{FromSeq: first}
		}
		if r.rec.Output != nil {
			out := *r.rec.Output
			out.ToSeq = r.count + n
			r.rec.Output = &out
		}
	}
	r.buf = Commit{
		ThreadID: r.info.ThreadID, Fence: r.fence, Number: r.commits + 1, Generation: r.generation,
		Begins: o.begins, Rest: o.rest, Time: now.UnixMilli(), Expect: r.count, Messages: r.added, Run: r.rec,
		State: changes, Calls: r.changed, Entries: r.out.take(), Read: r.read, ParentThreadID: r.info.ParentThreadID,
	}
	if err := r.rt.cfg.Store.Commit(ctx, &r.buf); err != nil {
		if errors.Is(err, ErrUnread) {
			return err
		}
		return fmt.Errorf("commit thread %s: %w", r.info.ThreadID, err)
	}
	r.commits++
	r.count += len(r.added)
	clear(r.added)
	clear(r.changed)
	r.added, r.changed, r.read = r.added[:0], r.changed[:0], nil
	r.st.Saved()
	r.out.committed(ctx)
	if len(r.effects) > 0 {
		r.runEffects(ctx)
	}
	r.heedSink()
	return nil
}

// heedSink cancels the run when its sink has failed.
func (r *run) heedSink() {
	if err := r.out.err; err != nil && r.ctx.Err() == nil {
		r.active.cancel(fmt.Errorf("%w: %w", ErrCancelled, err))
	}
}

// add appends a message to the conversation; the next commit stores it.
func (r *run) add(m *llm.Message) {
	r.added = append(r.added, m)
	r.msgs = r.msgs.Append(m)
}

// takeInbox takes in what others have posted: messages join the conversation,
// decisions are applied to suspended calls.
func (r *run) takeInbox(ctx context.Context) error {
	items, err := r.rt.cfg.Store.Unread(ctx, r.info.ThreadID)
	if err != nil {
		return fmt.Errorf("inbox of thread %s: %w", r.info.ThreadID, err)
	}
	r.takeItems(items)
	return nil
}

func (r *run) takeItems(items []InboxItem) {
	for _, it := range items {
		if r.hasRead(it.ID) {
			continue
		}
		r.read = append(r.read, it.ID)
		if it.RunID != "" && it.RunID != r.info.RunID {
			continue
		}
		if it.Decision != nil {
			if err := r.decide(*it.Decision); err != nil {
				r.rt.cfg.Logger.Warn("decision refused", "run", r.info.RunID, "target", it.Decision.Target, "error", err)
			}
		}
		for _, m := range it.Messages {
			r.add(r.adopt(m))
		}
	}
}

func (r *run) hasRead(id string) bool {
	for _, read := range r.read {
		if read == id {
			return true
		}
	}
	return false
}

// adopt gives a message that comes from outside an id.
func (r *run) adopt(m *llm.Message) *llm.Message {
	if m.ID != "" {
		return m
	}
	c := *m
	c.ID = r.rt.cfg.NewID()
	return &c
}

// visible returns the messages that API consumers may see.
func visible(msgs llm.Messages) []*llm.Message {
	out := make([]*llm.Message, 0, msgs.Len())
	for _, m := range msgs.All() {
		if !m.IsInternal() {
			out = append(out, m)
		}
	}
	return out
}
