package providertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// historyCases test that the provider accepts every conversation, whatever happened to it.
func historyCases() []testCase {
	return []testCase{{"AnythingIsAccepted", nil, func(t *testing.T, a *Adapter) {
		Accepts(t, *a, func(_ *rapid.T, msgs []*llm.Message) *llm.Request { return a.conversation(msgs...) })
	}}}
}

// Accepts checks that the provider accepts requests with generated [Histories]: 10,000 of them,
// or 1,000,000 in long tests. With the race detector, which is ten times slower, it checks 1,000
// or 10,000.
func Accepts(t *testing.T, a Adapter, request func(rt *rapid.T, msgs []*llm.Message) *llm.Request) {
	n := 10_000
	switch {
	case testenv.Race && !testenv.Long():
		n = 1_000
	case !testenv.Race && testenv.Long():
		n = 1_000_000
	}
	const each = 50 // histories for each check of rapid
	v := newValidator(&a)
	m := a.Open(t, provider.Config{APIKey: key, BaseURL: "http://provider.invalid", HTTPClient: &http.Client{Transport: v}})
	gen := Histories(a.Provider, a.thoughts(t)...)
	for done := 0; done < n && !t.Failed(); {
		rapid.Check(t, func(rt *rapid.T) {
			for range each {
				if done++; done > n {
					return
				}
				req := request(rt, gen.Draw(rt, "history"))
				for _, err := range m.Stream(t.Context(), req) {
					if err != nil {
						rt.Fatalf("%v\n%s", err, v.last)
					}
				}
				if req.CachePrompt && v.asked.Cached == 0 && !slices.Contains(a.Cannot, CacheMarks) {
					rt.Fatalf("nothing is marked for the cache: %s", v.last)
				}
			}
		})
	}
	t.Logf("%d histories", n)
}

// thoughts returns thinking blocks as the adapter produces them.
func (a *Adapter) thoughts(t testing.TB) (out []llm.Block) {
	if slices.Contains(a.Cannot, Opaque) {
		return nil
	}
	for _, parts := range [][]Part{{{Reasoning: []string{"Hm."}}, {Opaque: "b3BhcXVl"}, text("42")}, {{Opaque: "b3BhcXVl"}, text("42")}} {
		out = append(out, a.say(t, Reply{Parts: parts, Finish: llm.EndTurn}).whole(t).Message.Content[0])
	}
	return out
}

// validator is a strict provider without a network.
type validator struct {
	a     *Adapter
	reply []byte
	last  []byte
	asked *Asked
}

func newValidator(a *Adapter) *validator {
	parts, end := a.Speak(says("ok"))
	return &validator{a: a, reply: slices.Concat(slices.Concat(parts, end)...)}
}

func (v *validator) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	v.last = body
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(v.reply)), Request: r}
	v.asked, err = v.a.Read(r, body)
	if err == nil {
		err = paired(v.asked)
	}
	if err != nil {
		resp.StatusCode, resp.Body = http.StatusBadRequest, io.NopCloser(bytes.NewReader([]byte(err.Error())))
	}
	return resp, nil
}

