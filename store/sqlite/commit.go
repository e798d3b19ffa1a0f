package sqlite

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

// Commit makes c durable, all or nothing. It does not heed ctx: a commit that was cut
// off could have been made or not, and its owner would not know.
func (s *Store) Commit(_ context.Context, c *awaken.Commit) error {
	w := commit{Commit: c, tenant: s.tenant, invalid: c.Run.Validate()}
	if err := w.encode(); err != nil {
		return fmt.Errorf("commit thread %s: %w", c.ThreadID, err)
	}
	var refused error
	err := s.db.write(func(c *conn) (err error) {
		refused, err = w.write(c)
		return err
	})
	if err != nil {
		return fmt.Errorf("commit thread %s: %w", c.ThreadID, err)
	}
	return refused
}

// commit is a commit on its way into the file.
type commit struct {
	*awaken.Commit
	tenant  string
	invalid error // what is wrong with the run

	run      string // JSON, like those below
	messages []string
	calls    []string
	entries  string // "" if there are none
	first    uint64 // number of the first, or the highest there is
	last     uint64 // highest number, or 0
	epoch    uint64 // highest
}

// encode turns c into JSON, before anybody waits for it.
func (c *commit) encode() (err error) {
	if c.invalid != nil {
		return nil
	}
	buf := make([]byte, 0, 1024)
	if buf, err = c.Run.AppendJSON(buf); err != nil {
		return err
	}
	c.run = string(buf)
	c.messages = make([]string, len(c.Messages))
	for i, m := range c.Messages {
		if buf, err = m.AppendJSON(buf[:0]); err != nil {
			return fmt.Errorf("message %q: %w", m.ID, err)
		}
		c.messages[i] = string(buf)
	}
	c.calls = make([]string, len(c.Calls))
	for i, call := range c.Calls {
		if buf, err = call.AppendJSON(buf[:0]); err != nil {
			return fmt.Errorf("call %q: %w", call.CallID, err)
		}
		c.calls[i] = string(buf)
	}
	return c.encodeEntries()
}

// encodeEntries writes the entries of a row.
func (c *commit) encodeEntries() (err error) {
	c.first = math.MaxInt64
	if len(c.Entries) == 0 {
		return nil
	}
	c.first = c.Entries[0].Seq
	for i := range c.Entries {
		c.last, c.epoch = max(c.last, c.Entries[i].Last()), max(c.epoch, c.Entries[i].Epoch)
	}
	buf := make([]byte, 0, 192*len(c.Entries))
	for i := range c.Entries {
		if buf, err = appendEntry(append(buf, "[,"[min(i, 1)]), &c.Entries[i], c.epoch, c.Entries[0].RunID); err != nil {
			return err
		}
	}
	c.entries = string(append(buf, ']'))
	return nil
}

// write makes the commit inside a transaction, or says why not.
func (c *commit) write(db *conn) (refused, err error) {
	taken, err := c.takeQuickly(db)
	if err != nil {
		return nil, err
	}
	if !taken {
		if taken, refused, err = c.take(db); !taken || refused != nil || err != nil {
			return refused, err
		}
	}
	if err := c.writeMessages(db); err != nil {
		return nil, err
	}
	if c.entries != "" {
		if _, err := db.exec(`INSERT INTO {p}_entries (tenant, thread, last, epoch, run, data) VALUES (?, ?, ?, ?, ?, ?)`,
			c.tenant, c.ThreadID, int64(c.last), int64(c.epoch), c.Entries[0].RunID, c.entries); err != nil {
			return nil, err
		}
	}
	if err := c.writeRun(db); err != nil {
		return nil, err
	}
	for i, call := range c.Calls {
		if _, err := db.exec(`INSERT OR REPLACE INTO {p}_calls (tenant, run, step, idx, status, data) VALUES (?, ?, ?, ?, ?, ?)`,
			c.tenant, c.Run.RunID, call.Step, call.Index, string(call.Status), c.calls[i]); err != nil {
			return nil, err
		}
	}
	return nil, c.writeState(db)
}

