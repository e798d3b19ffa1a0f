// Package threadfile writes a thread to a file and reads it into a store again, the
// same or another one.
//
// A file is JSON lines: a header, the messages of the log, the records of the runs,
// and an end.
//
//	{"format":"awaken.thread","version":1,"thread":{"id":"t1","metadata":{},"message_count":2}}
//	{"message":{"thread_id":"t1","seq":1,"message":{"role":"user","content":[{"type":"text","text":"hello"}]}}}
//	{"message":{"thread_id":"t1","seq":2,"message":{"role":"assistant","content":[{"type":"text","text":"Hi."}]}}}
//	{"run":{"run_id":"r1","thread_id":"t1","agent_id":"default","status":"done",…}}
//	{"end":{"messages":2,"runs":1,"sha256":"…"}}
//
// The end has the numbers of lines and the SHA-256 of every byte before its line, so
// that a file that was cut off or damaged is noticed. It is no signature: whoever can
// change the file can change the sum.
//
// What a file holds is the conversation. It has no state of plugins, no ledger of tool
// calls and no events.
package threadfile

import (
	"fmt"

	"github.com/awaken-go/awaken"
)

const (
	format  = "awaken.thread"
	version = 1
	// maxLine is how long a line may be. Messages may hold pictures.
	maxLine = 64 << 20
)

// header is the first line.
type header struct {
	Format  string         `json:"format"`
	Version int            `json:"version"`
	Thread  *awaken.Thread `json:"thread"`
}

// line is any other line; one of its fields is set.
type line struct {
	Message *awaken.MessageRecord `json:"message,omitempty"`
	Run     *awaken.Run           `json:"run,omitempty"`
	End     *end                  `json:"end,omitempty"`
}

// end is the last line.
type end struct {
	Messages int    `json:"messages"`
	Runs     int    `json:"runs"`
	SHA256   string `json:"sha256"` // of all lines before this one, in hex
}

// FormatError says what is wrong with a file. It is an [awaken.ErrInvalid].
type FormatError struct {
	Line int // counted from 1
	Err  error
}

func (e *FormatError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *FormatError) Unwrap() error { return e.Err }

// Is makes a FormatError an ErrInvalid.
func (e *FormatError) Is(target error) bool { return target == awaken.ErrInvalid }
