package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// starter accepts and begins the runs of all tenants. It groups concurrent calls.
type starter struct {
	db    *database
	lanes sqlstore.Lanes[*starting]
}

func newStarter(db *database) *starter {
	s := &starter{db: db}
	s.lanes = lanesOf(s.makeGroup)
	return s
}

// starting is a run that is being accepted, with its first commit. Its ids are escaped.
type starting struct {
	sqlstore.Turn[*starting]
	enqueued
	commit *awaken.Commit
	rows   commitRows
	facets sqlstore.Facets
	edits  int64
	known  bool // its thread is one that this process owned last, not a new one
	done   bool
	floor  int64 // the fence behind which new threads of the tenant begin, or -1 if it was not read
	err    error
}

// Expected returns the checkpoint of a thread as this process knows it.
func (s *scope) Expected(threadID string) *awaken.Checkpoint {
	return s.warm.Expected(s.tenant, threadID)
}

// Start accepts a run and begins it, in one transaction and one round trip. Concurrent calls are grouped. Like Commit, it ignores ctx.
func (s *scope) Start(ctx context.Context, terms mailbox.Terms, d *mailbox.Dispatch, c *awaken.Commit) (bool, error) {
	edits, known := s.warm.Begins(s.tenant, c)
	if !known || c.Run.Validate() != nil || len(c.Read)+len(c.State)+len(c.Calls) > 0 || c.Run.CostUSD != 0 {
		return false, nil
	}
	st := &starting{commit: c, edits: edits, floor: -1, known: d.Checkpoint != nil && (c.Expect > 0 || d.Checkpoint.Run != nil), facets: dialect.Facets(&c.Run)}
	var err error
	if st.enqueued, err = s.enqueued(d); err == nil {
		st.rows, err = encodeRows(c)
	}
	if err != nil {
		return false, fmt.Errorf("start run %s: %w", c.Run.RunID, err)
	}
	st.confined, st.consumer, st.lease, st.token = terms.Confined, escape(terms.Start.Consumer), terms.Start.Lease.Milliseconds(), escape(d.ClaimToken)
	st.Owner = s.tenant
	if s.starter.lanes.Do(context.WithoutCancel(ctx), st); st.err != nil {
		s.warm.Drop(s.tenant, c.ThreadID)
		return false, fmt.Errorf("start run %s: %w", c.Run.RunID, st.err)
	}
	if !st.done {
		if st.floor >= 0 {
			s.warm.SetFloor(s.tenant, uint64(st.floor))
		}
		return false, nil
	}
	s.warm.Started(s.tenant, d.Request.UserID, c)
	c.Unread = false
	d.Tenant, d.Status, d.Epoch, d.ClaimedBy, d.Fresh = unescape(s.tenant), mailbox.Claimed, st.epoch, terms.Start.Consumer, true
	d.CreatedAt, d.UpdatedAt, d.AvailableAt, d.LeaseUntil = st.at, st.at, st.at, st.at+st.lease
	if d.End = (awaken.Cursor{}); st.known {
		d.End = awaken.Cursor{Epoch: c.Fence - 1, Seq: d.Checkpoint.Thread.End.Seq}
	}
	return true, nil
}

// changedMeanwhile is the error code of the SQL function start for a thread that changed in a way that it did not see.
const changedMeanwhile = "AW002"

// makeGroup starts runs in one transaction. If that fails, it starts each alone.
func (s *starter) makeGroup(ctx context.Context, calls []*starting) {
	ctx, cancel := context.WithTimeout(ctx, s.db.timeout)
	defer cancel()
	if len(calls) > 1 && s.start(ctx, calls) == nil {
		return
	}
	for i, c := range calls {
		tried := len(calls) > 1
		c.err = retry(ctx, func() error {
			err := s.start(ctx, calls[i:i+1])
			if e, ok := errors.AsType[*pgconn.PgError](err); ok && (e.Code == "23505" || e.Code == changedMeanwhile) {
				err = nil // something of it is in use, or was written by an earlier attempt
			}
			if err == nil && !c.done && tried {
				err = s.find(ctx, c)
			}
			tried = true
			return err
		})
	}
}

// start starts runs in one transaction. Those that it started are done.
func (s *starter) start(ctx context.Context, calls []*starting) error {
	ordered := slices.Clone(calls) // groups write in the same order, so that they do not deadlock
	slices.SortFunc(ordered, func(a, b *starting) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
	})
	var c, texts columns
	messages := int64(0)
	for _, r := range ordered {
		for _, s := range [...]string{r.tenant, r.thread, r.run, r.id, r.token, r.consumer} {
			c.text(s)
		}
		c.number(r.lease)
		c.number(r.priority)
		c.number(r.max)
		for _, s := range [...]string{r.dedupe, r.key, r.digest, r.request, r.message, r.said, r.user} {
			c.text(s)
		}
		c.flag(r.confined)
		c.flag(r.known)
		for _, n := range [...]int64{int64(r.commit.Fence), int64(r.commit.Number), int64(r.commit.Generation), r.edits, int64(r.commit.Expect), r.commit.Time,
			r.rows.first, r.rows.last, r.rows.epoch} {
			c.number(n)
		}
		c.json(r.rows.record)
		c.id(r.commit.ParentThreadID)
		c.text(r.facets.Agent)
		c.text(r.facets.Version)
		c.text(r.facets.Origin)
		c.number(r.facets.Created)
		c.json(r.rows.entries)
		c.number(messages)
		c.number(int64(len(r.rows.messages)))
		c.endRow()
		for _, m := range r.rows.messages {
			texts.json(m)
			texts.endRow()
		}
		messages += int64(len(r.rows.messages))
	}
	return s.db.callRow(ctx, `SELECT * FROM {p}_start(`+startArguments+`)`, c.values(&texts), func(row [][]byte) {
		epochs := arrayOf(row[2], bigintOf)
		for i, place := range arrayOf(row[1], bigintOf) {
			r := ordered[place-1]
			r.done, r.at, r.epoch = true, bigintOf(row[0]), uint64(epochs[i])
		}
		for i, floor := range arrayOf(row[3], bigintOf) {
			ordered[i].floor = floor
		}
	})
}

var startArguments = numbered(37)

// find finds out whether an earlier attempt has started a run.
func (s *starter) find(ctx context.Context, r *starting) error {
	return s.db.query(ctx, `SELECT d.epoch, d.created FROM {p}_dispatches d JOIN {p}_queues q ON q.tenant = d.tenant AND q.id = d.thread
		WHERE d.tenant = $1 AND d.id = $2 AND q.claimed = d.id AND q.token = $3`, []any{r.tenant, r.id, r.token}, func() {}, func(rows pgx.Rows) error {
		r.done = true
		return rows.Scan(&r.epoch, &r.at)
	})
}
