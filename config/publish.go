package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/failpoint"
)

// publisher carries writes out, one at a time: it plans, compiles, stores, and swaps the
// state of this process.
type publisher struct {
	store    Store
	vault    *Vault // nil means that secrets are refused
	tools    *toolbox
	audit    *AuditLog
	compiler *compiler
	servers  *servers
	current  *current
	follower *follower
	peers    *peers
	gates    *gates
	patience time.Duration // how long lost races are retried
	clock    func() time.Time
	log      *slog.Logger
}

// write builds a plan with fn, carries it out, and waits until the other processes have followed. If
// another process publishes in between, it starts over with a new plan, so fn must read everything
// again. A refused write is recorded in the audit log.
func (pb *publisher) write(ctx context.Context, in intent, fn func(context.Context, *plan) error) (*plan, error) {
	p, err := pb.writeHere(ctx, in, fn)
	if err == nil && p.next.head.Revision != p.now.head.Revision {
		pb.peers.await(ctx, p.next.head.Revision)
	}
	return p, err
}

// writeHere is write without the wait for other processes.
func (pb *publisher) writeHere(ctx context.Context, in intent, fn func(context.Context, *plan) error) (*plan, error) {
	if err := pb.current.lock(ctx); err != nil {
		return nil, err
	}
	defer pb.current.unlock()
	if !in.dry {
		defer pb.turn(ctx)()
	}
	for try, begun := 1, time.Now(); ; try++ {
		if err := pb.follower.follow(ctx); err != nil {
			return nil, err
		}
		next := plan{intent: in, store: pb.store, vault: pb.vault, audit: pb.audit, tools: pb.tools, at: pb.clock(), now: pb.current.now(), docs: map[Key]*document{}}
		err := fn(ctx, &next)
		if err == nil {
			atPlanned.Hit()
			err = pb.carryOut(ctx, &next)
		}
		switch {
		case err == nil:
			return &next, nil
		case !errors.Is(err, ErrConflict) || next.dry:
			return nil, pb.refuse(ctx, &next, err)
		case time.Since(begun) > pb.patience:
			return nil, fmt.Errorf("%w: gave up after %d attempts in %s", err, try, pb.patience)
		}
		// The faster process may be about to write again.
		if err := sleep(ctx, rand.N(time.Duration(min(try, 16))*time.Millisecond)); err != nil {
			return nil, err
		}
	}
}

