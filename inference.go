package awaken

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// infer asks the model. A nil reply without an end is a failure that a stop policy
// counts. What comes before and after the wait is in functions of its own: only what is
// needed meanwhile is on the stack of a run that waits for its model.
func (r *run) infer(ctx context.Context) (*llm.Reply, *end) {
	if e := r.inference.compose(ctx); e != nil {
		return nil, e
	}
	s := &r.inference.stream
	defer s.got.Release()
	err := s.receiveAll()
	atReply.Hit()
	r.inference.spend(s)
	if err != nil {
		return nil, r.inferenceFailed(ctx, s, err)
	}
	m := s.got.Message()
	if s.silent {
		var e *end
		if m, e = r.passOutput(ctx, s, m); m == nil {
			return nil, e
		}
	}
	return r.inference.replied(ctx, s, m), nil
}

// compose does what comes before the model is asked: it ends with the request.
func (inf *inference) compose(ctx context.Context) *end {
	if err := inf.phases.run(ctx, PhaseBeforeInference, about{}); err != nil {
		return inf.fail(err)
	}
	if e := inf.requested(); e != nil {
		return e
	}
	if inf.conv.window != nil {
		if err := inf.compactor.beginIfDue(ctx); err != nil {
			return inf.fail(err)
		}
	}
	if inf.wallet.spending != nil {
		inf.wallet.spending.before = inf.st.Snapshot()
	}
	if err := inf.buildRequest(ctx); err != nil {
		return inf.fail(err)
	}
	atInference.Hit()
	inf.stream.reset(inf, ctx)
	return nil
}

// replied tells what the model has asked for, and that it is done.
func (inf *inference) replied(ctx context.Context, s *stream, m *llm.Message) *llm.Reply {
	reply := &inf.reply
	*reply = llm.Reply{Message: m, Usage: s.usage, Finish: s.got.Finish(), Incomplete: append(s.got.Incomplete(), s.lost...)}
	for _, c := range reply.Message.ToolCalls {
		inf.out.emit(ctx, &ToolCallReady{ID: c.ID, Name: c.Name, Arguments: arguments(c)})
	}
	if len(reply.Incomplete) > 0 {
		s.cancelOpen(ctx, "arguments are not complete JSON", false)
	}
	inf.out.emit(ctx, inf.completed(s))
	inf.journal.heedSink()
	if inf.conv.window != nil {
		inf.learn(s)
	}
	return reply
}

// completed is the event that says that the model is done, and what that took.
func (inf *inference) completed(s *stream) *InferenceComplete {
	done := &struct {
		InferenceComplete
		usage llm.Usage
	}{usage: s.usage}
	done.Model, done.DurationMS, done.CostUSD = s.answeredBy(), inf.rt.cfg.Now().Sub(s.began).Milliseconds(), s.cost.USD()
	if s.usage != (llm.Usage{}) {
		done.Usage = &done.usage
	}
	return &done.InferenceComplete
}

// arguments are a call's arguments, {} when the model gave none.
func arguments(c llm.ToolCall) []byte {
	if len(c.Arguments) == 0 {
		return []byte("{}")
	}
	return c.Arguments
}

// learn corrects the estimates by what the model has counted, unless it counted several
// requests.
func (inf *inference) learn(s *stream) {
	w := inf.conv.window
	if s.pieces+s.retries+s.recoveries == 0 {
		w.learn(s.usage.PromptTokens)
	}
	inf.saveWindow()
}

func (inf *inference) saveWindow() {
	var b state.Batch
	inf.conv.window.save(&b)
	if err := inf.st.Apply(&b); err != nil {
		panic(err) // the key is in the schema of every agent that has a window
	}
}

