package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
)

// goldenEntries returns the events of a file of the golden corpus as entries.
func goldenEntries(t *testing.T, path string) (out []awaken.Entry) {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at, run := awaken.Cursor{Epoch: 1}, ""
	for _, f := range a.Files {
		if !strings.HasPrefix(f.Name, "events") {
			continue
		}
		for line := range bytes.Lines(f.Data) {
			ev, err := awaken.UnmarshalEvent(bytes.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			if start, ok := ev.(*awaken.RunStart); ok {
				run = start.RunID
			}
			at.Seq++
			out = append(out, awaken.Entry{Cursor: at, RunID: run, Event: ev})
		}
	}
	return out
}

// Encoding a chunk allocates nothing.
func TestBudget_CanonicalFramesAllocateNothing(t *testing.T) {
	if testenv.Race {
		t.Skip("the race detector allocates")
	}
	buf, frames := make([]byte, 0, 4<<10), canonicalFrames("t")
	e := &awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: 1}, RunID: "r", Time: 1, Event: &awaken.TextDelta{Delta: "piece"}}
	if got := testing.AllocsPerRun(1000, func() {
		e.Seq++
		if _, err := frames(buf, e); err != nil {
			t.Fatal(err)
		}
	}); got > 0 {
		t.Errorf("%v allocations for a chunk", got)
	}
}

// Canonical events have the bytes of encoding/json.
func TestCanonicalFrames_AreThoseOfJSON(t *testing.T) {
	files, err := filepath.Glob("../../testdata/runs/*.txtar")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, thread := range []string{"t", `<"é> `} {
		frames := canonicalFrames(thread)
		for _, file := range files {
			for _, e := range append(goldenEntries(t, file), awaken.Entry{Cursor: awaken.Cursor{Epoch: 12, Seq: 1 << 40}, Time: 1e12, Event: &awaken.Error{Message: "<&> "}}) {
				ev, err := canonical(thread, &e)
				if err != nil {
					t.Fatal(err)
				}
				data, err := json.Marshal(ev)
				if err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprintf("id: %s\ndata: %s\n\n", e.Cursor, data)
				if got, err := frames(nil, &e); err != nil || string(got) != want {
					t.Fatalf("got\n%s, %v, want\n%s", got, err, want)
				}
			}
		}
	}
}
