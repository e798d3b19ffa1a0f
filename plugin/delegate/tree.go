package delegate

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"sync"

	"github.com/awaken-go/awaken"
)

// trees serialises the admission of delegates per tree, within a process. A tree is everything
// below a root run.
type trees struct{ locks [64]sync.Mutex }

var treeSeed = maphash.MakeSeed()

func (t *trees) lock(root string) *sync.Mutex {
	mu := &t.locks[maphash.String(treeSeed, root)%uint64(len(t.locks))]
	mu.Lock()
	return mu
}

// enter creates the delegate's thread, unless the tree would exceed its limit. The thread is
// created first and counted with the others, so of several that enter at the same moment, in
// any process, the last one sees all others. A repeated call finds its thread.
func (t *tool) enter(ctx context.Context, call *awaken.ToolCall) error {
	root, err := rootOf(ctx, call)
	if err != nil || root == "" {
		return err
	}
	host := call.Host
	editor, ok := host.Store().(awaken.ThreadEditor)
	if !ok {
		n, err := t.descendants(ctx, root, host.Store())
		return cmp.Or(err, t.room(n+1))
	}
	defer t.trees.lock(root).Unlock()
	id := awaken.ChildID(call.Key)
	err = editor.CreateThread(ctx, &awaken.Thread{ID: id, ParentThreadID: call.Run.ThreadID, UserID: call.Run.UserID})
	if err != nil && !errors.Is(err, awaken.ErrConflict) {
		return err
	}
	n, err := t.descendants(ctx, root, host.Store())
	if err = cmp.Or(err, t.room(n)); err == nil {
		return nil
	}
	return errors.Join(err, editor.DeleteThread(context.WithoutCancel(ctx), id, awaken.RejectChildren))
}

// room returns an error if n runs exceed the limit.
func (t *tool) room(n int) error {
	if n > t.cfg.MaxDescendants {
		return limit("the maximum of %d runs below the root", t.cfg.MaxDescendants)
	}
	return nil
}

// rootOf returns the thread of the root run, or "" if the runs above are not stored.
func rootOf(ctx context.Context, call *awaken.ToolCall) (string, error) {
	root, id := call.Run.ThreadID, call.Run.RunID
	for range call.Run.Depth {
		run, err := call.Host.Store().LoadRun(ctx, id)
		if errors.Is(err, awaken.ErrNotFound) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		root, id = cmp.Or(run.ParentThreadID, root), cmp.Or(run.ParentRunID, id)
	}
	return root, nil
}

// descendants counts the threads below the root, up to one more than the limit.
func (t *tool) descendants(ctx context.Context, root string, threads awaken.ThreadStore) (n int, err error) {
	for level := []string{root}; len(level) > 0; {
		var next []string
		for _, thread := range level {
			list := func(ctx context.Context, offset, limit int) ([]*awaken.Thread, error) {
				return threads.ListThreads(ctx, awaken.ThreadQuery{ParentThreadID: thread, Offset: offset, Limit: limit})
			}
			for th, err := range awaken.Pages(ctx, 100, list) {
				if err != nil {
					return 0, err
				}
				if n++; n > t.cfg.MaxDescendants {
					return n, nil
				}
				next = append(next, th.ID)
			}
		}
		level = next
	}
	return n, nil
}
