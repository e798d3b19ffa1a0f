package llm_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/llm"
)

// texts returns the texts of the messages.
func texts(m llm.Messages) []string {
	out := []string{}
	for _, msg := range m.All() {
		out = append(out, msg.Text())
	}
	return out
}

func users(words ...string) []*llm.Message {
	var out []*llm.Message
	for _, w := range words {
		out = append(out, llm.UserText(w))
	}
	return out
}

func checkTexts(t *testing.T, m llm.Messages, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), texts(m)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestMessagesAppend_NeverWritesToTheSharedHead(t *testing.T) {
	t.Parallel()
	backing := users("a", "b", "not shared")
	head := backing[:2] // has room for one more
	one := llm.NewMessages(head...).Append(users("c1", "d1")...)
	two := llm.NewMessages(head...).Append(users("c2")...)
	checkTexts(t, one, "a", "b", "c1", "d1")
	checkTexts(t, two, "a", "b", "c2")
	if got := backing[2].Text(); got != "not shared" {
		t.Errorf("the array behind the head now has %q in it", got)
	}
}

func TestMessagesAppend_DoesNotCopyTheHead(t *testing.T) {
	head := make([]*llm.Message, 10_000)
	msg := users("x")
	small := testing.AllocsPerRun(100, func() { llm.NewMessages(head[:1]...).Append(msg...) })
	large := testing.AllocsPerRun(100, func() { llm.NewMessages(head...).Append(msg...) })
	if small != large || large > 1 {
		t.Errorf("appending to 1 message takes %v allocations and to 10000 %v, want at most 1 each", small, large)
	}
}

func TestMessages_IndexesAcrossHeadAndTail(t *testing.T) {
	t.Parallel()
	m := llm.NewMessages(users("a", "b")...).Append(users("c", "d", "e")...)
	if got := m.Len(); got != 5 {
		t.Errorf("length is %d, want 5", got)
	}
	var at, forward, backward []string
	for i := range m.Len() {
		at = append(at, fmt.Sprint(i, m.At(i).Text()))
	}
	for i, msg := range m.All() {
		forward = append(forward, fmt.Sprint(i, msg.Text()))
	}
	for i, msg := range m.Backward() {
		backward = append(backward, fmt.Sprint(i, msg.Text()))
	}
	slices.Reverse(backward)
	want := []string{"0a", "1b", "2c", "3d", "4e"}
	for name, got := range map[string][]string{"At": at, "All": forward, "Backward": backward} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := m.Last().Text(); got != "e" {
		t.Errorf("last is %q, want e", got)
	}
}

func TestMessages_StopWithTheLoop(t *testing.T) {
	t.Parallel()
	m := llm.NewMessages(users("a", "b")...).Append(users("c", "d")...)
	for stop := range m.Len() {
		n := 0
		for i := range m.All() {
			n++
			if i == stop {
				break
			}
		}
		if n != stop+1 {
			t.Errorf("All yielded %d messages before %d, want %d", n, stop, stop+1)
		}
	}
	n := 0
	for range m.Backward() {
		n++
		break
	}
	if n != 1 {
		t.Errorf("Backward yielded %d messages, want 1", n)
	}
}

func TestMessages_ZeroValueIsEmpty(t *testing.T) {
	t.Parallel()
	var m llm.Messages
	if m.Len() != 0 || m.Last() != nil || len(m.Slice()) != 0 {
		t.Errorf("zero value has %d messages, last %v", m.Len(), m.Last())
	}
	checkTexts(t, m)
	checkTexts(t, m.Append(users("a")...), "a")
}

func TestMessagesSlice_IsANewSlice(t *testing.T) {
	t.Parallel()
	head := users("a")
	m := llm.NewMessages(head...).Append(users("b")...)
	s := m.Slice()
	s[0], s[1] = nil, nil
	checkTexts(t, m, "a", "b")
}

func TestMessagesCut_DoesNotTouchTheOriginal(t *testing.T) {
	t.Parallel()
	m := llm.NewMessages(users("a", "b")...).Append(users("c", "d")...)
	all := []string{"a", "b", "c", "d"}
	for i := range 5 {
		cut := m.Cut(i)
		checkTexts(t, cut, all[:i]...)
		checkTexts(t, cut.Append(users("new")...), append(slices.Clone(all[:i]), "new")...)
		checkTexts(t, m, all...)
	}
}

func TestMessagesCut_BeyondTheEndIsEverything(t *testing.T) {
	t.Parallel()
	m := llm.NewMessages(users("a")...)
	for _, w := range []string{"b", "c", "d"} { // one by one, so that there is room behind the tail
		m = m.Append(users(w)...)
	}
	longer := m.Append(users("of another sequence")...)
	checkTexts(t, m.Cut(5), "a", "b", "c", "d")
	checkTexts(t, m.Cut(1000), "a", "b", "c", "d")
	checkTexts(t, longer, "a", "b", "c", "d", "of another sequence")
}

func TestMessagesFrom_DropsTheFirst(t *testing.T) {
	t.Parallel()
	m := llm.NewMessages(users("a", "b")...).Append(users("c", "d")...)
	checkTexts(t, m.From(0), "a", "b", "c", "d")
	checkTexts(t, m.From(1), "b", "c", "d")
	checkTexts(t, m.From(2), "c", "d")
	checkTexts(t, m.From(3), "d")
	checkTexts(t, m.From(4))
	checkTexts(t, m.From(9))
	for i := range 5 { // what is appended to a part does not show in the whole, nor in another part
		one, two := m.From(i).Append(users("x")...), m.From(i).Append(users("y")...)
		if one.Last().Text() != "x" || two.Last().Text() != "y" {
			t.Errorf("from %d: the parts share what was appended", i)
		}
	}
	checkTexts(t, m, "a", "b", "c", "d")
}
