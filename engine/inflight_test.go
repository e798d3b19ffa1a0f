package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/state"
)

// Commits beside the run. synctest finds goroutines that are left over, and deadlocks.

// slowStore is a store whose commits take time.
type slowStore struct {
	awaken.Store
	t      *testing.T
	before func(c *awaken.Commit) error // called first with every commit; it may block
	flying atomic.Int32
	made   []awaken.Commit // in short: without their lists
	tried  atomic.Int32
}

func (s *slowStore) Pipelined() bool { return true }

func (s *slowStore) Commit(ctx context.Context, c *awaken.Commit) error {
	if s.flying.Add(1) > 1 {
		s.t.Error("two commits of a thread at the same time")
	}
	defer s.flying.Add(-1)
	s.tried.Add(1)
	if s.before != nil {
		if err := s.before(c); err != nil {
			return err
		}
	}
	err := s.Store.Commit(ctx, c)
	if err == nil {
		short := *c
		short.Messages, short.Calls, short.Entries, short.State = nil, nil, nil, nil
		s.made = append(s.made, short)
	}
	return err
}

// onSlowStore makes the rig's store one whose commits take time.
func onSlowStore(s *slowStore) option {
	return func(c *engine.Config) {
		s.Store = c.Store
		c.Store = s
	}
}

// delay makes the commit of that number wait until release is called.
func (s *slowStore) delay(number uint64) (release func()) {
	held := make(chan struct{})
	s.before = func(c *awaken.Commit) error {
		if c.Number == number {
			<-held
		}
		return nil
	}
	return func() { close(held) }
}

// look is a tool that only reads.
func look() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: "look", Effect: awaken.ReadOnly}, func(context.Context, *awaken.ToolCall, args) (string, error) { return "seen", nil })
}

// looks are n steps that only read, and what comes after them.
func looks(n int, after ...llmtest.Turn) []llmtest.Turn {
	var turns []llmtest.Turn
	for i := range n {
		turns = append(turns, llmtest.Turn{Text: llmtest.Text{"Let ", "me ", "look. "}, ToolCalls: []llmtest.Call{{ID: fmt.Sprint("look-", i), Name: "look"}}})
	}
	return append(turns, after...)
}

// stalls makes the model's nth answer stop after its first word, until it is released.
func stalls(n int32) (unstall func(), _ option) {
	held := make(chan struct{})
	var asked atomic.Int32
	return func() { close(held) }, func(c *engine.Config) {
		model := c.Providers["p"]
		c.Providers["p"] = llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
			if asked.Add(1) != n {
				return model.Stream(ctx, req)
			}
			return func(yield func(llm.Delta, error) bool) {
				if !yield(llm.Delta{Kind: llm.TextDelta, Text: "Hm. "}, nil) {
					return
				}
				select {
				case <-held:
				case <-ctx.Done():
					yield(llm.Delta{}, ctx.Err())
					return
				}
				model.Stream(ctx, req)(yield)
			}
		})
	}
}

// outcome is how a run came out that was started beside the test.
type outcome struct {
	res  *awaken.RunResult
	err  error
	done bool
}

func (g *rig) start(sink awaken.Sink) *outcome {
	o := &outcome{}
	go func() {
		o.res, o.err = g.rt.Run(g.t.Context(), say("hi"), sink)
		o.done = true
	}()
	return o
}

// stored returns the events in the log, each delta on its own.
func (g *rig) stored() []string {
	g.t.Helper()
	entries, err := g.store.Entries(context.Background(), "t", awaken.EntryQuery{})
	if err != nil {
		g.t.Fatal(err)
	}
	var parts []awaken.Entry
	for i := range entries {
		parts = append(parts, entries[i].Split()...)
	}
	slices.SortFunc(parts, func(a, b awaken.Entry) int { return int(a.Seq) - int(b.Seq) })
	out := make([]string, len(parts))
	for i, e := range parts {
		out[i] = fmt.Sprint(e.Seq, " ", e.Event.Type())
	}
	return out
}

// published returns the events a sink got, in the same form.
func (p *tape) published() []string {
	out := make([]string, len(p.entries))
	for i, e := range p.entries {
		out[i] = fmt.Sprint(e.Seq, " ", e.Event.Type())
	}
	return out
}

