package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// outcomes records the results of tool calls.
type outcomes struct {
	*core
	phases   *phases
	guards   *guards
	children *children

	running  int              // calls that have not returned
	waiting  int              // results that are not committed yet
	deadline <-chan time.Time // for committing results that wait
	written  state.Batch      // written by the concurrent calls of the step
}

// complete gives a call its result: it applies what the tool recorded, runs after_tool_execute,
// and updates the ledger, the conversation and the events. The next commit stores all of it.
func (oc *outcomes) complete(ctx context.Context, c *call, res *awaken.ToolResult, cmd *awaken.Command) *end {
	res.ToolName = c.state.ToolName
	res = oc.weigh(c, res)
	oc.taintBy(ctx, c)
	var failed *end
	if c.tc != nil && len(oc.agent.Guards[awaken.ResultPoint]) > 0 {
		if res, failed = oc.passResult(ctx, c, res, cmd); res == nil {
			return failed
		}
		res.ToolName = c.state.ToolName
	}
	var writes *awaken.CallWrites
	if cmd != nil {
		oc.addSpent(cmd.Recorded())
		var err error
		if writes, err = oc.submitCall(c, cmd); err != nil {
			res = awaken.ErrorResult("state", fmt.Sprintf("tool %q ran, but its state updates could not be applied: %v", c.state.ToolName, err))
			res.ToolName = c.state.ToolName
			if _, conflict := errors.AsType[*state.ConflictError](err); !conflict { // a programming error
				failed = oc.fail(fmt.Errorf("tool %q: %w", c.state.ToolName, err))
			}
		}
	}
	res = oc.detachResult(ctx, res)
	s := oc.ledger.edit(c)
	s.Status, s.Result, s.HeldResult, s.UpdatedAt = awaken.CallSucceeded, res, nil, oc.rt.cfg.Now().UnixMilli()
	if res.Status == awaken.ToolError {
		s.Status = awaken.CallFailed
	}
	due := len(oc.agent.Hooks[awaken.PhaseAfterToolExecute]) > 0 || oc.narrator != nil || len(oc.phases.due(awaken.PhaseAfterToolExecute)) > 0
	if c.tc != nil && due {
		if err := oc.phases.run(detached(ctx), awaken.PhaseAfterToolExecute, about{tool: c.tc, result: res}); err != nil {
			if failed = oc.fail(err); failed.lost {
				return failed
			}
		}
	}
	c.message = oc.answerTo(s, res)
	oc.conv.blobs = oc.conv.blobs || c.message.HasBlobs()
	c.forget()
	c.steps = nil
	oc.deferOutcome(c, s.Status, writes)
	if err := oc.stateDelta(); err != nil && failed == nil {
		failed = oc.fail(err)
	}
	oc.appendAnswers(false)
	oc.wait()
	return failed
}

// passResult asks the guards about a result. It returns the result to use, or nil if the call is
// suspended and the result kept, and the end of the run, if any.
func (oc *outcomes) passResult(ctx context.Context, c *call, res *awaken.ToolResult, cmd *awaken.Command) (*awaken.ToolResult, *end) {
	p := &awaken.Passage{Point: awaken.ResultPoint, Result: res}
	v, err := oc.guards.pass(detached(ctx), awaken.PhaseAfterToolExecute, about{tool: c.tc, result: res}, p, c.state.Approved)
	if err != nil {
		return awaken.ErrorResult("guard", fmt.Sprintf("the result of tool %q was withheld", c.state.ToolName)), oc.fail(err)
	}
	switch {
	case v.Blocked():
		res := awaken.ErrorResult("", fmt.Sprintf("the result of tool %q was blocked: %s", c.state.ToolName, v.Reason()))
		res.Metadata = map[string]any{"rejected": true}
		what := &awaken.TerminationDetails{Point: awaken.ResultPoint, CallID: c.state.CallID}
		return res, &end{Termination: awaken.Termination{Type: awaken.Blocked, Message: v.Reason(), Details: what}}
	case v.Suspended():
		oc.ledger.edit(c).HeldResult = oc.detachResult(ctx, p.Result)
		t := v.Ticket()
		return nil, oc.suspend(c, &awaken.ToolResult{Suspension: &t}, cmd)
	}
	return p.Result, nil
}

