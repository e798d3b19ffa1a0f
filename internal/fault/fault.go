// Package fault defines errors that several packages return and that awaken exports.
package fault

import "errors"

// ErrInvalid is awaken.ErrInvalid.
var ErrInvalid = errors.New("invalid request")