// checkAgrees checks that what was said is what is stored.
func checkAgrees(t *testing.T, g *rig, p *tape) {
	t.Helper()
	if diff := cmp.Diff(g.stored(), p.published()); diff != "" {
		t.Errorf("what was said is not what is stored (-stored +said):\n%s", diff)
	}
	awakentest.CheckEvents(t, p.entries)
	checkBalanced(t, p)
	var view awaken.View
	view.Append(g.log("t")...)
	checkValid(t, view.Messages())
}

// The run continues while a commit is in flight, but nothing is published before it is true,
// and nothing out of order.
func TestPipeline_NothingIsPublishedBeforeItsCommit(t *testing.T) {
	t.Parallel()
	plain := newRig(t, looks(2, llmtest.Say("I ", "saw ", "it.")), withTools(look()))
	_, want := plain.run(say("hi"))
	bubbletest.Test(t, func(t *testing.T) {
		s := &slowStore{t: t}
		release := s.delay(2)
		unstall, stall := stalls(2)
		g := newRig(t, looks(2, llmtest.Say("I ", "saw ", "it.")), withTools(look()), onSlowStore(s), stall)
		p := &tape{}
		o := g.start(p)
		synctest.Wait()
		if n := len(g.model.Requests()); n != 1 { // the second waits before it asks the script
			t.Errorf("the model was asked %d times", n)
		}
		if got := p.types(); got[len(got)-1] != "inference_complete" || slices.Contains(got, "tool_call_done") {
			t.Errorf("before the commit was made it said %q", got)
		}
		release()
		synctest.Wait()
		if got := p.types(); !slices.Equal(got[len(got)-3:], []string{"step_end", "step_start", "text_delta"}) {
			t.Errorf("after the commit was made, and while the model thinks, it said %q", got)
		}
		unstall()
		synctest.Wait()
		if !o.done || o.err != nil {
			t.Fatalf("%+v", o)
		}
		checkAgrees(t, g, p)
		got := slices.Delete(p.types(), slices.Index(p.types(), "step_end")+2, slices.Index(p.types(), "step_end")+3) // the word before the stall
		if diff := cmp.Diff(want.types(), got); diff != "" {
			t.Errorf("not what a run says whose commits take no time:\n%s", diff)
		}
	})
}

// Steps that end while a commit is in flight travel together, as soon as it is made,
// also if the run waits for its model.
func TestPipeline_WaitingStepsShareACommit(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		s := &slowStore{t: t}
		release := s.delay(2)
		unstall, stall := stalls(5)
		g := newRig(t, looks(4, llmtest.Say("ok")), withTools(look()), onSlowStore(s), stall)
		p := &tape{}
		o := g.start(p)
		synctest.Wait()
		if len(s.made) != 1 {
			t.Fatalf("%d commits while one is held up", len(s.made))
		}
		release()
		synctest.Wait()
		if o.done || len(s.made) != 3 || s.made[1].Run.Steps != 1 || s.made[2].Run.Steps != 4 {
			t.Fatalf("while the model thinks %d commits are made: %+v", len(s.made), s.made)
		}
		if n := count(p.types(), "step_end"); n != 4 {
			t.Errorf("%d steps were published", n)
		}
		if n := len(g.log("t")); n != 9 {
			t.Errorf("%d messages are stored", n)
		}
		if n := len(g.calls(s.made[0].Run.RunID)); n != 4 {
			t.Errorf("%d calls are stored", n)
		}
		unstall()
		synctest.Wait()
		if o.err != nil || o.res.Steps != 5 || len(s.made) != 4 {
			t.Errorf("%+v, %d commits", o, len(s.made))
		}
		rec := g.record(o.res.RunID)
		if rec.Output != (llm.Interval{FromSeq: 2, ToSeq: 10}) {
			t.Errorf("the run's output is %+v", rec.Output)
		}
		checkAgrees(t, g, p)
	})
}

