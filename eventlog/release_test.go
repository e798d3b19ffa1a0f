package eventlog

import (
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
)

// The relay asks for the position of a thread without using it: the last user may leave at that moment.
func TestRelease_WhileTheRelayAsksForThePosition(t *testing.T) {
	t.Parallel()
	l := New(nil, nil)
	for range 200 {
		v := l.acquire("t")
		v.mu.Lock()
		v.add(awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: 1}, Event: &awaken.TextDelta{Delta: "x"}})
		v.mu.Unlock()
		var wg sync.WaitGroup
		wg.Go(func() { interestsOf([]*following{{live: v}}, false) })
		wg.Go(func() { l.release(v) })
		wg.Wait()
		if p := v.position(); p != (awaken.Cursor{}) || l.find("t") != nil {
			t.Fatalf("a thread without users is at %v", p)
		}
	}
}
