package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// announcer tells other processes that something can be claimed, or that a claim was
// cancelled. It does so beside the transactions that change the queue, since a
// transaction that notifies lets no other that does so commit before it is on the disk;
// and seldom, since one notification is as good as many. One that gets lost with its
// process costs the others a poll.
type announcer struct {
	db *database

	mu      sync.Mutex
	pending bool
	running bool
	closed  bool
	done    sync.WaitGroup
}

// announceEvery is how often a process notifies at most.
const announceEvery = 5 * time.Millisecond

// announce notifies soon.
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

// notify notifies as long as there is reason to.
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
		// It needs not be on the disk. An error is as good as a notification that is lost.
		_, _ = a.db.pool.Exec(ctx, a.db.sql(`SELECT set_config('synchronous_commit', 'off', true), pg_notify('{p}_mailbox', '')`))
		cancel()
		time.Sleep(announceEvery)
	}
}

// close waits for the notification on its way. There will be no more.
func (a *announcer) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.done.Wait()
}

// listenTo calls fn when there is a notification on a channel, and whenever it begins to
// listen, also after a lost connection.
func (db *database) listenTo(ctx context.Context, channel string, fn func()) error {
	for pause := minPause; ; {
		heard, err := db.listen(ctx, channel, fn)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if heard {
			pause = minPause
		}
		_ = err // whatever it is, the connection is tried again
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

// listen listens on one connection until it is lost, and reports whether it ever heard.
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