// inferenceFailed decides what a failed inference means: a wait for money, cancelled, the
// end of the run, or one more error for a policy that counts them. What the model had said
// is kept when the run ends.
func (r *run) inferenceFailed(ctx context.Context, s *stream, err error) *end {
	cancelled := ctx.Err() != nil
	if ex, ok := errors.AsType[*Exhausted](err); ok && r.wallet.spending != nil && !cancelled {
		return r.exhausted(ctx, s, ex)
	}
	le, known := errors.AsType[*llm.Error](err)
	if !cancelled && r.agent.tolerant && known && le.Retryable() {
		r.rt.cfg.Logger.Warn("inference failed", "run", r.info.RunID, "error", err)
		if s.started {
			s.show(ctx, &StreamReset{Reason: err.Error()})
		}
		c := r.stops().counts()
		c.ConsecutiveErrors++
		r.stops().setCounts(c)
		if d, bad := r.stops().stop(nil, false); bad != nil {
			return r.fail(bad)
		} else if d != nil {
			return &end{Termination: Termination{Type: Stopped, Code: d.Code, Detail: d.Detail + ": " + err.Error()}, err: nil}
		}
		return nil
	}
	s.cancelOpen(ctx, "the answer broke off", true)
	m := s.got.Message()
	m.ToolCalls = nil
	if !m.Empty() && !s.silent { // nobody has judged it
		m.ID = r.step.messageID
		m.Metadata = r.metadata()
		m.Metadata.Interrupted = true
		r.conv.add(m)
		r.step.response = m.Text()
	}
	if cancelled {
		if s.started {
			r.out.emit(ctx, r.inference.completed(s))
		}
		return r.fail(err)
	}
	return r.fail(fmt.Errorf("inference: %w", err))
}

// answer stores the reply and makes calls of what it asks for.
func (inf *inference) answer(reply *llm.Reply) {
	m := reply.Message
	m.ID, m.Metadata = inf.step.messageID, inf.metadata()
	if m.Empty() {
		return
	}
	inf.conv.add(m)
	if t := m.Text(); t != "" || len(m.ToolCalls) == 0 {
		inf.step.response = t
	}
	if len(m.ToolCalls) == 0 {
		return
	}
	now := inf.rt.cfg.Now().UnixMilli()
	for i, c := range m.ToolCalls {
		entry := inf.tools.find(c.Name)
		one := &struct {
			call
			state CallState
		}{}
		one.state = CallState{CallID: c.ID, ToolName: c.Name, Arguments: arguments(c), Status: CallNew, UpdatedAt: now,
			RunID: inf.info.RunID, Step: inf.step.index, Index: i}
		if entry != nil {
			one.state.Effect = entry.spec.Effect
		}
		one.call = call{state: &one.state, entry: entry}
		inf.ledger.calls = append(inf.ledger.calls, &one.call)
		inf.ledger.edit(&one.call)
	}
}

func (a *activation) metadata() *llm.Metadata {
	m := &struct {
		llm.Metadata
		step int
	}{step: a.step.index}
	m.RunID, m.StepIndex = a.info.RunID, &m.step
	return &m.Metadata
}

// buildRequest puts together what the model is sent. Continuations after a
// truncation use the same request.
func (inf *inference) buildRequest(ctx context.Context) error {
	req := &inf.request
	*req = llm.Request{
		Model:       inf.agent.modelSpec.UpstreamModel,
		System:      inf.agent.system,
		Tools:       inf.tools.offered,
		CachePrompt: inf.agent.spec.ContextPolicy != nil && inf.agent.spec.ContextPolicy.EnablePromptCache,
		Routing:     llm.Routing{ThreadID: inf.info.ThreadID, RunID: inf.info.RunID},
	}
	req.ReasoningEffort = inf.agent.spec.ReasoningEffort
	if l := inf.agent.limits; l != nil && l.output > 0 {
		req.MaxTokens = &l.output
	}
	if o := inf.rec.Overrides; o != nil {
		o.apply(req)
	}
	var used state.Batch
	if o, ok := stepOverride.Lookup(inf.st); ok {
		o.apply(req)
		stepOverride.Clear(&used)
	}
	inf.clampOutput(req)
	if inf.wallet.spending != nil && req.Model != inf.agent.modelSpec.UpstreamModel {
		return fmt.Errorf("%w: there is a budget, and what model %q costs is not known: only %q may be asked", ErrInvalid, req.Model, inf.agent.modelSpec.UpstreamModel)
	}
	if req.IdleTimeout = time.Duration(inf.agent.retry.StreamIdleTimeoutSecs) * time.Second; req.ReasoningEffort != nil || thinks(req.Model) {
		req.IdleTimeout *= 2
	}
	if f, ok := toolFilter.Lookup(inf.st); ok {
		req.Tools = f.apply(req.Tools)
		toolFilter.Clear(&used)
	}
	if inf.output.plan != nil {
		inf.output.plan.apply(req)
	}
	var before, after []*llm.Message
	if cms := contextMessages.Get(inf.st); len(cms) > 0 || inf.agent.cutoff != "" {
		before, after = inf.placeContext(req, cms, &used)
	}
	if err := inf.apply(&used); err != nil {
		return err
	}
	w := inf.conv.window
	if w == nil {
		req.Messages = around(before, inf.conv.msgs.Clip(), after)
		return inf.phases.transform(ctx, req)
	}
	w.before, w.after, w.plain = before, after, nil
	if len(inf.agent.transforms) > 0 {
		w.plain = new(*req)
	}
	return inf.fitRequest(ctx, req)
}

