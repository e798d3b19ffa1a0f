// Package threadfile exports a thread to a file and imports it into the same or another store.
//
// A file has one JSON value per line: a header, the messages of the log, the records of the runs,
// and an end.
//
//	{"format":"awaken.thread","version":1,"thread":{"id":"t1","metadata":{},"message_count":2}}
//	{"message":{"thread_id":"t1","seq":1,"message":{"role":"user","content":[{"type":"text","text":"hello"}]}}}
//	{"message":{"thread_id":"t1","seq":2,"message":{"role":"assistant","content":[{"type":"text","text":"Hi."}]}}}
//	{"run":{"run_id":"r1","thread_id":"t1","agent_id":"default","status":"done",…}}
//	{"end":{"messages":2,"runs":1,"sha256":"…"}}
//
// The end has the number of lines of each kind and the SHA-256 of all bytes before it, so that a
// truncated or damaged file is detected. It is not a signature: anyone who can change the file can
// change the checksum.
//
// A file contains the conversation. It does not contain plugin state, the ledger of tool calls or
// events. A call in doubt that a run waits to be decided on gets an answer in the copy, which says that
// it is not known whether the call took effect.
package threadfile

import (
	"fmt"

	"github.com/awaken-go/awaken"
)

const (
	format  = "awaken.thread"
	version = 1
	// maxLine bounds the length of a line. Messages may contain images.
	maxLine = 64 << 20
)

// header is the first line.
type header struct {
	Format  string         `json:"format"`
	Version int            `json:"version"`
	Thread  *awaken.Thread `json:"thread"`
}

// line is any other line. Exactly one field is set.
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

// FormatError reports a malformed file. It matches [awaken.ErrInvalid].
type FormatError struct {
	Line int // 1-based
	Err  error
}

// Error names the line and what is wrong with it.
func (e *FormatError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong with the line.
func (e *FormatError) Unwrap() error { return e.Err }

// Is reports whether target is [awaken.ErrInvalid].
func (e *FormatError) Is(target error) bool { return target == awaken.ErrInvalid }
