package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/entryrow"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Commit makes c durable, all or nothing. It ignores ctx, because the owner would not know
// the outcome of a cancelled commit.
func (s *scope) Commit(_ context.Context, c *awaken.Commit) error {
	w, err := s.newCommit(c)
	if err != nil {
		return err
	}
	var refused error
	err = s.db.writer.write(s.tenant, func(c *conn) (err error) {
		refused, err = w.write(c)
		return err
	})
	if err != nil {
		err = fmt.Errorf("commit thread %s: %w", c.ThreadID, err)
	}
	return s.committed(w, cmp.Or(err, refused))
}

// committed notes the outcome of a commit.
func (s *scope) committed(w *commit, err error) error {
	if err != nil {
		s.db.warm.Drop(s.tenant, w.ThreadID)
		return err
	}
	s.db.warm.Committed(s.tenant, w.Commit)
	s.db.marks.Written(s.tenant, w.Commit, w.marks)
	return nil
}

// newCommit returns a commit in flight.
func (s *scope) newCommit(c *awaken.Commit) (*commit, error) {
	w := &commit{Commit: c, tenant: s.tenant, invalid: c.Run.Validate(), marks: s.db.marks.New(s.tenant, c)}
	if err := w.encode(); err != nil {
		return nil, fmt.Errorf("commit thread %s: %w", c.ThreadID, err)
	}
	return w, nil
}

// commit is a commit in flight.
type commit struct {
	*awaken.Commit
	tenant  string
	invalid error // of the run

	run      string // JSON, like the fields below
	messages any    // packed, or nil if there are none, like the fields below
	entries  any
	calls    any
	first    uint64   // sequence number of the first entry; MaxInt64 without entries
	last     uint64   // highest sequence number of the entries, or 0
	epoch    uint64   // highest epoch of the entries; without entries, the fence
	marks    []string // that the run may not have yet; see [sqlstore.Marks]
}

// encode encodes c as JSON, outside the transaction.
func (c *commit) encode() (err error) {
	if c.invalid != nil {
		return nil
	}
	buf := buffers.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= 64<<10 {
			buffers.Put(buf)
		}
	}()
	if *buf, err = sqlstore.AppendRun((*buf)[:0], &c.Run); err != nil {
		return err
	}
	c.run = string(*buf)
	run := []byte(c.Run.RunID)
	if c.messages, err = array(buf, len(c.Messages), func(buf []byte, i int) ([]byte, error) {
		out, err := c.Messages[i].AppendJSON(buf)
		return packRun(out, len(buf), run), err
	}); err != nil {
		return fmt.Errorf("messages: %w", err)
	}
	starts := make([]int, 0, 8) // of the records in calls
	if c.calls, err = array(buf, len(c.Calls), func(buf []byte, i int) ([]byte, error) {
		starts = append(starts, len(buf))
		out, err := c.Calls[i].AppendJSON(buf)
		return packRun(out, len(buf), run), err
	}); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	c.first = math.MaxInt64
	if len(c.Entries) == 0 {
		c.epoch = c.Fence // so that the row names its owner
	}
	for i := range c.Entries {
		c.first, c.last, c.epoch = c.Entries[0].Seq, max(c.last, c.Entries[i].Last()), max(c.epoch, c.Entries[i].Epoch)
	}
	c.entries, err = array(buf, len(c.Entries), func(buf []byte, i int) ([]byte, error) {
		out, err := entryrow.Append(buf, &c.Entries[i], c.epoch, c.Run.RunID)
		if err != nil {
			return nil, err
		}
		out = packRun(out, len(buf), run)
		if _, ok := c.Entries[i].Event.(*awaken.StateSnapshot); ok && len(starts) > 0 {
			out = packCalls(out, len(buf), c.calls.(string), starts)
		}
		return out, nil
	})
	return err
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// array returns a JSON array of n elements, or nil if that is 0.
func array(buf *[]byte, n int, element func(buf []byte, i int) ([]byte, error)) (_ any, err error) {
	if n == 0 {
		return nil, nil
	}
	out := (*buf)[:0]
	for i := range n {
		if out, err = element(append(out, "[,"[min(i, 1)]), i); err != nil {
			return nil, err
		}
	}
	*buf = append(out, ']')
	return string(*buf), nil
}

// running reports whether the run is running, which means that the row of its thread holds
// its record.
func (c *commit) running() bool {
	return c.Run.Status == awaken.RunRunning && c.Run.ThreadID == c.ThreadID
}

// write applies the commit in a transaction, or refuses it.
func (c *commit) write(db *conn) (refused, err error) {
	taken, err := c.takeStep(db)
	if err != nil {
		return nil, err
	}
	if !taken {
		if taken, refused, err = c.take(db); !taken || refused != nil || err != nil {
			return refused, err
		}
	}
	return nil, c.writeRows(db)
}

