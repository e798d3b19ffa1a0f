package protocoltest

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
)

var update = flag.Bool("update", false, "write what is encoded into testdata/runs, instead of comparing")

// GoldenRun is a run of the golden corpus, which every protocol encodes.
type GoldenRun struct {
	Name     string // without a suffix
	Archive  *txtar.Archive
	Segments []Segment
}

// Segment holds the events of one request of a golden run.
type Segment struct {
	Name    string         // of its section
	Before  []awaken.Entry // of the same run, by requests before
	Entries []awaken.Entry
}

// GoldenRuns reads the golden corpus.
func GoldenRuns(tb testing.TB) (out []GoldenRun) {
	tb.Helper()
	files, err := filepath.Glob("../../testdata/runs/*.txtar")
	if err != nil || len(files) < 100 {
		tb.Fatalf("%d golden runs, %v", len(files), err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, GoldenRun{strings.TrimSuffix(filepath.Base(file), ".txtar"), a, segments(tb, file, a)})
	}
	return out
}

func segments(tb testing.TB, file string, a *txtar.Archive) (out []Segment) {
	tb.Helper()
	runs := map[string][]awaken.Entry{}
	at := awaken.Cursor{Epoch: 1}
	for _, f := range a.Files {
		if !strings.HasPrefix(f.Name, "events") {
			continue
		}
		s, run := Segment{Name: f.Name}, ""
		for line := range bytes.Lines(f.Data) {
			ev, err := awaken.UnmarshalEvent(bytes.TrimSpace(line))
			if err != nil {
				tb.Fatalf("%s, %s: %v", file, f.Name, err)
			}
			if start, ok := ev.(*awaken.RunStart); ok {
				run = start.RunID
			}
			at.Seq++
			s.Entries = append(s.Entries, awaken.Entry{Cursor: at, RunID: run, Event: ev})
		}
		s.Before = runs[run]
		if run != "" {
			runs[run] = append(runs[run], s.Entries...)
		}
		out = append(out, s)
	}
	return out
}

// First returns the entries of the first run, with times.
func (r *GoldenRun) First() (out []awaken.Entry) {
	run := ""
	for _, s := range r.Segments {
		for _, e := range s.Entries {
			if start, ok := e.Event.(*awaken.RunStart); ok {
				if run == "" {
					run = start.RunID
				}
				if start.RunID != run {
					return out
				}
			}
			e.RunID, e.Time = run, int64(e.Seq)*1000
			out = append(out, e)
		}
	}
	return out
}

// Encode returns the bytes of a response for a client at a position.
func (s *Segment) Encode(tb testing.TB, enc protocol.Encoder, has protocol.Position) []byte {
	tb.Helper()
	var discarded, f protocol.Frames
	for i := range s.Before {
		if err := enc.Encode(&discarded, &s.Before[i]); err != nil {
			tb.Fatal(err)
		}
	}
	for i := range s.Entries {
		e, into := &s.Entries[i], &f
		switch {
		case e.Seq < has.Seq:
			into = &discarded
		case e.Seq == has.Seq:
			f.Entry(e.Cursor, has.Frames)
		default:
			f.Entry(e.Cursor, 0)
		}
		if err := enc.Encode(into, e); err != nil {
			failure, ok := errors.AsType[*protocol.Failure](err)
			if !ok {
				tb.Fatal(err)
			}
			f.Unnamed()
			enc.End(&f, failure)
			return f.Bytes()
		}
	}
	switch s.Entries[len(s.Entries)-1].Event.(type) {
	case *awaken.RunFinish, *awaken.Error:
		f.Unnamed()
		enc.End(&f, nil)
	}
	return f.Bytes()
}

// Golden compares what a protocol makes of every golden run with the files of testdata/runs, whose names have a suffix, or
// writes them. Events that a later version wrote between the others change nothing.
func Golden(t *testing.T, suffix string, encode func(t *testing.T, r *GoldenRun) []byte) {
	runs := GoldenRuns(t)
	for i := range runs {
		r := &runs[i]
		t.Run(r.Name, func(t *testing.T) {
			got, path := encode(t, r), filepath.Join("testdata", "runs", r.Name+suffix)
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); d != "" {
				t.Errorf("what is encoded differs from %s (-want +got):\n%s", path, d)
			}
			r.addUnknown(t)
			if later := encode(t, r); !bytes.Equal(later, got) {
				t.Errorf("with events of an unknown type, this is encoded:\n%s\nwant:\n%s", later, got)
			}
		})
	}
	files, err := filepath.Glob(filepath.Join("testdata", "runs", "*"+suffix))
	if err != nil || len(files) != len(runs) {
		t.Errorf("%d files of bytes for %d golden runs: %v", len(files), len(runs), err)
	}
}

// addUnknown adds an event of an unknown type behind every event but the last of a segment.
func (r *GoldenRun) addUnknown(tb testing.TB) {
	tb.Helper()
	ev, err := awaken.UnmarshalEvent([]byte(`{"event_type":"of_a_later_version","id":"x","delta":"unknown","message_id":"m"}`))
	if err != nil {
		tb.Fatal(err)
	}
	for i := range r.Segments {
		s := &r.Segments[i]
		var with []awaken.Entry
		for j, e := range s.Entries {
			with = append(with, e)
			if e.Event = ev; j < len(s.Entries)-1 {
				with = append(with, e)
			}
		}
		s.Entries = with
	}
}

// Encode returns the bytes of a stream of entries for a client at a position, without its end.
func Encode(tb testing.TB, enc protocol.Encoder, entries []awaken.Entry, has protocol.Position) string {
	tb.Helper()
	var f protocol.Frames
	for i := range entries {
		e := &entries[i]
		have, n := 0, len(f.Bytes())
		if e.Seq == has.Seq {
			have = has.Frames
		}
		f.Entry(e.Cursor, have)
		if err := enc.Encode(&f, e); err != nil {
			tb.Fatal(err)
		}
		if e.Seq < has.Seq {
			f.Into(f.Bytes()[:n])
		}
	}
	return string(f.Bytes())
}

// DeltaAllocs returns how many allocations a delta of an answer costs, on average over many.
func DeltaAllocs(tb testing.TB, enc protocol.Encoder) float64 {
	tb.Helper()
	var f protocol.Frames
	buf, e := make([]byte, 0, 4096), &awaken.Entry{Cursor: awaken.Cursor{Epoch: 1}, RunID: "r"}
	encode := func(ev awaken.Event) {
		e.Seq++
		e.Event = ev
		f.Into(buf)
		f.Entry(e.Cursor, 0)
		if err := enc.Encode(&f, e); err != nil {
			tb.Fatal(err)
		}
	}
	encode(&awaken.RunStart{ThreadID: "t", RunID: "r"})
	encode(&awaken.StepStart{MessageID: "m"})
	delta := &awaken.TextDelta{Delta: "a piece"}
	encode(delta)
	return testing.AllocsPerRun(2000, func() { encode(delta) })
}
