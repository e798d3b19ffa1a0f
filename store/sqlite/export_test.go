package sqlite

import "context"

// Used is how many statements were executed and how many transactions were written.
func (db *DB) Used() (statements, transactions int64) {
	return db.statements.Load(), db.transactions.Load()
}

// Waiting is how many changes wait for their turn.
func (db *DB) Waiting() int {
	db.writer.mu.Lock()
	defer db.writer.mu.Unlock()
	return len(db.writer.queue)
}

// Pragma sets something on the connection that writes.
func (db *DB) Pragma(text string) error {
	db.writer.leading.Lock()
	defer db.writer.leading.Unlock()
	_, err := db.writer.conn.c.ExecContext(context.Background(), "PRAGMA "+text)
	return err
}
