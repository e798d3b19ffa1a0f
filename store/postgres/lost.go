package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/awaken-go/awaken/internal/fault"
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

// classified returns err, as an outage if it says that the database cannot serve now.
func classified(err error) error {
	if err == nil || fault.OutageOf(err) != nil {
		return err
	}
	if reason := outage(err); reason != "" {
		return &fault.Outage{Reason: reason, Err: err}
	}
	return err
}

// outage returns why the database cannot serve now, or "" if err says something else.
func outage(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch code := e.Code; {
		case code == "53300":
			return "the store is out of connections"
		case code == diskFull:
			return "the store is out of disk space"
		case code == "25006":
			return "the store is read-only"
		case strings.HasPrefix(code, "53"):
			return "the store is out of resources"
		case code == "58030":
			return "the store has a disk error"
		case code == "40001", code == "40P01", code == "55P03": // conflicts and locks, after retries
			return "the store is busy"
		case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"):
			return unreachable
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "" // the caller has given up
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok || pgconn.SafeToRetry(err) || lostConnection(err) || pgconn.Timeout(err) {
		return unreachable
	}
	return ""
}

// diskFull is the code of an error for lack of disk space.
const diskFull = "53100"

const unreachable = "the store is not reachable"
