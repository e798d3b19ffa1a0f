package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/entryrow"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// Commit makes c durable, all or nothing, in one round trip. It ignores ctx, because the
// owner would not know the outcome of a cancelled commit. If the connection is lost it
// repeats the commit, which is safe: the number of the commit shows whether it was applied.
func (s *scope) Commit(ctx context.Context, c *awaken.Commit) error {
	return s.commit(ctx, c, &pending{repeat: c.Number != 0})
}

// commit makes a commit that p describes, and keeps what it leaves.
func (s *scope) commit(ctx context.Context, c *awaken.Commit, p *pending) error {
	err := s.apply(ctx, c, p)
	if err != nil {
		s.warm.Drop(s.tenant, c.ThreadID)
	} else {
		s.warm.Committed(s.tenant, c)
	}
	return err
}

// apply makes a commit that p describes.
func (s *scope) apply(ctx context.Context, c *awaken.Commit, p *pending) error {
	invalid := c.Run.Validate()
	if invalid == nil {
		p.quick = s.commits.quickly(c)
	}
	var err error
	marks := s.commits.marks.New(s.tenant, c)
	if p.params, err = s.params(c, marks, invalid == nil); err != nil {
		return fmt.Errorf("commit thread %s: %w", c.ThreadID, err)
	}
	defer p.params.free()
	if len(marks) > 0 {
		if p.quick == &stepCommit {
			p.quick = &markedStepCommit
		} else {
			p.quick = nil
		}
	}
	p.Owner = s.tenant
	s.commits.lanes.Do(context.WithoutCancel(ctx), p)
	if p.err != nil {
		return fmt.Errorf("commit thread %s: %w", c.ThreadID, p.err)
	}
	switch code := p.code; { // functions/commit.sql documents the codes
	case code == 0 || code == 1:
		c.Unread = code == 1
		s.commits.marks.Written(s.tenant, c, marks)
		return nil
	case code == -1:
		return threads.NotFound(c.ThreadID)
	case code == -2:
		return awaken.ErrFenced
	case code == -3:
		return awaken.ErrGeneration
	case code == -4:
		return awaken.ErrUnread
	case code == -5:
		return fmt.Errorf("%w: %w", awaken.ErrInvalid, invalid)
	case code == -6:
		return fmt.Errorf("%w: event %d of thread %s is already stored", awaken.ErrConflict, c.Entries[0].Seq, c.ThreadID)
	case code <= -10:
		return &awaken.ConflictError{ThreadID: c.ThreadID, Expected: c.Expect, Have: int(-10 - code)}
	}
	return fmt.Errorf("commit thread %s: unknown result code %d", c.ThreadID, p.code)
}

// The arguments of a commit: the first of them, and the places of the others.
const (
	leadingParams = 25 // up to the user of a new thread
	facetsParam   = leadingParams
	marksParam    = leadingParams + 1
	commitParams  = leadingParams + 2
)

// anyCommit calls the SQL function that applies any commit.
var anyCommit = shortcut{`SELECT {p}_commit(` + numbered(commitParams) + `)`, commitParams, 0}

// firstOfUser reports whether a commit may be the first on a thread that belongs to a user. A
// thread that a dispatch created has its user already.
func firstOfUser(c *awaken.Commit) bool {
	return c.Number == 1 && c.Run.UserID != "" && c.Run.DispatchID == ""
}

// shortcut is a statement that applies a kind of commit. One for a common kind returns no row
// if the function must refuse the commit or has more to do.
type shortcut struct {
	query  string
	params int // the number of leading arguments that it takes
	also   int // the place of one that it takes behind them, or 0
}

// arguments returns those of the values that the statement takes.
func (s *shortcut) arguments(values [][]byte) [][]byte {
	if s.also == 0 {
		return values[:s.params]
	}
	return append(slices.Clip(values[:s.params]), values[s.also])
}

// quickly returns the shortcut for a commit, or nil.
func quickly(c *awaken.Commit) *shortcut {
	run := &c.Run
	switch {
	case c.Number == 0 || run.ThreadID != c.ThreadID || len(c.Read) > 0 || len(c.State) > 0:
	case c.Number > 1 && run.Status == awaken.RunRunning && !c.RequireEmptyInbox:
		return &stepCommit
	case c.Number > 1 && run.Status == awaken.RunDone:
		return &endCommit
	case c.Number == 1 && run.Status == awaken.RunRunning && !c.RequireEmptyInbox && run.Output.FromSeq == 0 && run.CostUSD == 0 && !firstOfUser(c):
		return &startCommit
	}
	return nil
}

