package mailboxtest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/memory"
)

// faulty is a queue with a fault: the functions stand in for its methods.
type faulty struct {
	*memory.DB
	ahead   atomic.Int64
	change  func(t *mailbox.Thread)
	enqueue func(d *mailbox.Dispatch)
	claim   func(ds []*mailbox.Dispatch) []*mailbox.Dispatch
	renew   func(r []mailbox.Renewal)
	settle  func(s []mailbox.Settlement) ([]error, error)
	reclaim func() (int, error)
}

type faultyHandle struct {
	mailbox.Handle
	q *faulty
}

func (q *faulty) Handle(tenant string) mailbox.Handle { return faultyHandle{q.DB.Handle(tenant), q} }

func (h faultyHandle) Change(ctx context.Context, thread string, fn func(t *mailbox.Thread) error) error {
	return h.Handle.Change(ctx, thread, func(t *mailbox.Thread) error {
		err := fn(t)
		if h.q.change != nil {
			h.q.change(t)
		}
		return err
	})
}

func (h faultyHandle) Enqueue(ctx context.Context, terms mailbox.Terms, ds ...*mailbox.Dispatch) ([]int, error) {
	if h.q.enqueue != nil {
		for _, d := range ds {
			h.q.enqueue(d)
		}
	}
	return h.Handle.Enqueue(ctx, terms, ds...)
}

func (q *faulty) Claim(ctx context.Context, c mailbox.ClaimRequest) ([]*mailbox.Dispatch, time.Duration, error) {
	ds, next, err := q.DB.Claim(ctx, c)
	if q.claim != nil {
		ds = q.claim(ds)
	}
	return ds, next, err
}

func (q *faulty) Renew(ctx context.Context, lease time.Duration, held ...mailbox.Claim) ([]mailbox.Renewal, error) {
	out, err := q.DB.Renew(ctx, lease, held...)
	if q.renew != nil {
		q.renew(out)
	}
	return out, err
}

func (q *faulty) Settle(ctx context.Context, s ...mailbox.Settlement) ([]error, error) {
	if q.settle != nil {
		return q.settle(s)
	}
	return q.DB.Settle(ctx, s...)
}

func (q *faulty) Reclaim(ctx context.Context, limit int) (int, error) {
	if q.reclaim != nil {
		return q.reclaim()
	}
	return q.DB.Reclaim(ctx, limit)
}

func TestLinearizable_FindsFaults(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var mu sync.Mutex
	for name, fault := range map[string]func(q *faulty){
		"it settles what it is not held": func(q *faulty) {
			q.settle = func(s []mailbox.Settlement) ([]error, error) {
				errs, err := q.DB.Settle(ctx, s...)
				return make([]error, len(errs)), err
			}
		},
		"it refuses what it settles": func(q *faulty) {
			var n atomic.Int64
			q.settle = func(s []mailbox.Settlement) ([]error, error) {
				errs, err := q.DB.Settle(ctx, s...)
				if n.Add(1)%100 == 0 && len(errs) > 0 {
					errs[0] = awaken.ErrFenced
				}
				return errs, err
			}
		},
		"it settles later than it says": func(q *faulty) {
			var n atomic.Int64
			q.settle = func(s []mailbox.Settlement) ([]error, error) {
				if n.Add(1)%20 != 0 {
					return q.DB.Settle(ctx, s...)
				}
				time.AfterFunc(time.Millisecond, func() { _, _ = q.DB.Settle(ctx, s...) })
				return make([]error, len(s)), nil
			}
		},
		"it counts no attempts": func(q *faulty) {
			q.settle = func(s []mailbox.Settlement) ([]error, error) {
				for i := range s {
					s[i].Failed = false
				}
				return q.DB.Settle(ctx, s...)
			}
		},
		"it renews what is lost": func(q *faulty) {
			q.renew = func(out []mailbox.Renewal) {
				for i := range out {
					out[i].Lost = false
				}
			}
		},
		"it forgets the cancel flag": func(q *faulty) {
			q.renew = func(out []mailbox.Renewal) {
				for i := range out {
					out[i].Cancel = false
				}
			}
		},
		"it claims twice": func(q *faulty) {
			var last *mailbox.Dispatch
			q.claim = func(ds []*mailbox.Dispatch) []*mailbox.Dispatch {
				mu.Lock()
				defer mu.Unlock()
				if len(ds) > 0 {
					last = ds[0]
				} else if last != nil {
					again := *last
					again.ClaimToken += "again"
					ds, last = []*mailbox.Dispatch{&again}, nil
				}
				return ds
			}
		},
		"it claims out of order": func(q *faulty) {
			q.claim = func(ds []*mailbox.Dispatch) []*mailbox.Dispatch {
				for i, d := range ds {
					_ = q.DB.Handle("").Change(ctx, d.ThreadID, func(t *mailbox.Thread) error {
						last := slices.IndexFunc(t.Live, func(o *mailbox.Dispatch) bool { return o.Status == mailbox.Queued && o.AvailableAt <= t.Now })
						if last < 0 || !slices.ContainsFunc(t.Live, func(o *mailbox.Dispatch) bool { return o.ClaimToken == d.ClaimToken }) {
							return errors.New("nothing to swap")
						}
						back, other := *d, *t.Live[last]
						back.Status, back.ClaimToken, back.ClaimedBy, back.LeaseUntil = mailbox.Queued, "", "", 0
						other.Status, other.ClaimToken, other.ClaimedBy, other.LeaseUntil = mailbox.Claimed, d.ClaimToken, d.ClaimedBy, d.LeaseUntil
						t.Put = []*mailbox.Dispatch{&back, &other}
						ds[i] = &other
						return nil
					})
				}
				return ds
			}
		},
		"it reclaims too early": func(q *faulty) {
			q.reclaim = func() (int, error) {
				q.ahead.Store(int64(2 * forever))
				defer q.ahead.Store(0)
				return q.DB.Reclaim(ctx, 100)
			}
		},
		"it loses an interrupt": func(q *faulty) { q.change = func(t *mailbox.Thread) { t.RaiseEpoch = false } },
		"it loses a change": func(q *faulty) {
			q.change = func(t *mailbox.Thread) {
				if t.Now%16 == 0 {
					t.Put = nil
				}
			}
		},
		"it ignores dedupe keys": func(q *faulty) {
			q.enqueue = func(d *mailbox.Dispatch) { d.DedupeKey = "" }
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := &faulty{DB: memory.NewDB()}
			q.Now = func() time.Time { return time.Now().Add(time.Duration(q.ahead.Load())) }
			fault(q)
			if err := linearizable(t, newKit(t, Backend{Queue: q}), 5*roundOps); err == nil {
				t.Error("nothing was found")
			} else {
				t.Log(err)
			}
		})
	}
}

func TestLinearizable_FindsNoFaultWhereNoneIs(t *testing.T) {
	t.Parallel()
	if err := linearizable(t, newKit(t, Backend{Queue: &faulty{DB: memory.NewDB()}}), roundOps); err != nil {
		t.Error(err)
	}
}
