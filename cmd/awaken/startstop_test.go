package main

import (
	"context"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/internal/testenv"
)

// countdown is a context that a signal cancels when it is asked for the nth time.
type countdown struct {
	context.Context
	left   atomic.Int64
	signal context.CancelCauseFunc
}

func (c *countdown) ask() {
	if c.left.Add(-1) == 0 {
		c.signal(interrupted{syscall.SIGTERM})
	}
}

// Done implements [context.Context].
func (c *countdown) Done() <-chan struct{} {
	c.ask()
	return c.Context.Done()
}

// Err implements [context.Context].
func (c *countdown) Err() error {
	c.ask()
	return c.Context.Err()
}

// A signal ends the program without an error in whatever phase of its start it arrives, and the next start continues.
func TestServe_IsStoppedWhileItStarts(t *testing.T) {
	t.Setenv("RUST_LOG", "debug") // what the program says about it is the first line with an open database
	s := settings.Defaults()
	s.Server.Address, s.StorageDir = "127.0.0.1:0", t.TempDir()
	late := 0 // starts that were stopped once the database was open
	most := int64(testenv.Times(16, 2))
	for n := int64(1); ; n += max(1, min(n/8, most)) { // late phases are not left out, and there are not too many starts
		ctx, signal := context.WithCancelCause(t.Context())
		c := &countdown{Context: ctx, signal: signal}
		c.left.Store(n)
		log := &watched{text: "\x00", seen: make(chan struct{})}
		listens := false
		err := serve(c, &console{in: strings.NewReader(""), err: log, out: writer(func(string) {
			listens = true
			signal(interrupted{syscall.SIGTERM})
		})}, s, newCode(s))
		signal(nil)
		if err != nil || strings.Contains(log.String(), "level=ERROR") {
			t.Fatalf("the start that is stopped at question %d fails with %v, and logs\n%s", n, err, log.String())
		}
		if listens {
			t.Logf("%d questions until it listens, stopped %d times with an open database", n, late)
			break
		}
		if strings.Contains(log.String(), "RUST_LOG") {
			late++
		}
	}
	if late < 3 {
		t.Errorf("%d starts were stopped with an open database, want 3 or more", late)
	}
}
