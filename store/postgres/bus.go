package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken/bus"
)

// Bus returns the bus of the processes that use this database: notifications, on two connections
// of its own. One sends, outside of the transactions of the store, because PostgreSQL serializes the
// commits of transactions that notify; the other listens, from Subscribe on.
func (db *DB) Bus() bus.Bus { return &notifier{db: db.database} }

// notifier is a bus of notifications. A process has a channel of its own, and there is one for all.
type notifier struct {
	db *database

	mu   sync.Mutex // held while conn is in use
	conn *pgx.Conn  // nil before the first message and after an error
	last time.Time  // when a connection was last tried for
}

// maxPayload is the length of the longest payload of a notification.
const maxPayload = 7999

// publishTime limits the time that messages may take. They are worthless if they are late.
const publishTime = 2 * time.Second

func (n *notifier) Limit() int { return maxPayload }

// channel returns the channel of a process, or of all. Names are limited to 63 bytes, of which the
// prefix may take 30.
func (n *notifier) channel(process string) string {
	if process == "" {
		return n.db.sql(`{p}_bus`)
	}
	sum := sha256.Sum256([]byte(process))
	return n.db.sql(`{p}_bus_`) + hex.EncodeToString(sum[:12])
}

// Publish sends messages with one statement.
func (n *notifier) Publish(ctx context.Context, messages ...bus.Message) error {
	channels, texts := make([]string, len(messages)), make([]string, len(messages))
	for i, m := range messages {
		channels[i], texts[i] = n.channel(m.To), strings.ToValidUTF8(m.Text, "\ufffd")
	}
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.connect(ctx); err != nil {
		return err
	}
	// They need not be durable, and the lock of notifications must not be held for a sync to the disk.
	_, err := n.conn.Exec(ctx, `SELECT pg_notify(c, p) FROM (SELECT set_config('synchronous_commit', 'off', true)) s, unnest($1::text[], $2::text[]) m(c, p)`, channels, texts)
	if err != nil {
		n.disconnect()
		return fmt.Errorf("postgres: bus: %w", err)
	}
	return nil
}

// connect connects if there is no connection, and not more than once in minPause.
func (n *notifier) connect(ctx context.Context) (err error) {
	if n.conn != nil {
		return nil
	}
	if wait := minPause - time.Since(n.last); wait > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
	n.last = time.Now()
	if n.conn, err = pgx.ConnectConfig(ctx, n.db.pool.Config().ConnConfig); err != nil {
		n.conn = nil
		return fmt.Errorf("postgres: bus: %w", err)
	}
	return nil
}

// disconnect closes the connection.
func (n *notifier) disconnect() {
	if n.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = n.conn.Close(ctx)
	n.conn = nil
}

// Subscribe listens to the channel of a process and to that of all. When it ends, the connection
// that sends is closed too; a later Publish connects again.
func (n *notifier) Subscribe(ctx context.Context, self string, fn func(text string)) error {
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.disconnect()
	}()
	return n.db.listenTo(ctx, fn, n.channel(self), n.channel(""))
}
