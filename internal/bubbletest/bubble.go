// Package bubbletest runs tests in bubbles of [testing/synctest], also with the race detector.
//
// A bubble's timers share one context of the race detector. If two goroutines of a bubble receive
// at the same moment from timers that have expired, both use it, and the detector's runtime
// crashes (golang/go#78156). It cannot happen while one thread at a time runs Go code, and the
// detector does not need more to see a race: it compares what happens before what, not when.
package bubbletest

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/awaken-go/awaken/internal/testenv"
)

// Test is [synctest.Test]. With the race detector, one thread at a time runs Go code until the
// last bubble of the process has ended.
func Test(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if testenv.Race {
		threads.hold()
		defer threads.release()
	}
	synctest.Test(t, f)
}

// threads limits the threads of the process while there are bubbles.
var threads limiter

type limiter struct {
	mu      sync.Mutex
	bubbles int
	before  int // GOMAXPROCS without bubbles
}

func (l *limiter) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bubbles++; l.bubbles == 1 {
		l.before = runtime.GOMAXPROCS(1)
	}
}

func (l *limiter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bubbles--; l.bubbles == 0 {
		runtime.GOMAXPROCS(l.before)
	}
}
