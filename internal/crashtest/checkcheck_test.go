//go:build unix

package crashtest

import (
	"os"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
)

// The checks are checked: each finds what it is there for.
func TestCheck_FindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := backends["file"]
	dir := t.TempDir()
	j := job{Store: "file", Where: b.place(dir), Dir: dir, Mode: awaken.Sequential}
	if killed, err := testenv.RunJob(t.Context(), j, ""); killed || err != nil {
		t.Fatal(killed, err)
	}
	s, err := b.open(j.Where)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if problems := check(t.Context(), s, j); len(problems) > 0 {
		t.Fatalf("nothing is wrong, but: %q", problems)
	}
	line := func(text, with string) (before, found, after string) {
		at := strings.Index(text, with)
		if at < 0 {
			t.Fatalf("no line with %s", with)
		}
		start := strings.LastIndexByte(text[:at], '\n') + 1
		end := at + strings.IndexByte(text[at:], '\n') + 1
		return text[:start], text[start:end], text[end:]
	}
	drop := func(text, with string) string { before, _, after := line(text, with); return before + after }
	double := func(text, with string) string {
		before, found, after := line(text, with)
		return before + found + found + after
	}
	for _, tt := range []struct {
		file   string
		change func(text, with string) string
		with   string
		want   string
	}{
		{string(j.world()), double, "effect ", "happened 2 times"},
		{string(j.world()), drop, "effect ", "happened 0 times"},
		{string(j.world()), drop, "read ", "never happened"},
		{string(j.world()), double, "stepped ", "happened 2 times"},
		{j.notes().path, double, "tool_call_done", "a reader cut off"},
		{j.notes().path, drop, "tool_call_done", "a reader cut off"},
		{j.notes().path, drop, "text_delta", "a reader cut off"},
	} {
		text, err := os.ReadFile(tt.file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(tt.file, []byte(tt.change(string(text), tt.with)), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(check(t.Context(), s, j), "\n"); !strings.Contains(got, tt.want) {
			t.Errorf("another %q in %s: the problems are %q, want one that says %q", tt.with, tt.file, got, tt.want)
		}
		if err := os.WriteFile(tt.file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
