package llm_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
)

// The types below encode messages by reflection. The encoders promise the same bytes.

type plainMessage struct {
	ID         string         `json:"id,omitempty"`
	Role       llm.Role       `json:"role"`
	Content    []any          `json:"content"`
	ToolCalls  []plainCall    `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
	Visibility llm.Visibility `json:"visibility,omitempty"`
	Metadata   *llm.Metadata  `json:"metadata,omitempty"`
	Opaque     *llm.Opaque    `json:"opaque,omitempty"`
}

type plainCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Opaque    *llm.Opaque     `json:"opaque,omitempty"`
}

func plainOf(m *llm.Message) plainMessage {
	p := plainMessage{m.ID, m.Role, plainBlocks(m.Content), nil, m.ToolCallID, m.Visibility, m.Metadata, m.Opaque}
	if p.Visibility == llm.VisibleAll {
		p.Visibility = ""
	}
	for _, c := range m.ToolCalls {
		p.ToolCalls = append(p.ToolCalls, plainCall{c.ID, c.Name, orNull(c.Arguments), c.Opaque})
	}
	return p
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

func plainBlocks(blocks []llm.Block) []any {
	out := []any{}
	for _, b := range blocks {
		tool := llm.ToolPart{}
		if b.Tool != nil {
			tool = *b.Tool
		}
		switch b.Type {
		case llm.TextBlock:
			out = append(out, struct {
				Type   llm.BlockType `json:"type"`
				Text   string        `json:"text"`
				Opaque *llm.Opaque   `json:"opaque,omitempty"`
			}{b.Type, b.Text, b.Opaque})
		case llm.ThinkingBlock:
			out = append(out, struct {
				Type     llm.BlockType `json:"type"`
				Thinking string        `json:"thinking"`
				Opaque   *llm.Opaque   `json:"opaque,omitempty"`
			}{b.Type, b.Text, b.Opaque})
		case llm.ToolUseBlock:
			out = append(out, struct {
				Type   llm.BlockType   `json:"type"`
				ID     string          `json:"id"`
				Name   string          `json:"name"`
				Input  json.RawMessage `json:"input"`
				Opaque *llm.Opaque     `json:"opaque,omitempty"`
			}{b.Type, tool.ID, tool.Name, orNull(tool.Input), b.Opaque})
		case llm.ToolResultBlock:
			out = append(out, struct {
				Type      llm.BlockType `json:"type"`
				ToolUseID string        `json:"tool_use_id"`
				Content   []any         `json:"content"`
				Opaque    *llm.Opaque   `json:"opaque,omitempty"`
			}{b.Type, tool.ID, plainBlocks(tool.Content), b.Opaque})
		default:
			out = append(out, struct {
				Type   llm.BlockType `json:"type"`
				Source *llm.Source   `json:"source"`
				Title  string        `json:"title,omitempty"`
				Opaque *llm.Opaque   `json:"opaque,omitempty"`
			}{b.Type, b.Source, b.Title, b.Opaque})
		}
	}
	return out
}

// maker makes messages from any text and JSON.
type maker struct {
	*rand.Rand
	text string
	raw  json.RawMessage
}

func pick[T any](m maker, from ...T) T { return from[m.IntN(len(from))] }

func (m maker) str() string { return pick(m, "", "x", m.text) }

func (m maker) json() json.RawMessage {
	return pick(m, nil, json.RawMessage{}, json.RawMessage("null"), json.RawMessage(` { "a" : [1e5, "<&>`+"\u2028"+`"] } `), m.raw)
}

func (m maker) opaque() *llm.Opaque {
	return pick(m, nil, nil, &llm.Opaque{Provider: m.str(), Signature: m.str(), Data: m.json()})
}

func (m maker) blocks(depth int) (out []llm.Block) {
	kinds := []llm.BlockType{llm.TextBlock, llm.ThinkingBlock, llm.ImageBlock, llm.AudioBlock, llm.VideoBlock, llm.DocumentBlock, llm.ToolUseBlock, llm.ToolResultBlock}
	if depth > 0 {
		kinds = kinds[:6]
	}
	for range m.IntN(4) {
		b := llm.Block{Type: pick(m, kinds...), Text: m.str(), Title: m.str(), Opaque: m.opaque()}
		b.Source = pick(m, nil, &llm.Source{Type: m.str(), MediaType: m.str(), Data: m.str(), URL: m.str()})
		if m.IntN(4) > 0 && depth == 0 {
			b.Tool = &llm.ToolPart{ID: m.str(), Name: m.str(), Input: m.json(), Content: m.blocks(1)}
		}
		out = append(out, b)
	}
	return out
}

func (m maker) message() *llm.Message {
	n := m.IntN(1 << 40)
	msg := &llm.Message{ID: m.str(), Role: pick(m, llm.User, llm.Role(m.str())), Content: pick(m, m.blocks(0), []llm.Block{}), ToolCallID: m.str(),
		Visibility: pick(m, "", llm.VisibleAll, llm.Internal), Opaque: m.opaque()}
	for range m.IntN(3) {
		msg.ToolCalls = append(msg.ToolCalls, llm.ToolCall{ID: m.str(), Name: m.str(), Arguments: m.json(), Opaque: m.opaque()})
	}
	msg.Metadata = pick(m, nil, &llm.Metadata{}, &llm.Metadata{RunID: m.str(), StepIndex: pick(m, nil, &n), SenderAgentID: m.str(),
		Compaction: pick(m, nil, &llm.Interval{FromSeq: n, ToSeq: -n}), Rewind: pick(m, nil, &llm.Rewind{FromSeq: n}), Interrupted: pick(m, false, true), Client: pick(m, nil, json.RawMessage(`{"metadata":{"a":1}}`))})
	return msg
}

func FuzzMessage_IsEncodedAsByReflection(f *testing.F) {
	for i, s := range []string{"", "<b>&amp;</b>", "a\x00\x1f\n\"\\\x7f", "Grüße 世界 🙂", "\u2028\u2029", "\xff\xe2\x80", "\ufffd"} {
		f.Add(uint64(i), s, []byte(`[123456789012345678901234567890, {"k" : "`+s+`"}]`))
	}
	f.Fuzz(func(t *testing.T, seed uint64, text string, raw []byte) {
		m := maker{rand.New(rand.NewPCG(seed, 1)), text, raw}
		for range 20 {
			msg := m.message()
			want, wantErr := json.Marshal(plainOf(msg))
			got, err := msg.AppendJSON([]byte("x"))
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%+v: %v, want %v", msg, err, wantErr)
			}
			if string(got) != "x"+string(want) {
				t.Fatalf("encoded as\n%s, want\n%s", got[1:], want)
			}
		}
		u := llm.Usage{PromptTokens: int64(seed), CompletionTokens: int64(len(text)), ThinkingTokens: int64(len(raw)), TotalTokens: -1}
		want, _ := json.Marshal(u)
		if got := u.AppendJSON(nil); string(got) != string(want) {
			t.Errorf("encoded as %s, want %s", got, want)
		}
	})
}

func TestMessageAppendJSON_DoesNotAllocate(t *testing.T) {
	step := 3
	msg := &llm.Message{ID: "m", Role: llm.Assistant, Content: []llm.Block{llm.Text("Let me see."), llm.Thinking("Hm.", &llm.Opaque{Provider: "p", Signature: "s"})},
		ToolCalls: []llm.ToolCall{{ID: "c", Name: "add", Arguments: json.RawMessage(`{"a": 1}`)}}, Metadata: &llm.Metadata{RunID: "r", StepIndex: &step}}
	buf := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := msg.AppendJSON(buf); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestMessageAppendJSON_ReturnsTheBufferUnchangedOnAnError(t *testing.T) {
	for name, msg := range map[string]*llm.Message{
		"block":     {Role: llm.User, Content: []llm.Block{{Type: "x"}}},
		"tool_use":  {Role: llm.User, Content: []llm.Block{{Type: llm.ToolResultBlock, Tool: &llm.ToolPart{Content: []llm.Block{{Type: llm.ToolUseBlock}}}}}},
		"character": {Role: llm.User, ToolCalls: []llm.ToolCall{{Arguments: json.RawMessage("{x}")}}},
	} {
		got, err := msg.AppendJSON([]byte("kept"))
		if err == nil || !strings.Contains(err.Error(), name) || string(got) != "kept" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func BenchmarkMessage(b *testing.B) {
	step := 3
	msg := &llm.Message{ID: "0198f0c2-6d3b-7e9c-8a51-0242ac120002", Role: llm.Assistant, Content: []llm.Block{llm.Text("Let me see what the weather is like there.")},
		ToolCalls: []llm.ToolCall{{ID: "call_1", Name: "add", Arguments: json.RawMessage(`{"a":1,"b":2}`)}}, Metadata: &llm.Metadata{RunID: "0198f0c2-6d3b-7e9c", StepIndex: &step}}
	b.Run("reflection", func(b *testing.B) {
		b.ReportAllocs()
		plain := plainOf(msg)
		for b.Loop() {
			if _, err := json.Marshal(&plain); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, 1024)
		for b.Loop() {
			if _, err := msg.AppendJSON(buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}
