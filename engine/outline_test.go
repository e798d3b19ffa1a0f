package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

func TestOutline(t *testing.T) {
	said := func(role llm.Role, text string) *llm.Message {
		return &llm.Message{Role: role, Content: []llm.Block{llm.Text(text)}}
	}
	called := func(names ...string) *llm.Message {
		m := &llm.Message{Role: llm.Assistant}
		for _, name := range names {
			m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: name, Name: name})
		}
		return m
	}
	internal := said(llm.User, "a reminder")
	internal.Visibility = llm.Internal
	summary := said(llm.User, "what was said so far")
	summary.Metadata = &llm.Metadata{Compaction: new(llm.Interval)}
	var many []string
	for i := range 20 {
		many = append(many, strings.Repeat("x", i+1))
	}
	for _, tt := range []struct {
		name     string
		commits  [][]*llm.Message
		question string
		tools    []string
	}{
		{"a question", [][]*llm.Message{{said(llm.User, " how warm is it?\n")}, {said(llm.Assistant, "mild")}}, "how warm is it?", nil},
		{"a history whose last message is asked", [][]*llm.Message{{said(llm.User, "hello"), said(llm.Assistant, "hi"), said(llm.User, "how warm is it?")}}, "how warm is it?", nil},
		{"a later message", [][]*llm.Message{{said(llm.User, "first")}, {said(llm.User, "and then")}}, "first", nil},
		{"a message that was held", [][]*llm.Message{{}, {said(llm.User, "released")}}, "released", nil},
		{"nothing that a user said", [][]*llm.Message{{internal, summary, said(llm.Assistant, "hi")}}, "", nil},
		{"a long text", [][]*llm.Message{{said(llm.User, strings.Repeat("é", 201))}}, strings.Repeat("é", 200) + "…", nil},
		{"a text that just fits", [][]*llm.Message{{said(llm.User, strings.Repeat("é", 200))}}, strings.Repeat("é", 200), nil},
		{"tools", [][]*llm.Message{{said(llm.User, "q"), called("b", "a")}, {called("a", "c", awaken.FinalOutputTool)}}, "q", []string{"b", "a", "c"}},
		{"many tools", [][]*llm.Message{{called(many...)}}, "", many[:16]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var rec awaken.Run
			for _, added := range tt.commits {
				outline(&rec, added)
			}
			if rec.Question != tt.question || !slices.Equal(rec.Tools, tt.tools) {
				t.Errorf("question %q, tools %q, want %q, %q", rec.Question, rec.Tools, tt.question, tt.tools)
			}
		})
	}
}
