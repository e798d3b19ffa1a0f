package openai

import (
	"fmt"
	"net/http"

	"github.com/awaken-go/awaken/protocol"
)

// errorBody is the body of an error response.
type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"` // the field or parameter that is refused
	Code    *string `json:"code"`
}

// bodyOf returns a failure as clients expect it. A body that does not fit is 400 in OpenAI's API.
func bodyOf(f *protocol.Failure) any {
	if f.Status == http.StatusUnprocessableEntity {
		f.Status = http.StatusBadRequest
	}
	return errorBody{detailOf(f)}
}

func detailOf(f *protocol.Failure) errorDetail {
	d := errorDetail{Message: f.Message, Type: "invalid_request_error"}
	code := f.Code
	switch {
	case f.Status == http.StatusUnauthorized:
		code = "invalid_api_key"
	case f.Status == http.StatusForbidden:
		d.Type = "permission_error"
	case f.Status == http.StatusTooManyRequests:
		d.Type = "rate_limit_error"
	case f.Status >= 500:
		d.Type = "server_error"
	}
	if code != "" {
		d.Code = &code
	}
	if f.Param != "" {
		d.Param = &f.Param
	}
	return d
}

// refused returns the failure of a request whose field has a value that is not accepted.
func refused(param, format string, args ...any) *protocol.Failure {
	f := protocol.BadRequest(format, args...)
	f.Param, f.Code = param, "invalid_value"
	return f
}

// unsupported returns the failure of a request that asks for something that the server does not have.
func unsupported(param, format string, args ...any) *protocol.Failure {
	f := protocol.BadRequest("%s is not supported: %s", param, fmt.Sprintf(format, args...))
	f.Param, f.Code = param, "unsupported_parameter"
	return f
}
