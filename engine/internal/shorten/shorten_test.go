package shorten

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

	"github.com/awaken-go/awaken/llm"
)

// least is the size of a stretch that is worth a summary.
const least = 1024

func summary(text string) *llm.Message {
	return &llm.Message{Role: llm.System, Visibility: llm.Internal, Content: []llm.Block{llm.Text(text)}}
}

// talk makes up a conversation as the runtime may have to show it: instructions,
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
		c := &Cut{Messages: llm.NewMessages(msgs...), Recent: rng.IntN(12), Budget: 50 << rng.IntN(12)}
		if sum(msgs) <= c.Budget {
			continue
		}
		lead := c.Lead()
		got, err := c.Do()
		if err != nil {
			if refused++; !errors.Is(err, ErrNoRoom) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if c.Budget-sum(msgs[:lead]) > 1000 {
				t.Errorf("seed %d: there is no room in %d tokens, of which instructions take %d", seed, c.Budget, sum(msgs[:lead]))
			}
			continue
		}
		cuts++
		list := got.Slice()
		if n := sum(list); n > c.Budget || n != c.Tokens {
			t.Errorf("seed %d: %d tokens are left, counted as %d, want at most %d", seed, n, c.Tokens, c.Budget)
		}
		if err := strictly(list); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if !slices.Equal(list[:lead], msgs[:lead]) {
			t.Errorf("seed %d: the instructions are not what they were", seed)
		}
		rest := list[lead:]
		if i := c.asked(); i >= lead && i < c.From {
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
		if want := min(c.Recent, len(msgs)-lead); len(rest) < want && (c.Budget-sum(msgs[:lead]))/(want+8) > 2*minShare {
			t.Errorf("seed %d: %d messages are left of %d tokens, want at least %d", seed, len(rest), c.Budget, want)
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
		c := &Cut{Messages: llm.NewMessages(said(n)...), Recent: 2, Budget: 1040, From: from}
		got, err := c.Do()
		if err != nil {
			t.Fatal(err)
		}
		if c.From != from {
			moves++
		}
		from = c.From
		if got.At(0).ID != fmt.Sprintf("m%d", from) || got.Len() > 10 || got.Len() < 7 {
			t.Errorf("of %d messages %d are shown, from %s on", n, got.Len(), got.At(0).ID)
		}
	}
	if moves > 49/3+1 {
		t.Errorf("the beginning moved %d times in 49 steps, so that no prompt cache can help", moves)
	}
}

func TestPlan_NeverPartsCallsFromAnswersAndKeepsWhatWasAskedLast(t *testing.T) {
	t.Parallel()
	plans, since := 0, 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		msgs := talk(rng, 1+rng.IntN(60))
		keep := rng.IntN(4)
		p := Plan(llm.NewMessages(msgs...), keep, least)
		if p == nil {
			continue
		}
		plans++
		at := slices.Index(msgs, p.Messages[0])
		if !slices.Equal(msgs[at:at+len(p.Messages)], p.Messages) {
			t.Fatalf("seed %d: the plan is not a part of the conversation", seed)
		}
		after := slices.Concat(msgs[:at], []*llm.Message{summary("sum")}, msgs[at+len(p.Messages):])
		if err := strictly(after); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for i, m := range msgs {
			lead := i == 0 || !slices.ContainsFunc(msgs[:i], func(m *llm.Message) bool { return m.Role != llm.System })
			if m.Role == llm.System && lead && !m.IsSummary() && slices.Contains(p.Messages, m) {
				t.Errorf("seed %d: instructions are to be summarised", seed)
			}
		}
		asked := -1
		for i, m := range msgs {
			if m.Role == llm.User {
				asked = i
			}
		}
		if asked >= 0 && slices.Contains(p.Messages, msgs[asked]) {
			t.Errorf("seed %d: what the user said last is to be summarised", seed)
		}
		if at > asked && asked >= 0 {
			since++
		}
		if at+len(p.Messages) > len(msgs)-keep {
			t.Errorf("seed %d: %d of the last %d messages are to be summarised", seed, at+len(p.Messages)-len(msgs)+keep, keep)
		}
		if p.Fresh < least || p.Tokens != sum(p.Messages) {
			t.Errorf("seed %d: the plan has %d tokens, %d of them new", seed, p.Tokens, p.Fresh)
		}
		if p.Begins != (at == 0) {
			t.Errorf("seed %d: the plan starts at message %d, and says that it begins the conversation: %t", seed, at, p.Begins)
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
		parts := Pack(lines, size)
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
func TestPlan_DoesNotPartAnswersFromWhatWasSaidBeforeThem(t *testing.T) {
	t.Parallel()
	text := func(role llm.Role, id string) *llm.Message {
		return &llm.Message{ID: id, Role: role, Content: []llm.Block{llm.Text(strings.Repeat("word ", 4*least))}}
	}
	call := text(llm.Assistant, "call")
	call.ToolCalls = []llm.ToolCall{{ID: "c", Name: "search"}}
	answer := text(llm.ToolRole, "answer")
	answer.ToolCallID = "c"
	msgs := []*llm.Message{text(llm.User, "u0"), text(llm.Assistant, "a0"), text(llm.User, "u1"), call, answer, text(llm.User, "meanwhile"), text(llm.Assistant, "a1")}
	for n := 5; n <= len(msgs); n++ {
		if p := stretch(llm.NewMessages(msgs[:n]...), 0, 5, least); p == nil || n > 5 && p.Messages[len(p.Messages)-1].ID != "u1" {
			t.Errorf("of %d messages, the stretch is %+v", n, p)
		}
	}
}

func TestTranscript_NamesSpeakersAndCalls(t *testing.T) {
	t.Parallel()
	msgs := []*llm.Message{
		summary("what came before"),
		llm.UserText("Look it up."),
		{Role: llm.Assistant, Content: []llm.Block{llm.Thinking("hm", nil), llm.Text("I will.")}, ToolCalls: []llm.ToolCall{{ID: "c", Name: "search", Arguments: json.RawMessage(`{"q":"oslo"}`)}}},
		{Role: llm.ToolRole, ToolCallID: "c", Content: []llm.Block{llm.Text("A city."), llm.Image(llm.URL("https://example.com/map.png"))}},
		{Role: llm.User, Visibility: llm.Internal, Content: []llm.Block{llm.Text("Your call was not valid JSON.")}},
		{Role: llm.Assistant, Content: []llm.Block{llm.Text("Oslo is a city.")}},
	}
	want := []string{"[User]: Look it up.", "[Assistant]: I will.", `[Assistant calls search]: {"q":"oslo"}`,
		"[Tool search]: A city.\n(image: https://example.com/map.png)", "[User]: Your call was not valid JSON.", "[Assistant]: Oslo is a city."}
	if diff := cmp.Diff(want, Transcript(msgs, func(m *llm.Message) *llm.Message { return m })); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
}
