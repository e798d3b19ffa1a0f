package a2a_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
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

// TestGolden encodes the events of every run of the golden corpus and compares the bytes with testdata/runs.
func TestGolden(t *testing.T) {
	for _, a := range archives(t) {
		name := string(a.Comment)
		t.Run(name, func(t *testing.T) {
			entries := entriesOf(t, a)
			got := txtar.Format(&txtar.Archive{Files: []txtar.File{{Name: "frames", Data: []byte(encode(t, entries, a2a.Options{}, protocol.Position{}))}}})
			path := filepath.Join("testdata/runs", name)
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

// A client that subscribes anywhere in a run gets the task as it is and what follows, and then has the task that a client
// has that was there from the start.
func TestSubscribe_AnywhereGivesTheSameTask(t *testing.T) {
	cuts := 3000
	if os.Getenv("AWAKEN_LONG") != "" {
		cuts = 10_000
	}
	all := archives(t)
	runs := make([][]awaken.Entry, len(all))
	for i, a := range all {
		runs[i] = entriesOf(t, a)
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	start := `data: {"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_SUBMITTED"}}}` + "\n\n"
	wholes := map[int]string{}
	for range cuts {
		i := rnd.IntN(len(all))
		entries := runs[i]
		if len(entries) == 0 {
			continue
		}
		if wholes[i] == "" {
			wholes[i] = outcome(t, start+encode(t, entries, a2a.Options{}, protocol.Position{}))
		}
		at := entries[rnd.IntN(len(entries))].Cursor
		stream := encode(t, entries, a2a.Options{Snapshot: at}, protocol.Position{})
		if got := outcome(t, stream); got != wholes[i] {
			t.Fatalf("%s from %s:\n%s\nwant\n%s\n%s", all[i].Comment, at, got, wholes[i], stream)
		}
		if first := events(t, stream)[0]; first.Task == nil {
			t.Fatalf("%s from %s does not begin with a task:\n%s", all[i].Comment, at, stream)
		}
	}
}

// outcome returns the status and the artifacts that a client has after a stream.
func outcome(tb testing.TB, stream string) string {
	tb.Helper()
	task := seen(tb, events(tb, stream))
	shown := []a2a.Artifact{}
	for _, a := range task.Artifacts {
		if a.ArtifactID != "response" || *a.Parts[0].Text != "" {
			shown = append(shown, a)
		}
	}
	slices.SortFunc(shown, func(a, b a2a.Artifact) int { return strings.Compare(a.ArtifactID, b.ArtifactID) })
	data, err := json.Marshal(struct {
		Status    a2a.Status
		Artifacts []a2a.Artifact
	}{task.Status, shown})
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}
