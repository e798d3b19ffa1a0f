package llm

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Guard returns a model that rejects requests with media that m does not accept. Input
// lists what it accepts, out of text, image, audio, video and pdf. Text always passes; an
// empty list accepts everything.
func Guard(m Model, input []string) Model {
	if len(input) == 0 {
		return m
	}
	return guarded{m, input}
}

type guarded struct {
	Model
	input []string
}

func (g guarded) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	if err := checkMedia(req, g.input); err != nil {
		return func(yield func(Delta, error) bool) { yield(Delta{}, err) }
	}
	return g.Model.Stream(ctx, req)
}

func (g guarded) SupportsSchema(model string) bool { return SupportsSchema(g.Model, model) }

func (g guarded) Knowledge(model string) ModelKnowledge { return KnowledgeOf(g.Model, model) }

func checkMedia(req *Request, input []string) error {
	for i, m := range req.Messages.All() {
		if kind := refused(m.Content, input); kind != "" {
			return &Error{Kind: InvalidRequest, Message: fmt.Sprintf("message %d contains %s; model %s accepts only %s", i+1, kind, req.Model, strings.Join(input, ", "))}
		}
	}
	return nil
}

// refused returns the first kind of media in blocks that is not in input, or "".
func refused(blocks []Block, input []string) string {
	for i := range blocks {
		b := &blocks[i]
		kind := ""
		switch b.Type {
		case ImageBlock, AudioBlock, VideoBlock:
			kind = string(b.Type)
		case DocumentBlock:
			if b.Source.IsPDF() {
				kind = "pdf"
			}
		case ToolResultBlock:
			if b.Tool == nil {
				continue
			}
			if kind := refused(b.Tool.Content, input); kind != "" {
				return kind
			}
		}
		if kind != "" && !slices.Contains(input, kind) {
			return kind
		}
	}
	return ""
}
