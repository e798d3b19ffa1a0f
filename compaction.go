package awaken

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// Compactions is how the summarising of a thread's conversation stands. Only the runtime
// writes it.
var Compactions = state.NewValue[CompactionState]("__context_compaction", state.Options{Scope: state.Thread})

// CompactionState is how the summarising of a conversation stands.
type CompactionState struct {
	Total      int                  `json:"total_compactions"`
	Boundaries []CompactionBoundary `json:"boundaries,omitempty"` // the latest, at most 8
	// InFlight is the one attempt that is under way, in this process or another. Nobody
	// begins a second; its time is limited, so that a crash loses no more than it.
	InFlight *CompactionTask `json:"in_flight,omitempty"`

	Failures  int    `json:"failures,omitempty"` // in a row
	LastError string `json:"last_error,omitempty"`
	NotBefore int64  `json:"not_before_ms,omitempty"` // unix ms of the next attempt after a failure
	// Skipped counts summaries that saved too little. The next attempt waits until there is
	// half as much again to summarise.
	Skipped       int `json:"skipped,omitempty"`
	SkippedTokens int `json:"skipped_tokens,omitempty"`
}

// CompactionTask is an attempt to summarise.
type CompactionTask struct {
	TaskID            string `json:"task_id"`
	BoundaryMessageID string `json:"boundary_message_id"` // the last that is summarised
	StartedAt         int64  `json:"started_at_ms"`
}

// CompactionBoundary is a summary that was taken into the conversation.
type CompactionBoundary struct {
	MessageID         string `json:"message_id"` // of the summary
	BoundaryMessageID string `json:"boundary_message_id"`
	PreTokens         int    `json:"pre_tokens"`
	PostTokens        int    `json:"post_tokens"`
	At                int64  `json:"timestamp_ms"`
}

// CompactionResult is what an attempt came to. A run that is over when it comes finds it
// in the inbox of its thread, or the next run does.
type CompactionResult struct {
	TaskID            string       `json:"task_id"`
	FirstMessageID    string       `json:"first_message_id"`
	BoundaryMessageID string       `json:"boundary_message_id"`
	Interval          llm.Interval `json:"interval"` // of the log, that the summary stands for
	Summary           string       `json:"summary,omitempty"`
	PreTokens         int          `json:"pre_tokens"`
	PostTokens        int          `json:"post_tokens,omitempty"`
	Skipped           bool         `json:"skipped,omitempty"` // it would save too little
	Error             string       `json:"error,omitempty"`
	Usage             llm.Usage    `json:"usage,omitzero"`
	CostUSD           float64      `json:"cost_usd,omitempty"`
}

const (
	minCompactionTokens = 1024 // less is not worth a request
	maxBoundaries       = 8
	compactionTimeout   = 5 * time.Minute
	// compactionLease is after what time an attempt that nobody has heard of is lost.
	compactionLease = compactionTimeout + 30*time.Second
	// overflowWait is how long a run waits for a summary without which it cannot go on well.
	overflowWait = time.Minute
)

// compactionDelay is how long after so many failures in a row the next attempt is made.
func compactionDelay(failures int) time.Duration {
	return min(30*time.Second<<min(failures-1, 8), 10*time.Minute)
}

// compaction is an attempt that is under way. The summary is made in a goroutine of its
// own; the run applies it.
type compaction struct {
	rt     *Runtime
	thread string
	task   CompactionTask
	plan   *compactionPlan
	by     *summariser
	model  llm.Model // by's
	ratio  float64
	stored bool // the log can be asked where messages are

	cancel context.CancelFunc
	done   chan struct{} // closed when there is a result

	mu     sync.Mutex
	result *CompactionResult
	left   bool // the run is gone: the result goes to the inbox
	drop   bool // nobody wants it
}

// compactionPlan is a stretch of the conversation that is to be summarised.
type compactionPlan struct {
	msgs   []*llm.Message
	begins bool // nothing comes before it
	tokens int  // all of it
	fresh  int  // what is not a summary
}

