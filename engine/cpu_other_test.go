//go:build !unix

package engine_test

import "time"

// cpu returns 0: this platform does not report the CPU time.
func cpu() time.Duration { return 0 }
