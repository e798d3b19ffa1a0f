package postgres

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// lostConnection reports whether err means that the server may not have heard us, or
// that we did not hear its answer. A context that ended is not that.
func lostConnection(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNREFUSED) {
		return true
	}
	e, ok := errors.AsType[*net.OpError](err)
	return ok && !e.Timeout()
}
