package engine

import (
	"context"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine/internal/shorten"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// compactor keeps long conversations summarised.
type compactor struct {
	*core
	wallet *wallet
}

// beginIfDue begins a summary if the conversation has become long. The next inference does not
// wait for it.
func (cm *compactor) beginIfDue(ctx context.Context) error {
	w := cm.conv.window
	if cm.agent.Summariser == nil || w.limits.Threshold == 0 || w.job != nil {
		return nil
	}
	w.measure(cm.conv.msgs)
	if !w.long() {
		return nil
	}
	return cm.begin(ctx, false)
}

// finishNow makes a summary because a request was refused as too large, and waits up to
// overflowWait for it. Without a summary the request is only cut.
func (cm *compactor) finishNow(ctx context.Context) error {
	w := cm.conv.window
	if cm.agent.Summariser == nil || w.limits.Threshold == 0 {
		return nil
	}
	if w.job == nil {
		if err := cm.begin(ctx, true); err != nil {
			return err
		}
	}
	if cm.narrator != nil {
		return cm.hear(builtin.AtOverflow)
	}
	if w.job == nil {
		return nil
	}
	select {
	case <-w.job.done:
		return cm.take(builtin.AtOverflow)
	case <-time.After(overflowWait):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin begins an attempt, unless one is under way or there is nothing to summarise. A commit
// announces the attempt first: only the owner of the thread can make that commit, so there is
// never a second attempt.
func (cm *compactor) begin(ctx context.Context, overflow bool) error {
	w := cm.conv.window
	s, now := builtin.Compactions.Get(cm.st), cm.rt.cfg.Now().UnixMilli()
	if !cm.due(&s, now, overflow) {
		return nil
	}
	plan := shorten.Plan(w.history(cm.conv.msgs), w.policy.KeepRaw(), minCompactionTokens)
	if plan == nil || plan.Fresh < s.SkippedTokens*3/2 {
		return nil
	}
	c := &compaction{rt: cm.rt, thread: cm.info.ThreadID, plan: plan, by: cm.agent.Summariser, model: cm.model(), ratio: max(w.Ratio, 1), stored: cm.out.keep, done: make(chan struct{})}
	c.task = builtin.CompactionTask{TaskID: cm.rt.cfg.NewID(), BoundaryMessageID: plan.Messages[len(plan.Messages)-1].ID, StartedAt: now,
		FirstMessageID: plan.Messages[0].ID, RunID: cm.info.RunID, Step: cm.rec.Steps, Overflow: overflow}
	if s.InFlight != nil {
		s.End(cm.ended(*s.InFlight, builtin.CompactionLost, builtin.AtBegin))
	}
	s.InFlight = &c.task
	if err := cm.save(s); err != nil {
		return err
	}
	atPlanned.Hit()
	if err := cm.journal.commit(ctx, commitOptions{}); err != nil {
		return err
	}
	atAnnounced.Hit()
	w.job = c
	if cm.narrator != nil {
		c.cancel = func() {} // the record has the result
		return nil
	}
	tenant, background := cm.customer()
	c.start(ctx, llm.Routing{ThreadID: cm.info.ThreadID, RunID: cm.info.RunID}, client{tenant, background})
	return nil
}

// due reports whether the clock permits an attempt: the last one did not fail a moment ago, and none
// is in flight, unless it counts as lost.
func (cm *compactor) due(s *builtin.CompactionState, now int64, overflow bool) bool {
	ok := (overflow || now >= s.NotBefore) && (s.InFlight == nil || s.InFlight.Lost(now))
	if cm.narrator == nil {
		return ok
	}
	timed := s.InFlight != nil || !overflow && s.NotBefore != 0
	return cm.narrator.Begins(cm.info.RunID, cm.rec.Steps, overflow, ok, timed)
}

// ended describes the end of an attempt.
func (cm *compactor) ended(t builtin.CompactionTask, out builtin.CompactionOutcome, at builtin.CompactionPoint) builtin.CompactionEnd {
	return builtin.CompactionEnd{CompactionTask: t, Outcome: out, EndedBy: cm.info.RunID, EndStep: cm.rec.Steps, Point: at, At: cm.rt.cfg.Now().UnixMilli()}
}

func (cm *compactor) save(s builtin.CompactionState) error {
	var b state.Batch
	builtin.Compactions.Update(&b, s)
	return cm.apply(&b)
}

// model returns the model that summarises, paid from the run's budgets if it has any.
func (cm *compactor) model() llm.Model {
	by := cm.agent.Summariser
	if cm.wallet.spending == nil {
		return llm.Retry(by.Model, by.Retry)
	}
	return llm.Retry(&metered{model: by.Model, spending: cm.wallet.spending, prices: by.Prices, window: by.Window, key: compactionKey + cm.info.ThreadID,
		fence: cm.fence, cfg: &cm.rt.cfg, slot: make(chan struct{}, 1)}, by.Retry)
}

// take applies the result of the attempt, if there is one.
func (cm *compactor) take(at builtin.CompactionPoint) error {
	w := cm.conv.window
	if cm.narrator != nil {
		return cm.hear(at)
	}
	if w == nil || w.job == nil {
		return nil
	}
	select {
	case <-w.job.done:
	default:
		return nil
	}
	res := w.job.result
	w.job = nil
	return cm.accept(res, at)
}

// detach ends the run's interest in an attempt, when the run ends or parks. If drop is set the
// attempt is cancelled, and another may begin at once.
func (cm *compactor) detach(drop bool, at builtin.CompactionPoint) error {
	w := cm.conv.window
	if cm.narrator != nil {
		if err := cm.hear(at); err != nil {
			return err
		}
	}
	if w == nil || w.job == nil {
		return nil
	}
	job := w.job
	w.job = nil
	if res := job.detach(drop || !job.stored); res != nil {
		return cm.accept(res, at)
	}
	atLeft.Hit()
	if !drop {
		return nil
	}
	s := builtin.Compactions.Get(cm.st)
	s.InFlight = nil
	s.End(cm.ended(job.task, builtin.CompactionCancelled, at))
	return cm.save(s)
}

// accept applies a summary to the conversation, or records why there is none. The next commit
// stores it. The result of any other attempt only adds its cost to the run.
func (cm *compactor) accept(res *awaken.CompactionResult, at builtin.CompactionPoint) error {
	cm.use(res.Usage)
	cm.charge(money.Dollars(res.CostUSD))
	log := cm.log().With("task", res.TaskID)
	if cm.conv.window == nil {
		log.Info("discarded a summary: the agent has no context policy")
		return nil
	}
	s := builtin.Compactions.Get(cm.st)
	if s.InFlight == nil || s.InFlight.TaskID != res.TaskID {
		log.Info("discarded a summary: the run no longer waits for it")
		e := cm.ended(builtin.CompactionTask{TaskID: res.TaskID, BoundaryMessageID: res.BoundaryMessageID}, builtin.CompactionLate, at)
		e.Usage, e.CostUSD = res.Usage, res.CostUSD
		s.End(e)
		return cm.save(s)
	}
	e := cm.ended(*s.InFlight, builtin.CompactionSummary, at)
	e.Error, e.PreTokens, e.PostTokens, e.Usage, e.CostUSD = res.Error, res.PreTokens, res.PostTokens, res.Usage, res.CostUSD
	s.InFlight = nil
	now := cm.rt.cfg.Now()
	switch {
	case res.Error != "":
		e.Outcome = builtin.CompactionFailed
		s.Failures++
		s.LastError, s.NotBefore = res.Error, now.Add(compactionDelay(s.Failures)).UnixMilli()
		log.Warn("cannot summarise a conversation", "error", res.Error, "failures", s.Failures)
	case res.Skipped:
		e.Outcome = builtin.CompactionSkipped
		s.Skipped++
		s.SkippedTokens = res.PreTokens
		log.Info("discarded a summary: it saves too few tokens", "pre_tokens", res.PreTokens, "post_tokens", res.PostTokens)
	default:
		m := cm.replace(res)
		if m == nil {
			log.Info("discarded a summary: the conversation was rewritten")
			e.Outcome = builtin.CompactionRewritten
			break
		}
		e.MessageID = m.ID
		s.Failures, s.LastError, s.NotBefore, s.SkippedTokens = 0, "", 0, 0
		s.Total++
		s.Boundaries = append(s.Boundaries[max(0, len(s.Boundaries)-maxBoundaries+1):len(s.Boundaries):len(s.Boundaries)],
			builtin.CompactionBoundary{MessageID: m.ID, BoundaryMessageID: res.BoundaryMessageID, PreTokens: res.PreTokens, PostTokens: res.PostTokens, At: now.UnixMilli()})
		log.Info("summarised a conversation", "pre_tokens", res.PreTokens, "post_tokens", res.PostTokens)
	}
	s.End(e)
	err := cm.save(s)
	atTaken.Hit()
	return err
}

// replace replaces the summarised messages with the summary. It returns nil if they are no longer
// in the conversation.
func (cm *compactor) replace(res *awaken.CompactionResult) *llm.Message {
	first, last := -1, -1
	for i, m := range cm.conv.msgs.All() {
		if first < 0 && m.ID == res.FirstMessageID {
			first = i
		}
		if m.ID == res.BoundaryMessageID {
			last = i
		}
	}
	if first < 0 || last < first {
		return nil
	}
	m := builtin.NewSummary(res.Summary)
	m.ID = cm.rt.cfg.NewID()
	iv := res.Interval
	m.Metadata = &llm.Metadata{RunID: cm.info.RunID, Compaction: &iv}
	list := append(cm.conv.msgs.Cut(first).Slice(), m)
	cm.conv.msgs = llm.NewMessages(append(list, cm.conv.msgs.From(last+1).Slice()...)...)
	cm.conv.added = append(cm.conv.added, m)
	if !cm.started {
		cm.journal.found++ // a summary is not new input
	}
	cm.conv.window.forget()
	return m
}
