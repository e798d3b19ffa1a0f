package protocol

import (
	"fmt"
	"net/http"
	"time"

	"github.com/awaken-go/awaken"
)

// Failure is an error that the client gets as it is.
type Failure struct {
	Status  int
	Code    string
	Message string
	Param   string // the field or parameter that is refused, if the protocol names it apart from the message
	// RetryAfter is when the client may retry, if it is set.
	RetryAfter time.Duration
	// Decision is the earlier decision, if the request decides differently.
	Decision *awaken.Decided
}

func (f *Failure) Error() string { return f.Message }

// BadRequest returns the failure of a request that fits its schema but is invalid.
func BadRequest(format string, args ...any) *Failure {
	return &Failure{Status: http.StatusBadRequest, Code: "invalid_request", Message: fmt.Sprintf(format, args...)}
}

// InvalidBody returns the failure of a body that does not fit its schema. The message names the field.
func InvalidBody(format string, args ...any) *Failure {
	return &Failure{Status: http.StatusUnprocessableEntity, Code: "invalid_body", Message: fmt.Sprintf(format, args...)}
}

// NotFound returns the failure of a request for something that does not exist. A text that is too long for an id is
// shortened.
func NotFound(what, id string) *Failure {
	if len(id) > MaxID {
		id = clip(id)
	}
	return &Failure{Status: http.StatusNotFound, Code: "not_found", Message: what + " not found: " + id}
}
