package awakentest

import (
	"context"
	"io"
)

// TB is the part of [testing.TB] that this package uses. *testing.T, *testing.B and *testing.F
// implement it.
type TB interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Context() context.Context
	Output() io.Writer
}
