package sqlite

import "context"

// lastChange returns the position of the last change. There is one writer, so no transaction that commits later has a lower one.
func (db *database) lastChange(ctx context.Context) (pos int64, err error) {
	err = db.read(ctx, func(c *conn) error {
		_, err := c.row(ctx, `SELECT {changed}`, nil, &pos)
		return err
	})
	return pos, err
}
