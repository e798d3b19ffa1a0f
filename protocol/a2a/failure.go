package a2a

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
)

// kind is one kind of errors: its google.rpc status, its reason and its JSON-RPC code.
type kind struct {
	status string // of google.rpc
	reason string
	code   int // of JSON-RPC
}

// Failures carry their kind as code.
const (
	taskNotFound         = "TASK_NOT_FOUND"
	taskNotCancelable    = "TASK_NOT_CANCELABLE"
	pushNotSupported     = "PUSH_NOTIFICATION_NOT_SUPPORTED"
	unsupportedOperation = "UNSUPPORTED_OPERATION"
	contentTypeUnknown   = "CONTENT_TYPE_NOT_SUPPORTED"
	versionNotSupported  = "VERSION_NOT_SUPPORTED"
	methodNotFound       = "METHOD_NOT_FOUND"
	invalidRequest       = "INVALID_REQUEST"
)

// JSON-RPC's own codes.
const (
	codeParse         = -32700
	codeInvalid       = -32600
	codeNoMethod      = -32601
	codeInvalidParams = -32602
	codeInternal      = -32603
)

var kinds = map[string]kind{
	taskNotFound:         {"NOT_FOUND", taskNotFound, -32001},
	taskNotCancelable:    {"FAILED_PRECONDITION", taskNotCancelable, -32002},
	pushNotSupported:     {"FAILED_PRECONDITION", pushNotSupported, -32003},
	unsupportedOperation: {"FAILED_PRECONDITION", unsupportedOperation, -32004},
	contentTypeUnknown:   {"INVALID_ARGUMENT", contentTypeUnknown, -32005},
	versionNotSupported:  {"FAILED_PRECONDITION", versionNotSupported, -32009},
	methodNotFound:       {"NOT_FOUND", methodNotFound, codeNoMethod},
	invalidRequest:       {"INVALID_ARGUMENT", invalidRequest, codeInvalid},
	// Failures of the server.
	"invalid_json":           {"INVALID_ARGUMENT", "PARSE_ERROR", codeParse},
	"unsupported_media_type": {"INVALID_ARGUMENT", contentTypeUnknown, -32005},
}

// kindOf returns the kind of a failure.
func kindOf(f *protocol.Failure) kind {
	if k, ok := kinds[f.Code]; ok {
		return k
	}
	switch f.Status {
	case http.StatusUnauthorized:
		return kind{"UNAUTHENTICATED", "UNAUTHENTICATED", codeInvalid}
	case http.StatusForbidden:
		return kind{"PERMISSION_DENIED", "PERMISSION_DENIED", codeInvalid}
	case http.StatusNotFound:
		return kind{"NOT_FOUND", "NOT_FOUND", codeInvalidParams}
	case http.StatusConflict:
		return kind{"ABORTED", "CONFLICT", codeInvalidParams}
	case http.StatusTooManyRequests:
		return kind{"RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED", codeInternal}
	case http.StatusServiceUnavailable:
		return kind{"UNAVAILABLE", "UNAVAILABLE", codeInternal}
	case http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return kind{"DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", codeInternal}
	}
	if f.Status >= 500 {
		return kind{"INTERNAL", "INTERNAL", codeInternal}
	}
	return kind{"INVALID_ARGUMENT", "INVALID_PARAMS", codeInvalidParams}
}

// errorBody is the body of an error response of the HTTP+JSON binding.
type errorBody struct {
	Error rpcStatus `json:"error"`
}

// rpcStatus is google.rpc.Status in JSON, with the HTTP status as its code.
type rpcStatus struct {
	Code    int         `json:"code"`
	Status  string      `json:"status"`
	Message string      `json:"message"`
	Details []errorInfo `json:"details"`
}

// errorInfo is google.rpc.ErrorInfo.
type errorInfo struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason"`
	Domain   string            `json:"domain"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

func detailsOf(f *protocol.Failure) []errorInfo {
	info := errorInfo{Type: "type.googleapis.com/google.rpc.ErrorInfo", Reason: kindOf(f).reason, Domain: "a2a-protocol.org"}
	if d := f.Decision; d != nil {
		info.Metadata = map[string]string{"ticketId": d.TicketID, "action": string(d.Action), "decidedAt": timestamp(d.At)}
	}
	return []errorInfo{info}
}

// fail shapes a failure for the HTTP+JSON binding.
func fail(f *protocol.Failure) any {
	return errorBody{rpcStatus{Code: f.Status, Status: kindOf(f).status, Message: f.Message, Details: detailsOf(f)}}
}

func failure(status int, code, format string, args ...any) *protocol.Failure {
	return &protocol.Failure{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

func noTask(id string) *protocol.Failure {
	return failure(http.StatusNotFound, taskNotFound, "task not found: %.80s", id)
}

func unsupported(format string, args ...any) *protocol.Failure {
	return failure(http.StatusBadRequest, unsupportedOperation, format, args...)
}

func noPush() *protocol.Failure {
	return failure(http.StatusBadRequest, pushNotSupported, "push notifications are not supported; subscribe to the task, or get it")
}

// taskFailure converts the error of loading something of a task.
func taskFailure(id string, err error) error {
	f, ok := errors.AsType[*protocol.Failure](err)
	if errors.Is(err, awaken.ErrNotFound) || ok && f.Status == http.StatusNotFound {
		return noTask(id)
	}
	return err
}
