// Package fault holds errors that several packages return and one of them documents.
package fault

import "errors"

// Invalid is awaken.ErrInvalid: a request is wrong in itself.
var Invalid = errors.New("invalid request")
