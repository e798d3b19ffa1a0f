package skills

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A folder is read again when a file in it has changed, in whatever way, and only then.
func TestFolder_ReadsWhatHasChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "a", "SKILL.md")
	old := time.Now().Add(-time.Hour)
	write := func(name, text string, at time.Time) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, changed := range []string{name, filepath.Dir(name), dir} {
			if err := os.Chtimes(changed, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	f := &folder{name: dir}
	load := func(what string, reads int, body string) {
		t.Helper()
		list, _, err := f.Load()
		if err != nil || len(list) != 1 || list[0].Body != body || f.reads != reads {
			t.Errorf("%s: %d reads, %v, %v, want %d reads and %q", what, f.reads, list, err, reads, body)
		}
	}
	write(text, "---\ndescription: d\n---\none", old)
	load("at first", 1, "one")
	load("unchanged", 1, "one")
	write(text, "---\ndescription: d\n---\ntwo", old.Add(time.Minute))
	load("another text of the same size", 2, "two")
	load("unchanged", 2, "two")
	if err := os.Chmod(text, 0o600); err != nil {
		t.Fatal(err)
	}
	load("another mode", 3, "two")
	write(text, "---\ndescription: d\n---\nnew", time.Now())
	load("a change just now", 4, "new")
	load("which may be followed by one that does not show", 5, "new")
	write(filepath.Join(dir, "a", "references", "x.md"), "x", old)
	if err := os.Chtimes(text, old, old); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Load(); err != nil || f.list[0].Files["references/x.md"].Data == nil {
		t.Errorf("a new file is not read: %v, %v", f.list[0].Files, err)
	}
}
