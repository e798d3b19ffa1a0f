package engine

import (
	"cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// made returns the composition of the request, made if there is none.
func (inf *inference) made() *llm.Composition {
	if inf.stream.made == nil {
		inf.stream.made = &llm.Composition{}
	}
	return inf.stream.made
}

// noteContext notes that a context message was added.
func (inf *inference) noteContext(m *awaken.ContextMessage) {
	c := inf.made()
	c.Context = append(c.Context, llm.ContextNote{Key: m.Key, Source: m.Source, Role: m.Role, Target: cmp.Or(string(m.Target), "system"),
		Tokens: (&llm.Message{Role: m.Role, Content: m.Content}).Tokens()})
}

// composed returns what the request of an answer was made of, or nil if nothing was added, left out or changed.
func (inf *inference) composed(s *stream) *llm.Composition {
	if s.member != "" {
		inf.made().Member = s.member
	}
	if w := inf.conv.window; w != nil && w.leftOut+w.shortened > 0 {
		c := inf.made()
		c.LeftOut, c.Shortened = w.leftOut, w.shortened
	}
	return s.made
}
