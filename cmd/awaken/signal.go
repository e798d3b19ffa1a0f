package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signals turns Ctrl-C and SIGTERM into cancelled contexts.
type signals struct {
	got  chan os.Signal
	kill func(code int) // ends the process at once
}

func listen() *signals {
	s := &signals{got: make(chan os.Signal, 2), kill: os.Exit}
	signal.Notify(s.got, os.Interrupt, syscall.SIGTERM)
	return s
}

func (s *signals) stop() { signal.Stop(s.got) }

// during calls fn with a context that the first signal cancels. A second signal ends the
// process. It returns that context; its cause is the signal, if there was one.
func (s *signals) during(ctx context.Context, fn func(ctx context.Context)) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case sig := <-s.got:
				if ctx.Err() != nil {
					s.kill(interrupted{sig}.code())
				}
				cancel(interrupted{sig})
			case <-over:
				return
			}
		}
	}()
	fn(ctx)
	close(over)
	<-gone
	cancel(nil)
	return ctx
}