// fitRequest puts the conversation into a request that has everything else.
func (inf *inference) fitRequest(ctx context.Context, req *llm.Request) error {
	if err := inf.conv.fit(req); err != nil {
		return err
	}
	if len(inf.agent.transforms) == 0 {
		return nil
	}
	if err := inf.phases.transform(ctx, req); err != nil {
		return err
	}
	return inf.conv.window.refit(req)
}

// overflowed makes the request of an inference smaller that was refused as too large: the
// conversation is summarised if that is possible, and what then is too much left out.
func (s *stream) overflowed(err error) error {
	inf, w := s.inf, s.inf.conv.window
	if w == nil || s.started || s.pieces > 0 || s.overflows > 0 || s.ctx.Err() != nil {
		return err
	}
	s.overflows++
	inf.rt.cfg.Logger.Warn("request was too large", "run", inf.info.RunID, "estimate", w.estimate, "error", err)
	w.refused()
	inf.saveWindow()
	if bad := inf.compactor.finishNow(s.ctx); bad != nil {
		return bad
	}
	req := &inf.request
	if w.plain != nil {
		*req = *w.plain
	}
	if inf.fitRequest(s.ctx, req) != nil {
		return err
	}
	return nil
}

// clampOutput brings the limit of an answer down to the model's.
func (inf *inference) clampOutput(req *llm.Request) {
	m := inf.agent.modelSpec
	if n := req.MaxTokens; n == nil || req.Model != m.UpstreamModel {
		return
	}
	if n := m.MaxOutputTokens; n > 0 && *req.MaxTokens > n {
		req.MaxTokens = &m.MaxOutputTokens
	}
	if l := inf.agent.limits; l != nil && *req.MaxTokens >= l.context {
		req.MaxTokens = new(max(1, l.context/2))
	}
}

// transform lets plugins change the request.
func (ph *phases) transform(ctx context.Context, req *llm.Request) error {
	if len(ph.agent.transforms) > 0 { // which may do with them what they like
		req.System, req.Tools = slices.Clone(req.System), slices.Clone(req.Tools)
	}
	for i := range ph.agent.transforms {
		t := &ph.agent.transforms[i]
		if err := t.apply(ctx, ph.hooks.call(PhaseBeforeInference, about{}), req); err != nil {
			return err
		}
	}
	return nil
}

// thinks reports whether a model may be silent for long, by its name.
func thinks(model string) bool {
	return strings.Contains(model, "thinking") || strings.Contains(model, "reasoning") ||
		strings.HasPrefix(model, "o1") || strings.HasPrefix(model, "o3") || strings.HasPrefix(model, "o4")
}

func (o *ownedTransform) apply(ctx context.Context, h *HookCall, req *llm.Request) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{fmt.Sprintf("transform of plugin %q", o.plugin), v, debug.Stack()}
		}
	}()
	if err := o.Transform(ctx, h, req); err != nil {
		return fmt.Errorf("transform of plugin %q: %w", o.plugin, err)
	}
	return nil
}

// apply filters tools: the union of the include lists first, then exclusions.
func (f *filterState) apply(tools []llm.Tool) []llm.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t llm.Tool) bool {
		included := len(f.IncludeOnly) == 0 ||
			slices.ContainsFunc(f.IncludeOnly, func(ids []string) bool { return slices.Contains(ids, t.Name) })
		return !included || slices.Contains(f.Excluded, t.Name)
	})
}

func sortTools(tools []llm.Tool) {
	slices.SortFunc(tools, func(a, b llm.Tool) int { return strings.Compare(a.Name, b.Name) })
}

var targetOrder = map[ContextTarget]int{TargetSystem: 0, TargetSession: 1, TargetConversation: 2, TargetSuffix: 3}

