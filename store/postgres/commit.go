package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/entryrow"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// Commit makes c durable, all or nothing, in one round trip. It does not heed ctx: a
// commit that was cut off could have been made or not, and its owner would not know.
// If the connection is lost it asks again, which is safe, because the number of the
// commit tells whether it was made.
func (s *Store) Commit(ctx context.Context, c *awaken.Commit) error {
	invalid := c.Run.Validate()
	p := &pending{repeat: c.Number != 0, quick: invalid == nil && isStep(c)}
	var err error
	if p.params, err = s.params(c, invalid == nil); err != nil {
		return fmt.Errorf("commit thread %s: %w", c.ThreadID, err)
	}
	defer p.params.free()
	code, err := s.db.commit(context.WithoutCancel(ctx), p)
	if err != nil {
		return fmt.Errorf("commit thread %s: %w", c.ThreadID, err)
	}
	switch { // the function in 0001_init.sql explains the codes
	case code == 0 || code == 1:
		c.Unread = code == 1
		return nil
	case code == -1:
		return noThread(c.ThreadID)
	case code == -2:
		return awaken.ErrFenced
	case code == -3:
		return awaken.ErrGeneration
	case code == -4:
		return awaken.ErrUnread
	case code == -5:
		return fmt.Errorf("%w: %w", awaken.ErrInvalid, invalid)
	case code == -6:
		return fmt.Errorf("%w: event %d of thread %s is stored already", awaken.ErrConflict, c.Entries[0].Seq, c.ThreadID)
	case code <= -10:
		return &awaken.ConflictError{ThreadID: c.ThreadID, Expected: c.Expect, Have: int(-10 - code)}
	}
	return fmt.Errorf("commit thread %s: unknown outcome %d", c.ThreadID, code)
}

// isStep reports whether a commit looks like one in the middle of a run.
func isStep(c *awaken.Commit) bool {
	return c.Number > 1 && c.Run.Status == awaken.RunRunning && c.Run.ThreadID == c.ThreadID && !c.Rest && len(c.Read) == 0 && len(c.State) == 0
}

// callCommit makes any commit.
const callCommit = `SELECT {p}_commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)`

// stepCommit makes a commit in the middle of a run, as most are, and writes no more than
// two rows. It returns none if the function must say what is in the way.
const stepCommit = `WITH t AS (
	UPDATE {p}_threads h SET
		committed = $4, updated = $6, commits = h.commits + 1, messages = h.messages + coalesce(cardinality($10::text[]), 0),
		last_seq = greatest(h.last_seq, $12), run = $9,
		touched = CASE WHEN h.touched = pg_sequence_last_value('{p}_clock') THEN h.touched ELSE nextval('{p}_clock') END
	WHERE h.tenant = $1 AND h.id = $2 AND h.fence = $3 AND h.committed <> $4 AND (h.generation = $5 OR $5 < 0)
		AND h.messages = $7 AND h.last_seq < $11 AND h.open_run = $8 AND h.run IS NOT NULL
	RETURNING h.last_seq, h.commits, h.messages, h.unread
) INSERT INTO {p}_commits (tenant, thread, last, n, upto, time, run, epoch, messages, entries, calls)
	SELECT $1, $2, t.last_seq, t.commits, t.messages, $6, $8, $13, $10, $14, $15 FROM t
	RETURNING (SELECT (t.unread > 0)::int::bigint FROM t)`

// stepParams is how many of the arguments stepCommit takes.
const stepParams = 15

