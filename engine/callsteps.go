package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ownership"
)

// A tool runs its steps in its own goroutine ([exchange.Step]) and asks the run's goroutine before
// and after each, which keeps the ledger and commits ([crew.takeStep]).
//
//   - A step that is not read-only begins when its intent is committed, and has ended when its
//     result is. Both commits take along everything earlier, so a step never builds on a result
//     that could be lost. The result of a read-only step waits for the next commit, 20 ms at most.
//   - A step that was open when its owner was lost is settled when the tool comes to it again.
//   - Once a call must stop, to ask a person or to yield its thread, it begins no further step, and
//     whatever its tool returns is not its result.

const (
	maxSteps    = 1000 // of a call
	maxStepName = 200  // bytes
)

// callSteps is the recorded steps of a call.
type callSteps struct {
	records map[string]*awaken.CallStep // by name
	used    map[string]int              // how often the tool has used a name since it was called
	stopped error                       // why the call begins no further step
}

// newCallSteps returns the steps of a record that was stored, or nil if it has none.
func newCallSteps(s *awaken.CallState) *callSteps {
	if len(s.Steps) == 0 {
		return nil
	}
	cs := &callSteps{records: make(map[string]*awaken.CallStep, len(s.Steps))}
	for _, step := range s.Steps {
		cs.records[step.Name] = step
	}
	return cs
}

// openEffect returns an effectful step that has begun and not ended, or nil.
func (cs *callSteps) openEffect() *awaken.CallStep {
	if cs == nil {
		return nil
	}
	for _, step := range cs.records {
		if step.Open() && step.Effect == awaken.Effectful {
			return step
		}
	}
	return nil
}

// escapeID takes the slashes out of an id. Most ids have none.
var escapeID = strings.NewReplacer("%", "%25", "/", "%2F")

// callKey returns the key of a call. Keys of its steps begin with it and a slash; no key of another call
// does, whatever clients call their runs.
func callKey(runID string, step, index int) string {
	return escapeID.Replace(runID) + "/" + strconv.Itoa(step) + "/" + strconv.Itoa(index)
}

// next returns the name of the next step that the tool calls by a name, and the key that a new
// record of it has. A try after a failed one has the same key, unless it is effectful.
func (cs *callSteps) next(callKey, name string, effect awaken.EffectClass) (numbered, key string) {
	if cs.used == nil {
		cs.used = map[string]int{}
	}
	n := cs.used[name] + 1
	cs.used[name] = n
	at := func(n int) string {
		if n == 1 {
			return name
		}
		return name + "~" + strconv.Itoa(n)
	}
	numbered = at(n)
	key = callKey + "/" + numbered
	if last := cs.records[at(n-1)]; n > 1 && last != nil && last.Error != "" && effect != awaken.Effectful {
		key = last.Key
	}
	return numbered, key
}

// begun forgets which names a tool has used, because the tool is about to be called.
func (cs *callSteps) begun() {
	if cs != nil {
		cs.used, cs.stopped = nil, nil
	}
}

// stepMessage is a running tool's message to the run about a step.
type stepMessage struct {
	name   string
	effect awaken.EffectClass
	begun  *awaken.CallStep // nil: the step is about to begin
	probed *awaken.Probe    // what the tool knows of a step in doubt
	result json.RawMessage  // of the step that has ended
	err    error
	lost   error          // the step was not run, because the run may have another owner
	reply  chan stepReply // has room for the reply
}

// stepReply is the run's reply.
type stepReply struct {
	step  *awaken.CallStep
	probe func(ctx context.Context) awaken.Probe // not nil: ask it, because the step is in doubt
	err   error
}