// Statements of takeQuickly.
const (
	takeThread = `committed = ?2, updated = ?3, messages = messages + ?4, last_seq = max(last_seq, ?5), open_run = ?6, latest_run = ?7
		WHERE tenant = ?1 AND id = ?8 AND fence = ?9 AND committed <> ?2 AND (generation = ?10 OR NOT ?11) AND messages = ?12 AND last_seq < ?13
		AND unread = 0 AND latest_run <> ''`
	takeAgain = `UPDATE {p}_threads SET ` + takeThread + ` AND latest_run = ?7 AND touched = (SELECT max(touched) FROM {p}_threads WHERE tenant = ?1)`
	takeFirst = `UPDATE {p}_threads SET touched = 1 + (SELECT max(touched) FROM {p}_threads WHERE tenant = ?1), ` + takeThread
)

// takeQuickly does in one statement what take does in several, if there is nothing
// special about the commit: it is not the thread's first, and the inbox is empty. While
// a run commits alone, its thread keeps its place in the order, so that the index of
// that need not be written.
func (c *commit) takeQuickly(db *conn) (taken bool, err error) {
	if c.invalid != nil || c.Number == 0 {
		return false, nil
	}
	take := func(query string) {
		var n int64
		n, err = db.exec(query, c.tenant, int64(c.Number), c.Time, len(c.Messages), int64(c.last), c.openRun(), c.Run.RunID,
			c.ThreadID, int64(c.Fence), int64(c.Generation), c.Begins, c.Expect, int64(c.first))
		taken = n > 0
	}
	if db.latest == c.Run.RunID {
		take(takeAgain)
	}
	if !taken && err == nil {
		take(takeFirst)
	}
	if db.latest = c.Run.RunID; taken {
		c.Unread = false
	}
	return taken, err
}

// take checks that the commit may be made, and changes the thread's row. It reports
// false when it was made before.
func (c *commit) take(db *conn) (taken bool, refused, err error) {
	var fence, committed, generation, lastSeq uint64
	var messages, unread int
	found, err := db.row(context.Background(), `SELECT fence, committed, generation, messages, last_seq, unread FROM {p}_threads WHERE tenant = ? AND id = ?`,
		[]any{c.tenant, c.ThreadID}, &fence, &committed, &generation, &messages, &lastSeq, &unread)
	if err != nil {
		return false, nil, err
	}
	switch {
	case !found:
		return false, noThread(c.ThreadID), nil
	case c.Fence != fence:
		return false, awaken.ErrFenced, nil
	case c.Number == committed && c.Number != 0:
		c.Unread = unread > 0
		return false, nil, nil // said again because the answer was lost
	case c.Begins && c.Generation != generation:
		return false, awaken.ErrGeneration, nil
	case c.Expect != messages:
		return false, &awaken.ConflictError{ThreadID: c.ThreadID, Expected: c.Expect, Have: messages}, nil
	case len(c.Entries) > 0 && c.Entries[0].Seq <= lastSeq:
		return false, fmt.Errorf("%w: event %d of thread %s is stored already", awaken.ErrConflict, c.Entries[0].Seq, c.ThreadID), nil
	}
	var read []string // those of c.Read that were not read before
	for i, id := range c.Read {
		var one int
		found, err := db.row(context.Background(), `SELECT 1 FROM {p}_inbox WHERE tenant = ? AND thread = ? AND id = ? AND data IS NOT NULL`,
			[]any{c.tenant, c.ThreadID, id}, &one)
		if err != nil {
			return false, nil, err
		}
		if found && !slices.Contains(c.Read[:i], id) {
			read = append(read, id)
		}
	}
	unread -= len(read)
	switch {
	case c.Rest && unread > 0:
		return false, awaken.ErrUnread, nil
	case c.invalid != nil:
		return false, fmt.Errorf("%w: %w", awaken.ErrInvalid, c.invalid), nil
	}
	for _, id := range read {
		if _, err := db.exec(`UPDATE {p}_inbox SET data = NULL WHERE tenant = ? AND thread = ? AND id = ?`, c.tenant, c.ThreadID, id); err != nil {
			return false, nil, err
		}
	}
	_, err = db.exec(`UPDATE {p}_threads SET committed = ?, updated = ?, messages = messages + ?, last_seq = max(last_seq, ?), open_run = ?, latest_run = ?, unread = ?,
		parent = CASE WHEN latest_run = '' AND parent = '' THEN ? ELSE parent END, created = CASE created WHEN 0 THEN ? ELSE created END,
		touched = 1 + (SELECT max(touched) FROM {p}_threads WHERE tenant = ?)
		WHERE tenant = ? AND id = ?`,
		int64(c.Number), c.Time, len(c.Messages), int64(c.last), c.openRun(), c.Run.RunID, unread, c.ParentThreadID, c.Time, c.tenant,
		c.tenant, c.ThreadID)
	c.Unread = unread > 0
	return true, nil, err
}

