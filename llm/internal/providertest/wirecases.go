package providertest

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// WireCases returns requests that every adapter supports, one per feature.
func WireCases(t *testing.T, a Adapter) []WireCase {
	t.Helper()
	var out []WireCase
	add := func(name string, change func(r *llm.Request)) {
		req := a.request()
		change(req)
		out = append(out, WireCase{Name: name, Request: req})
	}
	talk := func(name string, msgs ...*llm.Message) {
		out = append(out, WireCase{Name: name, Request: a.conversation(msgs...)})
	}
	add("hello", func(*llm.Request) {})
	addKnobs(add)
	addTools(add)
	addOutputs(add)
	addTalks(talk)
	addMedia(talk)
	addThoughts(t, &a, talk)
	addCaches(add)
	for i := range out {
		out[i].Open = func(c provider.Config) (llm.Model, error) { return a.Open(t, c), nil }
	}
	return append(out, WireCase{Name: "models", Open: out[0].Open})
}

// WirePicked returns the cases with these names, opened in another way and named after it.
func WirePicked(cases []WireCase, prefix string, open func(c provider.Config) (llm.Model, error), names ...string) (out []WireCase) {
	for _, c := range cases {
		if slices.Contains(names, c.Name) {
			c.Name, c.Open = prefix+"/"+c.Name, open
			out = append(out, c)
		}
	}
	return out
}

func addKnobs(add func(string, func(*llm.Request))) {
	add("system/none", func(r *llm.Request) { r.System = nil })
	add("system/several", func(r *llm.Request) { r.System = []llm.Block{llm.Text("One."), llm.Text(""), llm.Text("Two.")} })
	add("knobs/temperature", func(r *llm.Request) { r.Temperature = new(0.7) })
	add("knobs/zero", func(r *llm.Request) { r.Temperature, r.TopP = new(0.0), new(0.0) })
	add("knobs/top_p", func(r *llm.Request) { r.TopP = new(0.95) })
	add("knobs/max_tokens", func(r *llm.Request) { r.MaxTokens = new(1234) })
	add("knobs/stop", func(r *llm.Request) { r.StopSequences = []string{"END", "\n\n"} })
	add("knobs/seed", func(r *llm.Request) { r.Seed = new(int64(42)) })
	add("knobs/all", func(r *llm.Request) {
		r.Temperature, r.TopP, r.MaxTokens, r.Seed, r.StopSequences = new(0.25), new(0.5), new(5000), new(int64(7)), []string{"STOP"}
	})
	for _, level := range []string{"none", "low", "medium", "high", "max"} {
		add("effort/"+level, func(r *llm.Request) { r.ReasoningEffort = &llm.Effort{Level: level} })
	}
	add("effort/budget-2000", func(r *llm.Request) { r.ReasoningEffort = &llm.Effort{Budget: 2000} })
	add("effort/budget-12000", func(r *llm.Request) { r.ReasoningEffort = &llm.Effort{Budget: 12000} })
	add("effort/budget-100000", func(r *llm.Request) { r.ReasoningEffort = &llm.Effort{Budget: 100000} })
	add("effort/with-temperature", func(r *llm.Request) {
		r.ReasoningEffort, r.Temperature, r.TopP, r.MaxTokens = &llm.Effort{Level: "high"}, new(0.5), new(0.99), new(4000)
	})
}