// The parts that shortcuts share: they check the thread as commits are checked, and insert
// one row for the commit.
const (
	quickThread = `committed = $4, updated = $6, commits = h.commits + 1, messages = h.messages + coalesce(cardinality($10::text[]), 0),
		last_seq = greatest(h.last_seq, $12)`
	quickGuard = `h.tenant = $1 AND h.id = $2 AND h.fence = $3 AND h.committed <> $4 AND (h.generation = $5 OR $5 < 0)
		AND h.messages = $7 AND h.last_seq < $11`
	quickTouched = `CASE WHEN h.touched = pg_sequence_last_value('{p}_clock') THEN h.touched ELSE nextval('{p}_clock') END`
	quickInsert  = `INSERT INTO {p}_commits (tenant, thread, last, n, upto, time, run, epoch, messages, entries, calls)
	SELECT $1, $2, t.last_seq, t.commits, t.messages, $6, $8, $13, $10, $14, $15 FROM t
	RETURNING (SELECT (t.unread > 0)::int::bigint FROM t)`
)

// stepCommit applies a commit in the middle of a run, the most common kind. It writes two
// rows. The thread keeps its place in the order of threads, so its row changes in place.
var stepCommit = shortcut{`WITH t AS (
	UPDATE {p}_threads h SET ` + quickThread + `, run = $9
	WHERE ` + quickGuard + ` AND h.open_run = $8 AND h.run IS NOT NULL
	RETURNING h.last_seq, h.commits, h.messages, h.unread
) ` + quickInsert, 15, 0}

// markedStepCommit is a stepCommit that also adds marks to the run.
var markedStepCommit = shortcut{strings.TrimSuffix(stepCommit.query, ` `+quickInsert) + `, m AS (
	INSERT INTO {p}_run_marks (tenant, run, mark, born)
		SELECT $1, $8, m.mark, r.born FROM {p}_runs r, unnest($16::text[]) AS m (mark) WHERE r.tenant = $1 AND r.id = $8 AND EXISTS (SELECT FROM t)
		ON CONFLICT DO NOTHING
) ` + quickInsert, 15, marksParam}

// endCommit applies the last commit of a running run.
var endCommit = shortcut{`WITH t AS (
	UPDATE {p}_threads h SET ` + quickThread + `, run = NULL, open_run = '', touched = ` + quickTouched + `
	WHERE ` + quickGuard + ` AND h.open_run = $8 AND h.run IS NOT NULL AND (h.unread = 0 OR NOT $16)
	RETURNING h.last_seq, h.commits, h.messages, h.unread
), r AS (
	UPDATE {p}_runs r SET status = 'done', data = $9, last_seq = (SELECT t.last_seq FROM t),
		agent = f[1], version = f[2], origin = f[3], parent = f[4], detail = f[5], error = f[6], cost = f[7]::bigint, created = f[8]::bigint
	FROM (SELECT $17::text[]) x (f)
	WHERE r.tenant = $1 AND r.id = $8 AND EXISTS (SELECT FROM t)
) ` + quickInsert, 16, facetsParam}

// startCommit applies the first commit of a run that has no record yet, on a thread without
// an open run.
var startCommit = shortcut{`WITH t AS (
	UPDATE {p}_threads h SET ` + quickThread + `, run = $9, open_run = $8, latest_run = $8, touched = nextval('{p}_clock'),
		parent = CASE WHEN h.latest_run = '' AND h.parent = '' THEN $17 ELSE h.parent END, created = CASE h.created WHEN 0 THEN $6 ELSE h.created END
	WHERE ` + quickGuard + ` AND h.open_run = '' AND NOT $16 AND NOT EXISTS (SELECT FROM {p}_runs r WHERE r.tenant = $1 AND r.id = $8)
	RETURNING h.last_seq, h.commits, h.messages, h.unread, h.touched, h.user_id
), r AS (
	INSERT INTO {p}_runs (tenant, id, thread, status, born, data, first_seq, last_seq, agent, version, origin, parent, detail, error, cost, created, user_id)
		SELECT $1, $8, $2, 'running', coalesce((SELECT d.born FROM {p}_dispatches d WHERE d.tenant = $1 AND d.run = $8 AND d.born IS NOT NULL), t.touched),
			$9, least(t.last_seq, $11 - 1), 9223372036854775807, f[1], f[2], f[3], f[4], f[5], f[6], f[7]::bigint, f[8]::bigint, t.user_id FROM t, (SELECT $18::text[]) x (f)
) ` + quickInsert, 17, facetsParam}

