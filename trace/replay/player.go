package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ownership"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/trace"
)

// ErrUnplayable is the error of a recording that cannot be played: it is not complete, or an agent is missing or lacks
// something.
var ErrUnplayable = errors.New("the run cannot be replayed")

// Runtime runs agents. An *engine.Runtime is one.
type Runtime interface {
	Run(ctx context.Context, req awaken.RunRequest, sink awaken.Sink) (*awaken.RunResult, error)
	Decide(ctx context.Context, runID string, decisions ...awaken.Decision) error
	Send(ctx context.Context, threadID string, msgs ...*llm.Message) error
	Cancel(ctx context.Context, id string) error
	Notify(threadID string)
	Settle(ctx context.Context) error
}

// Executor runs tool calls. It is an engine.Executor.
type Executor interface {
	Execute(ctx context.Context, tool awaken.Tool, call *awaken.ToolCall) (*awaken.ToolResult, error)
}

// Setup configures the runtime of a replay: fields of engine.Config.
type Setup struct {
	Versions registry.Versions
	Store    awaken.Store
	Profile  profile.Store
	Executor Executor
	Detached func(threadID string) awaken.Sink
	Budgets  bool
	Now      func() time.Time
	NewID    func() string
	Tap      Tap
}

// Tap sees the requests to models. It is an engine.Tap.
type Tap interface {
	Inferred(step int, x *llm.Exchange)
}

// Store has the store methods that a replay calls.
type Store interface {
	awaken.Store
	awaken.EventLog
}

// Player plays recordings.
type Player struct {
	// Registry is the version of the runs. Its models are not asked.
	Registry *registry.Registry
	// Retool, if set, returns Registry with other tools of MCP servers. Runs whose record says which tools they had get those, step by step.
	Retool Retool
	// Store is empty, and keeps what happens in the replay.
	Store Store
	// Profile is the profile of the replay; nil means none.
	Profile profile.Store
	// Open makes a runtime without a queue.
	Open func(s Setup) (Runtime, error)
	// Live says which tools run again instead of answering as recorded. They must have no effect beyond the run. Nil means [ActsOnRun].
	Live func(tool awaken.Tool) bool
	// Patience is how long the player waits for an event of the record. 0 means ten seconds.
	Patience time.Duration
}

func (p *Player) patience() time.Duration { return cmp.Or(p.Patience, 10*time.Second) }

// ActsOnRun reports whether a tool has no effect beyond its run and the runs that it starts: those of delegates, background tasks and
// handoffs.
func ActsOnRun(tool awaken.Tool) bool {
	if _, ok := tool.(awaken.Delegator); ok {
		return true
	}
	switch tool.Spec().Category {
	case "delegate", "background", "handoff":
		return true
	}
	return false
}

// Result is the result of a replay.
type Result struct {
	// Difference is where the replay parted from the record, or nil.
	Difference *Difference
	// Exact reports that the events equal the record byte for byte, with all times, after renaming the IDs that the runtime generated.
	Exact  bool
	Events int // that were compared
	Runs   int
	// NotCompared says which parts of the record could not be compared, and why.
	NotCompared []string
}

// Play plays runs that followed each other, the oldest first, with the runs that they started. The first one must have the log of its
// thread before it, if there was any; see [trace.Recorder].
func (p *Player) Play(ctx context.Context, recs ...*trace.Recording) (*Result, error) {
	s := newStage(p)
	s.mode = func(agentID string) awaken.ExecutionMode {
		if spec := p.Registry.Agent(agentID); spec != nil {
			return spec.ExecutionMode()
		}
		return ""
	}
	for _, rec := range recs {
		if err := s.cast(rec, true); err != nil {
			return nil, err
		}
	}
	s.findAttempts()
	s.ctx = ctx
	reg, err := s.opening()
	if err != nil {
		return nil, err
	}
	store := s.beyond(p.Store)
	s.version = &single{reg: reg}
	rt, err := p.Open(Setup{Versions: s.version, Store: store, Profile: p.Profile, Executor: s, Detached: func(string) awaken.Sink { return s }, Budgets: budgeted(s.order),
		Now: s.now, NewID: s.draw, Tap: tap{s}})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ownership.With(ctx, s))
	defer cancel()
	s.rt, s.ctx = rt, ctx
	for _, rec := range recs {
		if err := s.play(ctx, store, s.of(rec.Run.RunID)); err != nil {
			return nil, err
		}
	}
	if err := rt.Settle(ctx); err != nil {
		return nil, err
	}
	return s.conclude(ctx, store)
}

// opening returns the registry with which the replay begins.
func (s *stage) opening() (*registry.Registry, error) {
	if s.player.Retool != nil {
		if lists := s.order[0].listsAt(0); lists != nil {
			return s.withLists(lists)
		}
	}
	return s.registry(s.player.Registry)
}

// single is a registry with one version.
type single struct {
	mu   sync.Mutex
	reg  *registry.Registry
	lost error // why it is not available now, or nil
}

// Registry implements [registry.Versions].
func (v *single) Registry() *registry.Registry {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.reg
}

