package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/builtin"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
)

// window makes a run's requests fit. It counts each message of the conversation once, so
// a step costs what is new; only leaving messages out looks at those that stay.
type window struct {
	policy   *awaken.ContextPolicy
	limits   *registry.ContextLimits
	artifact registry.ArtifactCompaction

	builtin.WindowState
	shown llm.Messages // the conversation with previews, if there are any

	// The request that is being made.
	estimate      int            // of all of it
	before, after []*llm.Message // context around the conversation
	plain         *llm.Request   // before it was transformed, if it was

	job *compaction // that is under way
}

// openWindow sets the window up for the run's agent, from what an earlier run counted if
// the conversation still begins with that.
func (cv *conversation) openWindow() {
	a := cv.agent
	if a.Limits == nil {
		cv.window = nil
		return
	}
	w := &window{policy: a.Spec.ContextPolicy, limits: a.Limits, artifact: a.Artifact}
	if s := builtin.ContextWindow.Get(cv.st); s.Previews == 0 && s.Messages <= cv.msgs.Len() && s.Messages > 0 && cv.msgs.At(s.Messages-1).ID == s.LastMessageID {
		w.WindowState = s
	} else {
		w.Model, w.Ratio, w.Limit = s.Model, s.Ratio, s.Limit
	}
	cv.window = w
}

// forget makes the next measure count everything again.
func (w *window) forget() {
	w.Messages, w.LastMessageID, w.Tokens, w.Previews, w.LeftOut, w.shown = 0, "", 0, 0, 0, llm.Messages{}
}

// measure counts the messages that are new.
func (w *window) measure(msgs llm.Messages) {
	for i := w.Messages; i < msgs.Len(); i++ {
		m := msgs.At(i)
		p := w.artifact.Preview(m)
		w.Tokens += p.Tokens()
		if p != m {
			if w.Previews == 0 {
				w.shown = msgs.Cut(i)
			}
			w.Previews++
		}
		if w.Previews > 0 {
			w.shown = w.shown.Append(p)
		}
		w.Messages, w.LastMessageID = i+1, m.ID
	}
}

// history is the conversation as it is shown: with previews of large tool results.
func (w *window) history(msgs llm.Messages) llm.Messages {
	if w.Previews > 0 {
		return w.shown.Clip()
	}
	return msgs.Clip()
}

// calibrated is an estimate in tokens as the model counts them.
func (w *window) calibrated(tokens int) int {
	if w.Ratio == 0 {
		return tokens
	}
	return int(math.Ceil(float64(tokens) * w.Ratio))
}

// budget is how large a request may be, as an estimate.
func (w *window) budget(req *llm.Request) int {
	reserve := w.limits.Output
	if req.MaxTokens != nil {
		reserve = *req.MaxTokens
	}
	b := w.limits.Context - reserve
	if b <= 0 {
		return 0
	}
	if w.Ratio > 0 {
		b = int(float64(b) / w.Ratio)
	}
	if w.Limit > 0 {
		b = min(b, w.Limit)
	}
	return b
}

// long reports whether the conversation is so long that it should be summarised: as the
// policy says, or because it comes near to what was refused as too large.
func (w *window) long() bool {
	return w.calibrated(w.Tokens) >= w.limits.Threshold || w.Limit > 0 && w.Tokens >= w.Limit*3/4
}

// heed makes what was learned about another model count for nothing.
func (w *window) calibrateFor(model string) {
	if w.Model != model {
		w.Model, w.Ratio, w.Limit = model, 0, 0
	}
}

// fit puts as much of the conversation into req as there is room for, between the context
// messages.
func (cv *conversation) fit(req *llm.Request) error {
	w := cv.window
	w.calibrateFor(req.Model)
	w.measure(cv.msgs)
	fixed := req.FixedTokens() + tokens(llm.NewMessages(w.before...)) + tokens(llm.NewMessages(w.after...))
	msgs := w.history(cv.msgs)
	room := w.budget(req) - fixed
	w.estimate = fixed + w.Tokens
	if w.Tokens <= room {
		w.LeftOut = 0
	} else {
		c := &cut{msgs: msgs, recent: w.policy.MinRecentMessages, budget: room}
		c.from = c.lead() + w.LeftOut
		var err error
		if msgs, err = c.do(); err != nil {
			return w.tooLarge(req, fixed, err)
		}
		w.LeftOut = c.from - c.lead()
		w.estimate = fixed + c.tokens
	}
	req.Messages = around(w.before, msgs, w.after)
	return nil
}

// refit leaves out of a request that was transformed what is too much.
func (w *window) refit(req *llm.Request) error {
	fixed := req.FixedTokens()
	c := &cut{msgs: req.Messages, recent: w.policy.MinRecentMessages, budget: w.budget(req) - fixed, tokens: tokens(req.Messages)}
	if c.tokens > c.budget {
		var err error
		if req.Messages, err = c.do(); err != nil {
			return w.tooLarge(req, fixed, err)
		}
	}
	w.estimate = fixed + c.tokens
	return nil
}

func (w *window) tooLarge(req *llm.Request, fixed int, err error) error {
	return &llm.Error{Kind: llm.ContextOverflow, Message: fmt.Sprintf("instructions, tools and context take about %d of the %d tokens that a request of model %s may have (context_policy: %d with the answer)",
		w.calibrated(fixed), w.calibrated(w.budget(req)), req.Model, w.limits.Context), Err: err}
}

// around puts context before and after a conversation.
func around(before []*llm.Message, msgs llm.Messages, after []*llm.Message) llm.Messages {
	if len(before) > 0 { // only then is the history copied
		msgs = llm.NewMessages(append(slices.Clip(before), msgs.Slice()...)...)
	}
	if len(after) > 0 {
		msgs = msgs.Clip().Append(after...)
	}
	return msgs
}

// learn corrects the estimates by what the model counted for the request that was made.
// More counts at once, less little by little.
func (w *window) learn(reported int64) {
	if reported <= 0 || w.estimate < minCalibration {
		return
	}
	now := min(max(float64(reported)/float64(w.estimate), minRatio), maxRatio)
	if w.Ratio > 0 && now < w.Ratio {
		now = w.Ratio + (now-w.Ratio)/4
	}
	w.Ratio = math.Round(now*1000) / 1000
}

const (
	minCalibration     = 256 // below, what a provider adds around a request counts too much
	minRatio, maxRatio = 0.5, 4.0
)

// refused notes that the request was too large for the model.
func (w *window) refused() {
	w.Limit = w.estimate * 3 / 4
}
