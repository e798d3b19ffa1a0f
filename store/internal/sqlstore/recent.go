package sqlstore

import (
	"context"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// recentColumns are the columns of a thread t and its run r.
const recentColumns = `t.id, t.resource, t.parent, t.title, t.custom, t.created, t.updated, t.messages, t.open_run, t.latest_run,
	t.fence, t.generation, t.last_seq, t.posted, t.unread, t.fork_of, t.fork_seq, t.user_id, t.incarnation, t.notes, t.edits, r.id, ` + runRecord

// Recent returns a thread with its open or latest run and its last messages. It reads the first two with
// one statement, and messages that this process does not know with another.
func (s *Tenant) Recent(ctx context.Context, threadID string, messages int) (*mailbox.Recent, error) {
	var out *mailbox.Recent
	err := s.scope.db.Read(ctx, func(c Conn) error {
		var t *Thread
		var run *awaken.Run
		err := c.Query(ctx, `SELECT `+recentColumns+` FROM {p}_threads t LEFT JOIN {p}_runs r
			ON r.tenant = t.tenant AND r.id = CASE t.open_run WHEN '' THEN t.latest_run ELSE t.open_run END
			WHERE t.tenant = ? AND t.id = ?`, []any{s.scope.tenant, s.scope.id(threadID)}, func(scan Scan) error {
			t, run = new(Thread), nil
			var id *string
			var data []byte
			if err := t.Scan(s.scope.db.Dialect(), func(dest ...any) error { return scan(append(dest, &id, &data)...) }); err != nil || id == nil {
				return err
			}
			var err error
			run, err = s.scope.db.Dialect().DecodeRun(*id, s.scope.id(t.ID), data)
			return err
		})
		if err == nil && t == nil {
			err = threads.NotFound(threadID)
		}
		if err != nil {
			return err
		}
		out = &mailbox.Recent{Thread: &t.Thread, Run: run}
		if messages > 0 {
			out.Messages, err = s.records(ctx, c, t, awaken.MessageQuery{Limit: messages, Last: true})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
