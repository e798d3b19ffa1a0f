package awakentest

import (
	"context"
	"io"
)

// TB is what this package needs of a test: a *testing.T, *testing.B or *testing.F.
type TB interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Context() context.Context
	Output() io.Writer
}
