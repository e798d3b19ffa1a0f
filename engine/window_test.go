package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
)

// conversation makes up a conversation as the runtime may have to show it: instructions,
// texts of all sizes, media, thinking, calls that run in parallel, large arguments, large
// results, and messages that came while calls were open.
func talk(rng *rand.Rand, n int) []*llm.Message {
	var out []*llm.Message
	add := func(m *llm.Message) {
		m.ID = fmt.Sprintf("m%d", len(out))
		out = append(out, m)
	}
	text := func() string {
		word := []string{"word ", "Größe ", "日本語 ", "a\n"}[rng.IntN(4)]
		return strings.Repeat(word, 1+rng.IntN(1<<rng.IntN(11)))
	}
	content := func() []llm.Block {
		blocks := []llm.Block{llm.Text(text())}
		switch rng.IntN(8) {
		case 0:
			blocks = append(blocks, llm.Image(llm.Base64("image/png", strings.Repeat("A", 4<<rng.IntN(10)))))
		case 1:
			blocks = append(blocks, llm.Document(llm.Base64("text/plain", strings.Repeat("A", 4<<rng.IntN(14))), "notes"), llm.Text(text()))
		}
		return blocks
	}
	for range rng.IntN(3) {
		add(&llm.Message{Role: llm.System, Content: []llm.Block{llm.Text("Be good.")}})
	}
	for len(out) < n {
		switch rng.IntN(4) {
		case 0:
			add(&llm.Message{Role: llm.User, Content: content()})
		case 1:
			add(&llm.Message{Role: llm.Assistant, Content: []llm.Block{llm.Thinking(text(), nil), llm.Text(text())}})
		default:
			m := &llm.Message{Role: llm.Assistant}
			if rng.IntN(2) == 0 {
				m.Content = []llm.Block{llm.Thinking(text(), &llm.Opaque{Provider: "p", Signature: "sig"}), llm.Text(text())}
			}
			ids := rng.IntN(3) // ids are used again by some models
			for i := range 1 + rng.IntN(4) {
				args, _ := json.Marshal(map[string]string{"text": text()})
				m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: fmt.Sprintf("c%d-%d", ids, i), Name: "tool", Arguments: args})
			}
			add(m)
			for _, c := range m.ToolCalls {
				add(&llm.Message{Role: llm.ToolRole, ToolCallID: c.ID, Content: content()})
			}
			if rng.IntN(6) == 0 { // a summary of the middle
				add(&llm.Message{Role: llm.System, Visibility: llm.Internal, Content: []llm.Block{llm.Text(text())},
					Metadata: &llm.Metadata{Compaction: &llm.Interval{FromSeq: 1, ToSeq: 2}}})
			}
		}
	}
	return out
}

// strictly checks what strict providers demand: calls are answered once, in order and at
// once; nothing else is answered; arguments are objects; texts are UTF-8.
func strictly(msgs []*llm.Message) error {
	for i := 0; i < len(msgs); {
		m := msgs[i]
		i++
		if m.Role == llm.ToolRole {
			return fmt.Errorf("message %s answers %s, which was not asked", m.ID, m.ToolCallID)
		}
		for _, b := range m.Content {
			if !utf8.ValidString(b.Text) {
				return fmt.Errorf("message %s is not UTF-8", m.ID)
			}
		}
		for _, c := range m.ToolCalls {
			var args map[string]any
			if err := json.Unmarshal(c.Arguments, &args); err != nil {
				return fmt.Errorf("message %s has arguments %.40s: %w", m.ID, c.Arguments, err)
			}
			if i >= len(msgs) || msgs[i].Role != llm.ToolRole || msgs[i].ToolCallID != c.ID {
				return fmt.Errorf("call %s of message %s is not answered", c.ID, m.ID)
			}
			i++
		}
	}
	return nil
}

func sum(msgs []*llm.Message) int {
	n := 0
	for _, m := range msgs {
		n += m.Tokens()
	}
	return n
}

