package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
)

// Exit statuses. They are stable; docs/cli.md and the help of run list them.
const (
	exitOK          = 0   // the run completed
	exitFailed      = 1   // the run failed
	exitUsage       = 2   // invalid command line or configuration
	exitWaiting     = 3   // the run waits for a decision
	exitStopped     = 4   // a stop condition was met
	exitBlocked     = 5   // a call was blocked
	exitUnavailable = 6   // the database cannot be reached
	exitInterrupted = 130 // cancelled by Ctrl-C
	exitTerminated  = 143 // cancelled by SIGTERM
)

// exitError ends the command with a status. Err, if not nil, is printed, then the hint.
type exitError struct {
	code  int
	err   error
	hint  string // what to do about it
	usage bool   // the hint is to read the help
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError reports an invalid command line.
func usageError(format string, args ...any) *exitError {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...), usage: true}
}

// configError reports a mistake in what the command line refers to.
func configError(format string, args ...any) *exitError {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// failed reports any other failure.
func failed(err error) *exitError { return &exitError{code: exitFailed, err: err} }

// withStatus gives an error an exit status, unless it has one.
func withStatus(err error) error {
	if _, ok := errors.AsType[*exitError](err); err == nil || ok {
		return err
	}
	e := failed(trimmed(err))
	if isUsage(err) || errors.Is(err, awaken.ErrConflict) || errors.Is(err, config.ErrNoKey) {
		e.code = exitUsage
	}
	return e
}

// written reports an error that occurred while writing the answer, if any.
func written(err error) error {
	if err != nil {
		return failed(fmt.Errorf("write the answer: %w", err))
	}
	return nil
}

// fileError reports an error with a file that the command line names, if any.
func fileError(err error) error {
	if err != nil {
		return &exitError{code: exitUsage, err: trimmed(err)}
	}
	return nil
}

// interrupted is the cause of a context that a signal cancelled.
type interrupted struct{ os.Signal }

func (i interrupted) Error() string { return "cancelled" }

func (i interrupted) code() int {
	if i.Signal == syscall.SIGTERM {
		return exitTerminated
	}
	return exitInterrupted
}

// outcome returns the exit status of a run as an error, nil for 0. Ctx is the context of the
// run.
func outcome(ctx context.Context, res *awaken.RunResult, err error) error {
	sig, bySignal := errors.AsType[interrupted](context.Cause(ctx))
	switch {
	case res == nil && bySignal:
		return &exitError{code: sig.code(), err: sig}
	case res == nil && isUsage(err):
		return configError("%w", err)
	case res == nil || err != nil:
		return failed(err)
	}
	switch t := res.Termination; t.Type {
	case awaken.NaturalEnd, awaken.BehaviorRequested:
		return nil
	case awaken.Suspended:
		return &exitError{code: exitWaiting, err: waitingError{res.Waiting}}
	case awaken.Stopped:
		return &exitError{code: exitStopped, err: errors.New(t.String())}
	case awaken.Blocked:
		return &exitError{code: exitBlocked, err: errors.New(t.String())}
	case awaken.Cancelled:
		if bySignal {
			return &exitError{code: sig.code(), err: sig}
		}
		return failed(errors.New("the run was cancelled"))
	default:
		return failed(errors.New(t.String()))
	}
}

// isUsage reports whether an error is a mistake in the request.
func isUsage(err error) bool {
	_, config := errors.AsType[*awaken.ConfigError](err)
	return config || errors.Is(err, awaken.ErrInvalid) || errors.Is(err, awaken.ErrNotFound)
}
