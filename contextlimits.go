package awaken

// contextLimits are a policy's numbers, brought down to what the model can take.
type contextLimits struct {
	context   int // of request and answer
	output    int // of the answer; 0 leaves it to the provider
	threshold int // of the conversation, above which it is summarised; 0 for never
}

// newContextLimits brings the policy down to what the model can take. Where only the model's window
// makes the context small, at most half of it is kept for the answer.
func newContextLimits(p *ContextPolicy, m *ModelSpec) *contextLimits {
	l := &contextLimits{context: p.MaxContextTokens, output: p.MaxOutputTokens}
	if w := m.ContextWindow; w > 0 && w < l.context {
		l.context = w
		l.output = min(l.output, w/2)
	}
	if n := m.MaxOutputTokens; n > 0 {
		l.output = min(l.output, n)
	}
	l.output = min(l.output, l.context)
	if t := p.AutocompactThreshold; t != nil {
		l.threshold = max(0, min(*t, l.context-l.output))
	}
	return l
}