// params are the arguments of the function, in its order.
func (s *Store) params(c *awaken.Commit, isValid bool) (*params, error) {
	p := newParams()
	p.values = append(p.values, []byte(s.tenant))
	p.id(c.ThreadID)
	p.bigint(int64(c.Fence))
	p.bigint(int64(c.Number))
	if c.Begins {
		p.bigint(int64(c.Generation))
	} else {
		p.bigint(-1)
	}
	p.bigint(c.Time)
	p.bigint(int64(c.Expect))
	rest, parent := c.Rest, c.ParentThreadID
	if !isValid {
		c = &awaken.Commit{Read: c.Read, Entries: c.Entries[:min(1, len(c.Entries))]} // what the checks need; nothing is written
	}
	p.id(c.Run.RunID)
	start := len(p.buf)
	var err error
	if p.buf, err = c.Run.AppendJSON(p.buf); err != nil {
		return nil, err
	}
	p.json(start)
	if err := p.messages(c.Messages); err != nil {
		return nil, err
	}
	if err := p.entries(c.Entries, c.Run.RunID); err != nil {
		return nil, err
	}
	if err := p.calls(c.Calls); err != nil {
		return nil, err
	}
	p.boolean(rest)
	p.id(parent)
	p.id(c.Run.ThreadID)
	p.id(string(c.Run.Status))
	p.state(c)
	p.ids(c.Read)
	p.boolean(isValid)
	return p, nil
}

func (p *params) messages(messages []*llm.Message) error {
	if len(messages) == 0 {
		p.null()
		return nil
	}
	start := p.array(len(messages))
	for _, m := range messages {
		at := p.element()
		var err error
		if p.buf, err = m.AppendJSON(p.buf); err != nil {
			return fmt.Errorf("message %q: %w", m.ID, err)
		}
		p.endElement(at)
	}
	p.end(start)
	return nil
}

// entries writes the entries of a row of that run.
func (p *params) entries(entries []awaken.Entry, runID string) (err error) {
	if len(entries) == 0 {
		p.bigint(math.MaxInt64)
		p.bigint(0)
		p.bigint(0)
		p.null()
		return nil
	}
	var last, epoch uint64
	for i := range entries {
		last, epoch = max(last, entries[i].Last()), max(epoch, entries[i].Epoch)
	}
	p.bigint(int64(entries[0].Seq))
	p.bigint(int64(last))
	p.bigint(int64(epoch))
	start := len(p.buf)
	for i := range entries {
		if p.buf, err = entryrow.Append(append(p.buf, "[,"[min(i, 1)]), &entries[i], epoch, runID); err != nil {
			return err
		}
	}
	p.buf = append(p.buf, ']')
	p.json(start)
	return nil
}

func (p *params) calls(calls []*awaken.CallState) error {
	if len(calls) == 0 {
		p.null()
		return nil
	}
	start := p.array(len(calls))
	for _, c := range calls {
		at := p.element()
		var err error
		if p.buf, err = c.AppendJSON(p.buf); err != nil {
			return fmt.Errorf("call %q: %w", c.CallID, err)
		}
		p.endElement(at)
	}
	p.end(start)
	return nil
}

// state writes the changes as three arrays. If a key is there twice, the last counts.
func (p *params) state(c *awaken.Commit) {
	if len(c.State) == 0 {
		p.null()
		p.null()
		p.null()
		return
	}
	last := make([]state.Change, 0, len(c.State))
	for i, ch := range c.State {
		if !slices.ContainsFunc(c.State[i+1:], func(o state.Change) bool {
			return o.Key == ch.Key && (o.Scope == state.Thread) == (ch.Scope == state.Thread)
		}) {
			last = append(last, ch)
		}
	}
	start := p.array(len(last))
	for _, ch := range last {
		if ch.Scope == state.Thread {
			p.idElement("")
		} else {
			p.idElement(c.Run.RunID)
		}
	}
	p.end(start)
	start = p.array(len(last))
	for _, ch := range last {
		p.idElement(ch.Key)
	}
	p.end(start)
	start = p.array(len(last))
	for _, ch := range last {
		if ch.Value == nil {
			p.nullElement()
			continue
		}
		at := p.element()
		p.buf = append(p.buf, ch.Value...)
		p.endElement(at)
	}
	p.end(start)
}

// ids writes an array of ids.
func (p *params) ids(ids []string) {
	if len(ids) == 0 {
		p.null()
		return
	}
	start := p.array(len(ids))
	for _, id := range ids {
		p.idElement(id)
	}
	p.end(start)
}
