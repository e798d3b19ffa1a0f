package sqlite

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// finishing is the commit that ends a run, with the settlement of its dispatch.
type finishing struct {
	*commit
	settlement *mailbox.Settlement
}

// finishThread is what a commit that ends the open run of a thread changes in the thread's row, if the inbox is empty and the claim holds.
const finishThread = `UPDATE {p}_threads SET committed = ?4, updated = ?5, messages = messages + ?6, last_seq = max(last_seq, ?7), open_run = '', run = NULL, touched = {tick}
	WHERE tenant = ?1 AND id = ?2 AND fence = ?8 AND committed <> ?4 AND (generation = ?9 OR NOT ?10) AND messages = ?11 AND last_seq < ?12
	AND unread = 0 AND open_run = ?3 AND run IS NOT NULL
	AND EXISTS (SELECT 1 FROM {p}_queues WHERE tenant = ?1 AND id = ?2 AND claimed = ?13 AND token = ?14)`

// write ends a run in one statement for each row. It reports false, and has written nothing, if that is not enough: the statements of
// [commit.write] then say why.
func (f *finishing) write(c queueConn, wake *mailbox.Dispatch, out *mailbox.Settled) (bool, error) {
	x, run := f.settlement, &f.Run
	if f.invalid != nil || run.Status != awaken.RunDone || run.ThreadID != f.ThreadID || f.Number == 0 || len(f.Read) > 0 || wake != nil ||
		x.Status != mailbox.Acked && x.Status != mailbox.Cancelled {
		return false, nil
	}
	now := c.moment()
	n, err := c.exec(finishThread, f.tenant, f.ThreadID, run.RunID, int64(f.Number), f.Time, len(f.Messages), int64(f.last), int64(f.Fence), int64(f.Generation), f.Begins,
		f.Expect, int64(f.first), x.ID, x.Token)
	if n == 0 || err != nil {
		return false, err
	}
	f.Unread = false
	if err := f.finishRun(c); err != nil {
		return false, err
	}
	if err := f.writeRows(c.conn); err != nil {
		return false, err
	}
	if _, err := c.exec(`UPDATE {p}_dispatches SET completed = ?4, updated = ?4,
		status = CASE WHEN id = ?5 THEN ?6 WHEN cancel AND ?7 THEN 'Cancelled' ELSE 'Acked' END,
		attempts = CASE WHEN id = ?5 AND steps < ?8 THEN 0 ELSE attempts END + (id = ?5 AND ?9), crashes = CASE WHEN id = ?5 AND steps < ?8 THEN 0 ELSE crashes END,
		lost = CASE id WHEN ?5 THEN 0 ELSE lost END, steps = CASE id WHEN ?5 THEN max(steps, ?8) ELSE steps END, error = CASE WHEN id = ?5 AND ?10 <> '' THEN ?10 ELSE error END
		WHERE tenant = ?1 AND thread = ?2 AND run = ?3 AND completed = 0`,
		f.tenant, f.ThreadID, run.RunID, now.ms, x.ID, string(x.Status), run.Termination.Type == awaken.Cancelled, x.Steps, x.Failed, x.Error); err != nil {
		return false, err
	}
	out.Ready, err = c.release(queueKey{f.tenant, f.ThreadID}, now)
	out.Settled = err == nil
	return err == nil, err
}

// finishRun writes the row of the run, whose thread's row had its record.
func (f *finishing) finishRun(c queueConn) error {
	r, fs := &f.Run, dialect.Facets(&f.Run)
	last := `?6`
	if len(f.Entries) == 0 {
		last = `(SELECT last_seq FROM {p}_threads WHERE tenant = ?1 AND id = ?7)`
	}
	set, args := `status = ?3, data = ?4, last_seq = `+last+`, detail = ?5, error = ?8, cost = ?9`, []any{f.tenant, r.RunID, string(r.Status), f.run, fs.Detail, int64(f.last), f.ThreadID, fs.Error, fs.Cost}
	if r.FirstAgentID != "" { // it was handed over; otherwise these are what they were
		set += `, agent = ?10, version = ?11, origin = ?12, parent = ?13, created = ?14`
		args = append(args, fs.Agent, fs.Version, fs.Origin, fs.Parent, fs.Created)
	}
	_, err := c.exec(`UPDATE {p}_runs SET `+set+` WHERE tenant = ?1 AND id = ?2`, args...)
	return err
}