// placeContext adds context messages to the instructions, and returns those that go before
// and after the conversation. It takes those that are used once out of the store.
func (inf *inference) placeContext(req *llm.Request, stored map[string]ContextMessage, used *state.Batch) (before, after []*llm.Message) {
	list := make([]ContextMessage, 0, len(stored)+1)
	var once []string
	if _, own := stored[cutoffKey]; !own && inf.agent.cutoff != "" && req.Model == inf.agent.modelSpec.UpstreamModel {
		list = append(list, cutoffContext(inf.agent.cutoff, inf.rt.cfg.Now()))
	}
	for _, m := range stored {
		list = append(list, m)
		if !m.Persistent || m.ConsumeAfterEmit {
			once = append(once, m.Key)
		}
	}
	if len(once) > 0 {
		slices.Sort(once)
		contextMessages.Update(used, contextUpdate{remove: once})
	}
	slices.SortFunc(list, func(a, b ContextMessage) int {
		if d := targetOrder[a.Target] - targetOrder[b.Target]; d != 0 {
			return d
		}
		if d := a.Priority - b.Priority; d != 0 {
			return d
		}
		return strings.Compare(a.Key, b.Key)
	})
	req.System = slices.Clip(req.System)
	for _, m := range list {
		msg := &llm.Message{Role: m.Role, Content: m.Content, Visibility: m.Visibility}
		switch {
		case m.Target == TargetSuffix:
			after = append(after, msg)
		case m.Target == TargetSystem && m.Role == llm.System:
			req.System = append(req.System, m.Content...)
		default:
			before = append(before, msg)
		}
	}
	return before, after
}

// stream receives one answer, in as many pieces as it takes.
type stream struct {
	inf     *inference
	ctx     context.Context
	got     llm.Collector
	open    []openCall // calls that have started and were not cancelled
	started bool
	inside  bool // in take: a panic is not the model's
	silent  bool // nothing is shown until guards have seen all of it
	pieces  int
	began   time.Time

	continued, retries, recoveries, overflows int
	lost                                      []string // tools whose calls broke off with the stream

	usage  llm.Usage // of all pieces
	cost   Money     // of all pieces
	member string    // of a pool, the one that answers
	err    error

	// What is reserved for the piece that is coming, if anything limits the run.
	held      string // the reservation
	reserved  Money
	longest   int64 // tokens that the answer may have,
	allowed   int64 // and those that there is money for
	streamed  int64 // bytes
	arrived   bool  // something has come
	overspent bool
}

// reset makes the stream ready for another answer.
func (s *stream) reset(inf *inference, ctx context.Context) {
	open := s.open[:0]
	*s = stream{} // in place: a whole value would be put together on the stack first
	s.inf, s.ctx, s.open, s.began = inf, ctx, open, inf.rt.cfg.Now()
	s.silent = len(inf.agent.guards[OutputBorder]) > 0
}

// show emits what is said about the stream, unless the stream is not shown.
func (s *stream) show(ctx context.Context, ev Event) {
	if !s.silent {
		s.inf.out.emit(ctx, ev)
	}
}

// receiveAll takes in an answer: one stream, and another for as long as the model runs
// out of tokens and may go on.
func (s *stream) receiveAll() error {
	for {
		err := s.receive()
		s.bill(err)
		switch {
		case err == errOverspent && s.continued < s.inf.agent.spec.continuationRetries():
			s.continued++
			s.got.BreakOff()
			s.cancelBroken("the answer costs more than was reserved for it")
			s.goOn(truncatedPrompt)
		case err != nil:
			if err = s.recover(err); err != nil || s.got.Finished() {
				return err
			}
		case !s.truncated() || s.continued >= s.inf.agent.spec.continuationRetries():
			return nil
		default:
			s.continued++
			s.cancelOpen(s.ctx, "out of tokens", false)
			s.got.Continue()
			s.goOn(truncatedPrompt)
		}
	}
}