// writeRows writes what the commit adds to the row of its thread and its run.
func (c *commit) writeRows(db *conn) error {
	var last any // nil without entries: the last sequence number of the thread
	if len(c.Entries) > 0 {
		last = int64(c.last)
	}
	var asks any // nil without calls
	if len(c.Calls) > 0 {
		asks = slices.ContainsFunc(c.Calls, func(s *awaken.CallState) bool { return s.Ticket != nil })
	}
	if _, err := db.exec(`INSERT INTO {p}_commits (tenant, thread, last, before, upto, time, run, epoch, messages, entries, calls, asks)
		VALUES (?1, ?2, coalesce(?3, (SELECT last_seq FROM {p}_threads WHERE tenant = ?1 AND id = ?2)), ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`,
		c.tenant, c.ThreadID, last, c.Expect, c.Expect+len(c.Messages), c.Time, c.Run.RunID, int64(c.epoch), c.messages, c.entries, c.calls, asks); err != nil {
		return err
	}
	for _, mark := range c.marks {
		if _, err := db.exec(`INSERT OR IGNORE INTO {p}_run_marks (tenant, run, mark, born) SELECT tenant, id, ?3, born FROM {p}_runs WHERE tenant = ?1 AND id = ?2`,
			c.tenant, c.Run.RunID, mark); err != nil {
			return err
		}
	}
	return c.writeState(db)
}

// takeThread is the statement of takeStep.
const takeThread = `UPDATE {p}_threads SET committed = ?2, updated = ?3, messages = messages + ?4, last_seq = max(last_seq, ?5), run = ?6
	WHERE tenant = ?1 AND id = ?8 AND fence = ?9 AND committed <> ?2 AND (generation = ?10 OR NOT ?11) AND messages = ?12 AND last_seq < ?13
	AND unread = 0 AND open_run = ?7 AND run IS NOT NULL`

// takeStep does the work of take in one statement if the commit is in the middle of a run
// and the inbox is empty. It writes no index.
func (c *commit) takeStep(db *conn) (taken bool, err error) {
	if c.invalid != nil || c.Number == 0 || !c.running() {
		return false, nil
	}
	n, err := db.exec(takeThread, c.tenant, int64(c.Number), c.Time, len(c.Messages), int64(c.last), c.run, c.Run.RunID,
		c.ThreadID, int64(c.Fence), int64(c.Generation), c.Begins, c.Expect, int64(c.first))
	if n == 0 || err != nil {
		return false, err
	}
	c.Unread = false
	return true, nil
}

// take checks the commit and updates the row of the thread. It reports false if the commit
// was already applied.
func (c *commit) take(db *conn) (taken bool, refused, err error) {
	var fence, committed, generation, lastSeq uint64
	var messages, unread int
	var open string
	var record *string
	found, err := db.row(context.Background(), `SELECT fence, committed, generation, messages, last_seq, unread, open_run, run FROM {p}_threads WHERE tenant = ? AND id = ?`,
		[]any{c.tenant, c.ThreadID}, &fence, &committed, &generation, &messages, &lastSeq, &unread, &open, &record)
	if err != nil {
		return false, nil, err
	}
	switch {
	case !found:
		return false, threads.NotFound(c.ThreadID), nil
	case c.Fence != fence:
		return false, awaken.ErrFenced, nil
	case c.Number == committed && c.Number != 0:
		c.Unread = unread > 0
		return false, nil, nil // repeated because the response was lost
	}
	if done, err := c.isDone(db, open); done || err != nil {
		return false, awaken.ErrFenced, err
	}
	switch {
	case c.Begins && c.Generation != generation:
		return false, awaken.ErrGeneration, nil
	case c.Expect != messages:
		return false, &awaken.ConflictError{ThreadID: c.ThreadID, Expected: c.Expect, Have: messages}, nil
	case len(c.Entries) > 0 && c.Entries[0].Seq <= lastSeq:
		return false, fmt.Errorf("%w: event %d of thread %s is already stored", awaken.ErrConflict, c.Entries[0].Seq, c.ThreadID), nil
	}
	var read []string // the unread items among c.Read
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
	case c.RequireEmptyInbox && unread > 0:
		return false, awaken.ErrUnread, nil
	case c.invalid != nil:
		return false, fmt.Errorf("%w: %w", awaken.ErrInvalid, c.invalid), nil
	}
	for _, id := range read {
		if _, err := db.exec(`UPDATE {p}_inbox SET data = NULL WHERE tenant = ? AND thread = ? AND id = ?`, c.tenant, c.ThreadID, id); err != nil {
			return false, nil, err
		}
	}
	if record != nil && open != c.Run.RunID {
		if err := c.giveUp(db, open, *record, lastSeq); err != nil {
			return false, nil, err
		}
	}
	stays := record != nil && open == c.Run.RunID && c.running()
	if record = nil; c.running() {
		record = &c.run
	}
	query, args := moveThread, []any{int64(c.Number), c.Time, len(c.Messages), int64(c.last), c.openRun(), c.Run.RunID, record, unread, c.ParentThreadID, stays, c.tenant, c.ThreadID}
	if c.Run.UserID != "" {
		query, args = giveThread, append(args, c.Run.UserID)
	}
	if _, err = db.exec(query, args...); err != nil {
		return false, nil, err
	}
	c.Unread = unread > 0
	return true, nil, c.writeRun(db, lastSeq, open == c.Run.RunID)
}

