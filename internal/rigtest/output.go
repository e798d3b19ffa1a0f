//go:build unix

package rigtest

import (
	"bytes"
	"strings"
	"sync"
)

// maxOutput is how much of its output is kept of a process, which is enough to explain a failure.
const maxOutput = 8 << 20

// output is what a process has written.
type output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{} // closed with the next write
}

func newOutput() *output { return &output{more: make(chan struct{})} }

// Write takes what a process writes.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.buf.Len() < maxOutput {
		o.buf.Write(p)
	}
	close(o.more)
	o.more = make(chan struct{})
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// await waits until the output contains a text. It returns false if the process ends or the time is over before that.
func (o *output) await(text string, ended, late <-chan struct{}) bool {
	for {
		o.mu.Lock()
		found, more := strings.Contains(o.buf.String(), text), o.more
		o.mu.Unlock()
		if found {
			return true
		}
		select {
		case <-more:
		case <-ended:
			return strings.Contains(o.String(), text)
		case <-late:
			return false
		}
	}
}