// How much waits for a commit is bounded: then the run waits too.
func TestPipeline_WaitsWhenTooMuchIsUncommitted(t *testing.T) {
	t.Parallel()
	for name, turn := range map[string]llmtest.Turn{
		"in one step":   {Text: llmtest.Text{strings.Repeat("x", 2<<20)}, ToolCalls: []llmtest.Call{{ID: "big", Name: "look"}}},
		"in many steps": {Text: llmtest.Text{strings.Repeat("x", 400<<10)}, ToolCalls: []llmtest.Call{{ID: "big", Name: "look"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				s := &slowStore{t: t}
				release := s.delay(2)
				turns := looks(1)
				for range 12 {
					turns = append(turns, turn)
				}
				g := newRig(t, append(turns, llmtest.Say("ok")), withTools(look()), onSlowStore(s))
				p := &tape{}
				o := g.start(p)
				synctest.Wait()
				if n := len(g.model.Requests()); o.done || n > 6 {
					t.Errorf("the model was asked %d times while nothing could be committed", n)
				}
				release()
				synctest.Wait()
				if o.err != nil || o.res.Steps != 14 {
					t.Errorf("%+v", o)
				}
				checkAgrees(t, g, p)
			})
		})
	}
}

// What is not read-only does not begin before everything earlier is durable.
func TestPipeline_EffectsWaitForEverythingEarlier(t *testing.T) {
	t.Parallel()
	for _, class := range []awaken.EffectClass{awaken.Effectful, awaken.Idempotent} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				s := &slowStore{t: t}
				release := s.delay(2)
				var g *rig
				begun := false
				pay := awaken.NewTool(awaken.ToolSpec{ID: "pay", Effect: class}, func(_ context.Context, c *awaken.ToolCall, _ args) (string, error) {
					begun = true
					var got []string
					for _, s := range g.calls(c.Run.RunID) {
						got = append(got, s.CallID+" "+string(s.Status))
					}
					if want := []string{"look-0 succeeded", "look-1 succeeded", "c1 running"}; !slices.Equal(got, want) {
						t.Errorf("the ledger has %q, want %q", got, want)
					}
					return "paid", nil
				})
				g = newRig(t, looks(2, uses("pay"), llmtest.Say("ok")), withTools(look(), pay), onSlowStore(s))
				p := &tape{}
				o := g.start(p)
				synctest.Wait()
				if n := len(g.model.Requests()); begun || n != 3 {
					t.Errorf("begun is %v, the model was asked %d times", begun, n)
				}
				release()
				synctest.Wait()
				if !begun || o.err != nil {
					t.Errorf("begun is %v: %+v", begun, o)
				}
				// start; look; look with the intent; the result; the answer
				if len(s.made) != 5 || !s.made[2].Begins {
					t.Errorf("commits are %+v", s.made)
				}
				checkAgrees(t, g, p)
			})
		})
	}
}

// The model is asked while the result of an effectful call is being committed. The result is not
// published before that, and the next call does not begin. If the process dies now, its successor
// finds the intent.
func TestPipeline_TheModelIsAskedWhileAResultIsCommitted(t *testing.T) {
	t.Parallel()
	for _, class := range []awaken.EffectClass{awaken.Effectful, awaken.Idempotent} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				s := &slowStore{t: t}
				release := s.delay(3) // start; intent; result
				var ledgers [][]string
				var g *rig
				ledger := func(runID string) (out []string) {
					for _, s := range g.calls(runID) {
						out = append(out, s.CallID+" "+string(s.Status))
					}
					return out
				}
				pay := awaken.NewTool(awaken.ToolSpec{ID: "pay", Effect: class}, func(_ context.Context, c *awaken.ToolCall, _ args) (string, error) {
					ledgers = append(ledgers, ledger(c.Run.RunID))
					return "paid", nil
				})
				turn := func(id string) llmtest.Turn {
					return llmtest.Turn{ToolCalls: []llmtest.Call{{ID: id, Name: "pay"}}}
				}
				g = newRig(t, []llmtest.Turn{turn("one"), turn("two"), llmtest.Say("ok")}, withTools(pay), onSlowStore(s))
				p := &tape{}
				o := g.start(p)
				synctest.Wait()
				if n := len(g.model.Requests()); n != 2 || len(ledgers) != 1 {
					t.Errorf("while the result is being committed the model was asked %d times, and %d calls have begun", n, len(ledgers))
				}
				if slices.Contains(p.types(), "tool_call_done") {
					t.Error("the result was published before its commit")
				}
				if len(s.made) != 2 || !slices.Equal(ledger(s.made[0].Run.RunID), []string{"one running"}) {
					t.Errorf("a successor would find %q after %d commits", ledger(s.made[0].Run.RunID), len(s.made))
				}
				release()
				synctest.Wait()
				if o.err != nil || o.res.Steps != 3 {
					t.Errorf("%+v", o)
				}
				if want := [][]string{{"one running"}, {"one succeeded", "two running"}}; !cmp.Equal(ledgers, want) {
					t.Errorf("calls began with the ledgers %q, want %q", ledgers, want)
				}
				// start; intent and result of each call; the answer
				if len(s.made) != 6 || !s.made[1].Begins || !s.made[3].Begins {
					t.Errorf("commits are %+v", s.made)
				}
				checkAgrees(t, g, p)
			})
		})
	}
}

