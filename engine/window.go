package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine/internal/shorten"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
)

// window fits requests into the model's context window. It counts each message once, so a step
// costs as much as its new messages; only dropping messages looks at all that stay.
type window struct {
	policy   *awaken.ContextPolicy
	limits   *registry.ContextLimits
	artifact registry.ArtifactCompaction

	builtin.WindowState
	shown llm.Messages // the conversation with previews, if there are any

	// The current request.
	estimate      int            // tokens of the whole request
	before, after []*llm.Message // context messages around the conversation
	leftOut       int            // messages of the conversation that it does not have
	shortened     int            // messages that it has in part
	plain         *llm.Request   // before transforms, if there are any

	job *compaction // the summary in progress, or nil
}

// openWindow sets up the window of the run's agent, with the counters of an earlier run if the
// conversation still begins with what it counted.
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

// measure counts the new messages.
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

// history returns the conversation with previews of large tool results.
func (w *window) history(msgs llm.Messages) llm.Messages {
	if w.Previews > 0 {
		return w.shown.Clip()
	}
	return msgs.Clip()
}

// calibrated converts an estimate into tokens as the model counts them.
func (w *window) calibrated(tokens int) int {
	if w.Ratio == 0 {
		return tokens
	}
	return int(math.Ceil(float64(tokens) * w.Ratio))
}

// budget is the largest size of a request, as an estimate.
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

// long reports whether the conversation should be summarised: as the policy says, or because it
// approaches a size that the model refused.
func (w *window) long() bool {
	return w.calibrated(w.Tokens) >= w.limits.Threshold || w.Limit > 0 && w.Tokens >= w.Limit*3/4
}

// calibrateFor discards what was learned about another model.
func (w *window) calibrateFor(model string) {
	if w.Model != model {
		w.Model, w.Ratio, w.Limit = model, 0, 0
	}
}

// fit adds as much of the conversation to req as there is room for, between the context messages.
func (cv *conversation) fit(req *llm.Request) error {
	w := cv.window
	w.calibrateFor(req.Model)
	w.measure(cv.msgs)
	fixed := req.FixedTokens() + shorten.Tokens(llm.NewMessages(w.before...)) + shorten.Tokens(llm.NewMessages(w.after...))
	msgs := w.history(cv.msgs)
	room := w.budget(req) - fixed
	w.estimate, w.leftOut, w.shortened = fixed+w.Tokens, 0, w.Previews
	if w.Tokens <= room {
		w.LeftOut = 0
	} else {
		c := &shorten.Cut{Messages: msgs, Recent: w.policy.MinRecentMessages, Budget: room}
		c.From = c.Lead() + w.LeftOut
		var err error
		if msgs, err = c.Do(); err != nil {
			return w.tooLarge(req, fixed, err)
		}
		w.leftOut, w.shortened = c.Messages.Len()-msgs.Len(), c.Shortened
		w.LeftOut = c.From - c.Lead()
		w.estimate = fixed + c.Tokens
	}
	req.Messages = around(w.before, msgs, w.after)
	return nil
}

// refit drops what is too much from a request that was transformed.
func (w *window) refit(req *llm.Request) error {
	fixed := req.FixedTokens()
	c := &shorten.Cut{Messages: req.Messages, Recent: w.policy.MinRecentMessages, Budget: w.budget(req) - fixed, Tokens: shorten.Tokens(req.Messages)}
	if c.Tokens > c.Budget {
		var err error
		if req.Messages, err = c.Do(); err != nil {
			return w.tooLarge(req, fixed, err)
		}
		w.leftOut, w.shortened = w.leftOut+c.Messages.Len()-req.Messages.Len(), w.shortened+c.Shortened
	}
	w.estimate = fixed + c.Tokens
	return nil
}

// tooLarge is the error of a request that leaves no room for the conversation.
func (w *window) tooLarge(req *llm.Request, fixed int, err error) error {
	return &llm.Error{Kind: llm.ContextOverflow, Message: fmt.Sprintf("instructions, tools and context take about %d of the %d tokens that a request of model %s may have (context_policy: %d with the answer)",
		w.calibrated(fixed), w.calibrated(w.budget(req)), req.Model, w.limits.Context), Err: err}
}

// around adds context before and after a conversation.
func around(before []*llm.Message, msgs llm.Messages, after []*llm.Message) llm.Messages {
	if len(before) > 0 { // the history is copied only in this case
		msgs = llm.NewMessages(append(slices.Clip(before), msgs.Slice()...)...)
	}
	if len(after) > 0 {
		msgs = msgs.Clip().Append(after...)
	}
	return msgs
}

// learn calibrates the estimates with the tokens the model reported. A higher ratio applies at
// once, a lower one gradually.
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
	minCalibration     = 256 // below that, fixed overhead of the provider distorts the ratio
	minRatio, maxRatio = 0.5, 4.0
)

// refused records that the model refused the request as too large.
func (w *window) refused() {
	w.Limit = w.estimate * 3 / 4
}
