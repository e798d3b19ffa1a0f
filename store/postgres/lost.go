package postgres

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// lostConnection reports whether err means that the request or the response was lost. It
// reports false for a context that has ended.
func lostConnection(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNREFUSED) {
		return true
	}
	e, ok := errors.AsType[*net.OpError](err)
	return ok && !e.Timeout()
}
