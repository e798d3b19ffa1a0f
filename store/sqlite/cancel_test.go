package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
)

// A read that its caller gives up does not disturb the next one on the same connection.
func TestRead_OneThatIsGivenUpDisturbsNoOther(t *testing.T) {
	s := open(t).Store("tenant")
	cp, err := s.Acquire(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		c := &awaken.Commit{ThreadID: "t", Fence: cp.Fence, Number: uint64(i + 1), Expect: i, Messages: []*llm.Message{llm.UserText(fmt.Sprint(i))},
			Run:     awaken.Run{RunID: "r", ThreadID: "t", AgentID: "a", Origin: "user", Status: awaken.RunRunning, CreatedAt: 1},
			Entries: []awaken.Entry{{Cursor: awaken.Cursor{Epoch: cp.Fence, Seq: uint64(i + 1)}, RunID: "r", Event: &awaken.TextDelta{Delta: "x"}}}}
		if err := s.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range testenv.Times(25, 100) {
				ctx, cancel := context.WithCancel(t.Context())
				if w%2 == 0 {
					time.AfterFunc(time.Duration(i%20)*20*time.Microsecond, cancel)
				}
				_, err := s.Entries(ctx, "t", awaken.EntryQuery{})
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("a read: %v", err)
				}
				if err != nil && w%2 == 1 {
					t.Errorf("a read that was not given up: %v", err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
}