// planCompaction chooses what to summarise: what came before the user spoke last, or what
// came since, whichever is more. What the user asked for last stays as it was said.
func planCompaction(msgs llm.Messages, keep int) *compactionPlan {
	lead := 0
	for lead < msgs.Len() && msgs.At(lead).Role == llm.System && !msgs.At(lead).IsSummary() {
		lead++
	}
	asked := msgs.Len()
	for i, m := range msgs.Backward() {
		if m.Role == llm.User && !m.IsInternal() {
			asked = i
			break
		}
	}
	end := msgs.Len() - keep
	best := stretch(msgs, lead, min(asked, end))
	if since := stretch(msgs, max(asked+1, lead), end); since != nil && (best == nil || since.fresh > best.fresh) {
		best = since
	}
	if best != nil {
		best.begins = lead == 0 && best.msgs[0] == msgs.At(0)
	}
	return best
}

// stretch returns as much as can be summarised of the messages from one index up to
// another, or nil: its last message is one behind which no call waits for an answer.
func stretch(msgs llm.Messages, from, to int) *compactionPlan {
	open := map[string]bool{}
	var whole, p compactionPlan
	for i := from; i < to; i++ {
		m := msgs.At(i)
		n := m.Tokens()
		whole.msgs, whole.tokens = append(whole.msgs, m), whole.tokens+n
		if !m.IsSummary() {
			whole.fresh += n
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		if m.Role == llm.ToolRole {
			delete(open, m.ToolCallID)
		}
		if len(open) == 0 && m.ID != "" && (i+1 == msgs.Len() || mayEndBefore(m, msgs.At(i+1))) {
			p = whole
		}
	}
	if len(p.msgs) < 2 || p.fresh < minCompactionTokens || p.msgs[0].ID == "" {
		return nil
	}
	return &p
}

// mayEndBefore reports whether a stretch may end between two messages. What is shown behind
// an answer may be before it in the log, unless the model has said it.
func mayEndBefore(m, next *llm.Message) bool {
	return next.Role == llm.Assistant || next.Role != llm.ToolRole && m.Role != llm.ToolRole
}

const summaryOpen, summaryClose = "<conversation-summary>", "</conversation-summary>"

func newSummary(text string) *llm.Message {
	return &llm.Message{Role: llm.System, Visibility: llm.Internal, Content: []llm.Block{llm.Text(summaryOpen + "\n" + text + "\n" + summaryClose)}}
}

// summaryText is what a summary says.
func summaryText(m *llm.Message) string {
	s := strings.TrimPrefix(strings.TrimSpace(m.Text()), summaryOpen)
	return strings.TrimSpace(strings.TrimSuffix(s, summaryClose))
}

// compactIfDue begins to summarise if the conversation has become long. The inference that
// is about to be made does not wait for it.
func (r *run) compactIfDue(ctx context.Context) error {
	w := r.window
	if r.agent.summariser == nil || w.limits.threshold == 0 || w.job != nil {
		return nil
	}
	w.measure(r.msgs)
	if !w.long() || r.rt.cfg.Now().UnixMilli() < Compactions.Get(r.st).NotBefore {
		return nil
	}
	return r.compact(ctx)
}

// compactNow summarises because a request was refused as too large, and waits for it. If
// nothing comes of it the request has to do without.
func (r *run) compactNow(ctx context.Context) error {
	w := r.window
	if r.agent.summariser == nil || w.limits.threshold == 0 {
		return nil
	}
	if w.job == nil {
		if err := r.compact(ctx); err != nil || w.job == nil {
			return err
		}
	}
	t := time.NewTimer(overflowWait)
	defer t.Stop()
	select {
	case <-w.job.done:
		return r.takeCompaction()
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// compact begins an attempt, unless one is under way or there is nothing to summarise. The
// attempt is announced by a commit first: only the owner of the thread can make it, so
// there is never a second.
func (r *run) compact(ctx context.Context) error {
	w := r.window
	s, now := Compactions.Get(r.st), r.rt.cfg.Now().UnixMilli()
	if f := s.InFlight; f != nil && now < f.StartedAt+compactionLease.Milliseconds() {
		return nil
	}
	plan := planCompaction(w.history(r.msgs), w.policy.KeepRaw())
	if plan == nil || plan.fresh < s.SkippedTokens*3/2 {
		return nil
	}
	c := &compaction{rt: r.rt, thread: r.info.ThreadID, plan: plan, by: r.agent.summariser, model: r.summaries(), ratio: max(w.Ratio, 1), stored: r.out.keep, done: make(chan struct{})}
	c.task = CompactionTask{TaskID: r.rt.cfg.NewID(), BoundaryMessageID: plan.msgs[len(plan.msgs)-1].ID, StartedAt: now}
	s.InFlight = &c.task
	if err := r.setCompactions(s); err != nil {
		return err
	}
	atPlanned.Hit()
	if err := r.commit(ctx, commitOptions{}); err != nil {
		return err
	}
	atAnnounced.Hit()
	w.job = c
	c.start(ctx, llm.Routing{ThreadID: r.info.ThreadID, RunID: r.info.RunID})
	return nil
}

func (r *run) setCompactions(s CompactionState) error {
	var b state.Batch
	Compactions.Update(&b, s)
	return r.apply(&b)
}

// summaries is the model that makes them, paid from the run's budgets if it has any.
func (r *run) summaries() llm.Model {
	by := r.agent.summariser
	if r.spending == nil {
		return llm.Retry(by.model, by.retry)
	}
	cfg := &r.rt.cfg
	return llm.Retry(&metered{model: by.model, spending: r.spending, prices: by.prices, window: by.window, key: compactionKey + r.info.ThreadID,
		fence: r.fence, newID: cfg.NewID, now: cfg.Now, log: cfg.Logger, slot: make(chan struct{}, 1)}, by.retry)
}

// start makes the summary in a goroutine. Neither the end of the run nor that of its
// context stops it.
func (c *compaction) start(ctx context.Context, routing llm.Routing) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), compactionTimeout)
	c.cancel = cancel
	go func() {
		defer cancel()
		c.finish(ctx, c.summarise(ctx, routing))
	}()
}

