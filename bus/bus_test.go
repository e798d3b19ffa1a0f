package bus_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/bus/bustest"
)

func TestMemory(t *testing.T) {
	m := bustest.NewMemory(1000, bustest.Faults{})
	bustest.Test(t, func(*testing.T) bus.Bus { return m.Join() })
}

func TestSplit_PartsFitAndAreTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.String().Draw(t, "text"), rapid.IntRange(200, 300).Draw(t, "limit")
		text = strings.Repeat(text, rapid.IntRange(1, 50).Draw(t, "times"))
		var j bus.Joiner
		parts := bus.Split("a", 1, text, limit)
		for i, part := range parts {
			if len(part) > limit || !utf8.ValidString(part) {
				t.Fatalf("part %d has %d bytes, want at most %d of UTF-8: %q", i, len(part), limit, part)
			}
			from, got, ok := j.Add(part)
			if ok != (i == len(parts)-1) || ok && (from != "a" || got != text) {
				t.Fatalf("part %d of %d: %q, %t", i, len(parts), got, ok)
			}
		}
	})
}

// A text with a part that was lost, repeated or overtaken never arrives with other bytes.

func TestJoiner_NeverJoinsWhatDoesNotBelongTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := map[string]bool{}
		var parts []string
		for n := range uint64(3) {
			for _, from := range []string{"a", "b"} {
				text := strings.Repeat(from+string(rune('0'+n)), 150+int(n)*100)
				texts[text] = true
				parts = append(parts, bus.Split(from, n, text, 250)...)
			}
		}
		var j bus.Joiner
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(parts)-1), 0, 200).Draw(t, "order") {
			if _, text, ok := j.Add(parts[i]); ok && !texts[text] {
				t.Fatalf("joined %q", text)
			}
		}
	})
}

func TestSplit_ATextThatIsTooLongHasNoParts(t *testing.T) {
	if parts := bus.Split("a", 1, strings.Repeat("x", bus.MaxText+1), 1000); parts != nil {
		t.Errorf("%d parts", len(parts))
	}
}

func FuzzJoiner(f *testing.F) {
	for _, part := range bus.Split("a", 1, strings.Repeat("text ", 100), 300) {
		f.Add(part, part)
	}
	f.Add("awaken1 a 1 1 2\nx", "awaken1 a 1 2 2\ny")
	f.Add("awaken2 a 1 1 1\nx", "")
	f.Fuzz(func(t *testing.T, one, two string) {
		var j bus.Joiner
		total := 0
		for _, part := range []string{one, two, one} {
			total += len(part)
			if from, text, ok := j.Add(part); ok && (from == "" || len(text) > total) {
				t.Fatalf("joined %q of %q", text, from)
			}
		}
	})
}