// recover deals with a request that failed or an answer that broke off, as the agent's
// retry policy allows: it returns nil when the model is to be asked once more, or when
// what has come is enough. What a reader was shown is kept where that is possible.
//
//   - Nothing came: ask again.
//   - Calls came whole: make do with them.
//   - Text came: ask the model to go on where it stopped; a call that had begun is taken back.
//   - Nothing that can be gone on with came: take it back and ask again.
//
// A request that is too large for the model is made smaller, once.
func (s *stream) recover(err error) error {
	p, inf := &s.inf.agent.retry, s.inf
	le, known := errors.AsType[*llm.Error](err)
	if known && le.Kind == llm.ContextOverflow {
		return s.overflowed(err)
	}
	if !known || !le.Retryable() || s.ctx.Err() != nil {
		return err
	}
	n, limit := &s.retries, p.MaxRetries
	if s.started {
		n, limit = &s.recoveries, p.MaxStreamRetries
	}
	if *n >= limit {
		return err
	}
	attempt := *n
	*n++
	dropped := s.got.BreakOff()
	switch {
	case !s.started:
	case len(s.got.Calls(nil)) > 0:
		s.cancelBroken("the answer broke off")
		s.got.Add(llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse})
		s.lost = dropped
		return nil
	case s.got.HasText():
		s.cancelBroken("the answer broke off")
		s.goOn(brokenPrompt)
	default:
		s.open = s.open[:0]
		s.got.Release()
		s.show(s.ctx, &StreamReset{Reason: err.Error()})
		s.started = false
	}
	inf.rt.cfg.Logger.Warn("inference is tried again", "run", inf.info.RunID, "error", err, "wait", p.Delay(attempt, err))
	return p.Wait(s.ctx, attempt, err)
}

// cancelBroken takes back the calls that the collector has dropped.
func (s *stream) cancelBroken(reason string) {
	kept := s.got.Calls(nil)
	s.open = slices.DeleteFunc(s.open, func(o openCall) bool {
		keep := slices.ContainsFunc(kept, func(c llm.ToolCall) bool { return c.ID == o.ID })
		if !keep {
			s.show(s.ctx, &ToolCallCancel{ID: o.ID, Name: o.Name, Reason: reason})
		}
		return !keep
	})
}

type openCall struct {
	ToolCallStart
	given string // the model's id, which may be empty or not the only one
}

// receive takes in one stream. It calls the iterator by hand because a range loop
// over a function would allocate for each variable it shares with its body.
func (s *stream) receive() error {
	s.err = nil
	if b := s.inf.agent.breaker; b != nil {
		if err := b.Enter(); err != nil {
			return err
		}
		defer func() {
			b.Leave(s.err, s.err == nil && !s.got.Finished() || s.ctx.Err() != nil || s.err == errOverspent)
		}()
	}
	if s.inf.wallet.spending != nil {
		s.streamed, s.arrived, s.overspent = 0, false, false
		if err := s.reserve(); err != nil {
			return err
		}
	}
	s.play()
	switch {
	case s.err != nil:
		return s.err
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	case !s.got.Finished():
		return &llm.Error{Kind: llm.Interrupted, Message: "the stream ended without a finish"}
	}
	return nil
}

// play runs the model's stream. A model that panics has failed.
func (s *stream) play() {
	defer func() {
		if s.inside {
			return // the panic is the sink's, and goes on
		}
		if v := recover(); v != nil {
			s.err = &PanicError{fmt.Sprintf("model %q", s.inf.request.Model), v, debug.Stack()}
		}
	}()
	s.inf.agent.model.Stream(s.ctx, &s.inf.request)(s.take)
}

// take takes in one delta and reports whether it wants more.
func (s *stream) take(d llm.Delta, err error) bool {
	if s.err != nil {
		return false // as it was told before
	}
	s.inside = true
	s.err = s.add(d, err)
	s.inside = false
	return s.err == nil
}

func (s *stream) add(d llm.Delta, err error) error {
	switch {
	case err != nil:
		return err
	case s.got.Finished():
		return &llm.Error{Kind: llm.Provider, Message: "the stream went on after its finish"}
	case d.Kind == llm.MemberDelta:
		s.member = d.ID
		return nil
	case d.Kind == llm.ToolCallStart:
		d.ID = s.begin(d)
	case d.Kind == llm.ToolCallDelta:
		if d.ID = s.meant(d.ID); d.ID == "" {
			return nil // for a call that has not started
		}
	}
	if s.held != "" {
		s.arrived = true
		if err := s.watch(&d); err != nil {
			return err
		}
	}
	s.got.Add(d)
	atDelta.Hit()
	out := s.inf.out
	if s.silent {
		s.started = s.started || d.Kind != llm.FinishDelta
		return nil
	}
	switch d.Kind {
	case llm.TextDelta:
		err = out.textDelta(s.ctx, d.Text)
	case llm.ReasoningDelta:
		err = out.reasoningDelta(s.ctx, d.Text)
	case llm.ToolCallDelta:
		err = out.argsDelta(s.ctx, d.ID, d.Text)
	case llm.ToolCallStart:
		err = out.emit(s.ctx, &ToolCallStart{ID: d.ID, Name: d.Name})
	case llm.OpaqueDelta:
		if o := d.Opaque; o != nil {
			err = out.emit(s.ctx, &ReasoningEncryptedValue{EncryptedValue: opaqueText(o)})
		}
	default:
		return nil
	}
	s.started = true
	if err != nil {
		s.inf.journal.heedSink()
		return context.Cause(s.ctx)
	}
	return nil
}

