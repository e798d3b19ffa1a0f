package providertest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

func answer(id, text string) *llm.Message {
	return &llm.Message{Role: llm.ToolRole, ToolCallID: id, Content: []llm.Block{llm.Text(text)}}
}

func asks(text string, ids ...string) *llm.Message {
	m := &llm.Message{Role: llm.Assistant}
	if text != "" {
		m.Content = []llm.Block{llm.Text(text)}
	}
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: id, Name: "look", Arguments: json.RawMessage(`{"at":"` + id + `"}`)})
	}
	return m
}

// conversation returns a request with these messages.
func (a *Adapter) conversation(msgs ...*llm.Message) *llm.Request {
	req := a.request()
	req.Messages = llm.NewMessages(msgs...)
	req.Tools = []llm.Tool{look}
	return req
}

var look = llm.Tool{Name: "look", Description: "Looks at something.", Parameters: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`)}

// asked sends a request and returns what a strict provider read.
func (a *Adapter) asked(t testing.TB, req *llm.Request) *Asked {
	t.Helper()
	parts, end := a.Speak(says("ok"))
	s := newServer(t, script{frames: slices.Concat(parts, end)})
	ask(t, a.open(t, s), req).whole(t)
	return a.read(t, s)
}

func (a *Adapter) read(t testing.TB, s *server) *Asked {
	t.Helper()
	all := s.requests()
	last := all[len(all)-1]
	asked, err := a.Read(last.request, last.body)
	if err != nil {
		t.Fatalf("the provider would refuse this: %v\n%s", err, last.body)
	}
	return asked
}

// requestCases test what is sent.
func requestCases() []testCase {
	return slices.Concat(settingCases(), conversationCases(), mediaCases())
}

// sends changes a request and checks what was sent.
func sends(name string, change func(*llm.Request), check func(t *testing.T, got *Asked), needs ...Power) testCase {
	return testCase{name, needs, func(t *testing.T, a *Adapter) {
		req := a.request()
		change(req)
		check(t, a.asked(t, req))
	}}
}

// messages sends a conversation and checks what was sent.
func messages(name string, msgs []*llm.Message, check func(t *testing.T, got *Asked), needs ...Power) testCase {
	return testCase{name, needs, func(t *testing.T, a *Adapter) { check(t, a.asked(t, a.conversation(msgs...))) }}
}

// settingCases test everything in a request except the conversation.
func settingCases() []testCase {
	choice := func(name string, c llm.ToolChoice, want string) testCase {
		return sends(name, func(r *llm.Request) { r.Tools, r.ToolChoice = []llm.Tool{look}, &c }, func(t *testing.T, got *Asked) { equal(t, "choice", got.Choice, want) }, Choice)
	}
	schema := `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`
	return []testCase{
		sends("Basics", func(*llm.Request) {}, func(t *testing.T, got *Asked) {
			equal(t, "system", got.System, "Be brief.")
			equal(t, "turns", got.Turns, []Turn{{Role: llm.User, Text: "Hello"}})
			equal(t, "key", got.Key, key)
			equal(t, "stream", got.Stream, true)
		}),
		{"Model", nil, func(t *testing.T, a *Adapter) { equal(t, "model", a.asked(t, a.request()).Model, a.Model) }},
		sends("NothingIsSetUnasked", func(*llm.Request) {}, func(t *testing.T, got *Asked) {
			if got.Temperature != nil || got.TopP != nil || got.Seed != nil || got.Stop != nil || got.Choice != "" || got.Parallel != nil || got.Output != nil || got.Effort != "" {
				t.Errorf("sent: %+v", got)
			}
		}),
		sends("Temperature", func(r *llm.Request) { r.Temperature = new(0.0) }, func(t *testing.T, got *Asked) { equal(t, "temperature", got.Temperature, new(0.0)) }),
		sends("TopP", func(r *llm.Request) { r.TopP = new(0.9) }, func(t *testing.T, got *Asked) { equal(t, "top p", got.TopP, new(0.9)) }),
		sends("MaxTokens", func(r *llm.Request) { r.MaxTokens = new(2345) }, func(t *testing.T, got *Asked) { equal(t, "max tokens", got.MaxTokens, new(2345)) }),
		sends("Stop", func(r *llm.Request) { r.StopSequences = []string{"END", "\n\n"} }, func(t *testing.T, got *Asked) { equal(t, "stop", got.Stop, []string{"END", "\n\n"}) }, Stop),
		sends("Seed", func(r *llm.Request) { r.Seed = new(int64(7)) }, func(t *testing.T, got *Asked) { equal(t, "seed", got.Seed, new(int64(7))) }, Seed),
		sends("Effort", func(r *llm.Request) { r.ReasoningEffort = &llm.Effort{Level: "high"} }, func(t *testing.T, got *Asked) {
			if got.Effort == "" {
				t.Error("no effort was asked for")
			}
		}, Effort),
		sends("EffortBudget", func(r *llm.Request) { r.ReasoningEffort = &llm.Effort{Budget: 4096} }, func(t *testing.T, got *Asked) {
			if got.Effort == "" {
				t.Error("no effort was asked for")
			}
		}, Effort),
		sends("CacheMarks", func(r *llm.Request) { r.CachePrompt = true }, func(t *testing.T, got *Asked) {
			if got.Cached == 0 {
				t.Error("nothing is marked for the cache")
			}
		}, CacheMarks),
		choice("ChoiceAuto", llm.ToolChoice{Mode: "auto"}, "auto"),
		choice("ChoiceNone", llm.ToolChoice{Mode: "none"}, "none"),
		choice("ChoiceRequired", llm.ToolChoice{Mode: "required"}, "required"),
		choice("ChoiceTool", llm.ToolChoice{Mode: "tool", Name: "look"}, "look"),
		sends("ChoiceWithoutTools", func(r *llm.Request) { r.ToolChoice = &llm.ToolChoice{Mode: "required"} }, func(t *testing.T, got *Asked) { equal(t, "choice", got.Choice, "") }),
		sends("NoParallelTools", func(r *llm.Request) { r.Tools, r.ParallelTools = []llm.Tool{look}, new(false) }, func(t *testing.T, got *Asked) { equal(t, "parallel", got.Parallel, new(false)) }, Parallel),
		sends("Tools", func(r *llm.Request) {
			r.Tools = []llm.Tool{look, {Name: "no_args"}, {Name: "empty", Parameters: json.RawMessage(`{"type":"object"}`)}}
		}, func(t *testing.T, got *Asked) {
			equal(t, "tools", len(got.Tools), 3)
			equal(t, "tool", [2]string{got.Tools[0].Name, got.Tools[0].Description}, [2]string{"look", "Looks at something."})
		}),
		sends("Output", func(r *llm.Request) { r.Output = &llm.OutputSchema{Name: "answer", Schema: json.RawMessage(schema)} }, func(t *testing.T, got *Asked) { sameJSON(t, got.Output, schema) }, Output),
		sends("CacheKey", func(r *llm.Request) { r.CachePrompt, r.Routing.ThreadID = true, "thread-7" }, func(t *testing.T, got *Asked) { equal(t, "cache key", got.CacheKey, "thread-7") }, CacheKey),
		{"Headers", nil, func(t *testing.T, a *Adapter) {
			parts, end := a.Speak(says("ok"))
			s := newServer(t, script{frames: slices.Concat(parts, end)})
			ask(t, a.open(t, s, func(c *provider.Config) { c.Headers = map[string]string{"X-Team": "blue"} }), a.request()).whole(t)
			equal(t, "header", s.requests()[0].request.Header.Get("X-Team"), "blue")
		}},
		{"BaseURLWithAPath", nil, func(t *testing.T, a *Adapter) {
			parts, end := a.Speak(says("ok"))
			s := newServer(t, script{frames: slices.Concat(parts, end)})
			ask(t, a.open(t, s, func(c *provider.Config) { c.BaseURL += "/proxy/v9" }), a.request()).whole(t)
			if p := s.requests()[0].request.URL.Path; !strings.HasPrefix(p, "/proxy/v9/") {
				t.Errorf("path: %s", p)
			}
		}},
		{"TheRequestIsNotChanged", nil, func(t *testing.T, a *Adapter) {
			req := a.conversation(llm.UserText("Look"), asks("", "call_1"), llm.UserText("and?"), answer("call_1", "seen"))
			before, _ := json.Marshal(req.Messages.Slice())
			a.asked(t, req)
			after, _ := json.Marshal(req.Messages.Slice())
			equal(t, "messages", string(after), string(before))
		}},
	}
}

// conversationCases test the messages of a conversation.
func conversationCases() []testCase {
	return []testCase{
		messages("Conversation", []*llm.Message{llm.UserText("Hi"), llm.NewText(llm.Assistant, "Hello!"), llm.UserText("How are you?")}, func(t *testing.T, got *Asked) {
			equal(t, "turns", got.Turns, []Turn{{Role: llm.User, Text: "Hi"}, {Role: llm.Assistant, Text: "Hello!"}, {Role: llm.User, Text: "How are you?"}})
		}),
		messages("SystemMessageFirst", []*llm.Message{llm.NewText(llm.System, "Be kind."), llm.UserText("Hi")}, func(t *testing.T, got *Asked) {
			equal(t, "system", got.System, "Be brief.\n\nBe kind.")
		}),
		messages("SystemMessageLater", []*llm.Message{llm.UserText("Hi"), llm.NewText(llm.System, "Now be kind."), llm.UserText("There?")}, func(t *testing.T, got *Asked) {
			if !slices.ContainsFunc(got.Turns, func(turn Turn) bool { return strings.Contains(turn.Text, "Now be kind.") }) && !strings.Contains(got.System, "Now be kind.") {
				t.Errorf("it is lost: %+v", got)
			}
		}),
		messages("CallAndAnswer", []*llm.Message{llm.UserText("Look"), asks("Looking.", "call_1"), answer("call_1", "seen"), llm.UserText("And?")}, func(t *testing.T, got *Asked) {
			equal(t, "turns", got.Turns, []Turn{{Role: llm.User, Text: "Look"},
				{Role: llm.Assistant, Text: "Looking.", Calls: []Call{{got.Turns[1].Calls[0].ID, "look", []string{`{"at":"call_1"}`}}}},
				{Role: llm.ToolRole, Text: "seen", CallID: got.Turns[1].Calls[0].ID}, {Role: llm.User, Text: "And?"}})
		}),
		messages("AnswersInTheOrderOfCalls", []*llm.Message{llm.UserText("Look"), asks("", "a1", "b2"), answer("b2", "two"), answer("a1", "one")}, func(t *testing.T, got *Asked) {
			equal(t, "answers", []string{got.Turns[2].Text, got.Turns[3].Text}, []string{"one", "two"})
		}),
		messages("MissingAnswer", []*llm.Message{llm.UserText("Look"), asks("", "a1", "b2"), answer("b2", "two"), llm.UserText("Go on")}, func(t *testing.T, got *Asked) {
			equal(t, "turns", len(got.Turns), 5)
			equal(t, "answer", got.Turns[3].Text, "two")
		}),
		messages("LateAnswer", []*llm.Message{llm.UserText("Look"), asks("", "a1"), llm.UserText("Well?"), answer("a1", "one")}, func(t *testing.T, got *Asked) {
			equal(t, "roles", roles(got), "user assistant tool user")
		}),
		messages("AnswerWithoutACall", []*llm.Message{answer("gone", "what was asked before the cut"), llm.UserText("Hi")}, func(t *testing.T, got *Asked) {
			equal(t, "roles", roles(got), "user")
		}),
		messages("EmptyMessages", []*llm.Message{llm.UserText("Hi"), {Role: llm.Assistant}, {Role: llm.User, Content: []llm.Block{llm.Text("  ")}}, llm.UserText("Still here")}, func(t *testing.T, got *Asked) {
			if s := roles(got); s != "user user" && s != "user" {
				t.Errorf("roles: %s", s)
			}
		}),
		messages("NoMessages", nil, func(t *testing.T, got *Asked) { equal(t, "roles", roles(got), "user") }),
		messages("OnlyThinking", []*llm.Message{llm.UserText("Hi"), {Role: llm.Assistant, Content: []llm.Block{llm.Thinking("hm", nil)}}, llm.UserText("Well?")}, func(t *testing.T, got *Asked) {
			if strings.Contains(roles(got), "assistant") {
				t.Errorf("roles: %s", roles(got))
			}
		}),
	}
}

func roles(got *Asked) string {
	var out []string
	for _, t := range got.Turns {
		out = append(out, string(t.Role))
	}
	return strings.Join(out, " ")
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func mediaCases() []testCase {
	image := llm.Image(llm.Base64("image/png", pixel))
	shows := func(b ...llm.Block) []*llm.Message {
		return []*llm.Message{{Role: llm.User, Content: append([]llm.Block{llm.Text("See:")}, b...)}}
	}
	media := func(got *Asked) (out []string) {
		for _, t := range got.Turns {
			out = append(out, t.Media...)
		}
		return out
	}
	return []testCase{
		messages("Image", shows(image), func(t *testing.T, got *Asked) { equal(t, "media", media(got), []string{pixel}) }, Images),
		messages("ImageURL", shows(llm.Image(llm.URL("https://example.com/a.png"))), func(t *testing.T, got *Asked) {
			equal(t, "media", media(got), []string{"https://example.com/a.png"})
		}, ImageURLs),
		messages("Document", shows(llm.Document(llm.Base64("application/pdf", "JVBERi0xLjQ="), "Report")), func(t *testing.T, got *Asked) {
			equal(t, "media", media(got), []string{"JVBERi0xLjQ="})
		}, Documents),
		messages("Audio", shows(llm.Block{Type: llm.AudioBlock, Source: llm.Base64("audio/wav", "UklGRg==")}), func(t *testing.T, got *Asked) {
			equal(t, "media", media(got), []string{"UklGRg=="})
		}, Audio),
		messages("ImageOfATool", []*llm.Message{llm.UserText("Look"), asks("", "a1", "b2"),
			{Role: llm.ToolRole, ToolCallID: "a1", Content: []llm.Block{llm.Text("Here:"), image}}, answer("b2", "two")}, func(t *testing.T, got *Asked) {
			equal(t, "media", media(got), []string{pixel})
			if !strings.HasPrefix(roles(got), "user assistant tool tool") {
				t.Errorf("roles: %s", roles(got))
			}
		}, ToolImages),
		messages("WhatCannotBeShownIsDescribed", shows(llm.Block{Type: llm.AudioBlock, Source: llm.Base64("audio/x-unheard-of", "AAAA")}), func(t *testing.T, got *Asked) {
			if len(media(got)) == 0 && !strings.Contains(got.Turns[0].Text, "audio") {
				t.Errorf("it is lost: %+v", got.Turns)
			}
		}),
	}
}