// Scheduled effects of plugins are done once their commit is made, before the next step.
func TestPipeline_PluginEffectsAreNotDeferred(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		var done []int
		ring := awaken.NewEffect[int]("ring")
		s := &slowStore{t: t}
		g := newRig(t, looks(3, llmtest.Say("ok")), withTools(look()), onSlowStore(s), withPlugins(plug{"bell", func(r *awaken.Registrar) {
			r.On(awaken.PhaseStepEnd, func(_ context.Context, h *awaken.HookCall) error { ring.Emit(h, h.Step); return nil })
			r.On(awaken.PhaseStepStart, func(_ context.Context, h *awaken.HookCall) error {
				if len(done) != h.Step {
					t.Errorf("step %d begins, and done is %v", h.Step, done)
				}
				return nil
			})
			r.HandleEffect(ring.Handler(func(_ context.Context, _ *awaken.HookCall, step int) error { done = append(done, step); return nil }))
		}}))
		_, p := g.run(say("hi"))
		if len(s.made) != 5 || len(done) != 4 {
			t.Errorf("%d commits, done is %v", len(s.made), done)
		}
		checkAgrees(t, g, p)
	})
}

// An owner that learns in flight that it lost its thread stops at once.
func TestPipeline_FencedInFlight(t *testing.T) {
	t.Parallel()
	for name, turns := range map[string][]llmtest.Turn{
		"while the model thinks":   looks(9),
		"before an effect":         looks(1, uses("pay"), llmtest.Say("ok")),
		"before the end":           looks(1, llmtest.Say("ok")),
		"before the end of a step": looks(2, uses("pay")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				s := &slowStore{t: t}
				var fenced atomic.Bool
				held := make(chan struct{})
				s.before = func(c *awaken.Commit) error {
					if fenced.Load() {
						t.Error("it wrote again")
					}
					if c.Number == 2 {
						<-held
						fenced.Store(true)
						return fmt.Errorf("late: %w", awaken.ErrFenced)
					}
					return nil
				}
				_, stall := stalls(3)
				pay := tool("pay", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
					t.Error("an effect began")
					return nil, nil
				})
				var hooks atomic.Int32
				opts := []option{withTools(look(), pay), onSlowStore(s), stall}
				for _, ph := range allPhases {
					opts = append(opts, withPlugins(at(ph, func(context.Context, *awaken.HookCall) error {
						if fenced.Load() {
							hooks.Add(1)
						}
						return nil
					})))
				}
				g := newRig(t, turns, opts...)
				o := g.start(awaken.SinkFunc(func(context.Context, awaken.Entry) error {
					if fenced.Load() {
						t.Error("it said something")
					}
					return nil
				}))
				synctest.Wait()
				close(held)
				synctest.Wait()
				if !o.done || o.res != nil || !errors.Is(o.err, awaken.ErrFenced) {
					t.Errorf("%+v", o)
				}
				if hooks.Load() > 0 {
					t.Errorf("%d hooks ran", hooks.Load())
				}
				if n := s.tried.Load(); n != 2 {
					t.Errorf("%d commits were tried", n)
				}
			})
		})
	}
}

