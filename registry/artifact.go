package registry

import (
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/llm"
)

// ContextTransformSection is the section "context_transform" of an agent: how large tool
// results are shown to the model. It applies to agents with an [awaken.ContextPolicy].
var ContextTransformSection = awaken.NewSection("context_transform", ContextTransform{ArtifactCompaction{ThresholdTokens: 2048, PreviewMaxChars: 1600, PreviewMaxLines: 24}})

// ContextTransform configures how a conversation is shown to the model.
type ContextTransform struct {
	ArtifactCompaction ArtifactCompaction `json:"artifact_compaction" jsonschema:"How large tool results are shown to the model. They are stored unchanged."`
}

// ArtifactCompaction configures which tool results are shortened.
type ArtifactCompaction struct {
	ThresholdTokens int `json:"threshold_tokens,omitempty" jsonschema:"Results of at least this many tokens are shortened. Default 2048."`
	PreviewMaxChars int `json:"preview_max_chars,omitempty" jsonschema:"Maximum number of characters of a shortened result. Default 1600."`
	PreviewMaxLines int `json:"preview_max_lines,omitempty" jsonschema:"Maximum number of lines of a shortened result. Default 24."`
}

// Validate reports all problems, joined.
func (c *ContextTransform) Validate() error {
	bad := check.Problems{Prefix: "artifact_compaction."}
	a := &c.ArtifactCompaction
	bad.When(a.PreviewMaxChars < 1, "preview_max_chars is %d, want 1 or more", a.PreviewMaxChars)
	bad.When(a.PreviewMaxLines < 1, "preview_max_lines is %d, want 1 or more", a.PreviewMaxLines)
	bad.When(a.ThresholdTokens < 1, "threshold_tokens is %d, want 1 or more", a.ThresholdTokens)
	return bad.Err()
}

// Preview returns m or, if m is a tool message with a large text, a copy that holds only the
// beginning of the text.
func (a *ArtifactCompaction) Preview(m *llm.Message) *llm.Message {
	if m.Role != llm.ToolRole || !slices.ContainsFunc(m.Content, a.large) {
		return m
	}
	out := *m
	out.Content = a.previews(m.Content)
	return &out
}

func (a *ArtifactCompaction) large(b llm.Block) bool {
	if b.Type == llm.ToolResultBlock && b.Tool != nil {
		return slices.ContainsFunc(b.Tool.Content, a.large)
	}
	return b.Type == llm.TextBlock && len(b.Text)/4 >= a.ThresholdTokens
}

func (a *ArtifactCompaction) previews(blocks []llm.Block) []llm.Block {
	out := slices.Clone(blocks)
	for i, b := range blocks {
		switch {
		case !a.large(b):
		case b.Type == llm.ToolResultBlock:
			tool := *b.Tool
			tool.Content = a.previews(b.Tool.Content)
			out[i].Tool = &tool
		default:
			out[i].Text = a.beginning(b.Text)
		}
	}
	return out
}

// beginning returns the first part of s, and a note that it is shortened.
func (a *ArtifactCompaction) beginning(s string) string {
	end, chars, lines := len(s), 0, 1
	for i, c := range s {
		if chars == a.PreviewMaxChars || c == '\n' && lines == a.PreviewMaxLines {
			end = i
			break
		}
		chars++
		if c == '\n' {
			lines++
		}
	}
	short := fmt.Sprintf("%s\n[Shortened: the result has about %d tokens, these are the first %d characters]", s[:end], len(s)/4, chars)
	if len(short) >= len(s) {
		return s
	}
	return short
}
