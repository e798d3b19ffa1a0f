package mailbox

import "github.com/awaken-go/awaken"

// Recent is the end of a thread: what a client's request is compared with.
type Recent struct {
	Thread   *awaken.Thread
	Run      *awaken.Run            // the thread's open run, or else the one that started last; nil if none has
	Messages []awaken.MessageRecord // the last ones of Thread.MessageCount
}

// Open returns the thread's running or waiting run, or nil. R may be nil.
func (r *Recent) Open() *awaken.Run {
	if r == nil || r.Thread.OpenRunID == "" {
		return nil
	}
	return r.Run
}
