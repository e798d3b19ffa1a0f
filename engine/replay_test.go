package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/fork"
	"github.com/awaken-go/awaken/registry"
	memstore "github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace"
	"github.com/awaken-go/awaken/trace/replay"
)

// TestReplay_OfEveryScenario plays the scenarios of the golden corpus, and then what was recorded of them: every event is the same.
func TestReplay_OfEveryScenario(t *testing.T) {
	var equal, exact, runs, events, alone atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d scenarios with %d runs and %d events replay equal, %d of them with all times; %d runs that followed others replay equal alone", equal.Load(), runs.Load(), events.Load(), exact.Load(), alone.Load())
	})
	for _, file := range goldenFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			bubbletest.Test(t, func(t *testing.T) {
				_, p := goldenPlay(t, a)
				recs := goldenRecordings(t, p)
				res, err := goldenReplay(t, a, recs...)
				for _, rec := range recs[min(1, len(recs)):] {
					if rec.Run.Origin == "internal" {
						continue // a message of another run started it
					}
					if res, err := goldenReplay(t, a, rec); err != nil || res.Difference != nil {
						t.Errorf("run %s alone: %v, %v", rec.Run.RunID, err, res.Difference)
					}
					alone.Add(1)
				}
				time.Sleep(time.Hour) // tools that were abandoned come to an end
				switch {
				case err != nil:
					t.Fatal(err)
				case res == nil:
					return // nothing ran
				case res.Difference != nil:
					t.Fatal(res.Difference)
				}
				equal.Add(1)
				runs.Add(int64(res.Runs))
				events.Add(int64(res.Events))
				if res.Exact {
					exact.Add(1)
				}
			})
		})
	}
}

// goldenReplay replays runs of a scenario.
func goldenReplay(t *testing.T, a *txtar.Archive, recs ...*trace.Recording) (*replay.Result, error) {
	t.Helper()
	if len(recs) == 0 {
		return nil, nil
	}
	q := &goldenPlayer{t: t, kit: &kit{do: func(goldenOp) error { return nil }}, store: watchedStore{Store: memstore.New()}, agent: llmtest.NewScript(), summary: llmtest.NewScript()}
	var c goldenConfig
	for _, f := range a.Files {
		if f.Name == "config" {
			goldenStrict(t, f, &c)
		}
	}
	cfg := q.config(c)
	reg, err := registry.New(cfg.Registry())
	if err != nil {
		return nil, err
	}
	player := &replay.Player{Registry: reg, Store: memstore.New(), Profile: memstore.NewProfile(), Open: func(s replay.Setup) (replay.Runtime, error) {
		return engine.New(engine.Config{Versions: s.Versions, Store: s.Store, Profile: s.Profile, Executor: s.Executor, Detached: s.Detached, Budgets: s.Budgets, Now: s.Now, NewID: s.NewID, Tap: s.Tap, Limits: cfg.Limits})
	}}
	return player.Play(t.Context(), recs...)
}