// Step runs a step of a call. It runs in the goroutine of a tool.
func (x *exchange) Step(ctx context.Context, tc *awaken.ToolCall, name string, effect awaken.EffectClass, fn func(ctx context.Context, key string) (json.RawMessage, error)) (json.RawMessage, error) {
	switch {
	case name == "" || len(name) > maxStepName || strings.ContainsRune(name, '~'):
		return nil, fmt.Errorf("name of a step is %q, want 1 to %d bytes without ~", name, maxStepName)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	m := &stepMessage{name: name, effect: effect}
	r := x.tell(ctx, tc, m)
	if r.probe != nil {
		p := r.probe(ctx)
		m.begun, m.probed = r.step, &p
		r = x.tell(ctx, tc, m)
		m.begun, m.probed = nil, nil
	}
	switch {
	case r.err != nil:
		return nil, r.err
	case r.step.EndedAt != 0:
		return stepResult(r.step)
	}
	atToolStepBegun.Hit()
	if err := ownership.Check(ctx); err != nil { // another process may own the run by now
		x.report(outcome{tc: tc, step: &stepMessage{lost: err}})
		return nil, err
	}
	m.begun = r.step
	f := followedBy(ctx)
	fctx := f.beginPart(ctx, "tool_step", r.step.Name)
	m.result, m.err = fn(fctx, r.step.Key)
	f.endPart(fctx, m.err)
	atToolStepRun.Hit()
	if m.err != nil && ctx.Err() != nil {
		return nil, m.err // it has not ended: it was cut off
	}
	if r = x.tell(ctx, tc, m); r.err != nil {
		return nil, r.err
	}
	if m.err != nil {
		return nil, m.err
	}
	return stepResult(r.step)
}

// stepResult returns what a step that has ended returned.
func stepResult(step *awaken.CallStep) (json.RawMessage, error) {
	switch {
	case step.InDoubt:
		return nil, fmt.Errorf("step %q was cut off after it had begun; %w", step.Name, awaken.ErrInDoubt)
	case step.Error != "":
		return nil, errors.New(step.Error)
	}
	return step.Result, nil
}

// tell passes a message of a tool to the run, and returns the run's reply.
func (x *exchange) tell(ctx context.Context, tc *awaken.ToolCall, m *stepMessage) stepReply {
	m.reply = make(chan stepReply, 1)
	x.report(outcome{tc: tc, step: m})
	select {
	case r := <-m.reply:
		return r
	case <-x.over:
		return stepReply{err: cmp.Or(context.Cause(ctx), errRunOver)}
	}
}

var errRunOver = errors.New("the run is over")

// takeStep handles what a running tool tells about a step. While calls are being aborted, results
// are taken in, and nothing begins.
func (w *crew) takeStep(ctx context.Context, tc *awaken.ToolCall, m *stepMessage) *end {
	var c *call
	for _, o := range w.ledger.calls {
		if o.running && o.tc == tc {
			c = o
		}
	}
	switch {
	case m.lost != nil:
		return w.fail(m.lost)
	case c == nil:
		m.reply <- stepReply{err: errors.New("the call is over")}
		return nil
	case c.steps == nil:
		c.steps = &callSteps{records: map[string]*awaken.CallStep{}}
	}
	var r stepReply
	var e *end
	switch {
	case m.probed != nil:
		r, e = w.settleStep(ctx, c, m)
	case m.begun != nil:
		r, e = w.leaveStep(ctx, c, m)
	case w.aborting:
		r.err = awaken.ErrCancelled
	default:
		name, key := c.steps.next(c.state.Key, m.name, m.effect)
		r, e = w.findStep(ctx, c, m, name, key)
	}
	if e != nil && r.err == nil {
		r.err = cmp.Or(e.err, awaken.ErrCancelled)
	}
	m.reply <- r
	return e
}

// findStep replies to a tool that comes to a step.
func (w *crew) findStep(ctx context.Context, c *call, m *stepMessage, name, key string) (stepReply, *end) {
	cs := c.steps
	step := cs.records[name]
	switch {
	case step != nil && step.EndedAt != 0:
		return stepReply{step: step}, nil
	case cs.stopped != nil:
		return stepReply{err: cs.stopped}, nil
	case w.active.yield.Load() && c.state.Effect != awaken.Effectful:
		cs.stopped = awaken.ErrYielded
		return stepReply{err: cs.stopped}, nil
	case step == nil && len(cs.records) >= maxSteps:
		return stepReply{err: fmt.Errorf("step %q: a call has at most %d steps", name, maxSteps)}, nil
	case step == nil:
		step = &awaken.CallStep{Name: name, Key: key, Effect: m.effect}
	case step.Open() && step.Effect == awaken.Effectful:
		atToolStepDoubt.Hit()
		return w.doubtStep(ctx, c, step)
	}
	return w.enterStep(ctx, c, step)
}

// enterStep begins a step. Unless it is read-only, it is committed as an intent first.
func (w *crew) enterStep(ctx context.Context, c *call, step *awaken.CallStep) (stepReply, *end) {
	begun := *step
	begun.StartedAt, begun.EndedAt, begun.Attempts = w.rt.cfg.Now().UnixMilli(), 0, step.Attempts+1
	if begun.Effect == awaken.ReadOnly {
		return stepReply{step: &begun}, nil
	}
	if ctx.Err() != nil {
		return stepReply{}, w.fail(context.Cause(ctx))
	}
	w.recordStep(c, &begun)
	w.outcomes.waiting = 0
	atToolStepIntent.Hit()
	err := w.journal.commit(ctx, commitOptions{begins: true})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		w.recordStep(c, step) // it has not begun
		return stepReply{}, w.fail(err)
	}
	_ = w.out.emit(ctx, activityOf(c, &begun))
	return stepReply{step: &begun}, nil
}