func TestCut_AlwaysFitsAndIsAlwaysValid(t *testing.T) {
	t.Parallel()
	cuts, shortened, refused := 0, 0, 0
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		msgs := talk(rng, 1+rng.IntN(60))
		c := &cut{msgs: llm.NewMessages(msgs...), recent: rng.IntN(12), budget: 50 << rng.IntN(12)}
		if sum(msgs) <= c.budget {
			continue
		}
		lead := c.lead()
		got, err := c.do()
		if err != nil {
			if refused++; !errors.Is(err, errNoRoom) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if c.budget-sum(msgs[:lead]) > 1000 {
				t.Errorf("seed %d: there is no room in %d tokens, of which instructions take %d", seed, c.budget, sum(msgs[:lead]))
			}
			continue
		}
		cuts++
		list := got.Slice()
		if n := sum(list); n > c.budget || n != c.tokens {
			t.Errorf("seed %d: %d tokens are left, counted as %d, want at most %d", seed, n, c.tokens, c.budget)
		}
		if err := strictly(list); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if !slices.Equal(list[:lead], msgs[:lead]) {
			t.Errorf("seed %d: the instructions are not what they were", seed)
		}
		rest := list[lead:]
		if i := c.asked(); i >= lead && i < c.from {
			if len(rest) == 0 || rest[0].ID != msgs[i].ID {
				t.Errorf("seed %d: the user's latest message %s is not kept", seed, msgs[i].ID)
				continue
			}
			rest = rest[1:]
		}
		if len(rest) == 0 {
			t.Errorf("seed %d: nothing is left", seed)
			continue
		}
		same := true
		for i, m := range rest {
			was := msgs[len(msgs)-len(rest)+i]
			if m.ID != was.ID || m.Role != was.Role || len(m.ToolCalls) != len(was.ToolCalls) {
				t.Errorf("seed %d: message %s is in the place of %s", seed, m.ID, was.ID)
			}
			same = same && m == was
		}
		if !same {
			shortened++
		}
		if want := min(c.recent, len(msgs)-lead); len(rest) < want && (c.budget-sum(msgs[:lead]))/(want+8) > 2*minShare {
			t.Errorf("seed %d: %d messages are left of %d tokens, want at least %d", seed, len(rest), c.budget, want)
		}
	}
	if cuts < 1000 || shortened < 100 || refused == 0 {
		t.Errorf("%d were cut, %d shortened, %d refused: that shows little", cuts, shortened, refused)
	}
}

func TestCut_StaysWhereItWasUntilItHasTo(t *testing.T) {
	t.Parallel()
	said := func(n int) (out []*llm.Message) {
		for i := range n {
			out = append(out, &llm.Message{ID: fmt.Sprintf("m%d", i), Role: llm.User, Content: []llm.Block{llm.Text(strings.Repeat("x", 400))}})
		}
		return out
	}
	from, moves := 0, 0
	for n := 11; n < 60; n++ { // each is 104 tokens
		c := &cut{msgs: llm.NewMessages(said(n)...), recent: 2, budget: 1040, from: from}
		got, err := c.do()
		if err != nil {
			t.Fatal(err)
		}
		if c.from != from {
			moves++
		}
		from = c.from
		if got.At(0).ID != fmt.Sprintf("m%d", from) || got.Len() > 10 || got.Len() < 7 {
			t.Errorf("of %d messages %d are shown, from %s on", n, got.Len(), got.At(0).ID)
		}
	}
	if moves > 49/3+1 {
		t.Errorf("the beginning moved %d times in 49 steps, so that no prompt cache can help", moves)
	}
}

