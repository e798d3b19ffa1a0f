package runs

import (
	"context"
	"fmt"
	"testing"

	"github.com/awaken-go/awaken"
)

// busyThread is a store with a thread whose runs have started many others.
type busyThread struct{ queries, threads int }

func (s *busyThread) ListThreads(_ context.Context, q awaken.ThreadQuery) (out []*awaken.Thread, err error) {
	s.queries++
	if q.ParentThreadID != "busy" {
		return nil, nil
	}
	for i := q.Offset; i < min(q.Offset+q.Limit, s.threads); i++ {
		out = append(out, &awaken.Thread{ID: fmt.Sprint(i)})
	}
	return out, nil
}

func (s *busyThread) ListRuns(_ context.Context, q awaken.RunQuery) (out []*awaken.Run, err error) {
	s.queries++
	for i := range s.threads {
		r := &awaken.Run{RunID: fmt.Sprint("child-", i), ThreadID: fmt.Sprint(i), ParentRunID: fmt.Sprint("run-", i)} // each by another run
		if (q.ThreadID == "" || q.ThreadID == r.ThreadID) && (q.ParentRunID == "" || q.ParentRunID == r.ParentRunID) {
			out = append(out, r)
		}
	}
	return out, nil
}

// The tree of a run costs what it shows, not what other runs of its thread have started.
func TestTree_DoesNotCostWhatOtherRunsOfTheThreadStarted(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, fewThreads, fewThreads + 1, 5000} {
		store := &busyThread{threads: n}
		root := &treeNode{RunID: "run-2", ThreadID: "busy"}
		truncated, err := grow(t.Context(), store, nil, root)
		if err != nil || truncated || len(root.Children) != 1 || root.Children[0].RunID != "child-2" {
			t.Errorf("%d threads: the tree is %+v, truncated %v, error %v", n, root, truncated, err)
		}
		if most := fewThreads + 2; store.queries > most {
			t.Errorf("%d threads: %d queries, want at most %d", n, store.queries, most)
		}
	}
}
