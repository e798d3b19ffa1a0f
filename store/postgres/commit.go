package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

// Commit makes c durable, all or nothing, in one round trip. It does not heed ctx: a
// commit that was cut off could have been made or not, and its owner would not know.
// If the connection is lost it asks again, which is safe, because the number of the
// commit tells whether it was made.
func (s *Store) Commit(ctx context.Context, c *awaken.Commit) error {
	invalid := c.Run.Validate()
	p := &pending{repeat: c.Number != 0, quick: invalid == nil && c.Number != 0 && len(c.Read) == 0 && len(c.State) == 0}
	var err error
	if p.params, err = s.params(c, invalid == nil); err != nil {
		return fmt.Errorf("commit thread %s: %w", c.ThreadID, err)
	}
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

// callCommit makes any commit.
const callCommit = `SELECT {p}_commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29)`

// quickCommit makes a commit that reads no items and changes no state, as most do, in
// half the time. It returns no row if the function must say what is in the way.
const quickCommit = `WITH t AS (
	UPDATE {p}_threads h SET
		committed = $4, updated = $8,
		touched = CASE WHEN h.latest_run = $11 AND h.touched = pg_sequence_last_value('{p}_clock') THEN h.touched ELSE nextval('{p}_clock') END,
		parent = CASE WHEN h.latest_run = '' AND h.parent = '' THEN $10 ELSE h.parent END,
		created = CASE h.created WHEN 0 THEN $8 ELSE h.created END,
		messages = h.messages + coalesce(cardinality($15::text[]), 0), last_seq = greatest(h.last_seq, $17::bigint),
		latest_run = $11, open_run = CASE $13 WHEN 'done' THEN '' ELSE $11 END
	WHERE h.tenant = $1 AND h.id = $2 AND h.fence = $3 AND h.committed <> $4 AND (h.generation = $5 OR NOT $6::boolean)
		AND h.messages = $9 AND h.last_seq < $16 AND (h.unread = 0 OR NOT $7::boolean)
	RETURNING h.touched, h.unread
), m AS (
	INSERT INTO {p}_messages (tenant, thread, seq, created, data)
		SELECT $1, $2, $9 + m.n, $8, m.data FROM t, unnest($15::text[]) WITH ORDINALITY AS m (data, n)
), e AS (
	INSERT INTO {p}_entries (tenant, thread, last, epoch, run, data)
		SELECT $1, $2, $17, $18, $19, $20 FROM t WHERE $20::text IS NOT NULL
), c AS (
	INSERT INTO {p}_calls (tenant, run, step, idx, status, data)
		SELECT $1, $11, c.step, c.idx, c.status, c.data FROM t, unnest($21::bigint[], $22::bigint[], $23::text[], $24::text[]) AS c (step, idx, status, data)
		ON CONFLICT (tenant, run, step, idx) DO UPDATE SET status = excluded.status, data = excluded.data
), r AS (
	INSERT INTO {p}_runs AS r (tenant, id, thread, status, born, data, first_seq, last_seq)
		SELECT $1, $11, $12, $13, t.touched, $14, $16, $17 FROM t
		ON CONFLICT (tenant, id) DO UPDATE SET thread = excluded.thread, status = excluded.status, data = excluded.data,
			first_seq = least(r.first_seq, excluded.first_seq), last_seq = greatest(r.last_seq, excluded.last_seq)
) SELECT (t.unread > 0)::int::bigint FROM t`

// quickParams is how many of the arguments quickCommit takes.
const quickParams = 24

// params are the arguments of the function, in its order.
func (s *Store) params(c *awaken.Commit, isValid bool) (*params, error) {
	p := newParams(29, 1024)
	p.values = append(p.values, []byte(s.tenant))
	p.id(c.ThreadID)
	p.bigint(int64(c.Fence))
	p.bigint(int64(c.Number))
	p.bigint(int64(c.Generation))
	p.boolean(c.Begins)
	p.boolean(c.Rest)
	p.bigint(c.Time)
	p.bigint(int64(c.Expect))
	p.id(c.ParentThreadID)
	if !isValid {
		c = &awaken.Commit{Read: c.Read, Entries: c.Entries[:min(1, len(c.Entries))]} // what the checks need; nothing is written
	}
	p.id(c.Run.RunID)
	p.id(c.Run.ThreadID)
	p.id(string(c.Run.Status))
	run, err := c.Run.AppendJSON(make([]byte, 0, 512))
	if err != nil {
		return nil, err
	}
	p.json(run)
	if err := p.messages(c); err != nil {
		return nil, err
	}
	if err := p.entries(c.Entries); err != nil {
		return nil, err
	}
	if err := p.calls(c.Calls); err != nil {
		return nil, err
	}
	p.state(c)
	p.ids(c.Read)
	p.boolean(isValid)
	return p, nil
}

func (p *params) messages(c *awaken.Commit) error {
	if len(c.Messages) == 0 {
		p.null()
		return nil
	}
	start := p.array(oidText, len(c.Messages))
	data := make([]byte, 0, 512)
	for _, m := range c.Messages {
		var err error
		if data, err = m.AppendJSON(data[:0]); err != nil {
			return fmt.Errorf("message %q: %w", m.ID, err)
		}
		p.jsonElement(data)
	}
	p.end(start)
	return nil
}

// entries writes the entries of a row.
func (p *params) entries(entries []awaken.Entry) (err error) {
	if len(entries) == 0 {
		p.bigint(math.MaxInt64)
		p.bigint(0)
		p.bigint(0)
		p.null()
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
	p.id(entries[0].RunID)
	buf := make([]byte, 0, 192*len(entries))
	for i := range entries {
		if buf, err = appendEntry(append(buf, "[,"[min(i, 1)]), &entries[i], epoch, entries[0].RunID); err != nil {
			return err
		}
	}
	p.json(append(buf, ']'))
	return nil
}

// calls writes the records as four arrays. If a call is there twice, the last counts.
func (p *params) calls(calls []*awaken.CallState) error {
	last := make([]*awaken.CallState, 0, len(calls))
	for i, c := range calls {
		if !slices.ContainsFunc(calls[i+1:], func(o *awaken.CallState) bool { return o.Step == c.Step && o.Index == c.Index }) {
			last = append(last, c)
		}
	}
	if len(last) == 0 {
		p.null()
		p.null()
		p.null()
		p.null()
		return nil
	}
	start := p.array(oidBigint, len(last))
	for _, c := range last {
		p.bigintElement(int64(c.Step))
	}
	p.end(start)
	start = p.array(oidBigint, len(last))
	for _, c := range last {
		p.bigintElement(int64(c.Index))
	}
	p.end(start)
	start = p.array(oidText, len(last))
	for _, c := range last {
		p.idElement(string(c.Status))
	}
	p.end(start)
	start = p.array(oidText, len(last))
	data := make([]byte, 0, 512)
	for _, c := range last {
		var err error
		if data, err = c.AppendJSON(data[:0]); err != nil {
			return fmt.Errorf("call %q: %w", c.CallID, err)
		}
		p.jsonElement(data)
	}
	p.end(start)
	return nil
}

// state writes the changes as three arrays. If a key is there twice, the last counts.
func (p *params) state(c *awaken.Commit) {
	last := make([]state.Change, 0, len(c.State))
	for i, ch := range c.State {
		if !slices.ContainsFunc(c.State[i+1:], func(o state.Change) bool {
			return o.Key == ch.Key && (o.Scope == state.Thread) == (ch.Scope == state.Thread)
		}) {
			last = append(last, ch)
		}
	}
	if len(last) == 0 {
		p.null()
		p.null()
		p.null()
		return
	}
	start := p.array(oidText, len(last))
	for _, ch := range last {
		if ch.Scope == state.Thread {
			p.idElement("")
		} else {
			p.idElement(c.Run.RunID)
		}
	}
	p.end(start)
	start = p.array(oidText, len(last))
	for _, ch := range last {
		p.idElement(ch.Key)
	}
	p.end(start)
	start = p.array(oidText, len(last))
	for _, ch := range last {
		p.jsonElement(ch.Value)
	}
	p.end(start)
}

// ids writes an array of ids.
func (p *params) ids(ids []string) {
	if len(ids) == 0 {
		p.null()
		return
	}
	start := p.array(oidText, len(ids))
	for _, id := range ids {
		p.idElement(id)
	}
	p.end(start)
}
