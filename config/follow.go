package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"

	"github.com/awaken-go/awaken"
)

// follower keeps this process in step with the store: when it starts, when another process
// publishes, and when the tools of an MCP server change.
type follower struct {
	store interface {
		Head(ctx context.Context) (Head, error)
		Secrets(ctx context.Context) (map[string]SealedSecret, error)
	}
	vault     *Vault // nil means that secrets cannot be decrypted
	catalogue *catalogue
	compiler  *compiler
	servers   *servers
	current   *current
	pins      *pins
	peers     *peers
	log       *slog.Logger
}

// start compiles the live version as far as that is possible.
func (f *follower) start(ctx context.Context) error {
	secrets, err := f.loadSecrets(ctx)
	if err != nil {
		return err
	}
	f.current.swap(ctx, &state{live: f.compiler.bare, secrets: secrets})
	head, err := f.store.Head(ctx)
	if err != nil {
		return err
	}
	now := f.current.now()
	next := *now
	next.head = head
	changes, since, err := f.catalogue.difference(ctx, now, head.Live)
	if err != nil {
		return err
	}
	if next.live, err = f.compiler.compile(ctx, candidate{base: f.compiler.bare, number: head.Live, since: since, changes: changes, secrets: now.secrets, tolerant: true}); err != nil {
		return err
	}
	next.live.reg.Diagnostics() // resolve the agents now, not in the first runs
	f.settle(ctx, &next, now)
	return nil
}

// look is follow for a caller that does not hold the lock.
func (f *follower) look(ctx context.Context) error {
	if err := f.current.lock(ctx); err != nil {
		return err
	}
	defer f.current.unlock()
	return f.follow(ctx)
}

// follow applies what other processes have changed. A version that does not compile in this
// process is reported, and the previous one stays live. The caller holds the lock.
func (f *follower) follow(ctx context.Context) error {
	now := f.current.now()
	head, err := f.store.Head(ctx)
	if err != nil {
		return err
	}
	if head.Revision == now.head.Revision && head.Last == now.head.Last {
		return nil
	}
	next := *now
	next.head = head
	if head.Revision != now.head.Revision {
		if next.secrets, err = f.loadSecrets(ctx); err != nil {
			return err
		}
	}
	if head.Live != now.head.Live {
		changes, since, err := f.catalogue.difference(ctx, now, head.Live)
		if err != nil {
			return fmt.Errorf("version %d: %w", head.Live, err)
		}
		if err := f.compileLive(ctx, &next, changes, since); err != nil {
			return err
		}
	}
	f.settle(ctx, &next, now)
	atFollowed.Hit()
	return nil
}

// compileLive compiles the live version of a state from its difference to the previous one.
func (f *follower) compileLive(ctx context.Context, s *state, changes map[Key]*document, since int) error {
	all := overlay(s.behind, changes)
	v, err := f.compiler.compile(ctx, candidate{base: s.live, number: s.head.Live, since: since, changes: all, secrets: s.secrets})
	broken, ok := errors.AsType[*awaken.ConfigError](err)
	switch {
	case err == nil:
		s.live, s.behind, s.troubles = v, nil, nil
	case ok:
		s.behind, s.sinceHead = all, since
		s.troubles = append([]awaken.Diagnostic{unavailable(s.head.Live, "does not compile in this process; version %d stays live", s.live.number)}, broken.Problems...)
		f.log.Error("a version does not compile in this process", "version", s.head.Live, "running", s.live.number, "error", err)
	default:
		return err
	}
	return nil
}

// unavailable returns the diagnostic of a version that does not run in this process.
func unavailable(version int64, format string, args ...any) awaken.Diagnostic {
	return problem(Key{"versions", strconv.FormatInt(version, 10)}, "version_unavailable", format, args...)
}

// settle makes a state current and closes what only the old one needed. It ignores
// cancellation: what is durable must become live here, with its canary.
func (f *follower) settle(ctx context.Context, next, old *state) {
	ctx = context.WithoutCancel(ctx)
	if next.secrets != old.secrets {
		f.pins.clear()
	}
	f.compileCanary(ctx, next, old)
	f.current.swap(ctx, next)
	if next.head.Revision != old.head.Revision {
		f.peers.tell()
	}
}

// compileCanary sets the canary of a state. A canary that does not compile gets no threads.
func (f *follower) compileCanary(ctx context.Context, next, old *state) {
	c := next.head.Canary
	switch {
	case c == nil:
		next.canary, next.canaryTroubles = nil, nil
		return
	case next.canary != nil && next.canary.number == c.Version && (next.canary != old.canary || next.secrets == old.secrets):
		return
	}
	v, err := f.catalogue.variant(ctx, next, c.Version, next.secrets)
	if err != nil {
		f.log.Error("the canary does not compile in this process", "version", c.Version, "error", err)
		next.canary = nil
		next.canaryTroubles = []awaken.Diagnostic{unavailable(c.Version, "the canary does not compile in this process and gets no threads: %v", err)}
		return
	}
	next.canary, next.canaryTroubles = v, nil
}

// retool applies changed tools of MCP servers to the live version, the canary and the
// pinned versions. Those of a server that one of them does not compile with are tried again at
// the next poll.
func (f *follower) retool(ctx context.Context) error {
	if err := f.current.lock(ctx); err != nil {
		return err
	}
	defer f.current.unlock()
	ids := f.servers.take()
	if len(ids) == 0 {
		return nil
	}
	now := f.current.now()
	with := func(v *compiled) (*compiled, error) {
		if v == nil || !slices.ContainsFunc(ids, func(id string) bool { return v.servers[id] != nil }) {
			return v, nil
		}
		next, err := f.compiler.compile(ctx, candidate{base: v, number: v.number, since: v.since, secrets: now.secrets, retool: ids, tolerant: true})
		if err != nil {
			return v, fmt.Errorf("tools of %q in version %d: %w", ids, v.number, err)
		}
		v.reg.Supersede(next.reg) // for runs that are in progress
		return next, nil
	}
	next := *now
	var errs [2]error
	next.live, errs[0] = with(now.live)
	next.canary, errs[1] = with(now.canary)
	f.current.swap(ctx, &next)
	if err := errors.Join(errs[0], errs[1], f.pins.change(with)); err != nil {
		f.servers.keep(ids...)
		return err
	}
	return nil
}

// loadSecrets reads the current secrets.
func (f *follower) loadSecrets(ctx context.Context) (*secrets, error) {
	all, err := f.store.Secrets(ctx)
	if err != nil {
		return nil, err
	}
	return &secrets{f.vault, all}, nil
}
