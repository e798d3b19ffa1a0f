package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// CommitAndSettle makes a commit that ends or parks a run, and settles its dispatches in the
// same transaction and the same round trip. Like Commit, it ignores ctx.
func (s *scope) CommitAndSettle(ctx context.Context, c *awaken.Commit, x mailbox.Settlement, wake *mailbox.Dispatch) (out mailbox.Settled, err error) {
	p := &pending{repeat: c.Number != 0, settles: s.settling(c, &x, wake)}
	defer p.settles.params.free()
	err = s.commit(ctx, c, p)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == voidClaim {
		err = awaken.ErrFenced
	}
	if err != nil {
		return out, err
	}
	out.Settled, out.Ready = p.settles.code > 0, p.settles.code == 2
	if out.Ready {
		s.announcer.announce(mailbox.Signal{Ready: true})
	}
	return out, nil
}

// voidClaim is the error code of the SQL function hold for a claim that is void.
const voidClaim = "AW001"

// The statements around a commit that settles a claim and adds marks.
const (
	holdQueue = `SELECT {p}_hold($1, $2, $3, $4, $5, $6)`
	endRun    = `SELECT {p}_end($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`
)

// finishRun does the same as the statements around a commit and anyCommit, in one.
var finishRun = `SELECT * FROM {p}_finish(` + numbered(anyCommit.params+anyCommit.more+settleParams) + `)`

// settleParams is the number of arguments of finishRun that are not of the commit.
const settleParams = 14

// numbered returns n parameters.
func numbered(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("$%d", i+1)
	}
	return strings.Join(list, ", ")
}

// finish returns the arguments of finishRun. The commit has some of those of endRun.
func (p *pending) finish() [][]byte {
	s := p.settles.params.values
	return slices.Concat(anyCommit.arguments(p.params.values), s[4:6], s[7:])
}

// judgeFinish reads the result of finishRun.
func (p *pending) judgeFinish(r *pgconn.ResultReader) {
	for r.NextRow() {
		p.made, p.code, p.settles.code = true, int64(binary.BigEndian.Uint64(r.Values()[0])), int64(binary.BigEndian.Uint64(r.Values()[1]))
	}
}

// settling is what a commit settles.
type settling struct {
	params *params // of endRun; the first of them are those of holdQueue
	code   int64   // result of endRun
}

// judge reads the result of endRun.
func (s *settling) judge(r *pgconn.ResultReader) {
	for r.NextRow() {
		s.code = int64(binary.BigEndian.Uint64(r.Values()[0]))
	}
}

// heldParams is the number of leading arguments of endRun that holdQueue takes.
const heldParams = 6

func (s *scope) settling(c *awaken.Commit, x *mailbox.Settlement, wake *mailbox.Dispatch) *settling {
	p := newParams()
	p.values = append(p.values, []byte(s.tenant))
	p.id(c.ThreadID)
	p.bigint(int64(c.Fence))
	p.bigint(int64(c.Number))
	p.id(x.ID)
	p.id(x.Token)
	p.id(c.Run.RunID)
	p.boolean(c.Run.Status == awaken.RunDone)
	p.boolean(c.Run.Termination.Type == awaken.Cancelled)
	p.bigint(int64(x.Steps))
	p.id(string(x.Status))
	p.bigint(max(x.Delay.Milliseconds(), 0))
	p.boolean(x.Failed)
	p.id(x.Error)
	if wake == nil {
		wake = new(mailbox.Dispatch)
	}
	p.id(wake.ID)
	p.bigint(wake.AvailableAt)
	p.bigint(int64(wake.Priority))
	p.bigint(int64(wake.MaxAttempts))
	p.bigint(int64(wake.Steps))
	return &settling{params: p}
}
