package postgres

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/entryrow"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// finisher ends the runs of all tenants. It groups concurrent calls.
type finisher struct {
	db    *database
	lanes sqlstore.Lanes[*finishing]
}

func newFinisher(db *database) *finisher {
	f := &finisher{db: db}
	f.lanes = lanesOf(f.makeGroup)
	return f
}

// finishing is a commit that ends a run, with the settlement of its dispatch.
type finishing struct {
	sqlstore.Turn[*finishing]
	commitRows
	tenant     string
	commit     *awaken.Commit
	settlement *mailbox.Settlement
	facets     sqlstore.Facets
	done       bool
	ready      bool // a dispatch of its thread can be claimed, now or later
}

// finish ends a run in the statement that ends others, too. It reports false if the run needs the statements that say why it cannot, or do more.
func (s *scope) finish(ctx context.Context, c *awaken.Commit, x *mailbox.Settlement, wake *mailbox.Dispatch) (out mailbox.Settled, done bool, err error) {
	run := &c.Run
	if run.Validate() != nil || run.Status != awaken.RunDone || run.ThreadID != c.ThreadID || c.Number == 0 || len(c.Read)+len(c.State) > 0 || wake != nil ||
		x.Status != mailbox.Acked && x.Status != mailbox.Cancelled || x.Failed || x.Error != "" || len(s.commits.marks.New(s.tenant, c)) > 0 {
		return out, false, nil
	}
	f := &finishing{tenant: s.tenant, commit: c, settlement: x, facets: dialect.Facets(run)}
	if f.commitRows, err = encodeRows(c); err != nil {
		return out, false, err
	}
	f.Owner = s.tenant
	s.finisher.lanes.Do(context.WithoutCancel(ctx), f)
	if !f.done {
		return out, false, nil
	}
	c.Unread = false
	s.commits.marks.Written(s.tenant, c, nil)
	return mailbox.Settled{Settled: true, Ready: f.ready}, true, nil
}

// makeGroup ends runs in one transaction. What fails is left to the function for one run, which can be repeated.
func (f *finisher) makeGroup(ctx context.Context, calls []*finishing) {
	ctx, cancel := context.WithTimeout(ctx, f.db.timeout)
	defer cancel()
	ordered := slices.Clone(calls)
	slices.SortFunc(ordered, func(a, b *finishing) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.commit.ThreadID, b.commit.ThreadID))
	})
	var c, texts, ledger columns
	var messages, calls64 int64
	for _, r := range ordered {
		cm, x := r.commit, r.settlement
		c.text(r.tenant)
		c.id(cm.ThreadID)
		c.id(cm.Run.RunID)
		generation := int64(-1)
		if cm.Begins {
			generation = int64(cm.Generation)
		}
		for _, n := range [...]int64{int64(cm.Fence), int64(cm.Number), generation, cm.Time, int64(cm.Expect), r.first, r.last, r.epoch} {
			c.number(n)
		}
		c.json(r.record)
		c.json(r.entries)
		for _, n := range [...]int64{messages, int64(len(r.messages)), calls64, int64(len(r.calls))} {
			c.number(n)
		}
		for _, t := range [...]string{r.facets.Agent, r.facets.Version, r.facets.Origin, r.facets.Parent, r.facets.Detail, r.facets.Error} {
			c.text(t)
		}
		c.number(r.facets.Cost)
		c.number(r.facets.Created)
		c.id(x.ID)
		c.id(x.Token)
		c.text(string(x.Status))
		c.number(int64(max(x.Steps, 0)))
		c.flag(cm.Run.Termination.Type == awaken.Cancelled)
		c.endRow()
		for _, m := range r.messages {
			texts.json(m)
			texts.endRow()
		}
		for _, call := range r.calls {
			ledger.json(call)
			ledger.endRow()
		}
		messages, calls64 = messages+int64(len(r.messages)), calls64+int64(len(r.calls))
	}
	_ = f.db.callRow(ctx, `SELECT * FROM {p}_finish_all(`+finishArguments+`)`, c.values(&texts, &ledger), func(row [][]byte) {
		ready := arrayOf(row[1], boolOf)
		for i, place := range arrayOf(row[0], bigintOf) {
			ordered[place-1].done, ordered[place-1].ready = true, ready[i]
		}
	})
}

var finishArguments = numbered(32)

// commitRows is what a commit writes, encoded.
type commitRows struct {
	record   []byte   // the run, JSON, like the fields below
	messages [][]byte // one each, like the calls
	calls    [][]byte
	entries  []byte // all
	first    int64  // sequence number of the first entry; MaxInt64 without entries
	last     int64  // highest sequence number of the entries, or 0
	epoch    int64  // highest of the entries; without entries, the fence
}

// encodeRows encodes what a commit writes.
func encodeRows(c *awaken.Commit) (r commitRows, err error) {
	if r.record, err = sqlstore.AppendRun(make([]byte, 0, 1024), &c.Run); err != nil {
		return r, err
	}
	if r.messages, err = encodeAll(c.Messages); err != nil {
		return r, err
	}
	if r.calls, err = encodeAll(c.Calls); err != nil {
		return r, err
	}
	r.first, r.epoch = math.MaxInt64, int64(c.Fence)
	if len(c.Entries) == 0 {
		return r, nil
	}
	r.first, r.epoch = int64(c.Entries[0].Seq), 0
	for i := range c.Entries {
		r.last, r.epoch = max(r.last, int64(c.Entries[i].Last())), max(r.epoch, int64(c.Entries[i].Epoch))
	}
	for i := range c.Entries {
		if r.entries, err = entryrow.Append(append(r.entries, "[,"[min(i, 1)]), &c.Entries[i], uint64(r.epoch), c.Run.RunID); err != nil {
			return r, err
		}
	}
	r.entries = append(r.entries, ']')
	return r, nil
}

// encodeAll encodes messages or calls.
func encodeAll[T interface {
	AppendJSON(buf []byte) ([]byte, error)
}](list []T) (out [][]byte, err error) {
	for _, v := range list {
		data, err := v.AppendJSON(nil)
		if err != nil {
			return nil, err
		}
		out = append(out, data)
	}
	return out, nil
}
