package registry

import "github.com/awaken-go/awaken"

// ContextLimits are the limits of a context policy, in tokens, reduced to what the model
// supports.
type ContextLimits struct {
	Context   int // for request and answer together
	Output    int // for the answer; 0 leaves it to the provider
	Threshold int // conversation size above which it is summarised; 0 means never
}

// NewContextLimits combines the policy with the limits of the model. If the model's window is
// smaller than the policy's, at most half of it is reserved for the answer.
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