// Choose implements [registry.Versions].
func (v *single) Choose(*awaken.Thread) *registry.Registry { return v.Registry() }

// supersede gives the runs other tools from their next step on.
func (v *single) supersede(next *registry.Registry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reg.Supersede(next)
	v.reg = next
}

func (v *single) Pinned(context.Context, string) (*registry.Registry, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.reg, v.lost
}

// lose makes the version unavailable for the reason that an activation of a run gives, or available if it gives none.
func (v *single) lose(a *activation) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lost = nil; !a.lost() {
		return
	}
	switch w := a.finish.Result.Waiting; {
	case w.Missing:
		v.lost = awaken.ErrNotFound
	case len(w.Problems) > 0:
		v.lost = &awaken.ConfigError{Problems: w.Problems}
	default:
		v.lost = errors.New("the record does not say why")
	}
}

// registry returns reg with the recorded models and remote agents instead of its own.
func (s *stage) registry(reg *registry.Registry) (*registry.Registry, error) {
	models := map[string]llm.Model{}
	for _, id := range reg.ProviderIDs() {
		models[id] = s
	}
	edit := registry.Edit{ID: cmp.Or(s.order[0].rec.Run.ResolutionID, reg.ID()), Providers: models, Backends: s.remotes(reg), Lazy: true}
	guarded(s, reg, &edit)
	out, err := reg.Derive(edit)
	if err != nil {
		return nil, err
	}
	return out, s.ready(out)
}

// ready reports what the agents of the runs lack in reg. A run that failed may have failed for that.
func (s *stage) ready(reg *registry.Registry) error {
	for _, p := range s.order {
		if p.rec.Run.Termination.Type == awaken.Failed || p.endsAtOnce(0) {
			continue
		}
		if _, err := reg.Runnable(p.agent()); err != nil {
			return fmt.Errorf("run %s: %w: %w", p.rec.Run.RunID, ErrUnplayable, err)
		}
	}
	return nil
}

// play plays the activations of a run that were begun from outside.
func (s *stage) play(ctx context.Context, store Store, p *part) error {
	run := p.rec.Run
	if err := seed(ctx, s.version.Registry(), store, p); err != nil {
		return err
	}
	for i := range p.acts {
		a := &p.acts[i]
		s.reach(a.start.Time)
		if a.woken() || run.Origin == "internal" && run.ParentRunID == "" && i == 0 {
			s.await(ctx, p, a.to)
			continue
		}
		req := p.request(s, i)
		if i > 0 && p.followed && s.parted() {
			break
		}
		s.version.lose(a)
		_, err := s.rt.Run(ctx, req, s)
		if err != nil && run.Termination.Type != awaken.Failed {
			s.part(p, fmt.Sprintf("activation %d of the run", i+1), "", err.Error())
		}
	}
	if p.followed {
		s.awaitEnd(ctx, p)
	}
	return nil
}

// seed puts the log and the state before a run into the store.
func seed(ctx context.Context, reg *registry.Registry, store Store, p *part) error {
	thread := p.rec.Run.ThreadID
	if _, err := store.Thread(ctx, thread); err == nil || !errors.Is(err, awaken.ErrNotFound) {
		return err // an earlier recording has played
	}
	before := p.before
	if len(before) == 0 {
		return nil
	}
	cp, err := store.Acquire(ctx, thread)
	if err != nil {
		return err
	}
	changes, err := threadState(reg, p)
	if err != nil {
		return err
	}
	now := p.acts[0].start.Time
	run := awaken.Run{RunID: "before " + p.rec.Run.RunID, ThreadID: thread, AgentID: p.agent(), Origin: "internal", Status: awaken.RunDone, UserID: p.rec.Run.UserID,
		Termination: awaken.Termination{Type: awaken.NaturalEnd}, CreatedAt: now, StartedAt: now, FinishedAt: max(1, now), UpdatedAt: now}
	return store.Commit(ctx, &awaken.Commit{ThreadID: thread, Fence: cp.Fence, Number: 1, Generation: cp.Generation, Time: now, Messages: before, Run: run, State: changes,
		ParentThreadID: p.rec.Run.ParentThreadID})
}

// threadState returns the state of the thread before a run, of the keys that its agents have.
func threadState(reg *registry.Registry, p *part) ([]state.Change, error) {
	var out []state.Change
	for _, id := range []string{p.rec.Run.AgentID, p.rec.Run.FirstAgentID} {
		agent, err := reg.Runnable(id)
		if err != nil || len(p.rec.State) == 0 {
			continue
		}
		known := map[string]json.RawMessage{}
		for _, name := range agent.Schema.Names() {
			if v := p.rec.State[name]; v != nil {
				known[name] = v
			}
		}
		st := state.NewStore(agent.Schema)
		if err := st.Seed(known); err != nil {
			return nil, fmt.Errorf("the state before run %s: %w", p.rec.Run.RunID, err)
		}
		changes, err := st.Changes()
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			if c.Scope == state.Thread && !slices.ContainsFunc(out, func(o state.Change) bool { return o.Key == c.Key }) {
				out = append(out, c)
			}
		}
	}
	return out, nil
}