func TestWindow_CountsEachMessageOnce(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	msgs := talk(rng, 200)
	w := &window{artifact: registry.ArtifactCompaction{ThresholdTokens: 64, PreviewMaxChars: 100, PreviewMaxLines: 3}}
	for n := range len(msgs) + 1 {
		have := llm.NewMessages(msgs[:n/2]...).Append(msgs[n/2 : n]...)
		w.measure(have)
		shown := w.history(have)
		if shown.Len() != n || w.Messages != n || w.Tokens != sum(shown.Slice()) {
			t.Fatalf("after %d messages: %d are counted with %d tokens, %d shown with %d", n, w.Messages, w.Tokens, shown.Len(), sum(shown.Slice()))
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

// Compaction.

func TestPlan_NeverPartsCallsFromAnswersAndKeepsWhatWasAskedLast(t *testing.T) {
	t.Parallel()
	plans, since := 0, 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		msgs := talk(rng, 1+rng.IntN(60))
		keep := rng.IntN(4)
		p := planCompaction(llm.NewMessages(msgs...), keep)
		if p == nil {
			continue
		}
		plans++
		at := slices.Index(msgs, p.msgs[0])
		if !slices.Equal(msgs[at:at+len(p.msgs)], p.msgs) {
			t.Fatalf("seed %d: the plan is not a part of the conversation", seed)
		}
		after := slices.Concat(msgs[:at], []*llm.Message{builtin.NewSummary("sum")}, msgs[at+len(p.msgs):])
		if err := strictly(after); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for i, m := range msgs {
			lead := i == 0 || !slices.ContainsFunc(msgs[:i], func(m *llm.Message) bool { return m.Role != llm.System })
			if m.Role == llm.System && lead && !m.IsSummary() && slices.Contains(p.msgs, m) {
				t.Errorf("seed %d: instructions are to be summarised", seed)
			}
		}
		asked := -1
		for i, m := range msgs {
			if m.Role == llm.User {
				asked = i
			}
		}
		if asked >= 0 && slices.Contains(p.msgs, msgs[asked]) {
			t.Errorf("seed %d: what the user said last is to be summarised", seed)
		}
		if at > asked && asked >= 0 {
			since++
		}
		if at+len(p.msgs) > len(msgs)-keep {
			t.Errorf("seed %d: %d of the last %d messages are to be summarised", seed, at+len(p.msgs)-len(msgs)+keep, keep)
		}
		if p.fresh < minCompactionTokens || p.tokens != sum(p.msgs) {
			t.Errorf("seed %d: the plan has %d tokens, %d of them new", seed, p.tokens, p.fresh)
		}
		if p.begins != (at == 0) {
			t.Errorf("seed %d: the plan starts at message %d, and says that it begins the conversation: %t", seed, at, p.begins)
		}
	}
	if plans < 1000 || since < 100 {
		t.Errorf("%d plans, %d of them in the middle: that shows little", plans, since)
	}
}

func TestPack_LosesNothingAndFits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var lines []string
		for range 1 + rng.IntN(20) {
			lines = append(lines, strings.Repeat([]string{"x", "ö", "語"}[rng.IntN(3)], 1+rng.IntN(1<<rng.IntN(12))))
		}
		size := 256 + rng.IntN(2000)
		parts := pack(lines, size)
		for _, p := range parts {
			if len(p) > size || !utf8.ValidString(p) {
				t.Fatalf("seed %d: a part has %d bytes, want at most %d", seed, len(p), size)
			}
		}
		squeeze := func(s []string) string { return strings.ReplaceAll(strings.Join(s, ""), "\n", "") }
		if squeeze(parts) != squeeze(lines) {
			t.Fatalf("seed %d: the parts are not the lines", seed)
		}
		if least := len(strings.Join(lines, "\n\n")) / size; len(parts) > 2*least+2 {
			t.Errorf("seed %d: %d parts, where %d might do", seed, len(parts), least)
		}
	}
}

// What people say while tools run is in the log before the answers, and shown behind them.
func TestPlanCompaction_DoesNotPartAnswersFromWhatWasSaidBeforeThem(t *testing.T) {
	t.Parallel()
	text := func(role llm.Role, id string) *llm.Message {
		return &llm.Message{ID: id, Role: role, Content: []llm.Block{llm.Text(strings.Repeat("word ", 4*minCompactionTokens))}}
	}
	call := text(llm.Assistant, "call")
	call.ToolCalls = []llm.ToolCall{{ID: "c", Name: "search"}}
	answer := text(llm.ToolRole, "answer")
	answer.ToolCallID = "c"
	msgs := []*llm.Message{text(llm.User, "u0"), text(llm.Assistant, "a0"), text(llm.User, "u1"), call, answer, text(llm.User, "meanwhile"), text(llm.Assistant, "a1")}
	for n := 5; n <= len(msgs); n++ {
		if p := stretch(llm.NewMessages(msgs[:n]...), 0, 5); p == nil || n > 5 && p.msgs[len(p.msgs)-1].ID != "u1" {
			t.Errorf("of %d messages, the stretch is %+v", n, p)
		}
	}
}

func TestTranscript_NamesSpeakersAndCalls(t *testing.T) {
	t.Parallel()
	msgs := []*llm.Message{
		builtin.NewSummary("what came before"),
		llm.UserText("Look it up."),
		{Role: llm.Assistant, Content: []llm.Block{llm.Thinking("hm", nil), llm.Text("I will.")}, ToolCalls: []llm.ToolCall{{ID: "c", Name: "search", Arguments: json.RawMessage(`{"q":"oslo"}`)}}},
		{Role: llm.ToolRole, ToolCallID: "c", Content: []llm.Block{llm.Text("A city."), llm.Image(llm.URL("https://example.com/map.png"))}},
		{Role: llm.User, Visibility: llm.Internal, Content: []llm.Block{llm.Text("Your call was not valid JSON.")}},
		{Role: llm.Assistant, Content: []llm.Block{llm.Text("Oslo is a city.")}},
	}
	want := []string{"[User]: Look it up.", "[Assistant]: I will.", `[Assistant calls search]: {"q":"oslo"}`,
		"[Tool search]: A city.\n(image: https://example.com/map.png)", "[User]: Your call was not valid JSON.", "[Assistant]: Oslo is a city."}
	a := registry.ContextTransform{}
	a.ArtifactCompaction = registry.ArtifactCompaction{ThresholdTokens: 2048, PreviewMaxChars: 1600, PreviewMaxLines: 24}
	if diff := cmp.Diff(want, transcript(msgs, &a.ArtifactCompaction)); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
}
