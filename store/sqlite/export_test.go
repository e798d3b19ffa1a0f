package sqlite

import "context"

// Used returns how many statements were executed and how many transactions were committed.
func (db *DB) Used() (statements, transactions int64) {
	return db.database.statements.Load(), db.database.transactions.Load()
}

// Trace calls f with every statement, before it is translated. No statement may be in
// progress.
func (db *DB) Trace(f func(query string)) { db.database.trace = f }

// Waiting returns the number of waiting changes.
func (db *DB) Waiting() int {
	return db.database.writer.lanes.Waiting()
}

// Pragma sets a pragma on the connection that writes.
func (db *DB) Pragma(text string) error {
	db.database.writer.leading.Lock()
	defer db.database.writer.leading.Unlock()
	_, err := db.database.writer.conn.c.ExecContext(context.Background(), "PRAGMA "+text)
	return err
}

// Pages returns the size of the database.
func (db *DB) Pages(ctx context.Context) (n int, err error) {
	err = db.database.read(ctx, func(c *conn) error {
		_, err := c.row(ctx, "PRAGMA page_count", nil, &n)
		return err
	})
	return n, err
}

// CommitsAfter is the statement that reads messages.
const CommitsAfter = commitsAfter

// Translate returns a statement as SQLite gets it.
func (db *DB) Translate(query string) string { return db.database.translate(query) }
