package postgres

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/mailbox"
)

// announcer tells processes that the queue has changed: its own listeners at once, others by
// notifications. It notifies outside the transactions that change the queue, since PostgreSQL
// serializes the commits of transactions that notify, and coalesces notifications. If a
// notification is lost with its process, the others find the work when they poll.
type announcer struct {
	db *database
	id string // tells its notifications from those of others

	mu        sync.Mutex
	listeners map[int]func(mailbox.Signal)
	listened  int // how often listen was called
	pending   mailbox.Signal
	running   bool
	closed    bool
	done      sync.WaitGroup
}

func newAnnouncer(db *database) *announcer {
	return &announcer{db: db, id: ids.New(), listeners: map[int]func(mailbox.Signal){}}
}

// announceEvery is the minimum interval between notifications of a process.
const announceEvery = 5 * time.Millisecond

// listen adds a listener to what this process announces, until stop is called.
func (a *announcer) listen(fn func(s mailbox.Signal)) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listened++
	n := a.listened
	a.listeners[n] = fn
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.listeners, n)
	}
}

// announce tells the listeners of this process, and schedules a notification.
func (a *announcer) announce(s mailbox.Signal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, fn := range a.listeners {
		fn(s)
	}
	if a.closed {
		return
	}
	a.pending.Ready, a.pending.Cancelled = a.pending.Ready || s.Ready, a.pending.Cancelled || s.Cancelled
	if !a.running {
		a.running = true
		a.done.Go(a.notify)
	}
}

// payload is the payload of a notification. Processes of earlier versions send none.
func (a *announcer) payload(s mailbox.Signal) string {
	what := ""
	if s.Ready {
		what = "ready"
	}
	if s.Cancelled {
		what += "cancelled"
	}
	return a.id + " " + what
}

// heard returns what a notification signals, and whether it is one of this process.
func (a *announcer) heard(payload string) (s mailbox.Signal, own bool) {
	by, what, ok := strings.Cut(payload, " ")
	return mailbox.Signal{Ready: !ok || strings.Contains(what, "ready"), Cancelled: !ok || strings.Contains(what, "cancelled")}, by == a.id
}

// notify sends notifications until none is pending.
func (a *announcer) notify() {
	for {
		a.mu.Lock()
		if a.pending == (mailbox.Signal{}) {
			a.running = false
			a.mu.Unlock()
			return
		}
		payload := a.payload(a.pending)
		a.pending = mailbox.Signal{}
		a.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), a.db.timeout)
		// It need not be durable, and an error is no worse than a lost notification.
		_, _ = a.db.pool.Exec(ctx, a.db.sql(`SELECT set_config('synchronous_commit', 'off', true), pg_notify('{p}_mailbox', $1)`), payload)
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

// listenTo calls fn with the payload of every notification on some channels, and without one
// whenever it begins to listen: at first, and after it has lost a connection.
func (db *database) listenTo(ctx context.Context, fn func(payload string), channels ...string) error {
	for pause := minPause; ; {
		heard, err := db.listen(ctx, fn, channels...)
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

// listen listens on one connection until it is lost. It reports whether it could listen. A
// connection on which nothing arrives is checked every db.ping: its other end may be gone.
func (db *database) listen(ctx context.Context, fn func(payload string), channels ...string) (heard bool, err error) {
	limited := func() (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, min(db.ping, maxAnswer)) }
	begin, cancel := limited()
	defer cancel()
	conn, err := pgx.ConnectConfig(begin, db.pool.Config().ConnConfig)
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	for _, channel := range channels {
		if _, err := conn.Exec(begin, `LISTEN `+channel); err != nil {
			return false, err
		}
	}
	fn("")
	for {
		waiting, cancel := context.WithTimeout(ctx, db.ping)
		n, err := conn.WaitForNotification(waiting)
		quiet := waiting.Err() != nil
		cancel()
		switch {
		case err == nil:
			fn(n.Payload)
			continue
		case ctx.Err() != nil || !quiet || conn.IsClosed():
			return true, err
		}
		check, cancel := limited()
		err = conn.Ping(check)
		cancel()
		if err != nil {
			return true, err
		}
	}
}

// maxAnswer is how long the server may take to answer on a connection that listens.
const maxAnswer = 10 * time.Second
