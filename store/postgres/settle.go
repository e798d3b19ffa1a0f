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
	out, done, err := s.finish(ctx, c, &x, wake)
	if err != nil {
		return out, fmt.Errorf("commit thread %s: %w", c.ThreadID, err)
	}
	if done {
		s.warm.Committed(s.tenant, c)
		if out.Ready {
			s.announcer.announce(mailbox.Signal{Ready: true})
		}
		return out, nil
	}
	p := &pending{repeat: c.Number != 0, settles: newSettling(c, &x, wake)}
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

// voidClaim is the error code of the SQL functions hold and finish for a claim that is void.
const voidClaim = "AW001"

// holdQueue locks a queue before the commits of a group, because queues are locked before threads.
const holdQueue = `SELECT {p}_hold($1, $2, $3, $4, $5, $6)`

// finishRun makes a commit and settles its claim.
var finishRun = `SELECT * FROM {p}_finish(` + numbered(commitParams+settleParams) + `)`

// heldParams is the number of arguments of a commit that are leading ones of holdQueue, and settleParams the number of arguments
// of finishRun behind those of the commit, which begin with the others of holdQueue.
const (
	heldParams   = 4
	settleParams = 14
)

// numbered returns n parameters.
func numbered(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("$%d", i+1)
	}
	return strings.Join(list, ", ")
}

// hold returns the arguments of holdQueue.
func (p *pending) hold() [][]byte {
	return slices.Concat(p.params.values[:heldParams], p.settles.params.values[:2])
}

// finish returns the arguments of finishRun.
func (p *pending) finish() [][]byte {
	return slices.Concat(p.params.values, p.settles.params.values)
}

// judgeFinish reads the result of finishRun.
func (p *pending) judgeFinish(r *pgconn.ResultReader) {
	for r.NextRow() {
		p.made, p.code, p.settles.code = true, int64(binary.BigEndian.Uint64(r.Values()[0])), int64(binary.BigEndian.Uint64(r.Values()[1]))
	}
}

// settling is what a commit settles.
type settling struct {
	params *params // of finishRun, behind those of the commit
	code   int64   // whether it was settled
}

func newSettling(c *awaken.Commit, x *mailbox.Settlement, wake *mailbox.Dispatch) *settling {
	p := newParams()
	p.id(x.ID)
	p.id(x.Token)
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