// params returns the arguments of anyCommit. The marks are added to the run.
func (s *scope) params(c *awaken.Commit, marks []string, isValid bool) (*params, error) {
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
	rest, parent, user := c.RequireEmptyInbox, c.ParentThreadID, ""
	if firstOfUser(c) {
		user = c.Run.UserID
	}
	if !isValid {
		c = &awaken.Commit{Read: c.Read, Entries: c.Entries[:min(1, len(c.Entries))]} // enough for the checks; the function writes nothing
	}
	p.id(c.Run.RunID)
	start := len(p.buf)
	var err error
	if p.buf, err = sqlstore.AppendRun(p.buf, &c.Run); err != nil {
		return nil, err
	}
	p.json(start)
	if err := documents(p, "message", c.Messages); err != nil {
		return nil, err
	}
	if err := p.entries(c); err != nil {
		return nil, err
	}
	if err := documents(p, "call", c.Calls); err != nil {
		return nil, err
	}
	p.boolean(rest)
	p.id(parent)
	p.id(c.Run.ThreadID)
	p.id(string(c.Run.Status))
	p.state(c)
	p.array(len(c.Read), func(i int) { p.idElement(c.Read[i]) })
	p.boolean(isValid)
	p.id(user)
	p.facets(&c.Run)
	p.array(len(marks), func(i int) { p.idElement(marks[i]) })
	return p, nil
}

// facets adds what lists of runs select by, as an array.
func (p *params) facets(r *awaken.Run) {
	f := dialect.Facets(r)
	texts := [...]string{f.Agent, f.Version, f.Origin, f.Parent, f.Detail, f.Error}
	numbers := [...]int64{f.Cost, f.Created}
	p.array(len(texts)+len(numbers), func(i int) {
		at := p.element()
		if i < len(texts) {
			p.buf = append(p.buf, texts[i]...)
		} else {
			p.buf = strconv.AppendInt(p.buf, numbers[i-len(texts)], 10)
		}
		p.endElement(at)
	})
}

// entries adds the first and last sequence number, the highest epoch and the entries. The epoch of a
// commit without entries is its fence, so that its row names its owner.
func (p *params) entries(c *awaken.Commit) (err error) {
	entries := c.Entries
	if len(entries) == 0 {
		p.bigint(math.MaxInt64)
		p.bigint(0)
		p.bigint(int64(c.Fence))
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
		if p.buf, err = entryrow.Append(append(p.buf, "[,"[min(i, 1)]), &entries[i], epoch, c.Run.RunID); err != nil {
			return err
		}
	}
	p.buf = append(p.buf, ']')
	p.json(start)
	return nil
}

// state adds the changes as three arrays. Of several changes of a key, the last wins.
func (p *params) state(c *awaken.Commit) {
	last := make([]state.Change, 0, len(c.State))
	for i, ch := range c.State {
		if !slices.ContainsFunc(c.State[i+1:], func(o state.Change) bool {
			return o.Key == ch.Key && (o.Scope == state.Thread) == (ch.Scope == state.Thread)
		}) {
			last = append(last, ch)
		}
	}
	p.array(len(last), func(i int) {
		if last[i].Scope == state.Thread {
			p.idElement("")
		} else {
			p.idElement(c.Run.RunID)
		}
	})
	p.array(len(last), func(i int) { p.idElement(last[i].Key) })
	p.array(len(last), func(i int) {
		if last[i].Value == nil {
			p.nullElement()
			return
		}
		at := p.element()
		p.buf = append(p.buf, last[i].Value...)
		p.endElement(at)
	})
}
