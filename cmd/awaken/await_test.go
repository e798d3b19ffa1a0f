package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
)

// A database that cannot be reached is no mistake in the configuration: a server waits for it, until it is to stop.
func TestServe_WaitsForItsDatabase(t *testing.T) {
	s, err := settings.Load(settings.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	s.DatabaseURL = awaken.NewSecret("postgres://awaken@127.0.0.1:1/awaken")
	_, err = openBackend(t.Context(), s, true, nil)
	if e, ok := errors.AsType[*exitError](err); !ok || e.code != exitUnavailable {
		t.Errorf("the error is %v, want exit status %d", err, exitUnavailable)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		out.Write(p)
		cancel(interrupted{syscall.SIGTERM}) // while it waits
		return len(p), nil
	}), nil))
	if b, err := awaitBackend(ctx, s, log); b != nil || err != nil {
		t.Errorf("after a signal there is %v, %v; want neither", b, err)
	}
	if n := strings.Count(out.String(), "the database cannot be reached; waiting for it"); n != 1 {
		t.Errorf("it logged that %d times, want once: %s", n, out.String())
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
