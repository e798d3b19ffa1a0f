package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine/internal/shorten"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
)

func TestWindow_CountsEachMessageOnce(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	var msgs []*llm.Message
	for len(msgs) < 200 {
		id := fmt.Sprintf("c%d", len(msgs))
		msgs = append(msgs, llm.UserText(strings.Repeat("word ", rng.IntN(400))),
			&llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: id, Name: "look"}}},
			&llm.Message{Role: llm.ToolRole, ToolCallID: id, Content: []llm.Block{llm.Text(strings.Repeat("line\n", 1<<rng.IntN(11)))}})
	}
	w := &window{artifact: registry.ArtifactCompaction{ThresholdTokens: 64, PreviewMaxChars: 100, PreviewMaxLines: 3}}
	for n := range len(msgs) + 1 {
		have := llm.NewMessages(msgs[:n/2]...).Append(msgs[n/2 : n]...)
		w.measure(have)
		shown := w.history(have)
		if shown.Len() != n || w.Messages != n || w.Tokens != shorten.Tokens(shown) {
			t.Fatalf("after %d messages: %d are counted with %d tokens, %d shown with %d", n, w.Messages, w.Tokens, shown.Len(), shorten.Tokens(shown))
		}
		for i, m := range shown.All() {
			if m != msgs[i] && (m.Role != llm.ToolRole || m.Tokens() > msgs[i].Tokens()) {
				t.Fatalf("message %d was changed though it is no large result", i)
			}
		}
	}
	if w.Previews == 0 {
		t.Error("there was no large result: that shows little")
	}
}

func TestPreview_ShowsTheBeginningOfLargeResults(t *testing.T) {
	t.Parallel()
	a := &registry.ArtifactCompaction{ThresholdTokens: 2048, PreviewMaxChars: 1600, PreviewMaxLines: 24}
	result := func(text string) *llm.Message {
		return &llm.Message{Role: llm.ToolRole, ToolCallID: "c", Content: []llm.Block{llm.Text(text)}}
	}
	const note = "\n[Shortened: the result has about %d tokens, these are the first %d characters]"
	large := strings.Repeat("x", 8192)
	lines := strings.Repeat("line of text\n", 1000)
	tests := []struct {
		name      string
		m         *llm.Message
		want      string
		untouched bool
	}{
		{name: "small", m: result(large[1:]), untouched: true},
		{name: "large", m: result(large), want: large[:1600] + fmt.Sprintf(note, 2048, 1600)},
		{name: "many lines", m: result(lines), want: strings.TrimSuffix(strings.Repeat("line of text\n", 24), "\n") + fmt.Sprintf(note, 3250, 24*13-1)},
		{name: "characters, not bytes", m: result(strings.Repeat("ö", 8192)), want: strings.Repeat("ö", 1600) + fmt.Sprintf(note, 4096, 1600)},
		{name: "a user's", m: llm.UserText(large), untouched: true},
		{name: "an assistant's", m: llm.NewText(llm.Assistant, large), untouched: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := a.Preview(tt.m)
			if tt.untouched {
				if got != tt.m {
					t.Errorf("it was changed to %.200q", got.Text())
				}
				return
			}
			if diff := cmp.Diff(tt.want, got.Text()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tt.m.Text() == got.Text() {
				t.Error("the message itself was changed")
			}
		})
	}
	nested := &llm.Message{Role: llm.ToolRole, Content: []llm.Block{{Type: llm.ToolResultBlock, Tool: &llm.ToolPart{ID: "c", Content: []llm.Block{llm.Text(large)}}}, llm.Text("small")}}
	got := a.Preview(nested)
	if text := got.Content[0].Tool.Content[0].Text; !strings.HasSuffix(text, "characters]") || got.Content[1].Text != "small" || nested.Content[0].Tool.Content[0].Text != large {
		t.Errorf("a nested result is %.200q", text)
	}
}

func TestLimits_AreBroughtDownToTheModels(t *testing.T) {
	t.Parallel()
	policy := func(context, output int, threshold ...int) *awaken.ContextPolicy {
		p := awaken.DefaultContextPolicy()
		p.MaxContextTokens, p.MaxOutputTokens = context, output
		if len(threshold) > 0 {
			p.AutocompactThreshold = &threshold[0]
		}
		return &p
	}
	for _, tt := range []struct {
		name  string
		p     *awaken.ContextPolicy
		model awaken.ModelSpec
		want  registry.ContextLimits
	}{
		{"nothing is known", policy(200_000, 16_384, 100_000), awaken.ModelSpec{}, registry.ContextLimits{Context: 200_000, Output: 16_384, Threshold: 100_000}},
		{"no threshold", policy(200_000, 16_384), awaken.ModelSpec{}, registry.ContextLimits{Context: 200_000, Output: 16_384, Threshold: 0}},
		{"a larger model", policy(100_000, 8192), awaken.ModelSpec{ContextWindow: 1_000_000, MaxOutputTokens: 64_000}, registry.ContextLimits{Context: 100_000, Output: 8192, Threshold: 0}},
		{"a smaller window", policy(200_000, 16_384, 190_000), awaken.ModelSpec{ContextWindow: 128_000}, registry.ContextLimits{Context: 128_000, Output: 16_384, Threshold: 111_616}},
		{"a smaller output", policy(200_000, 16_384, 150_000), awaken.ModelSpec{MaxOutputTokens: 8192}, registry.ContextLimits{Context: 200_000, Output: 8192, Threshold: 150_000}},
		{"a window smaller than the output", policy(200_000, 16_384, 100_000), awaken.ModelSpec{ContextWindow: 8192}, registry.ContextLimits{Context: 8192, Output: 4096, Threshold: 4096}},
		{"all of it for the answer", policy(1000, 1000, 500), awaken.ModelSpec{}, registry.ContextLimits{Context: 1000, Output: 1000, Threshold: 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := *registry.NewContextLimits(tt.p, &tt.model); got != tt.want {
				t.Errorf("limits are %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestWindow_LearnsHowItsModelCounts(t *testing.T) {
	t.Parallel()
	w := &window{}
	w.estimate = 1000
	for _, step := range []struct {
		reported int64
		want     float64
	}{{0, 0}, {1500, 1.5}, {1100, 1.4}, {2000, 2}, {100_000, 4}, {1, 3.125}} {
		if w.learn(step.reported); w.Ratio != step.want {
			t.Errorf("after %d tokens for 1000 the ratio is %v, want %v", step.reported, w.Ratio, step.want)
		}
	}
	w = &window{estimate: minCalibration - 1}
	if w.learn(10_000); w.Ratio != 0 {
		t.Errorf("a tiny request taught %v", w.Ratio)
	}
}