// seenSteps is state that every step changes, and stepSeen one key that each step has of
// its own.
var (
	seenSteps = state.NewKey("test.seen_steps", func(n, d int) int { return n + d }, state.Options{Scope: state.Thread})
	stepSeen  = []*state.Key[int, int]{
		state.NewValue[int]("test.step_0", state.Options{Scope: state.Thread}),
		state.NewValue[int]("test.step_1", state.Options{Scope: state.Thread}),
		state.NewValue[int]("test.step_2", state.Options{Scope: state.Thread}),
	}
)

// countSteps keeps that state, and says in ended which steps have changed it.
func countSteps(ended *[]int) plug {
	return plug{"counter", func(r *awaken.Registrar) {
		r.Key(seenSteps)
		for _, k := range stepSeen {
			r.Key(k)
		}
		r.On(awaken.PhaseStepEnd, func(_ context.Context, h *awaken.HookCall) error {
			seenSteps.Update(h, 1)
			if h.Step < len(stepSeen) {
				stepSeen[h.Step].Update(h, 1)
			}
			*ended = append(*ended, h.Step)
			return nil
		})
	}}
}

// Whichever commit fails, whether it was made or not, and however often: nothing is lost
// and nothing is doubled.
func TestPipeline_CommitsThatFail(t *testing.T) {
	t.Parallel()
	for _, made := range []bool{true, false} {
		for n := 2; n <= 5; n++ {
			for times := 1; times <= 3; times++ {
				for _, thinks := range []bool{true, false} {
					t.Run(fmt.Sprintf("commit %d, made %v, %d times, thinks %v", n, made, times, thinks), func(t *testing.T) {
						t.Parallel()
						bubbletest.Test(t, func(t *testing.T) {
							s := &slowStore{t: t}
							tried := 0
							s.before = func(c *awaken.Commit) error {
								if tried++; tried >= n && tried < n+times {
									if made {
										if err := s.Store.Commit(t.Context(), c); err != nil {
											return err
										}
									}
									return errors.New("connection lost")
								}
								return nil
							}
							var ended []int
							opts := []option{withTools(look()), withPlugins(countSteps(&ended)), onSlowStore(s)}
							if thinks {
								_, stall := stalls(4)
								opts = append(opts, stall)
							}
							g := newRig(t, looks(3, llmtest.Say("ok")), opts...)
							ctx, cancel := context.WithCancel(t.Context())
							defer cancel()
							p := &tape{}
							o := &outcome{}
							go func() {
								o.res, o.err = g.rt.Run(ctx, say("hi"), p)
								o.done = true
							}()
							synctest.Wait()
							if !o.done { // it thinks, and nothing was wrong that could not be put right
								if !thinks {
									t.Fatal("it hangs")
								}
								cancel()
								synctest.Wait()
							}
							if o.res == nil {
								t.Fatalf("%+v", o)
							}
							checkTermination(t, o.res, p, o.res.Termination.Type)
							if times == 1 && o.res.Termination.Type == awaken.Failed {
								t.Errorf("it was not tried again: %v", o.err)
							}
							if o.res.Termination.Type == awaken.Failed && o.res.Termination.Message != "the run could not be stored" {
								t.Errorf("it failed with %q", o.res.Termination.Message)
							}
							rec := g.record(o.res.RunID)
							stored := g.stored()
							for i, ev := range p.entries {
								if durable(ev) && !slices.Contains(stored, p.published()[i]) {
									t.Errorf("%s was published but is not stored", p.published()[i])
								}
							}
							if last := p.entries[len(p.entries)-1]; last.Cursor == (awaken.Cursor{}) {
								if times == 1 || o.err == nil {
									t.Errorf("the end could not be stored: %+v", o)
								}
								return // and what is stored may have more than was said
							}
							checkAgrees(t, g, p)
							if rec.Termination != o.res.Termination || rec.Steps != o.res.Steps {
								t.Errorf("the record has %s after %d steps, the result %s after %d", rec.Termination, rec.Steps, o.res.Termination, o.res.Steps)
							}
							cp, err := g.store.Acquire(t.Context(), "t")
							if err != nil {
								t.Fatal(err)
							}
							if got := string(cp.ThreadState["test.seen_steps"]); got != fmt.Sprint(len(ended)) {
								t.Errorf("after %d steps the state says %s", len(ended), got)
							}
							for _, i := range ended {
								if i < len(stepSeen) && string(cp.ThreadState[fmt.Sprint("test.step_", i)]) != "1" {
									t.Errorf("the state of step %d is lost", i)
								}
							}
							calls := g.calls(o.res.RunID)
							if want := count(p.types(), "tool_call_done"); len(calls) != want {
								t.Errorf("%d calls are stored, %d were published", len(calls), want)
							}
						})
					})
				}
			}
		}
	}
}