// openRun is the id of the run, while it is not done.
func (c *commit) openRun() string {
	if c.Run.Status == awaken.RunDone {
		return ""
	}
	return c.Run.RunID
}

// insertMessages insert several rows at once.
var insertMessages = func() (out [9]string) {
	for n := 1; n < len(out); n++ {
		q := `INSERT INTO {p}_messages (tenant, thread, created, seq, data) VALUES `
		for i := range n {
			if i > 0 {
				q += ", "
			}
			q += fmt.Sprintf("(?1, ?2, ?3, ?4 + %d, ?%d)", i, 5+i)
		}
		out[n] = q
	}
	return out
}()

func (c *commit) writeMessages(db *conn) error {
	var args [4 + len(insertMessages)]any
	args[0], args[1], args[2] = c.tenant, c.ThreadID, c.Time
	for i := 0; i < len(c.messages); {
		n := min(len(c.messages)-i, len(insertMessages)-1)
		args[3] = c.Expect + i + 1
		for j, m := range c.messages[i : i+n] {
			args[4+j] = m
		}
		if _, err := db.exec(insertMessages[n], args[:4+n]...); err != nil {
			return err
		}
		i += n
	}
	return nil
}

func (c *commit) writeRun(db *conn) error {
	r := &c.Run
	// Most often only the record changes; then the indexes need not be written.
	n, err := db.exec(`UPDATE {p}_runs SET data = ?, last_seq = max(last_seq, ?) WHERE tenant = ? AND id = ? AND thread = ? AND status = ?`,
		c.run, int64(c.last), c.tenant, r.RunID, r.ThreadID, string(r.Status))
	if err != nil || n > 0 {
		return err
	}
	_, err = db.exec(`INSERT INTO {p}_runs (tenant, id, thread, status, born, data, first_seq, last_seq)
		VALUES (?1, ?2, ?3, ?4, max((SELECT touched FROM {p}_threads WHERE tenant = ?1 AND id = ?5), 1 + coalesce((SELECT max(born) FROM {p}_runs WHERE tenant = ?1), 0)), ?6, ?7, ?8)
		ON CONFLICT (tenant, id) DO UPDATE SET thread = excluded.thread, status = excluded.status, data = excluded.data,
		first_seq = min(first_seq, excluded.first_seq), last_seq = max(last_seq, excluded.last_seq)`,
		c.tenant, r.RunID, r.ThreadID, string(r.Status), c.ThreadID, c.run, int64(c.first), int64(c.last))
	return err
}

func (c *commit) writeState(db *conn) (err error) {
	for _, ch := range c.State {
		run := c.Run.RunID
		if ch.Scope == state.Thread {
			run = ""
		}
		if ch.Value == nil {
			_, err = db.exec(`DELETE FROM {p}_state WHERE tenant = ? AND thread = ? AND run = ? AND key = ?`, c.tenant, c.ThreadID, run, ch.Key)
		} else {
			_, err = db.exec(`INSERT OR REPLACE INTO {p}_state (tenant, thread, run, key, value) VALUES (?, ?, ?, ?, ?)`, c.tenant, c.ThreadID, run, ch.Key, string(ch.Value))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
