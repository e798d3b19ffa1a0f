package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// group lets commits that come at the same time travel together: those that arrive
// while all lanes are taken wait, and whoever is first in line takes them all along.
// They are one transaction and one write to the server's log, but each is judged by
// itself.
type group struct {
	mu    sync.Mutex
	taken int // lanes
	queue []*pending
}

// pending is one commit on its way.
type pending struct {
	args   []any // of callCommit
	repeat bool  // making it twice is safe
	code   int64
	err    error
	// told gets the group that this one is to make, being its first member; or
	// nothing, once another has made it.
	told chan []*pending
}

// maxGroup is how many commits travel together at most.
const maxGroup = 64

// commit calls the function and returns its code.
func (db *DB) commit(ctx context.Context, args []any, repeat bool) (int64, error) {
	g := &db.commits
	p := &pending{args: args, repeat: repeat, told: make(chan []*pending, 1)}
	members := []*pending{p}
	g.mu.Lock()
	if alone := g.taken < db.opts.Lanes; alone {
		g.taken++
		g.mu.Unlock()
	} else {
		g.queue = append(g.queue, p)
		g.mu.Unlock()
		if members = <-p.told; members == nil {
			return p.code, p.err
		}
	}
	db.makeCommits(ctx, members)
	g.next()
	for _, other := range members {
		if other != p {
			other.told <- nil
		}
	}
	return p.code, p.err
}

// next leaves a lane to those who wait, if any.
func (g *group) next() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.taken--
		return
	}
	n := min(len(g.queue), maxGroup)
	members := slices.Clone(g.queue[:n])
	g.queue = slices.Delete(g.queue, 0, n)
	members[0].told <- members
}

// makeCommits makes commits in one transaction. If that fails, each is made by itself.
func (db *DB) makeCommits(ctx context.Context, members []*pending) {
	ctx, cancel := context.WithTimeout(ctx, db.opts.CommitTimeout)
	defer cancel()
	if len(members) > 1 {
		// Locks are taken in one order everywhere, so that groups do not block each other.
		members = slices.Clone(members)
		slices.SortStableFunc(members, func(a, b *pending) int {
			return strings.Compare(a.args[0].(string)+"\x00"+a.args[1].(string), b.args[0].(string)+"\x00"+b.args[1].(string))
		})
		if db.sendGroup(ctx, members) == nil {
			return
		}
	}
	for _, p := range members {
		attempt := func() error { return db.pool.QueryRow(ctx, db.sql(callCommit), p.args...).Scan(&p.code) }
		if p.repeat {
			p.err = db.retry(ctx, attempt)
		} else {
			p.err = attempt()
		}
	}
}

func (db *DB) sendGroup(ctx context.Context, members []*pending) (err error) {
	var b pgx.Batch
	for _, p := range members {
		b.Queue(db.sql(callCommit), p.args...)
	}
	results := db.pool.SendBatch(ctx, &b)
	defer func() { err = errors.Join(err, results.Close()) }()
	for _, p := range members {
		if err := results.QueryRow().Scan(&p.code); err != nil {
			return err
		}
	}
	return nil
}