// leaveStep records the outcome of a step.
func (w *crew) leaveStep(ctx context.Context, c *call, m *stepMessage) (stepReply, *end) {
	step := *m.begun
	step.EndedAt = max(w.rt.cfg.Now().UnixMilli(), step.StartedAt)
	limit := cmp.Or(c.entry.Spec.MaxResultBytes, w.rt.cfg.Limits.ToolResultBytes)
	switch {
	case m.err != nil && runsAgain(m.err):
		step.StartedAt, step.EndedAt = 0, 0
		if step.Effect == awaken.ReadOnly {
			return stepReply{step: &step}, nil
		}
	case m.err != nil:
		step.Error = cmp.Or(m.err.Error(), "the step failed without a message")
	case limit >= 0 && len(m.result) > limit:
		step.Error = fmt.Sprintf("the result of step %q is %d bytes long, the limit is %d", step.Name, len(m.result), limit)
	default:
		step.Result = m.result
	}
	return w.storeStep(ctx, c, &step)
}

// runsAgain reports whether a step that returned err is run again when its call is: it has suspended the call,
// or given up its thread.
func runsAgain(err error) bool {
	res, fatal := awaken.ResultOf("", nil, err)
	return fatal == nil && res.Status == awaken.ToolPending || errors.Is(err, awaken.ErrYielded)
}

// storeStep records a step that has ended. Its result is committed before the tool continues,
// unless the step is read-only.
func (w *crew) storeStep(ctx context.Context, c *call, step *awaken.CallStep) (stepReply, *end) {
	w.recordStep(c, step)
	if step.EndedAt != 0 {
		w.out.deferEvent(activityOf(c, step))
	}
	if step.Effect == awaken.ReadOnly || w.aborting {
		w.outcomes.wait()
		return stepReply{step: step}, nil
	}
	w.outcomes.waiting = 0
	atToolStepEnded.Hit()
	err := w.journal.commit(ctx, commitOptions{})
	atToolStepStored.Hit()
	return stepReply{step: step}, w.fail(err)
}

// recordStep enters a step in the ledger.
func (w *crew) recordStep(c *call, step *awaken.CallStep) {
	c.steps.records[step.Name] = step
	w.ledger.edit(c).SetStep(step)
}

// activityOf returns the event that shows a step to clients.
func activityOf(c *call, step *awaken.CallStep) awaken.Event {
	shown := *step
	shown.Result = nil
	content, err := json.Marshal(&shown)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return &awaken.ActivitySnapshot{MessageID: "tool_call:" + c.state.CallID, ActivityType: stepActivity, Content: content, Replace: new(true)}
}

// stepActivity is the activity type of the steps of calls. Its content is a CallStep without its
// result.
const stepActivity = "tool-call-step"

