package registry

import "github.com/awaken-go/awaken"

// ContextLimits are a policy's numbers, brought down to what the model can take.
type ContextLimits struct {
	Context   int // of request and answer
	Output    int // of the answer; 0 leaves it to the provider
	Threshold int // of the conversation, above which it is summarised; 0 for never
}

// NewContextLimits brings the policy down to what the model can take. Where only the model's window
// makes the context small, at most half of it is kept for the answer.
func NewContextLimits(p *awaken.ContextPolicy, m *awaken.ModelSpec) *ContextLimits {
	l := &ContextLimits{Context: p.MaxContextTokens, Output: p.MaxOutputTokens}
	if w := m.ContextWindow; w > 0 && w < l.Context {
		l.Context = w
		l.Output = min(l.Output, w/2)
	}
	if n := m.MaxOutputTokens; n > 0 {
		l.Output = min(l.Output, n)
	}
	l.Output = min(l.Output, l.Context)
	if t := p.AutocompactThreshold; t != nil {
		l.Threshold = max(0, min(*t, l.Context-l.Output))
	}
	return l
}