// goldenRecordings returns the recordings of the runs that were started from outside, the oldest first.
func goldenRecordings(t *testing.T, p *goldenPlayer) []*trace.Recording {
	t.Helper()
	list, err := p.store.ListRuns(t.Context(), awaken.RunQuery{Root: true, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var out []*trace.Recording
	for _, run := range slices.Backward(list) {
		rec, err := (&trace.Recorder{Source: p.store.Store, Before: true}).Record(t.Context(), run.RunID)
		if err != nil {
			t.Fatal(err)
		}
		if len(rec.Events) > 0 {
			out = append(out, rec)
		}
	}
	return out
}

// TestFork_OfEveryStep takes up every run of the golden corpus before each of its steps, on a thread of its own, with what its tools
// returned: delegates, approvals, tasks and parallel tools among them. No effect happens again.
func TestFork_OfEveryStep(t *testing.T) {
	var n forkCounts
	t.Cleanup(func() {
		t.Logf("%d forks, %d calls answered as recorded, no effect; %d forks of runs with delegates, %d with tasks, %d with parallel calls, %d in which a person approved calls",
			n.forks.Load(), n.answered.Load(), n.delegates.Load(), n.tasks.Load(), n.parallel.Load(), n.approved.Load())
		want := func(all int64) int64 { return int64(testenv.Times(int(all+3)/4, int(all))) }
		if n.forks.Load() < want(200) || n.answered.Load() < want(50) || n.delegates.Load() < want(10) || n.tasks.Load() < want(5) ||
			n.parallel.Load() < want(10) || n.approved.Load() < want(10) {
			t.Error("there are too few forks to prove anything")
		}
	})
	for i, file := range goldenFiles(t) {
		if !testenv.Long() && i%3 != 0 {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			bubbletest.Test(t, func(t *testing.T) {
				_, p := goldenPlay(t, a)
				for _, rec := range goldenRecordings(t, p) {
					if rec.Run.Call != nil {
						continue
					}
					for step := range rec.Steps() {
						goldenFork(t, a, p, rec, step, &n)
					}
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// forkCounts counts forks, and what they have.
type forkCounts struct{ forks, answered, delegates, tasks, parallel, approved atomic.Int64 }

// add counts a fork of a run of an agent.
func (n *forkCounts) add(rec *trace.Recording, agents []*awaken.AgentSpec) {
	n.forks.Add(1)
	tasks := slices.ContainsFunc(rec.Children, func(c *trace.Recording) bool { return c.Run.Mode == "scheduled" })
	if tasks {
		n.tasks.Add(1)
	}
	if len(rec.Children) > 0 && !tasks {
		n.delegates.Add(1)
	}
	if slices.ContainsFunc(agents, func(spec *awaken.AgentSpec) bool {
		return spec.ID == rec.Run.AgentID && spec.ExecutionMode() != awaken.Sequential
	}) && slices.ContainsFunc(rec.Turns, func(turn trace.Turn) bool { return len(turn.ToolCalls) > 1 }) {
		n.parallel.Add(1)
	}
}

// goldenFork forks a run before a step. A person approves all that it asks for.
func goldenFork(t *testing.T, a *txtar.Archive, p *goldenPlayer, rec *trace.Recording, step int, n *forkCounts) {
	t.Helper()
	b, err := rec.Branch(step, nil)
	if err != nil {
		t.Fatalf("step %d of run %s: %v", step, rec.Run.RunID, err)
	}
	id := fmt.Sprintf("fork of %s at %d", rec.Run.RunID, step)
	if _, err := p.store.Fork(t.Context(), rec.Run.ThreadID, b.Seq, id, nil); err != nil {
		t.Fatal(err)
	}
	section := fork.Config{Tools: fork.Recorded}
	for _, c := range rec.Calls {
		if c.Result != nil && !c.IsHeld() {
			section.Results = append(section.Results, fork.Fixture{Tool: c.ToolName, Arguments: c.Arguments, Result: c.Result})
		}
	}
	raw, err := json.Marshal(section)
	if err != nil {
		t.Fatal(err)
	}
	q := &goldenPlayer{t: t, kit: &kit{do: func(goldenOp) error { return nil }}, agent: llmtest.NewScript(), summary: llmtest.NewScript()}
	var c goldenConfig
	for _, f := range a.Files {
		if f.Name == "config" {
			goldenStrict(t, f, &c)
		}
	}
	cfg := q.config(c)
	cfg.Store, cfg.Plugins, cfg.NewID = p.store.Store, append(cfg.Plugins, fork.New()), awakentest.Counter(id+" ")
	cfg.Providers = map[string]llm.Model{awakentest.Scripted: &recited{turns: rec.Turns[min(step, len(rec.Turns)):]}}
	for _, spec := range cfg.Agents {
		if spec.Sections == nil {
			spec.Sections = map[string]json.RawMessage{}
		}
		spec.Sections[fork.Name] = raw
	}
	rt := mustNew(t, cfg)
	sink := awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
		switch ev := e.Event.(type) {
		case *awaken.ToolCallDone:
			if ev.Outcome == awaken.CallSucceeded {
				n.answered.Add(1)
			}
		case *awaken.ToolCallResumed:
			if ev.Decision != nil {
				n.approved.Add(1)
			}
		}
		return nil
	})
	res, err := rt.Run(t.Context(), awaken.RunRequest{AgentID: rec.Run.AgentID, ThreadID: id}, sink)
	if errors.Is(err, awaken.ErrInvalid) {
		return // nothing to answer
	}
	n.add(rec, cfg.Agents)
	for range 5 {
		if err != nil || res.Waiting == nil {
			break
		}
		var decisions []awaken.Decision
		for _, ticket := range res.Waiting.Tickets {
			decisions = append(decisions, awaken.Decision{Target: ticket.TicketID, Action: awaken.ActionResume})
		}
		res, err = rt.Run(t.Context(), awaken.RunRequest{Continue: res.RunID, Decisions: decisions}, sink)
	}
	if settled := rt.Settle(t.Context()); settled != nil {
		t.Error(settled)
	}
	for _, note := range q.kit.notes {
		if strings.Contains(note, " with key ") {
			t.Errorf("the fork at step %d of run %s took effect: %s", step, rec.Run.RunID, note)
		}
	}
}

// recited is a model that says what it said in a run, and then that it is over.
type recited struct {
	turns []trace.Turn
	said  atomic.Int64
}

func (m *recited) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		n := int(m.said.Add(1)) - 1
		deltas := []llm.Delta{{Kind: llm.TextDelta, Text: "Over."}, {Kind: llm.FinishDelta, Finish: llm.EndTurn}}
		if n < len(m.turns) && m.turns[n].Answered {
			deltas = m.turns[n].Streams[len(m.turns[n].Streams)-1].Deltas
		}
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
	}
}