func addTools(add func(string, func(*llm.Request))) {
	take := llm.Tool{Name: "mcp:server/take.it", Description: `Takes "it" & <leaves>.`, Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":9007199254740993},"kind":{"enum":["a","b"]}},"additionalProperties":false}`)}
	tools := []llm.Tool{look, {Name: "no_args"}, {Name: "empty", Parameters: json.RawMessage(`{"type":"object"}`)}, take, {Name: "3d", Parameters: json.RawMessage(`null`)}}
	add("tools", func(r *llm.Request) { r.Tools = tools })
	for _, mode := range []string{"auto", "none", "required"} {
		add("tools/choice-"+mode, func(r *llm.Request) { r.Tools, r.ToolChoice = tools[:1], &llm.ToolChoice{Mode: mode} })
	}
	add("tools/choice-tool", func(r *llm.Request) { r.Tools, r.ToolChoice = tools, &llm.ToolChoice{Mode: "tool", Name: take.Name} })
	add("tools/choice-without-tools", func(r *llm.Request) {
		r.ToolChoice, r.ParallelTools = &llm.ToolChoice{Mode: "required"}, new(false)
	})
	add("tools/parallel", func(r *llm.Request) { r.Tools, r.ParallelTools = tools[:1], new(true) })
	add("tools/not-parallel", func(r *llm.Request) { r.Tools, r.ParallelTools = tools[:1], new(false) })
	add("tools/one-is-required", func(r *llm.Request) {
		r.Tools, r.ParallelTools, r.ToolChoice, r.ReasoningEffort = tools[:2], new(false), &llm.ToolChoice{Mode: "required"}, &llm.Effort{Level: "high"}
	})
}

func addOutputs(add func(string, func(*llm.Request))) {
	closed := &llm.OutputSchema{Name: "answer", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":1},"why":{"type":"string"}},"required":["n","why"]}`)}
	open := &llm.OutputSchema{Name: "an answer!", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":{"type":"string"}}`)}
	add("output", func(r *llm.Request) { r.Output = closed })
	add("output/open", func(r *llm.Request) { r.Output = open })
	add("output/unnamed", func(r *llm.Request) { r.Output = &llm.OutputSchema{Schema: closed.Schema} })
	add("output/with-tools", func(r *llm.Request) { r.Output, r.Tools, r.ParallelTools = closed, []llm.Tool{look}, new(false) })
	add("output/with-no-tool", func(r *llm.Request) {
		r.Output, r.Tools, r.ToolChoice = closed, []llm.Tool{look}, &llm.ToolChoice{Mode: "none"}
	})
	add("output/or-a-tool", func(r *llm.Request) {
		r.Output, r.Tools, r.ToolChoice = open, []llm.Tool{look}, &llm.ToolChoice{Mode: "required"}
	})
	add("output/effort", func(r *llm.Request) { r.Output, r.ReasoningEffort = closed, &llm.Effort{Level: "medium"} })
}

func addTalks(talk func(string, ...*llm.Message)) {
	odd := asks("", "n1")
	odd.ToolCalls[0].Arguments = json.RawMessage(`{"big":12345678901234567890,"f":1.0,"e":1e3,"s":"<a> & \u00e9 \u2028"}`)
	bare := asks("", "call_1", "x y:é")
	bare.ToolCalls[0].Arguments, bare.ToolCalls[1].Arguments = nil, json.RawMessage(`null`)
	talk("talk", llm.UserText("Hi"), llm.NewText(llm.Assistant, "Hello!"), llm.UserText("How are you?"))
	talk("talk/nothing")
	talk("talk/late-system", llm.NewText(llm.System, "Be kind."), llm.UserText("Hi"), llm.NewText(llm.System, "Now be short."), llm.UserText("There?"))
	talk("talk/several-blocks", &llm.Message{Role: llm.User, Content: []llm.Block{llm.Text("One"), llm.Text("Two")}}, llm.UserText("Three"))
	talk("talk/odd-text", llm.UserText("<b>&amp;</b> \u2028 \x00 bad\xffutf8 日本 🙂"), llm.NewText(llm.Assistant, " "), llm.UserText("Well?"))
	talk("talk/ends-with-the-assistant", llm.UserText("Hi"), llm.NewText(llm.Assistant, "Half an ans"))
	talk("calls/one", llm.UserText("Look"), asks("Looking.", "call_1"), answer("call_1", "seen"), llm.UserText("And?"))
	talk("calls/parallel", llm.UserText("Look"), asks("", "a1", "b2", "c3"), answer("b2", "two"), answer("a1", `{"one":1}`), answer("c3", ""))
	talk("calls/several-steps", llm.UserText("Look"), asks("", "a1"), answer("a1", "one"), asks("And", "b2"), answer("b2", "two"), llm.NewText(llm.Assistant, "Done."), llm.UserText("Thanks"))
	talk("calls/without-an-answer", llm.UserText("Look"), asks("", "a1", "b2"), answer("b2", "two"), llm.UserText("Go on"))
	talk("calls/late-answer", llm.UserText("Look"), asks("", "a1"), llm.UserText("Well?"), answer("a1", "one"))
	talk("calls/odd-arguments", llm.UserText("Look"), odd, answer("n1", "ok"))
	talk("calls/odd-ids", llm.UserText("Look"), bare, answer("call_1", "1"), answer("x y:é", "2"))
}

func addMedia(talk func(string, ...*llm.Message)) {
	shows := func(b ...llm.Block) *llm.Message {
		return &llm.Message{Role: llm.User, Content: append([]llm.Block{llm.Text("See:")}, b...)}
	}
	image, pdf := llm.Image(llm.Base64("image/png", pixel)), llm.Document(llm.Base64("application/pdf", "JVBERi0xLjQ="), "Report")
	audio := llm.Block{Type: llm.AudioBlock, Source: llm.Base64("audio/wav", "UklGRg==")}
	talk("media/image", shows(image))
	talk("media/image-url", shows(llm.Image(llm.URL("https://example.com/a.png"))))
	talk("media/image-of-another-kind", shows(llm.Image(llm.Base64("image/tiff", pixel))))
	talk("media/pdf", shows(pdf, llm.Text("and"), pdf))
	talk("media/pdf-url", shows(llm.Document(llm.URL("https://example.com/a.pdf?x=1"), "")))
	talk("media/text", shows(llm.Document(llm.Base64("text/csv", "YSxi"), "table.csv"), llm.Document(llm.Base64("text/plain", "aGk="), "")))
	talk("media/audio", shows(audio, llm.Block{Type: llm.AudioBlock, Source: llm.Base64("audio/mpeg", "SUQz")}))
	talk("media/video-url", shows(llm.Block{Type: llm.VideoBlock, Source: llm.URL("https://example.com/a.mp4")}))
	talk("media/of-a-tool", llm.UserText("Look"), asks("", "a1", "b2"), &llm.Message{Role: llm.ToolRole, ToolCallID: "a1", Content: []llm.Block{llm.Text("Here:"), image, pdf, llm.Document(llm.URL("https://example.com/a.pdf"), "")}}, answer("b2", "two"))
}

// addThoughts adds conversations with thinking and its opaque data, as the adapter reads them from
// the provider.
func addThoughts(t *testing.T, a *Adapter, talk func(string, ...*llm.Message)) {
	parts := []Part{text("Let me look."), {Call: &Call{"call_1", "look", []string{`{"at":"x"}`}}}, {Call: &Call{"call_2", "look", []string{`{"at":"y"}`}}}}
	if !slices.Contains(a.Cannot, Opaque) {
		parts = append([]Part{{Opaque: "cmVkYWN0ZWQ="}}, parts...)
		parts = append([]Part{{Reasoning: []string{"Hm, ", "hm."}}, {Opaque: "b3BhcXVl"}}, parts...)
	} else if !slices.Contains(a.Cannot, Reasoning) {
		parts = append([]Part{{Reasoning: []string{"Hm, ", "hm."}}}, parts...)
	}
	thought := func(parts ...Part) *llm.Message {
		return a.say(t, Reply{Parts: parts, Finish: llm.ToolUse}).whole(t).Message
	}
	whole := thought(parts...)
	talk("thinking/with-calls", llm.UserText("Look"), whole, answer("call_1", "one"), answer("call_2", "two"))
	talk("thinking/later", llm.UserText("Look"), whole, answer("call_1", "one"), answer("call_2", "two"), llm.NewText(llm.Assistant, "Done."), llm.UserText("Thanks"))
	said := *whole
	said.ToolCalls = nil
	talk("thinking/with-text", llm.UserText("Look"), &said, llm.UserText("Well?"))
	mixed := slices.Concat(parts, parts[:len(parts)-1])
	mixed[len(parts)+len(parts)-2].Call = &Call{"call_3", "look", []string{"{}"}}
	talk("thinking/mixed-with-calls", llm.UserText("Look"), thought(mixed...), answer("call_1", "one"), answer("call_2", "two"), answer("call_3", "three"))
	foreign := asks("", "a1")
	foreign.Content = []llm.Block{llm.Thinking("foreign", &llm.Opaque{Provider: "another", Signature: foreignOpaque, Data: json.RawMessage(`{"id":"x"}`)}), llm.Thinking("bare", nil)}
	talk("thinking/of-another-model", llm.UserText("Look"), foreign, answer("a1", "one"))
}

const foreignOpaque = "Zm9yZWlnbg=="

func addCaches(add func(string, func(*llm.Request))) {
	long := func(r *llm.Request) {
		r.CachePrompt, r.Routing, r.Tools = true, llm.Routing{ThreadID: "thread-7", RunID: "run-1"}, []llm.Tool{look, {Name: "other"}}
		r.System = []llm.Block{llm.Text("One."), llm.Text("Two.")}
		r.Messages = llm.NewMessages(llm.UserText("a"), llm.NewText(llm.Assistant, "b"), llm.UserText("c"), asks("", "a1"), answer("a1", "one"))
	}
	add("cache/small", func(r *llm.Request) { r.CachePrompt = true })
	add("cache/long", long)
	add("cache/key", func(r *llm.Request) {
		r.Routing.ThreadID = "a thread: with a name that is longer than the sixty-four characters that are allowed"
	})
	add("everything", func(r *llm.Request) {
		long(r)
		r.Temperature, r.TopP, r.MaxTokens, r.ReasoningEffort = new(1.0), new(0.9), new(3000), &llm.Effort{Level: "low"}
		r.ParallelTools, r.ToolChoice = new(true), &llm.ToolChoice{Mode: "auto"}
	})
}
