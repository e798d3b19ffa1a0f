package aisdk_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/aisdk"
)

var update = flag.Bool("update", false, "write what is encoded into testdata/runs, instead of comparing")

// response holds the events of one request of a golden run.
type response struct {
	before  []awaken.Entry // of the same run, by requests before
	entries []awaken.Entry
}

// responses reads the events of a golden run.
func responses(t testing.TB, file string) (out []response) {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string][]awaken.Entry{}
	seq := uint64(0)
	for _, f := range a.Files {
		if !strings.HasPrefix(f.Name, "events") {
			continue
		}
		var r response
		run := ""
		for line := range bytes.Lines(f.Data) {
			ev, err := awaken.UnmarshalEvent(line)
			if err != nil {
				t.Fatalf("%s, %s: %v", file, f.Name, err)
			}
			if start, ok := ev.(*awaken.RunStart); ok {
				run = start.RunID
			}
			seq++
			r.entries = append(r.entries, awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: seq}, RunID: run, Event: ev})
		}
		r.before = runs[run]
		if run != "" {
			runs[run] = append(runs[run], r.entries...)
		}
		out = append(out, r)
	}
	return out
}

// encode returns the bytes of a response after a position.
func (r response) encode(t testing.TB, after protocol.Position) []byte {
	t.Helper()
	var enc aisdk.Encoder
	var discarded, f protocol.Frames
	for i := range r.before {
		if err := enc.Encode(&discarded, &r.before[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range r.entries {
		e := &r.entries[i]
		switch {
		case e.Seq < after.Seq:
			if err := enc.Encode(&discarded, e); err != nil {
				t.Fatal(err)
			}
			continue
		case e.Seq == after.Seq:
			f.Entry(e.Cursor, after.Frames)
		default:
			f.Entry(e.Cursor, 0)
		}
		if err := enc.Encode(&f, e); err != nil {
			t.Fatal(err)
		}
	}
	switch r.entries[len(r.entries)-1].Event.(type) {
	case *awaken.RunFinish, *awaken.Error:
		f.Unnamed()
		enc.End(&f, nil)
	}
	return f.Bytes()
}

func goldenRuns(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/runs/*.txtar")
	if err != nil || len(files) < 45 {
		t.Fatalf("%d golden runs: %v", len(files), err)
	}
	return files
}

// The bytes that a client gets for each golden run.
func TestGolden(t *testing.T) {
	for _, file := range goldenRuns(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			for i, r := range responses(t, file) {
				if i > 0 {
					got.WriteString("---\n\n")
				}
				got.Write(r.encode(t, protocol.Position{}))
			}
			path := filepath.Join("testdata", "runs", name+".sse")
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
				t.Errorf("what is encoded differs from %s (-want +got):\n%s", path, diff)
			}
		})
	}
	if *update {
		return
	}
	files, err := filepath.Glob("testdata/runs/*.sse")
	if err != nil || len(files) != len(goldenRuns(t)) {
		t.Errorf("%d files of bytes for %d golden runs: %v", len(files), len(goldenRuns(t)), err)
	}
}
