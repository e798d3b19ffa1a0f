//go:build unix

package rigtest

import (
	"bytes"
	"strings"
	"sync"
)

// maxOutput is how much of its output is kept of a process, which is enough to explain a failure.
const maxOutput = 8 << 20

// Output is what a process, or another writer, has written. The zero value is ready to use.
type Output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{} // closed with the next write; nil if no reader waits for it
}

// Write takes what is written, and keeps what fits.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.buf.Len() < maxOutput {
		o.buf.Write(p)
	}
	if o.more != nil {
		close(o.more)
		o.more = nil
	}
	return len(p), nil
}

// String returns what was written.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// await waits until the output contains a text. It returns false if the process ends or the time is over before that.
func (o *Output) await(text string, ended, late <-chan struct{}) bool {
	for {
		o.mu.Lock()
		if o.more == nil {
			o.more = make(chan struct{})
		}
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
