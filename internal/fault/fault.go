// Package fault holds errors that several packages return and one of them documents.
package fault

import "errors"

// ErrInvalid is awaken.ErrInvalid: a request is wrong in itself.
var ErrInvalid = errors.New("invalid request")
