package sqlite

import (
	"errors"

	"modernc.org/sqlite"
)

// PageReads returns how many pages the connections have read so far, from their caches or the file. No read may be in progress.
func (db *DB) PageReads() (n int, err error) {
	count := func(c *conn) {
		if c == nil {
			return
		}
		err = errors.Join(err, c.c.Raw(func(driver any) error {
			hits, _, hitErr := driver.(sqlite.DBStatus).Status(sqlite.DBStatusCacheHit, false)
			misses, _, missErr := driver.(sqlite.DBStatus).Status(sqlite.DBStatusCacheMiss, false)
			n += hits + misses
			return errors.Join(hitErr, missErr)
		}))
	}
	d := db.database
	for range cap(d.readers) {
		c := <-d.readers
		count(c)
		d.readers <- c
	}
	d.writer.leading.Lock()
	defer d.writer.leading.Unlock()
	count(d.writer.conn)
	return n, err
}
