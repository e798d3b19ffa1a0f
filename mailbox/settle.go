package mailbox

import (
	"context"
	"log/slog"
	"time"
)

// settler settles claims, in batches when many are waiting.
type settler struct {
	queue    Queue
	patience time.Duration // how long to retry; after that the dispatches are reclaimed, and their runs found done
	observer Observer
	logger   *slog.Logger
	in       chan settling
}

// settling is a settlement in flight.
type settling struct {
	Settlement
	done chan struct{}
}

// settle settles a claim. It returns when that is done or has failed for good.
func (s *settler) settle(x Settlement) {
	done := make(chan struct{})
	s.in <- settling{x, done}
	<-done
}

// work settles claims until in is closed.
func (s *settler) work() {
	for first := range s.in {
		group := []settling{first}
	more:
		for len(group) < 256 {
			select {
			case x, ok := <-s.in:
				if !ok {
					break more
				}
				group = append(group, x)
			default:
				break more
			}
		}
		s.settleGroup(group)
	}
}

func (s *settler) settleGroup(group []settling) {
	all := make([]Settlement, len(group))
	for i, x := range group {
		all[i] = x.Settlement
	}
	first := time.Now()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), s.patience)
		errs, err := s.queue.Settle(ctx, all...)
		cancel()
		s.observer.Operated("settle", time.Since(start), err)
		if err == nil {
			for i, x := range group {
				if errs[i] != nil {
					s.logger.Warn("dispatch was reclaimed before it was settled", "dispatch", x.ID, "error", errs[i])
				}
			}
			break
		}
		s.logger.Warn("cannot settle dispatches", "error", err)
		if time.Since(first) > s.patience {
			break
		}
		time.Sleep(wait)
	}
	for _, x := range group {
		close(x.done)
	}
}
