package delegate

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"sync"

	"github.com/awaken-go/awaken"
)

// trees lets the delegates of one tree be admitted one after the other in a process. A
// tree is all that is below a run without a parent.
type trees struct{ locks [64]sync.Mutex }

var treeSeed = maphash.MakeSeed()

func (t *trees) lock(root string) *sync.Mutex {
	mu := &t.locks[maphash.String(treeSeed, root)%uint64(len(t.locks))]
	mu.Lock()
	return mu
}

// enter makes the delegate's thread, unless there are too many below the root then. The
// thread is made first and counted with the others, so that of those that enter at the same
// moment, in whatever process, the last one sees all the others. A call that was made before
// finds its thread there.
func (t *tool) enter(ctx context.Context, call *awaken.ToolCall) error {
	root, err := rootOf(ctx, call)
	if err != nil || root == "" {
		return err
	}
	host := call.Host
	editor, ok := host.Store().(awaken.ThreadEditor)
	if !ok || host.Remote(t.agent) != nil { // it makes no thread here
		n, err := t.descendants(ctx, root, host.Store())
		return cmp.Or(err, t.room(n+1))
	}
	defer t.trees.lock(root).Unlock()
	id := awaken.ChildID(call.Key)
	err = editor.CreateThread(ctx, &awaken.Thread{ID: id, ParentThreadID: call.Run.ThreadID})
	if err != nil && !errors.Is(err, awaken.ErrConflict) {
		return err
	}
	n, err := t.descendants(ctx, root, host.Store())
	if err = cmp.Or(err, t.room(n)); err == nil {
		return nil
	}
	return errors.Join(err, editor.DeleteThread(context.WithoutCancel(ctx), id, awaken.RejectChildren))
}

// room says that n runs are too many, if so.
func (t *tool) room(n int) error {
	if n > t.cfg.MaxDescendants {
		return limit("there may be %d runs in all below the first", t.cfg.MaxDescendants)
	}
	return nil
}

// rootOf is the thread of the run at the top that has no parent, or "" if nothing is
// stored.
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
