package acp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
)

// Codes of errors, by JSON-RPC and by the protocol.
const (
	codeParse       = -32700
	codeRequest     = -32600
	codeMethod      = -32601
	codeParams      = -32602
	codeInternal    = -32603
	codeNotFound    = -32002
	codeInterrupted = -32800
)

// Failure is an error of JSON-RPC.
type Failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (f *Failure) Error() string { return f.Message }

func invalidParams(format string, args ...any) *Failure {
	return &Failure{Code: codeParams, Message: fmt.Sprintf(format, args...)}
}

func invalidRequest(format string, args ...any) *Failure {
	return &Failure{Code: codeRequest, Message: fmt.Sprintf(format, args...)}
}

// noSession returns the failure of a request about a session that does not exist, or that the connection
// has not begun.
func noSession(id string) *Failure {
	return &Failure{Code: codeNotFound, Message: fmt.Sprintf("session not found: %.80q; begin it with session/new, session/load or session/resume", id)}
}

// failureOf converts an error. What the client cannot know of is logged and not told.
func failureOf(err error, log *slog.Logger) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	if f, ok := errors.AsType[*protocol.Failure](err); ok {
		return &Failure{Code: codeParams, Message: f.Message, Data: map[string]string{"code": f.Code}}
	}
	switch {
	case errors.Is(err, errNotNeeded), errors.Is(err, errClosed), errors.Is(err, context.Canceled):
		return &Failure{Code: codeInterrupted, Message: "the request was cancelled"}
	case errors.Is(err, awaken.ErrInvalid):
		return invalidParams("%s", strings.TrimPrefix(err.Error(), awaken.ErrInvalid.Error()+": "))
	case errors.Is(err, awaken.ErrNotFound):
		return &Failure{Code: codeNotFound, Message: "not found"}
	case errors.Is(err, awaken.ErrConflict):
		return &Failure{Code: codeInternal, Message: "the session is busy: " + err.Error()}
	}
	log.Error("request failed", "error", err)
	return &Failure{Code: codeInternal, Message: "internal error; see the log of awaken acp"}
}
