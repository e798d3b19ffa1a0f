package observe_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/awaken-go/awaken/plugin/observe"
	"github.com/awaken-go/awaken/trace"
)

func TestFile_EveryLineIsAnEventAndTheFolderStaysSmall(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "events")
	f, err := observe.NewFile(dir, observe.FileOptions{MaxBytes: 2000, Files: 3})
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		f.Record(t.Context(), &trace.Event{Context: trace.Context{Type: "tool", RunID: "r"}, Tool: &trace.Tool{Name: "read", CallID: "c"}})
	}
	f.RunEnd(t.Context(), &observe.Summary{Context: trace.Context{Type: "run", RunID: "last"}})
	if err := f.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := f.Dropped(); n != 0 {
		t.Errorf("%d lines were left out", n)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.ndjson"))
	if err != nil || len(names) != 3 {
		t.Fatalf("the folder has %q, %v; want 3 files", names, err)
	}
	last := ""
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
		if len(data) > 2000 || len(data) < 200 {
			t.Errorf("%s has %d bytes, want at most 2000", name, len(data))
		}
		for line := range bytes.Lines(data) {
			var e struct {
				RunID string `json:"run_id"`
			}
			if err := json.Unmarshal(line, &e); err != nil || e.RunID == "" {
				t.Errorf("%s is not an event: %v", line, err)
			}
			if filepath.Base(name) == "events.ndjson" {
				last = e.RunID
			}
		}
	}
	if last != "last" {
		t.Errorf("the newest line is of run %q", last)
	}
	f.Record(t.Context(), &trace.Event{})
	if f.Dropped() != 1 {
		t.Error("a line after the end was not counted as left out")
	}
	if _, err := observe.NewFile(filepath.Join(names[0], "x"), observe.FileOptions{}); err == nil {
		t.Error("a folder that cannot be made is no error")
	}
}
