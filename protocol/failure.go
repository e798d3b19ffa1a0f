package protocol

import (
	"fmt"
	"net/http"
	"time"
)

// Failure is an error that a client sees as it is.
type Failure struct {
	Status  int
	Code    string
	Message string
	// RetryAfter tells the client when to come again.
	RetryAfter time.Duration
}

func (f *Failure) Error() string { return f.Message }

// BadRequest is the failure of a request that fits its schema and is wrong.
func BadRequest(format string, args ...any) *Failure {
	return &Failure{Status: http.StatusBadRequest, Code: "invalid_request", Message: fmt.Sprintf(format, args...)}
}

// Unfit is the failure of a body that does not fit its schema. The message names the field.
func Unfit(format string, args ...any) *Failure {
	return &Failure{Status: http.StatusUnprocessableEntity, Code: "invalid_body", Message: fmt.Sprintf(format, args...)}
}

// NotFound is the failure of a request for what is not there.
func NotFound(what, id string) *Failure {
	return &Failure{Status: http.StatusNotFound, Code: "not_found", Message: what + " not found: " + id}
}