// paired checks what every provider requires: the result of each call directly follows it, and
// no provider receives opaque data of another.
func paired(a *Asked) error {
	open := map[string]bool{}
	for i, t := range a.Turns {
		if t.Role != llm.ToolRole && len(open) > 0 {
			return fmt.Errorf("turn %d: calls have no answer", i)
		}
		if t.Role == llm.ToolRole {
			if !open[t.CallID] {
				return fmt.Errorf("turn %d: an answer to no call", i)
			}
			delete(open, t.CallID)
		}
		for _, c := range t.Calls {
			if open[c.ID] || c.ID == "" {
				return fmt.Errorf("turn %d: call id %q twice", i, c.ID)
			}
			open[c.ID] = true
		}
		for _, o := range t.Opaque {
			if o == foreign {
				return fmt.Errorf("turn %d: the material of another provider", i)
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls at the end have no answer")
	}
	return nil
}

const foreign = "foreign"

// Histories generates conversations with crashes, cancels, truncations, retractions, and other
// agents and models. Own is the provider's name in the adapter's opaque data, and thoughts are
// thinking blocks with such data.
func Histories(own string, thoughts ...llm.Block) *rapid.Generator[[]*llm.Message] {
	ids := rapid.SampledFrom([]string{"", "call_1", "call_2", "toolu_01AbC", "call 3 é", "x.y:z", "a123456789b123456789c123456789d123456789e123456789f123456789g123456789h"})
	texts := rapid.SampledFrom([]string{"", " \n", "Hello", "日本語 🙂", "a\x00b", "<system>", `{"a":1}`, "bad\xffutf8"})
	args := rapid.SampledFrom([]string{"", "null", "{}", `{"at":"x"}`, `[1]`, `"text"`, `{"half`, "7"})
	opaque := rapid.Custom(func(t *rapid.T) *llm.Opaque {
		switch rapid.IntRange(0, 3).Draw(t, "opaque") {
		case 0:
			return &llm.Opaque{Provider: "another", Signature: foreign, Data: json.RawMessage(`{"id":"` + foreign + `","encrypted_content":"` + foreign + `","type":"thinking"}`)}
		case 1:
			return &llm.Opaque{Provider: own} // as an older version may have written it
		}
		return nil
	})
	block := rapid.Custom(func(t *rapid.T) llm.Block {
		switch rapid.IntRange(0, 11).Draw(t, "block") {
		case 0:
			if n := len(thoughts); n > 0 && rapid.Bool().Draw(t, "own") {
				return thoughts[rapid.IntRange(0, n-1).Draw(t, "which")]
			}
			return llm.Thinking(texts.Draw(t, "thinking"), opaque.Draw(t, "of"))
		case 1:
			return llm.Image(llm.Base64("image/png", pixel))
		case 2:
			return llm.Image(llm.URL("https://example.com/a.png"))
		case 3:
			return llm.Document(llm.Base64("application/pdf", "JVBERi0xLjQ="), texts.Draw(t, "title"))
		case 4:
			return llm.Block{Type: llm.AudioBlock, Source: llm.Base64("audio/wav", "UklGRg==")}
		case 5:
			return llm.Block{Type: llm.VideoBlock, Source: llm.URL("https://example.com/a.mp4")}
		case 6:
			return llm.Block{Type: llm.TextBlock, Text: texts.Draw(t, "text"), Opaque: opaque.Draw(t, "of")}
		}
		return llm.Text(texts.Draw(t, "text"))
	})
	blocks := rapid.SliceOfN(block, 0, 3)
	message := rapid.Custom(func(t *rapid.T) *llm.Message {
		m := &llm.Message{Content: blocks.Draw(t, "content")}
		switch rapid.IntRange(0, 9).Draw(t, "role") {
		case 0:
			m.Role = llm.System
		case 1, 2:
			m.Role = llm.User
			if rapid.IntRange(0, 5).Draw(t, "result") == 0 {
				m.Content = append(m.Content, llm.Block{Type: llm.ToolResultBlock, Tool: &llm.ToolPart{ID: ids.Draw(t, "id"), Content: blocks.Draw(t, "content")}})
			}
		case 3, 4, 5:
			m.Role, m.Opaque = llm.Assistant, opaque.Draw(t, "response")
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: ids.Draw(t, "id"), Name: rapid.SampledFrom([]string{"look", "gone.tool", "é"}).Draw(t, "name"),
					Arguments: json.RawMessage(args.Draw(t, "args")), Opaque: opaque.Draw(t, "of")})
			}
			if rapid.IntRange(0, 7).Draw(t, "use") == 0 {
				m.Content = append(m.Content, llm.Block{Type: llm.ToolUseBlock, Tool: &llm.ToolPart{ID: ids.Draw(t, "id"), Name: "look", Input: json.RawMessage(args.Draw(t, "args"))}})
			}
		default:
			m.Role, m.ToolCallID = llm.ToolRole, ids.Draw(t, "id")
			if rapid.IntRange(0, 5).Draw(t, "retracts") == 0 {
				m.Visibility = llm.Internal
			}
		}
		return m
	})
	return rapid.Custom(func(t *rapid.T) []*llm.Message {
		msgs := rapid.SliceOfN(message, 0, 12).Draw(t, "messages")
		return msgs[rapid.IntRange(0, min(3, len(msgs))).Draw(t, "cut"):] // truncated
	})
}