// capped replaces a result that is too large with an error.
func (oc *outcomes) capped(c *call, res *awaken.ToolResult) *awaken.ToolResult {
	limit := cmp.Or(c.entry.Spec.MaxResultBytes, oc.rt.cfg.Limits.ToolResultBytes)
	size := resultSize(res)
	if files := fileSize(res); files > 0 {
		if most := oc.rt.cfg.Limits.ToolFileBytes; most >= 0 && files/4*3 > most {
			return awaken.ErrorResult("result_too_large", fmt.Sprintf("the files of the result of tool %q are %d bytes long, the limit is %d", c.state.ToolName, files/4*3, most))
		}
		if blob.Of(oc.rt.cfg.Store) == nil {
			size += files // they stay in the message
		}
	}
	if limit < 0 || size <= limit {
		return res
	}
	runes := []rune(res.Plain())
	begins := string(runes[:min(len(runes), 1000, limit)])
	out := awaken.ErrorResult("result_too_large", fmt.Sprintf("the result of tool %q is %d bytes long, the limit is %d. It begins: %s",
		c.state.ToolName, size, limit, begins))
	out.ToolName, out.Replaces = res.ToolName, &awaken.Replacement{Size: size, Begins: len(begins)}
	return out
}

// suspend makes a call wait for a decision.
func (oc *outcomes) suspend(c *call, res *awaken.ToolResult, cmd *awaken.Command) *end {
	var writes *awaken.CallWrites
	if cmd != nil {
		oc.addSpent(cmd.Recorded())
		var err error
		if writes, err = oc.submitCall(c, cmd); err != nil {
			return oc.fail(err)
		}
	}
	s := oc.ledger.edit(c)
	t := oc.ledger.ticket(c, *res.Suspension)
	oc.doubtAsked(c, t)
	c.forget()
	oc.ledger.last = c
	out := *res
	out.ToolName, out.Status, out.Suspension = s.ToolName, awaken.ToolPending, t
	out.Message = cmp.Or(out.Message, fmt.Sprintf("Tool '%s' suspended: awaiting approval", s.ToolName))
	oc.out.deferEvent(&awaken.ToolCallDone{ID: s.CallID, Result: &out, Outcome: awaken.CallSuspended, Arguments: c.replaced(), Writes: writes})
	if c.recheck {
		c.recheck = false
		oc.children.recheck(c)
	}
	oc.wait()
	return nil
}

// submitCall applies what a call recorded, and returns the record of it, or nil if it is nothing. Concurrent calls
// started from the same state, so they must not write the same exclusive key.
func (oc *outcomes) submitCall(c *call, cmd *awaken.Command) (*awaken.CallWrites, error) {
	sign(cmd, "tool:", c.state.ToolName)
	if oc.agent.Spec.ExecutionMode() != awaken.Sequential {
		if err := oc.written.Merge(&cmd.Batch); err != nil {
			spent := awaken.Command{}
			spent.Recorded().Usage, spent.Recorded().CostUSD = cmd.Recorded().Usage, cmd.Recorded().CostUSD
			return oc.writes(&spent, &spent.Batch), fmt.Errorf("%w: another call of this step wrote it too", err)
		}
	}
	own := cmd.Batch // without what submit adds to it
	err := oc.phases.submit(cmd)
	if err != nil {
		own = state.Batch{} // nothing is applied
	}
	return oc.writes(cmd, &own), err
}

// writes returns the record of a command whose updates are applied, or nil if it is empty.
func (oc *outcomes) writes(cmd *awaken.Command, updates *state.Batch) *awaken.CallWrites {
	made := cmd.Recorded()
	if updates.Len() == 0 && len(made.Actions) == 0 && len(made.Outbox) == 0 && made.Usage == nil && made.Ending == nil {
		return nil
	}
	w := &awaken.CallWrites{Usage: made.Usage, CostUSD: made.CostUSD, End: made.Ending}
	values, unencoded := oc.st.Written(updates)
	w.Unencoded = unencoded
	for _, v := range values {
		switch {
		case v.Value == nil:
			w.Cleared = append(w.Cleared, v.Key)
		case w.State == nil:
			w.State = map[string]json.RawMessage{v.Key: v.Value}
		default:
			w.State[v.Key] = v.Value
		}
	}
	for _, a := range made.Actions {
		if a.Err() == nil { // or the run fails
			w.Actions = append(w.Actions, a)
		}
	}
	for _, o := range made.Outbox {
		if o.Start != nil {
			start := *o.Start
			start.ResolutionID = "" // the record of that run has it
			o.Start = &start
		}
		if data, err := json.Marshal(&o); err == nil { // or it cannot be stored, and the run fails
			w.Sent = append(w.Sent, data)
		}
	}
	return w
}