// durable reports whether an event claims what is only true once it is committed.
func durable(e awaken.Entry) bool {
	switch e.Event.(type) {
	case *awaken.RunStart, *awaken.ToolCallDone, *awaken.StepEnd, *awaken.RunFinish:
		return e.Cursor != (awaken.Cursor{})
	}
	return false
}

// A run is cancelled while a commit is in flight, and has it all the same.
func TestPipeline_CancelInFlight(t *testing.T) {
	t.Parallel()
	for _, byContext := range []bool{true, false} {
		t.Run(fmt.Sprint("by context ", byContext), func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				s := &slowStore{t: t}
				release := s.delay(2)
				_, stall := stalls(3)
				g := newRig(t, looks(2), withTools(look()), onSlowStore(s), stall)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				p := &tape{}
				o := &outcome{}
				go func() {
					o.res, o.err = g.rt.Run(ctx, say("hi"), p)
					o.done = true
				}()
				synctest.Wait()
				if byContext {
					cancel()
				} else if err := g.rt.Cancel(t.Context(), "t"); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if o.done {
					t.Error("it ended before its commit was made")
				}
				release()
				synctest.Wait()
				if !o.done || o.err != nil {
					t.Fatalf("%+v", o)
				}
				checkTermination(t, o.res, p, awaken.Cancelled)
				if rec := g.record(o.res.RunID); rec.Status != awaken.RunDone || rec.Steps != 3 {
					t.Errorf("the record is %s after %d steps", rec.Status, rec.Steps)
				}
				checkAgrees(t, g, p)
			})
		})
	}
}

// A sink that fails in flight cancels the run, and is not called again.
func TestPipeline_SinkFailsInFlight(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		s := &slowStore{t: t}
		_, stall := stalls(2)
		g := newRig(t, looks(2), withTools(look()), onSlowStore(s), stall)
		failed := false
		res, err := g.rt.Run(t.Context(), say("hi"), awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
			if failed {
				t.Errorf("the sink got %s", e.Event.Type())
			}
			if _, ok := e.Event.(*awaken.StepEnd); ok {
				failed = true
				return errors.New("broken pipe")
			}
			return nil
		}))
		if res == nil || res.Termination.Type != awaken.Cancelled || err == nil || !strings.Contains(err.Error(), "broken pipe") {
			t.Errorf("result is %+v, error is %v", res, err)
		}
		if rec := g.record(res.RunID); rec.Status != awaken.RunDone || rec.Termination.Type != awaken.Cancelled {
			t.Errorf("the record is %s with %s", rec.Status, rec.Termination)
		}
		if n := len(g.stored()); n == 0 || !strings.HasSuffix(g.stored()[n-1], "run_finish") {
			t.Errorf("stored is %q", g.stored())
		}
	})
}

