package mcp_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/mcp"
)

var update = flag.Bool("update", false, "write what is encoded into testdata/runs, instead of comparing")

var eventSection = regexp.MustCompile(`^events\d*$`)

// entriesOf returns the events of the first run of a golden file as entries of a log.
func entriesOf(tb testing.TB, a *txtar.Archive) (out []awaken.Entry) {
	tb.Helper()
	at, run := awaken.Cursor{Epoch: 1}, ""
	for _, f := range a.Files {
		if !eventSection.MatchString(f.Name) {
			continue
		}
		for line := range bytes.Lines(f.Data) {
			ev, err := awaken.UnmarshalEvent(bytes.TrimSpace(line))
			if err != nil {
				tb.Fatal(err)
			}
			if start, ok := ev.(*awaken.RunStart); ok {
				if run == "" {
					run = start.RunID
				}
				if start.RunID != run {
					return out
				}
			}
			at.Seq++
			out = append(out, awaken.Entry{Cursor: at, RunID: run, Time: int64(at.Seq) * 1000, Event: ev})
		}
	}
	return out
}

// TestGolden encodes the events of every run of the golden corpus, for both eras, and compares the bytes with testdata/runs.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob(goldenRuns + "/*.txtar")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d runs, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			entries := entriesOf(t, a)
			older := mcp.Options{Request: []byte("1"), Progress: []byte("2"), Level: "info", Elicits: true}
			newer := mcp.Options{Request: []byte("1"), Modern: true, Elicits: true, State: func(tickets []string) string { return strings.Join(tickets, " ") }}
			got := txtar.Format(&txtar.Archive{Files: []txtar.File{
				{Name: "2025-11-25", Data: []byte(encode(t, entries, older, protocol.Position{}))},
				{Name: "2026-07-28", Data: []byte(encode(t, entries, newer, protocol.Position{}))},
			}})
			path := filepath.Join("testdata/runs", filepath.Base(file))
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("the frames differ from %s (-want +got):\n%s", path, d)
			}
		})
	}
}