// deferOutcome defers the event with the outcome of a call: tool_call_done, or tool_call_resumed if
// the call was suspended.
func (oc *outcomes) deferOutcome(c *call, outcome awaken.CallStatus, writes *awaken.CallWrites) {
	s := c.state
	oc.ledger.last = c
	if s.Ticket != nil {
		oc.out.deferEvent(&awaken.ToolCallResumed{TargetID: s.CallID, Result: resumedValue(s.Result), MessageID: c.message.ID, Outcome: s.Status,
			Decision: oc.decided(s), Doubt: s.Doubt, Writes: writes})
	} else {
		oc.out.deferEvent(&awaken.ToolCallDone{ID: s.CallID, MessageID: c.message.ID, Result: s.Result, Outcome: outcome, Arguments: c.replaced(),
			Writes: writes})
	}
}

// answer gives a call a result that its tool did not return.
func (oc *outcomes) answer(c *call, status awaken.CallStatus, res *awaken.ToolResult) {
	s := oc.ledger.edit(c)
	res.ToolName = s.ToolName
	s.Status, s.Result, s.UpdatedAt = status, res, oc.rt.cfg.Now().UnixMilli()
	c.message = oc.answerTo(s, res)
}

// answerTo makes the tool message that answers a call. Message and content are one allocation,
// because most results are one block of text.
func (oc *outcomes) answerTo(s *awaken.CallState, res *awaken.ToolResult) *llm.Message {
	m := &struct {
		llm.Message
		block [1]llm.Block
	}{}
	m.ID, m.Role, m.ToolCallID = oc.rt.cfg.NewID(), llm.ToolRole, s.CallID
	if m.Content = res.Content; len(m.Content) == 0 {
		m.block[0] = llm.Text(res.Plain())
		m.Content = m.block[:]
	}
	if s.RunID == oc.info.RunID && s.Step == oc.step.index {
		m.Metadata = oc.metadata()
	} else { // of a call that was resumed
		m.Metadata = newMetadata(s.RunID, s.Step)
	}
	return &m.Message
}

// stateDelta defers a state_delta if public state has changed.
func (oc *outcomes) stateDelta() error {
	changes, err := oc.st.Delta()
	if err != nil {
		return err
	}
	oc.st.Shown()
	var ops []awaken.PatchOp
	for _, ch := range changes {
		if strings.HasPrefix(ch.Key, "__runtime.") {
			continue
		}
		path := "/extensions/" + escapePointer.Replace(ch.Key)
		if ch.Value == nil {
			ops = append(ops, awaken.PatchOp{Op: "remove", Path: path})
		} else {
			ops = append(ops, awaken.PatchOp{Op: "add", Path: path, Value: ch.Value})
		}
	}
	if len(ops) > 0 {
		oc.out.deferEvent(&awaken.StateDelta{Delta: ops})
	}
	return nil
}

// appendAnswers adds the answers of finished calls to the conversation, in the order of the calls:
// up to the first call without an answer or, if all is set, all there are.
func (oc *outcomes) appendAnswers(all bool) {
	jumped := false
	for _, c := range oc.ledger.calls {
		switch {
		case c.message == nil && !all:
			return
		case c.message == nil:
			jumped = true
		case !c.appended:
			oc.conv.add(c.message)
			c.appended = true
		}
	}
	if all && !jumped {
		oc.reorder()
	}
}

// reorder puts the answers directly after the message that asked, in the order of the calls, even
// if they arrived in another order or other messages arrived between them.
func (oc *outcomes) reorder() {
	at := oc.conv.msgs.Len()
	for at > 0 && len(oc.conv.msgs.At(at-1).ToolCalls) == 0 {
		at--
	}
	sorted := at == 0 || at+len(oc.ledger.calls) <= oc.conv.msgs.Len()
	for i, c := range oc.ledger.calls {
		sorted = sorted && (at == 0 || oc.conv.msgs.At(at+i) == c.message)
	}
	if sorted {
		return
	}
	others := slices.DeleteFunc(oc.conv.msgs.From(at).Slice(), func(m *llm.Message) bool {
		return slices.ContainsFunc(oc.ledger.calls, func(c *call) bool { return c.message == m })
	})
	oc.conv.rewriteFrom(at)
	for _, c := range oc.ledger.calls {
		oc.conv.msgs = oc.conv.msgs.Append(c.message)
	}
	oc.conv.msgs = oc.conv.msgs.Append(others...)
}