// What a sink or a store does to the goroutine that calls it happens to the caller of Run.
func TestPipeline_PanicsInFlightAreTheCallers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		commit func(*awaken.Commit) error
		sink   func(awaken.Event)
	}{
		"the store panics": {commit: func(c *awaken.Commit) error {
			if c.Number == 2 {
				panic("mine")
			}
			return nil
		}},
		"the sink panics": {sink: func(ev awaken.Event) {
			if _, ok := ev.(*awaken.StepEnd); ok {
				panic("mine")
			}
		}},
		"the sink exits": {sink: func(ev awaken.Event) {
			if _, ok := ev.(*awaken.StepEnd); ok {
				runtime.Goexit()
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				s := &slowStore{t: t, before: tt.commit}
				_, stall := stalls(2)
				g := newRig(t, looks(1), withTools(look()), onSlowStore(s), stall)
				var got any
				returned := false
				go func() {
					defer func() { got = recover() }()
					_, _ = g.rt.Run(t.Context(), say("hi"), &tape{on: tt.sink})
					returned = true
				}()
				synctest.Wait()
				if want := any("mine"); returned || (name != "the sink exits" && got != want) {
					t.Errorf("returned is %v, recovered is %v", returned, got)
				}
				if err := g.rt.Wait(t.Context(), "t"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Runs that park, yield or end have everything, also what was in flight.
func TestPipeline_EveryReturnHasCommittedEverything(t *testing.T) {
	t.Parallel()
	t.Run("parked", func(t *testing.T) {
		t.Parallel()
		bubbletest.Test(t, func(t *testing.T) {
			s := &slowStore{t: t}
			release := s.delay(2)
			g := newRig(t, looks(2, uses("ask"), llmtest.Say("ok")), withTools(look(), awaken.FrontendTool(awaken.ToolSpec{ID: "ask"})), onSlowStore(s))
			p := &tape{}
			o := g.start(p)
			synctest.Wait()
			if o.done {
				t.Error("it parked before its commit was made")
			}
			release()
			synctest.Wait()
			if !o.done || o.err != nil || len(s.made) != 3 {
				t.Fatalf("%+v after %d commits", o, len(s.made))
			}
			checkTermination(t, o.res, p, awaken.Suspended)
			checkAgrees2(t, g, p)
			g.restart()
			res, q := g.resume(o.res.RunID, awaken.Decision{Target: "c1", ID: "d", Action: awaken.ActionResume, Result: []byte(`"yes"`)})
			checkTermination(t, res, q, awaken.NaturalEnd)
			checkValid(t, g.log("t"))
		})
	})
	t.Run("yielded", func(t *testing.T) {
		t.Parallel()
		bubbletest.Test(t, func(t *testing.T) {
			s := &slowStore{t: t}
			release := s.delay(2)
			unstall, stall := stalls(2)
			g := newRig(t, looks(2, llmtest.Say("ok")), withTools(look()), onSlowStore(s), stall)
			p := &tape{}
			o := g.start(p)
			synctest.Wait()
			g.rt.Yield("t")
			unstall()
			synctest.Wait()
			if o.done {
				t.Error("it yielded before its commit was made")
			}
			release()
			synctest.Wait()
			if !o.done || !errors.Is(o.err, awaken.ErrYielded) {
				t.Fatalf("%+v", o)
			}
			if diff := cmp.Diff(g.stored(), p.published()); diff != "" {
				t.Errorf("what was said is not what is stored (-stored +said):\n%s", diff)
			}
			run := s.made[len(s.made)-1].Run
			if run.Steps != 2 {
				t.Errorf("%d steps are stored", run.Steps)
			}
			g.restart()
			res, q := g.resume(run.RunID)
			checkTermination(t, res, q, awaken.NaturalEnd)
			checkValid(t, g.log("t"))
		})
	})
}

// checkAgrees2 is checkAgrees for a conversation with open calls.
func checkAgrees2(t *testing.T, g *rig, p *tape) {
	t.Helper()
	if diff := cmp.Diff(g.stored(), p.published()); diff != "" {
		t.Errorf("what was said is not what is stored (-stored +said):\n%s", diff)
	}
	checkBalanced(t, p)
}

// Messages are read once, wherever the commit is that marks them as read.
func TestPipeline_InboxIsReadOnce(t *testing.T) {
	t.Parallel()
	t.Run("posted here", func(t *testing.T) { // the next step has it
		t.Parallel()
		bubbletest.Test(t, func(t *testing.T) {
			s := &slowStore{t: t}
			unstall, stall := stalls(2)
			g := newRig(t, looks(3, llmtest.Say("ok")), withTools(look()), onSlowStore(s), stall)
			p := &tape{}
			o := g.start(p)
			synctest.Wait()
			if err := g.rt.Send(t.Context(), "t", llm.UserText("psst")); err != nil {
				t.Fatal(err)
			}
			unstall()
			synctest.Wait()
			if o.err != nil || count(outline(g.log("t")), "user: psst") != 1 {
				t.Errorf("%+v: %q", o, outline(g.log("t")))
			}
			if got := outline(g.request(3).Messages); got[len(got)-1] != "user: psst" {
				t.Errorf("the next step was shown %q", got)
			}
			checkAgrees(t, g, p)
		})
	})
	t.Run("posted elsewhere", func(t *testing.T) { // the commit in flight tells
		t.Parallel()
		bubbletest.Test(t, func(t *testing.T) {
			s := &slowStore{t: t}
			posted := 0
			held := make(chan struct{})
			s.before = func(c *awaken.Commit) error {
				if c.Run.Steps > 0 && posted < 2 {
					posted++
					if err := s.Store.Post(t.Context(), "t", awaken.InboxItem{ID: fmt.Sprint("i", posted), Messages: []*llm.Message{llm.UserText(fmt.Sprint("psst ", posted))}}); err != nil {
						t.Error(err)
					}
				}
				if len(c.Read) > 0 {
					<-held // while it is in flight, the store takes the items to be unread
				}
				return nil
			}
			g := newRig(t, looks(6, llmtest.Say("ok"), llmtest.Say("ok"), llmtest.Say("ok")), withTools(look()), onSlowStore(s))
			p := &tape{}
			o := g.start(p)
			synctest.Wait()
			close(held)
			synctest.Wait()
			if !o.done || o.err != nil {
				t.Fatalf("%+v: %v", o, o.err)
			}
			log := outline(g.log("t"))
			if count(log, "user: psst 1") != 1 || count(log, "user: psst 2") != 1 {
				t.Errorf("the log is %q", log)
			}
			checkAgrees(t, g, p)
		})
	})
}

// Stream calls the body of its loop in the loop's own goroutine, whatever the store.
func TestPipeline_StreamStaysInItsGoroutine(t *testing.T) {
	t.Parallel()
	s := &slowStore{t: t}
	g := newRig(t, looks(3, llmtest.Say("ok")), withTools(look()), onSlowStore(s))
	next, stop := iter.Pull2(g.rt.Stream(t.Context(), say("hi"))) // which dies if it is called in another
	defer stop()
	p := &tape{}
	for {
		ev, err, ok := next()
		if !ok {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		p.entries = append(p.entries, awaken.Entry{Event: ev})
	}
	if n := count(p.types(), "step_end"); n != 4 || len(s.made) != 5 {
		t.Errorf("%d steps, %d commits", n, len(s.made))
	}
}

// perThread lets the commits of several threads be in flight.
type perThread struct{ *slowStore }

func (s *perThread) Commit(ctx context.Context, c *awaken.Commit) error {
	if err := s.before(c); err != nil {
		return err
	}
	return s.Store.Commit(ctx, c)
}

// A run that a tool has started is cancelled with the run that the tool belongs to. That a
// commit of the other failed is not its own failure.
func TestPipeline_TheRunOfAToolIsCancelledWhenACommitOfItsParentFails(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		s := &slowStore{t: t, before: func(c *awaken.Commit) error {
			if c.ThreadID != "t" || c.Number < 2 {
				return nil
			}
			if c.Number == 2 {
				<-held
			}
			return errors.New("disk on fire")
		}}
		var rt *engine.Runtime
		var child *awaken.RunResult
		var childErr error
		sub := awaken.NewTool(awaken.ToolSpec{ID: "sub", Effect: awaken.ReadOnly}, func(ctx context.Context, _ *awaken.ToolCall, _ args) (string, error) {
			child, childErr = rt.Run(ctx, awaken.RunRequest{ThreadID: "child", Messages: []*llm.Message{llm.UserText("x")}}, nil)
			return "done", nil
		})
		_, stall := stalls(3)
		g := newRig(t, looks(1, uses("sub"), llmtest.Say("ok")), withTools(look(), sub), func(c *engine.Config) { s.Store = c.Store; c.Store = &perThread{s} }, stall)
		rt = g.rt
		parent := g.start(&tape{})
		synctest.Wait()
		close(held)
		synctest.Wait()
		if parent.err == nil || !strings.Contains(parent.err.Error(), "disk on fire") {
			t.Errorf("the run whose commit failed: %v", parent.err)
		}
		if childErr != nil || child == nil || child.Termination.Type != awaken.Cancelled {
			t.Errorf("the run of its tool: %+v, %v, want it cancelled", child, childErr)
		}
	})
}
