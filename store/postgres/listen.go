package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// announcer notifies other processes that a dispatch may be available or a claim was
// cancelled. It notifies outside the transactions that change the queue, since PostgreSQL
// serializes the commits of transactions that notify, and coalesces notifications. If a
// notification is lost with its process, the others find the work when they poll.
type announcer struct {
	db *database

	mu      sync.Mutex
	pending bool
	running bool
	closed  bool
	done    sync.WaitGroup
}

// announceEvery is the minimum interval between notifications of a process.
const announceEvery = 5 * time.Millisecond

// announce schedules a notification.
func (a *announcer) announce() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.pending = true
	if !a.running {
		a.running = true
		a.done.Go(a.notify)
	}
}

// notify sends notifications until none is pending.
func (a *announcer) notify() {
	for {
		a.mu.Lock()
		if !a.pending {
			a.running = false
			a.mu.Unlock()
			return
		}
		a.pending = false
		a.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), a.db.timeout)
		// It need not be durable, and an error is no worse than a lost notification.
		_, _ = a.db.pool.Exec(ctx, a.db.sql(`SELECT set_config('synchronous_commit', 'off', true), pg_notify('{p}_mailbox', '')`))
		cancel()
		time.Sleep(announceEvery)
	}
}

// close waits for a notification in flight and stops further ones.
func (a *announcer) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.done.Wait()
}

// listenTo calls fn for every notification on a channel, and whenever it begins to listen:
// at first, and after it has lost a connection.
func (db *database) listenTo(ctx context.Context, channel string, fn func()) error {
	for pause := minPause; ; {
		heard, err := db.listen(ctx, channel, fn)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if heard {
			pause = minPause
		}
		_ = err // reconnect after any error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
}

// Pauses between attempts to connect.
const (
	minPause = 50 * time.Millisecond
	maxPause = 5 * time.Second
)

// listen listens on one connection until it is lost. It reports whether it could listen.
func (db *database) listen(ctx context.Context, channel string, fn func()) (heard bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, db.pool.Config().ConnConfig)
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, db.sql(`LISTEN {p}_`+channel)); err != nil {
		return false, err
	}
	for {
		fn()
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return true, err
		}
	}
}
