package llmtest

import (
	"context"
	"iter"
	"slices"

	"github.com/awaken-go/awaken/llm"
)

// Rule replies to the requests that match it. A Rule without a Match matches all.
type Rule struct {
	Match func(*llm.Request) bool
	Turn  func(*llm.Request) Turn
}

// Rules is a model that chooses its reply by the request. It has no state: the same request
// gets the same reply.
type Rules struct{ rules []Rule }

// NewRules returns a model that replies with the first rule that matches. A request that
// matches none fails with an *llm.Error of kind InvalidRequest.
func NewRules(rules ...Rule) *Rules { return &Rules{rules: slices.Clone(rules)} }

// Stream plays the turn of the first rule that matches req.
func (r *Rules) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if ctx.Err() != nil {
			yield(llm.Delta{}, cancelled(ctx))
			return
		}
		for _, rule := range r.rules {
			if rule.Match == nil || rule.Match(req) {
				k := newTake(rule.Turn(req))
				k.play(ctx, req, k.number(req), yield)
				return
			}
		}
		_, m := lastUser(req)
		yield(llm.Delta{}, invalid("no rule matches the last user message %q", clip(text(m))))
	}
}

// number returns the first number, starting at the number of messages, with which the take's
// calls get ids that no call in req has. The number of messages alone is not unique, because
// a conversation can be compacted.
func (k *take) number(req *llm.Request) int {
	n := req.Messages.Len()
	for {
		ids := k.unnamed(n)
		if !slices.ContainsFunc(ids, func(id string) bool { return calledIn(req, id) }) {
			return n
		}
		n++
	}
}

func calledIn(req *llm.Request, id string) bool {
	for _, m := range req.Messages.All() {
		for i := range m.ToolCalls {
			if m.ToolCalls[i].ID == id {
				return true
			}
		}
	}
	return false
}

var _ llm.Model = (*Rules)(nil)