// giveUp writes the row of the thread's open run, which is given up, from the record in the row of the thread. Commits in the
// middle of a run write only that.
func (c *commit) giveUp(db *conn, id, record string, last uint64) error {
	r, err := dialect.DecodeRun(id, c.ThreadID, []byte(record))
	if err != nil {
		return err
	}
	f := dialect.Facets(r)
	_, err = db.exec(`UPDATE {p}_runs SET data = ?, last_seq = ?, agent = ?, version = ?, origin = ?, parent = ?, detail = ?, error = ?, created = ?, cost = ?
		WHERE tenant = ? AND id = ?`,
		record, int64(last), f.Agent, f.Version, f.Origin, f.Parent, f.Detail, f.Error, f.Created, f.Cost, c.tenant, id)
	return err
}

// moveThread is the statement of take, and giveThread the one that also gives a new thread to its user.
const (
	moveThread = `UPDATE {p}_threads SET ` + moved
	giveThread = `UPDATE {p}_threads SET user_id = CASE created WHEN 0 THEN ?13 ELSE user_id END, ` + moved

	moved = `committed = ?1, updated = ?2, messages = messages + ?3, last_seq = max(last_seq, ?4), open_run = ?5, latest_run = ?6, run = ?7, unread = ?8,
		parent = CASE WHEN latest_run = '' AND parent = '' THEN ?9 ELSE parent END, created = CASE created WHEN 0 THEN ?2 ELSE created END,
		touched = CASE WHEN ?10 THEN touched ELSE 1 + (SELECT max(touched) FROM {p}_threads WHERE tenant = ?11) END
		WHERE tenant = ?11 AND id = ?12`
)

// isDone reports whether the commit would reopen a run that is done. The open run of the
// thread is not done.
func (c *commit) isDone(db *conn, open string) (bool, error) {
	if open == c.Run.RunID || c.Run.Status == awaken.RunDone {
		return false, nil
	}
	var one int
	return db.row(context.Background(), `SELECT 1 FROM {p}_runs WHERE tenant = ? AND id = ? AND status = ?`,
		[]any{c.tenant, c.Run.RunID, string(awaken.RunDone)}, &one)
}

// openRun returns the id of the run, or "" if it is done.
func (c *commit) openRun() string {
	if c.Run.Status == awaken.RunDone {
		return ""
	}
	return c.Run.RunID
}

// writeRun writes the row of the run, which has one if it was open. Before is the last sequence number before the commit.
func (c *commit) writeRun(db *conn, before uint64, open bool) error {
	r, last := &c.Run, int64(max(before, c.last))
	if c.running() {
		last = math.MaxInt64 // while the row of its thread holds the record
	}
	f := dialect.Facets(r)
	args := []any{c.tenant, r.RunID, r.ThreadID, string(r.Status), c.ThreadID, c.run, int64(before), last, f.Agent, f.Version, f.Origin, f.Parent, f.Detail, f.Error, f.Created, f.Cost}
	set := `status = ?4, data = ?6, first_seq = min(first_seq, ?7), last_seq = ?8, detail = ?13, error = ?14, cost = ?16`
	if !open || r.ThreadID != c.ThreadID { // otherwise it is what it was; SQLite would write its index again
		set += `, thread = ?3`
	}
	if c.Number <= 1 || r.FirstAgentID != "" { // and these
		set += `, agent = ?9, version = ?10, origin = ?11, parent = ?12, created = ?15`
	}
	query := `UPDATE {p}_runs SET ` + set + ` WHERE tenant = ?1 AND id = ?2`
	if !open {
		query = `INSERT INTO {p}_runs (tenant, id, thread, status, born, data, first_seq, last_seq, agent, version, origin, parent, detail, error, created, cost, user_id)
			VALUES (?1, ?2, ?3, ?4, coalesce((SELECT born FROM {p}_dispatches WHERE tenant = ?1 AND run = ?2 AND born IS NOT NULL),
				max((SELECT touched FROM {p}_threads WHERE tenant = ?1 AND id = ?5), 1 + ` + lastBorn + `)), ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
				coalesce((SELECT user_id FROM {p}_threads WHERE tenant = ?1 AND id = ?3), ''))
			ON CONFLICT (tenant, id) DO UPDATE SET ` + set
	}
	n, err := db.exec(query, args...)
	if open && n == 0 && err == nil {
		return c.writeRun(db, before, false)
	}
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