// finish hands the result to the run, or to whoever comes next.
func (c *compaction) finish(ctx context.Context, res *CompactionResult) {
	atSummarised.Hit()
	c.mu.Lock()
	c.result = res
	post := c.left && !c.drop
	c.mu.Unlock()
	close(c.done)
	if !post {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	atPosting.Hit()
	if err := c.rt.post(ctx, c.thread, []InboxItem{{ID: "compaction:" + c.task.TaskID, Compaction: res}}); err != nil {
		c.rt.cfg.Logger.Warn("summary was lost", "thread", c.thread, "task", c.task.TaskID, "error", err)
		return
	}
	atSummaryIn.Hit()
}

// leave lets go of the attempt. It returns the result if there is one. Otherwise the
// result will go to the thread's inbox or, if drop is set, nowhere.
func (c *compaction) leave(drop bool) *CompactionResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.result == nil {
		c.left, c.drop = true, drop
		if drop {
			c.cancel()
		}
	}
	return c.result
}

// summarise makes the summary.
func (c *compaction) summarise(ctx context.Context, routing llm.Routing) *CompactionResult {
	p := c.plan
	res := &CompactionResult{TaskID: c.task.TaskID, FirstMessageID: p.msgs[0].ID, BoundaryMessageID: c.task.BoundaryMessageID, PreTokens: p.tokens}
	fail := func(err error) *CompactionResult {
		res.Error = err.Error()
		return res
	}
	if c.stored {
		var err error
		if res.Interval, err = c.locate(ctx); err != nil {
			return fail(err)
		}
	}
	j := &summary{summariser: c.by, paid: c.model, ratio: c.ratio, routing: routing}
	text, err := j.of(ctx, p.msgs)
	res.Usage, res.CostUSD = j.usage, j.cost()
	if err != nil {
		return fail(err)
	}
	res.Summary, res.PostTokens = text, newSummary(text).Tokens()
	res.Skipped = 1-float64(res.PostTokens)/float64(res.PreTokens) < c.by.MinSavingsRatio
	return res
}

