package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/awaken-go/awaken/protocol"
)

// Failures carry their kind as code.
const (
	parseError         = "invalid_json" // of the server
	invalidRequest     = "INVALID_REQUEST"
	methodNotFound     = "METHOD_NOT_FOUND"
	invalidParams      = "INVALID_PARAMS"
	resourceNotFound   = "RESOURCE_NOT_FOUND"
	headerMismatch     = "HEADER_MISMATCH"
	unsupportedVersion = "UNSUPPORTED_PROTOCOL_VERSION"
	noSession          = "SESSION_NOT_FOUND"
)

// codes are the JSON-RPC codes of failures.
var codes = map[string]int{
	parseError:         -32700,
	invalidRequest:     -32600,
	noSession:          -32600,
	methodNotFound:     -32601,
	invalidParams:      -32602,
	resourceNotFound:   -32002,
	headerMismatch:     -32020,
	unsupportedVersion: -32022,
}

func codeOf(f *protocol.Failure) int {
	if c, ok := codes[f.Code]; ok {
		return c
	}
	switch {
	case f.Status == http.StatusUnauthorized, f.Status == http.StatusForbidden:
		return -32600
	case f.Status >= 500, f.Status == http.StatusTooManyRequests:
		return -32603
	}
	return -32602
}

// rpcError is an error of JSON-RPC.
type rpcError struct {
	Code    int        `json:"code"`
	Message string     `json:"message"`
	Data    *errorData `json:"data,omitempty"`
}

// errorData says more about an error.
type errorData struct {
	Status    int       `json:"status,omitempty"` // of HTTP, if the server's own API had been asked
	Reason    string    `json:"reason,omitempty"`
	URI       string    `json:"uri,omitempty"`
	Supported []string  `json:"supported,omitempty"`
	Requested string    `json:"requested,omitempty"`
	Decision  *decision `json:"decision,omitempty"` // what was decided before
}

// decision is an answer that was given before.
type decision struct {
	TicketID string `json:"ticketId"`
	Action   string `json:"action"`
	At       int64  `json:"decidedAt"` // Unix ms
}

func errorOf(f *protocol.Failure) *rpcError {
	e := &rpcError{Code: codeOf(f), Message: f.Message, Data: &errorData{Status: f.Status, Reason: f.Code}}
	switch f.Code {
	case unsupportedVersion:
		e.Data.Supported, e.Data.Requested = []string{modern}, f.Param
	case resourceNotFound:
		e.Data.URI = f.Param
	}
	if d := f.Decision; d != nil {
		e.Data.Decision = &decision{d.TicketID, string(d.Action), d.At}
	}
	return e
}

// failed returns the response to a request that failed. The id is nil if it is not known.
func failed(id json.RawMessage, f *protocol.Failure) response {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return response{Version: "2.0", ID: id, Error: errorOf(f)}
}

// fail shapes failures that come before the id of a request is known.
func fail(f *protocol.Failure) any { return failed(nil, f) }

func failure(status int, code, format string, args ...any) *protocol.Failure {
	return &protocol.Failure{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// invalid returns the failure of a request with wrong parameters.
func invalid(format string, args ...any) *protocol.Failure {
	return failure(http.StatusUnprocessableEntity, invalidParams, format, args...)
}

// statusOf returns the HTTP status of a JSON-RPC error. In the older era, a client takes 404 for the end of its session.
func (x *exchange) statusOf(f *protocol.Failure) int {
	switch {
	case f.Status >= 500, f.Status == http.StatusTooManyRequests, f.Status == http.StatusUnauthorized, f.Status == http.StatusForbidden:
		return f.Status
	}
	switch f.Code {
	case noSession:
		return http.StatusNotFound
	case parseError, invalidRequest, headerMismatch, unsupportedVersion:
		return http.StatusBadRequest
	case methodNotFound:
		if x.modern {
			return http.StatusNotFound
		}
	case invalidParams:
		if f.Status == http.StatusBadRequest {
			return f.Status
		}
	}
	return http.StatusOK
}