// begin notes a call and returns its id: the model's, or a new one if that is empty
// or taken, because everyone else has to tell the calls of a message apart.
func (s *stream) begin(d llm.Delta) string {
	id := d.ID
	if id == "" || slices.ContainsFunc(s.open, func(o openCall) bool { return o.ID == id }) {
		id = s.inf.rt.cfg.NewID()
	}
	s.open = append(s.open, openCall{ToolCallStart{id, d.Name}, d.ID})
	return id
}

// meant returns the id of the newest call that the model gave this id, or of the
// newest of all if it gave none; "" if there is no such call.
func (s *stream) meant(given string) string {
	for i := len(s.open) - 1; i >= 0; i-- {
		if o := &s.open[i]; given == "" || o.given == given {
			return o.ID
		}
	}
	return ""
}

func opaqueText(o *llm.Opaque) string {
	if o.Signature != "" {
		return o.Signature
	}
	return string(o.Data)
}

// truncated reports whether the model ran out of tokens in the middle of a text or
// of a call's arguments.
func (s *stream) truncated() bool {
	if s.got.Finish() != llm.MaxTokens {
		return false
	}
	return len(s.got.Incomplete()) > 0 || s.got.HasText() && len(s.got.Calls(nil)) == 0
}

// goOn asks for the rest: the model is shown what it has said and told to continue.
// The prompt is part of this request only; the answer is stored as one message.
func (s *stream) goOn(prompt string) {
	s.pieces++
	inf := s.inf
	said := s.got.Message()
	said.ToolCalls = nil
	msgs := inf.request.Messages
	if s.pieces > 1 {
		msgs = msgs.Cut(msgs.Len() - 2)
	} else {
		msgs = msgs.Clip()
	}
	if !said.Empty() {
		msgs = msgs.Append(said)
	} else {
		msgs = msgs.Append(llm.NewText(llm.Assistant, "…"))
	}
	inf.request.Messages = msgs.Append(llm.UserText(prompt))
}

const (
	truncatedPrompt = "Your answer was cut off because it was too long. Continue exactly where it stopped, without repeating anything. If you were about to call a tool, use smaller arguments."
	brokenPrompt    = "Your answer was cut off because the connection was lost. Continue exactly where it stopped, without repeating anything. If you were about to call a tool, call it."
)

// cancelOpen takes back the calls that have started and will not be made: those
// whose arguments are not complete, or all of them.
func (s *stream) cancelOpen(ctx context.Context, reason string, all bool) {
	complete := s.got.Calls(nil)
	s.open = slices.DeleteFunc(s.open, func(o openCall) bool {
		keep := !all && slices.ContainsFunc(complete, func(c llm.ToolCall) bool { return c.ID == o.ID })
		if !keep {
			s.show(ctx, &ToolCallCancel{ID: o.ID, Name: o.Name, Reason: reason})
		}
		return !keep
	})
}

// hintMalformed tells the model that calls were dropped.
func hintMalformed(id string, names []string) *llm.Message {
	return &llm.Message{ID: id, Role: llm.User, Visibility: llm.Internal, Content: []llm.Block{llm.Text(fmt.Sprintf(
		"The arguments of your call of %s were not valid JSON, so the call was not made. Call it again with complete arguments.", strings.Join(names, ", ")))}}
}

// signature identifies a response for loop detection: its text and its calls.
func signature(m *llm.Message) string {
	if m.Empty() {
		return ""
	}
	h := fnv.New128a()
	h.Write([]byte(m.Text()))
	for _, c := range m.ToolCalls {
		h.Write([]byte{0})
		h.Write([]byte(c.Name))
		h.Write([]byte{0})
		h.Write(c.Arguments)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