// closeAll answers every open call, so that the conversation stays valid.
func (oc *outcomes) closeAll(e *end) {
	if e.Type != awaken.NaturalEnd { // a natural end may still be undone
		oc.guards.drop(string(e.Type), fmt.Sprintf("the run ended: %s", e.Termination))
	}
	closed := false
	for _, c := range oc.ledger.calls {
		if c.state.Status.Terminal() {
			continue
		}
		closed = true
		oc.followed().withdrawn(oc.core, c.state, string(e.Type))
		oc.ledger.cutOff(c)
		res := c.state.InterruptionResult(e.Termination.String())
		oc.children.cancelChild(c.state)
		unmade(oc.ledger.edit(c), fmt.Sprintf("the run ended: %s", e.Termination))
		oc.answer(c, awaken.CallCancelled, res)
		oc.deferOutcome(c, awaken.CallFailed, nil)
	}
	if closed || len(oc.ledger.calls) > 0 {
		oc.appendAnswers(true)
	}
}

// wait counts a result that waits for a commit.
func (oc *outcomes) wait() {
	if oc.waiting++; oc.deadline == nil && oc.running > 0 {
		oc.deadline = time.After(resultWait)
	}
}

// reset clears the counters at the end of a step.
func (oc *outcomes) reset() {
	oc.waiting, oc.deadline = 0, nil
	oc.written.Reset()
}

// escapePointer escapes a key for a JSON Pointer.
var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

var (
	errToolTimeout = errors.New("timed out")
	errToolExit    = errors.New("the tool ended its goroutine without returning")
)

// laidOver returns args with the fields of patch replacing its own, or patch if either is not an
// object.
func laidOver(args, patch json.RawMessage) json.RawMessage {
	var base, over map[string]json.RawMessage
	if json.Unmarshal(args, &base) != nil || json.Unmarshal(patch, &over) != nil || base == nil || over == nil {
		return bytes.TrimSpace(patch)
	}
	maps.Copy(base, over)
	out, err := json.Marshal(base)
	if err != nil {
		return patch
	}
	return out
}

// resultOf turns what a tool returned into a result, or into an error that ends the run.
func resultOf(tool string, r *awaken.ToolResult, err error) (*awaken.ToolResult, error) {
	res, fatal := awaken.ResultOf(tool, r, err)
	if fatal == nil && errors.Is(err, errToolTimeout) {
		res.Metadata = map[string]any{"timed_out": true}
	}
	if fatal == nil && r == nil && errors.Is(err, awaken.ErrInDoubt) {
		res.MarkInDoubt()
	}
	return res, fatal
}

// fatalResult returns the result of a call whose tool ended the run with said.
func fatalResult(err, said error) *awaken.ToolResult {
	res := awaken.ErrorResult("fatal", err.Error())
	res.Replaces = &awaken.Replacement{Fatal: said.Error()}
	return res
}

// noteStop records that a call ended because its run did: its tool returned the cancellation, or its child was cancelled with it.
func (w *crew) noteStop(o *outcome, res *awaken.ToolResult) {
	if o.res == nil && errors.Is(o.err, awaken.ErrCancelled) || w.aborting && o.c.state.Child != "" && res.Status == awaken.ToolError {
		res.Replaces = &awaken.Replacement{Interrupted: "stopped"}
	}
}

// resultSize is the number of bytes that count against the limit on results, without files.
func resultSize(r *awaken.ToolResult) int {
	n := len(r.Message)
	if string(r.Data) != "null" {
		n += len(r.Data)
	}
	for _, b := range r.Content {
		n += len(b.Text)
	}
	return n
}

// resumedValue is the value of tool_call_resumed.result.
func resumedValue(r *awaken.ToolResult) json.RawMessage {
	switch {
	case r.Status == awaken.ToolPending:
		return json.RawMessage("null")
	case r.Status == awaken.ToolError && r.Message != "":
		data, _ := json.Marshal(map[string]string{"error": r.Message})
		return data
	case len(r.Metadata) > 0:
		data, err := json.Marshal(map[string]any{"data": r.Data, "metadata": r.Metadata})
		if err == nil {
			return data
		}
	}
	if len(r.Data) == 0 || bytes.Equal(r.Data, []byte("null")) && r.Message != "" {
		data, _ := json.Marshal(r.Message)
		return data
	}
	return r.Data
}
