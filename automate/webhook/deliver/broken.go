package deliver

import (
	"sync"

	"github.com/awaken-go/awaken/automate/webhook"
)

// broken counts the failures of receivers, so that the sender logs once when a receiver goes down and once when it is back, not for every
// run and attempt. The zero value is ready to use.
type broken struct {
	mu       sync.Mutex
	failures map[string]int // by URL
}

// maxBroken is how many receivers are remembered; others are logged again.
const maxBroken = 10_000

// fail counts a failure, and reports whether it is the first since the receiver accepted a message.
func (b *broken) fail(t *webhook.Target) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, known := b.failures[t.URL]
	if !known && len(b.failures) >= maxBroken {
		clear(b.failures)
	}
	if b.failures == nil {
		b.failures = map[string]int{}
	}
	b.failures[t.URL] = n + 1
	return n == 0
}

// mend forgets a receiver that has accepted a message and returns its number of failures.
func (b *broken) mend(t *webhook.Target) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.failures[t.URL]
	delete(b.failures, t.URL)
	return n
}
