package a2a_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// TestGolden encodes the events of every run of the golden corpus and compares the bytes with testdata/runs.
func TestGolden(t *testing.T) {
	protocoltest.Golden(t, ".txtar", func(t *testing.T, r *protocoltest.GoldenRun) []byte {
		return txtar.Format(&txtar.Archive{Files: []txtar.File{{Name: "frames", Data: []byte(encode(t, r.First(), a2a.Options{}, protocol.Position{}))}}})
	})
}

// A client that subscribes anywhere in a run gets the task as it is and what follows, and then has the task that a client
// has that was there from the start.
func TestSubscribe_AnywhereGivesTheSameTask(t *testing.T) {
	cuts := 3000
	if os.Getenv("AWAKEN_LONG") != "" {
		cuts = 10_000
	}
	all := protocoltest.GoldenRuns(t)
	runs := make([][]awaken.Entry, len(all))
	for i := range all {
		runs[i] = all[i].First()
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
			t.Fatalf("%s from %s:\n%s\nwant\n%s\n%s", all[i].Name, at, got, wholes[i], stream)
		}
		if first := events(t, stream)[0]; first.Task == nil {
			t.Fatalf("%s from %s does not begin with a task:\n%s", all[i].Name, at, stream)
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