// locate finds the records of the log that the plan is about, from the end of the log on.
func (c *compaction) locate(ctx context.Context) (llm.Interval, error) {
	first, last := c.plan.msgs[0], c.plan.msgs[len(c.plan.msgs)-1]
	var iv llm.Interval
	switch {
	case c.plan.begins:
		iv.FromSeq = 1
	case first.IsSummary():
		iv.FromSeq = first.Metadata.Compaction.FromSeq
	}
	hidden := math.MaxInt // records from here on were rewound
	for before := 0; iv.FromSeq == 0 || iv.ToSeq == 0; {
		recs, err := c.rt.cfg.Store.Messages(ctx, c.thread, MessageQuery{Before: before, Limit: 256, Last: true})
		if err != nil {
			return iv, fmt.Errorf("log of thread %s: %w", c.thread, err)
		}
		if len(recs) == 0 {
			return iv, errors.New("the log does not have the messages that are to be summarised")
		}
		before = recs[0].Seq
		for i := len(recs) - 1; i >= 0; i-- {
			rec := recs[i]
			if rec.Seq >= hidden {
				continue
			}
			if md := rec.Message.Metadata; md != nil && md.Rewind != nil {
				hidden = min(hidden, md.Rewind.FromSeq)
			}
			if iv.ToSeq == 0 && rec.Message.ID == last.ID {
				iv.ToSeq = rec.Seq
			}
			if iv.FromSeq == 0 && rec.Message.ID == first.ID {
				iv.FromSeq = rec.Seq
			}
		}
	}
	return iv, nil
}

// takeCompaction applies the attempt's result if there is one.
func (r *run) takeCompaction() error {
	w := r.window
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
	return r.applyCompaction(res)
}

// leaveCompaction lets go of an attempt that is under way, at the end of the run or when it
// waits. If drop is set the attempt is given up, and another can begin at once.
func (r *run) leaveCompaction(drop bool) error {
	w := r.window
	if w == nil || w.job == nil {
		return nil
	}
	job := w.job
	w.job = nil
	if res := job.leave(drop || !job.stored); res != nil {
		return r.applyCompaction(res)
	}
	atLeft.Hit()
	if !drop {
		return nil
	}
	s := Compactions.Get(r.st)
	s.InFlight = nil
	return r.setCompactions(s)
}

// applyCompaction takes a summary into the conversation, or notes why there is none. The
// next commit stores it. A result that is not of the attempt under way changes nothing but
// what the run has cost.
func (r *run) applyCompaction(res *CompactionResult) error {
	r.use(res.Usage)
	r.charge(Dollars(res.CostUSD))
	log := r.rt.cfg.Logger.With("run", r.info.RunID, "thread", r.info.ThreadID, "task", res.TaskID)
	if r.window == nil {
		log.Info("summary is not wanted: the agent has no context policy")
		return nil
	}
	s := Compactions.Get(r.st)
	if s.InFlight == nil || s.InFlight.TaskID != res.TaskID {
		log.Info("summary is out of date")
		return nil
	}
	s.InFlight = nil
	now := r.rt.cfg.Now()
	switch {
	case res.Error != "":
		s.Failures++
		s.LastError, s.NotBefore = res.Error, now.Add(compactionDelay(s.Failures)).UnixMilli()
		log.Warn("conversation could not be summarised", "error", res.Error, "failures", s.Failures)
	case res.Skipped:
		s.Skipped++
		s.SkippedTokens = res.PreTokens
		log.Info("summary saves too little", "pre_tokens", res.PreTokens, "post_tokens", res.PostTokens)
	default:
		m := r.replaceBySummary(res)
		if m == nil {
			log.Info("summary is out of date: the conversation was rewritten")
			break
		}
		s.Failures, s.LastError, s.NotBefore, s.SkippedTokens = 0, "", 0, 0
		s.Total++
		s.Boundaries = append(s.Boundaries[max(0, len(s.Boundaries)-maxBoundaries+1):len(s.Boundaries):len(s.Boundaries)],
			CompactionBoundary{m.ID, res.BoundaryMessageID, res.PreTokens, res.PostTokens, now.UnixMilli()})
		log.Info("conversation was summarised", "pre_tokens", res.PreTokens, "post_tokens", res.PostTokens)
	}
	err := r.setCompactions(s)
	atTaken.Hit()
	return err
}

// replaceBySummary puts the summary in the place of what it summarises. It returns nil if
// that is not there any more.
func (r *run) replaceBySummary(res *CompactionResult) *llm.Message {
	first, last := -1, -1
	for i, m := range r.msgs.All() {
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
	m := newSummary(res.Summary)
	m.ID = r.rt.cfg.NewID()
	iv := res.Interval
	m.Metadata = &llm.Metadata{RunID: r.info.RunID, Compaction: &iv}
	list := append(r.msgs.Cut(first).Slice(), m)
	r.msgs = llm.NewMessages(append(list, r.msgs.From(last+1).Slice()...)...)
	r.added = append(r.added, m)
	if !r.started {
		r.found++ // it is nothing new
	}
	r.window.forget()
	return m
}