// doubtStep replies to a tool that comes to an effectful step that had begun when its owner was
// lost: a person has decided about it, or the tool is to be asked first.
func (w *crew) doubtStep(ctx context.Context, c *call, step *awaken.CallStep) (stepReply, *end) {
	atToolStepDoubt.Hit()
	if d := decisionOn(c.state, stepQuestion(c.state.CallID, step)); d != nil {
		answer := d.Answer()
		switch {
		case answer != nil || d.Outcome == awaken.OutcomeMade:
			w.ledger.settle(c, asMade(d))
			if answer == nil {
				answer = json.RawMessage("null")
			}
			return w.storeStep(ctx, c, ended(step, w.rt.cfg.Now().UnixMilli(), answer))
		case d.Outcome == awaken.OutcomeNotMade:
			w.ledger.settle(c, d.Settlement())
		}
		return w.enterStep(ctx, c, step)
	}
	tc, entry := w.toolCall(c), c.entry
	tc.Key = step.Key
	return stepReply{step: step, probe: func(ctx context.Context) awaken.Probe { return w.ask(ctx, entry, tc, step.StartedAt) }}, nil
}

// settleStep settles a step in doubt by what its tool knows, or else by the tool's policy.
func (w *crew) settleStep(ctx context.Context, c *call, m *stepMessage) (stepReply, *end) {
	step := m.begun
	switch {
	case m.probed.Outcome == awaken.ProbeDone:
		var data json.RawMessage
		if m.probed.Result != nil {
			data = m.probed.Result.Data
		}
		if len(data) == 0 {
			data = json.RawMessage("null")
		}
		w.ledger.settle(c, awaken.Settlement{Outcome: awaken.OutcomeMade, By: "probe"})
		return w.storeStep(ctx, c, ended(step, w.rt.cfg.Now().UnixMilli(), data))
	case m.probed.Outcome == awaken.ProbeNotDone:
		w.ledger.settle(c, awaken.Settlement{Outcome: awaken.OutcomeNotMade, By: "probe"})
		return w.enterStep(ctx, c, step)
	case c.entry.Spec.InDoubt == awaken.DoubtSuspend:
		params, err := json.Marshal(map[string]any{"step": step.Name, "started_at": step.StartedAt, "arguments": c.state.Arguments})
		if err != nil {
			return stepReply{}, w.fail(err)
		}
		happened := fmt.Sprintf("Step '%s' of tool '%s' was cut off after it had begun.", step.Name, c.state.ToolName)
		c.steps.stopped = awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{
			ID:         stepQuestion(c.state.CallID, step),
			Action:     awaken.ActionStepInDoubt,
			Message:    awaken.DoubtQuestion(happened, "Run the step again?"),
			Parameters: params,
		}})
		return stepReply{err: c.steps.stopped}, nil
	}
	doubtful := ended(step, w.rt.cfg.Now().UnixMilli(), nil)
	doubtful.InDoubt, doubtful.Error = true, awaken.ErrInDoubt.Error()
	return w.storeStep(ctx, c, doubtful)
}

// ended returns the record of a step that has ended.
func ended(step *awaken.CallStep, at int64, result json.RawMessage) *awaken.CallStep {
	out := *step
	out.EndedAt, out.Result = max(at, step.StartedAt), result
	return &out
}

// stepQuestion is the id of the question about a step in doubt. Each attempt has its own, so that no
// decision counts for a later one.
func stepQuestion(callID string, step *awaken.CallStep) string {
	return fmt.Sprintf("in_doubt_%s_%s_%d", callID, step.Name, step.Attempts)
}

// decisionOn returns the approval of a question of a call, or nil.
func decisionOn(s *awaken.CallState, question string) *awaken.Decision {
	if s.Decision != nil && s.Decision.Target == question && s.Decision.Action == awaken.ActionResume {
		return s.Decision
	}
	for i := range s.Earlier {
		if d := &s.Earlier[i]; d.Target == question && d.Action == awaken.ActionResume && d.Unapplied == "" {
			return d
		}
	}
	return nil
}
