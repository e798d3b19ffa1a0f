package awaken

import (
	"errors"
	"fmt"

	"github.com/awaken-go/awaken/internal/fault"
)

var (
	// ErrNotFound means that an agent, thread, run or call does not exist.
	ErrNotFound = errors.New("not found")
	// ErrInvalid means that a request is malformed or contradicts itself.
	ErrInvalid = fault.ErrInvalid
	// ErrBusy means that the thread already has an active run in this process.
	ErrBusy = errors.New("thread has an active run")
	// ErrConflict means that the data changed in the meantime, or that the request does not
	// fit its state. Read it again before you retry.
	ErrConflict = errors.New("conflict")
	// ErrFenced means that another owner has acquired the thread. The caller must stop
	// immediately and must not write.
	ErrFenced = errors.New("thread was taken over by another owner")
	// ErrGeneration means that the thread's run was cancelled, and a store therefore refuses a
	// commit that begins something new; see [Committer].
	ErrGeneration = errors.New("run was cancelled")
	// ErrUnread means that the run cannot park or end because the thread's inbox is not
	// empty.
	ErrUnread = errors.New("thread has unread inbox items")
	// ErrDecided means that the call does not wait for a decision: usually it already has a
	// different one, and the error is a *[Decided].
	ErrDecided = errors.New("call is already decided")
	// ErrExpired means that the decision arrived after its suspension had expired.
	ErrExpired = errors.New("suspension has expired")
)

// ErrInDoubt means that a step of a tool was cut off after it had begun; see [Step]. Whether it took
// effect is not known, and it was not repeated.
var ErrInDoubt = errors.New(unknownText)

// ErrYielded means that the run released its thread on request, to be continued by another
// owner.
var ErrYielded = errors.New("run yielded its thread")

// ErrCancelled is the cause of the contexts of a cancelled run; see [context.Cause].
var ErrCancelled = errors.New("run cancelled")

// ConflictError reports a commit to a thread whose log has changed. It is an [ErrConflict].
type ConflictError struct {
	ThreadID       string
	Expected, Have int // messages in the log
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("thread %s has %d messages, the commit expected %d", e.ThreadID, e.Have, e.Expected)
}

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// PanicError reports a panic in a tool, hook, gate, transform, action, effect, stop
// policy or model.
type PanicError struct {
	In    string // what panicked, such as `hook of plugin "x" in step_start`
	Value any    // the value passed to panic
	Stack []byte
}

// Error implements error. It leaves out the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("%s panicked: %v", e.In, e.Value) }

// ErrPinUnavailable means that this process cannot load the registry that a run is pinned to.
// A later attempt, or another process, may succeed.
var ErrPinUnavailable = errors.New("the version that the run is pinned to is not available")
