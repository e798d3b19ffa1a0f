package awaken

import (
	"errors"
	"fmt"

	"github.com/awaken-go/awaken/internal/fault"
)

var (
	// ErrNotFound means that an agent, thread, run or call does not exist.
	ErrNotFound = errors.New("not found")
	// ErrInvalid means that a request is wrong in itself.
	ErrInvalid = fault.ErrInvalid
	// ErrBusy means that the thread has an active run in this process.
	ErrBusy = errors.New("thread has an active run")
	// ErrConflict means that something changed in the meantime; look again.
	ErrConflict = errors.New("conflict")
	// ErrFenced means that another owner has taken the thread over. Whoever gets it
	// must stop at once.
	ErrFenced = errors.New("thread was taken over by another owner")
	// ErrGeneration means that the run was cancelled: nothing new may begin.
	ErrGeneration = errors.New("run was cancelled")
	// ErrUnread means that a thread cannot rest because its inbox is not empty.
	ErrUnread = errors.New("thread has unread inbox items")
	// ErrDecided means that a call was decided before, differently.
	ErrDecided = errors.New("call is already decided")
	// ErrExpired means that a decision came after its suspension had expired.
	ErrExpired = errors.New("suspension has expired")
)

// ErrYielded means that the run let go of its thread because it was told to.
var ErrYielded = errors.New("run yielded its thread")

// ErrCancelled is the cause of the contexts of a cancelled run.
var ErrCancelled = errors.New("run cancelled")

// ConflictError reports a commit made against an outdated thread.
type ConflictError struct {
	ThreadID       string
	Expected, Have int // messages in the log
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("thread %s has %d messages, the commit expected %d", e.ThreadID, e.Have, e.Expected)
}

// Is makes a ConflictError an ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// PanicError reports a panic in a tool, hook, gate, transform, action, effect, stop
// policy or model.
type PanicError struct {
	In    string // e.g. `hook of plugin "x" in step_start`
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("%s panicked: %v", e.In, e.Value) }

// ErrPinUnavailable means that the registry that a run is pinned to cannot be had in this
// process, now.
var ErrPinUnavailable = errors.New("the version that the run is pinned to is not available")