// change is write for one record that must meet the condition c. fn gets the record, nil if
// there is none, and returns its replacement.
func (pb *publisher) change(ctx context.Context, in intent, key Key, c Condition, fn func(ctx context.Context, p *plan, old *Record) (*Record, error)) (*View, error) {
	in.resource = key.String()
	var rec *Record
	p, err := pb.write(ctx, in, func(ctx context.Context, p *plan) error {
		old, err := p.expect(ctx, key, c)
		if err == nil {
			rec, err = fn(ctx, p, old)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return newView(key, rec, p.next)
}

// turnTime is how long a write waits for its turn. Then it proceeds without: the holder may
// be stuck, and the store detects conflicts anyway.
const turnTime = 5 * time.Second

// turn waits for this process's turn among the writers, and returns the function that ends
// it.
func (pb *publisher) turn(ctx context.Context) (done func()) {
	t, ok := pb.store.(Turner)
	if !ok {
		return func() {}
	}
	wait, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	done, err := t.Turn(wait)
	if err != nil {
		pb.log.Debug("a configuration write proceeds without its turn", "error", err)
		return func() {}
	}
	return done
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// refuse records a refused write in the audit log and returns its error. A stale, existing
// or missing record is not recorded: the client could not know.
func (pb *publisher) refuse(ctx context.Context, p *plan, err error) error {
	if p.dry || p.resource == "" || ctx.Err() != nil || errors.Is(err, ErrStale) || errors.Is(err, ErrExists) || errors.Is(err, awaken.ErrNotFound) {
		return err
	}
	e := pb.audit.event(p.by, "apply_failed", p.resource)
	e.Error = err.Error()
	atRefused.Hit()
	if auditErr := pb.store.Apply(ctx, &Change{Audit: []*AuditEvent{e}}); auditErr != nil {
		pb.log.Error("cannot record a refused change in the audit log", "resource", p.resource, "error", auditErr)
	}
	return err
}

// carryOut compiles the plan's version, stores the change and swaps the state.
func (pb *publisher) carryOut(ctx context.Context, p *plan) error {
	if len(p.records)+len(p.secrets)+len(p.docs) > 0 || p.moved != 0 {
		p.rebind()
	}
	change := &Change{Records: p.records, Secrets: p.secrets, Audit: p.events}
	next := *p.now
	next.secrets = p.now.secrets.with(p.secrets)
	p.next = &next
	if len(p.docs) > 0 {
		pub, v, err := pb.candidate(ctx, p, next.secrets)
		if err != nil {
			return err
		}
		pb.servers.hold(v)
		defer pb.servers.drop(v)
		if !p.aside || p.head != nil { // a preview is for those who ask for it
			if err := pb.gates.admit(ctx, p, v, pub.Number); err != nil {
				return err
			}
			change.Audit = p.events
		}
		for _, e := range p.events {
			e.Version = pub.Number
		}
		if p.moved == 0 {
			p.made, change.Publish, change.Documents = pub, pub, p.documents()
		}
		switch {
		case !p.aside:
			next.live, next.behind, next.troubles = v, nil, nil
			change.SetHead = &Head{Live: pub.Number, Canary: p.now.head.Canary}
		case p.head != nil:
			p.canary = v
		}
	}
	if p.canary != nil {
		next.canary = p.canary
		if len(p.docs) == 0 {
			if err := pb.gates.admit(ctx, p, p.canary, p.canary.number); err != nil {
				pb.servers.hold(p.canary)
				pb.servers.drop(p.canary) // which closes what only it has
				return err
			}
			change.Audit = p.events
		}
	}
	if p.head != nil {
		change.SetHead = p.head(p.made)
	}
	if change.SetHead == nil && len(p.secrets) > 0 {
		change.SetHead = &Head{Live: p.now.head.Live, Canary: p.now.head.Canary} // so that other processes reload the secrets
	}
	if change.Publish != nil || change.SetHead != nil {
		change.Head = &p.now.head
	}
	if p.dry || change.Head == nil && len(change.Records) == 0 {
		return nil
	}
	atCompiled.Hit()
	if err := makeDurable(ctx, pb.store, change); err != nil {
		return err
	}
	atApplied.Hit()
	if err := pb.gates.keep(context.WithoutCancel(ctx), p); err != nil {
		pb.log.Error("cannot keep the evidence of a gate", "error", err)
	}
	var err error
	if next.head, err = change.Next(p.now.head); err != nil {
		return err // the store would have refused the change
	}
	pb.follower.settle(ctx, &next, p.now)
	atSwapped.Hit()
	return nil
}

// makeDurable applies a change. If the connection breaks, the outcome is unknown, so it
// tries once more: applying a change twice has no further effect.
func makeDurable(ctx context.Context, store applier, c *Change) error {
	err := store.Apply(ctx, c)
	if err == nil || errors.Is(err, ErrConflict) || errors.Is(err, awaken.ErrInvalid) || len(c.Audit) == 0 {
		return err
	}
	again, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if store.Apply(again, c) == nil {
		return nil
	}
	return err
}

// candidate compiles the version that a plan makes.
func (pb *publisher) candidate(ctx context.Context, p *plan, sec *secrets) (*Publication, *compiled, error) {
	now := p.now
	pub := &Publication{Number: now.head.Last + 1, Base: now.head.Live, Kind: p.kind, Note: p.note, Actor: p.by.String(), At: p.at.UnixMilli(), Confined: p.confined}
	if p.kind == previewKind {
		pub.Number = newPreview()
	}
	for _, key := range sortedKeys(p.docs) {
		e := Entry{Key: key}
		if doc := p.docs[key]; doc != nil {
			e = doc.Entry
		}
		pub.Entries = append(pub.Entries, e)
	}
	if p.moved != 0 {
		pub.Number = p.moved
	}
	c := candidate{base: now.live, number: pub.Number, since: now.since() + len(pub.Entries), changes: overlay(now.behind, p.docs), secrets: sec}
	v, err := pb.compiler.compile(ctx, c)
	if err != nil && len(now.behind) > 0 && !introduces(err, p.docs, now.troubles) {
		// The problems existed before this write.
		c.tolerant = true
		v, err = pb.compiler.compile(ctx, c)
	}
	if err != nil {
		if _, ok := errors.AsType[*awaken.ConfigError](err); ok {
			err = fmt.Errorf("%w: %w", awaken.ErrInvalid, err)
		}
		return nil, nil, err
	}
	if !p.lenient {
		bad := slices.Clone(v.problems)
		if c.tolerant { // the agents were not resolved yet
			bad = append(bad, v.reg.Diagnostics()...)
		}
		bad = slices.DeleteFunc(bad, func(d awaken.Diagnostic) bool { return d.Severity != awaken.SeverityError || p.docs[keyOf(d)] == nil })
		if len(bad) > 0 {
			pb.servers.close(slices.Collect(maps.Values(v.servers)))
			return nil, nil, fmt.Errorf("%w: %w", awaken.ErrInvalid, &awaken.ConfigError{Problems: bad})
		}
	}
	if p.moved == 0 && !p.aside && v.since >= max(64, len(v.docs)/8) {
		v.since = 0
		pub.Manifest = v.manifest()
	}
	return pub, v, nil
}

// introduces reports whether a write causes a problem that did not exist before.
func introduces(err error, docs map[Key]*document, before []awaken.Diagnostic) bool {
	broken, ok := errors.AsType[*awaken.ConfigError](err)
	return !ok || slices.ContainsFunc(broken.Problems, func(d awaken.Diagnostic) bool {
		_, mine := docs[keyOf(d)]
		return mine || !slices.Contains(before, d)
	})
}

// Points at which tests kill a process during a write.
var (
	atPlanned  = failpoint.New("config.planned")  // validated and sealed
	atCompiled = failpoint.New("config.compiled") // compiled, not stored
	atApplied  = failpoint.New("config.applied")  // stored, not live in this process
	atSwapped  = failpoint.New("config.swapped")  // live in this process, not acknowledged
	atFollowed = failpoint.New("config.followed") // another process's publication is live in this process
	atRefused  = failpoint.New("config.refused")  // refused, not in the audit log
)
