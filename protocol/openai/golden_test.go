package openai_test

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/openai"
)

var update = flag.Bool("update", false, "write what is encoded into testdata/runs, instead of comparing")

// segment holds the events of one request of a golden run.
type segment struct {
	before  []awaken.Entry // of the same run, by requests before
	entries []awaken.Entry
}

// from returns the end of the run's earlier responses.
func (s *segment) from() (at awaken.Cursor) {
	for i := range s.before {
		if _, ok := s.before[i].Event.(*awaken.RunFinish); ok {
			at = s.before[i].Cursor
		}
	}
	return at
}

// segments reads the events of a golden run.
func segments(t testing.TB, file string) (out []segment) {
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
		var s segment
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
			s.entries = append(s.entries, awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: seq}, RunID: run, Event: ev})
		}
		s.before = runs[run]
		if run != "" {
			runs[run] = append(runs[run], s.entries...)
		}
		out = append(out, s)
	}
	return out
}

// encode returns the bytes of a response after a position.
func (s *segment) encode(t testing.TB, enc protocol.Encoder, after protocol.Position) []byte {
	t.Helper()
	var discarded, f protocol.Frames
	for i := range s.before {
		if err := enc.Encode(&discarded, &s.before[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range s.entries {
		e, into := &s.entries[i], &f
		switch {
		case e.Seq < after.Seq:
			into = &discarded
		case e.Seq == after.Seq:
			f.Entry(e.Cursor, after.Frames)
		default:
			f.Entry(e.Cursor, 0)
		}
		if err := enc.Encode(into, e); err != nil {
			f.Unnamed()
			failure, ok := err.(*protocol.Failure)
			if !ok {
				t.Fatal(err)
			}
			enc.End(&f, failure)
			return f.Bytes()
		}
	}
	switch s.entries[len(s.entries)-1].Event.(type) {
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

// The bytes that a client gets for each golden run, as a response and as a chat completion.
func TestGolden(t *testing.T) {
	for _, file := range goldenRuns(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			for _, s := range segments(t, file) {
				opts := openai.Options{From: s.from(), Usage: true}
				got.WriteString("--- response\n\n")
				got.Write(s.encode(t, openai.NewResponseEncoder(opts), protocol.Position{}))
				got.WriteString("--- chat completion\n\n")
				got.Write(s.encode(t, openai.NewChatEncoder(opts), protocol.Position{}))
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
	files, err := filepath.Glob("testdata/runs/*.sse")
	if err != nil || len(files) != len(goldenRuns(t)) {
		t.Errorf("%d files of bytes for %d golden runs: %v", len(files), len(goldenRuns(t)), err)
	}
}

// cuts is the number of places at which streams are cut.
func cuts() int {
	if os.Getenv("AWAKEN_LONG") != "" {
		return 10_000
	}
	return 3_000
}

// Whatever the last event is that a client has, what it gets with starting_after and what it has are,
// together, the whole response; and the numbers have no gap.
func TestStartingAfter_GoldenRuns(t *testing.T) {
	var all []segment
	for _, file := range goldenRuns(t) {
		all = append(all, segments(t, file)...)
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	middle := 0
	for range cuts() {
		s := &all[rnd.IntN(len(all))]
		encode := func(has int) string {
			return string(s.encode(t, openai.NewResponseEncoder(openai.Options{From: s.from(), Has: has}), protocol.Position{}))
		}
		whole := strings.SplitAfter(encode(0), "\n\n")
		whole = whole[:len(whole)-1] // what follows the last frame is empty
		if len(whole) == 0 {
			continue
		}
		first := int(frames(t, whole[0])[0].at("sequence_number").(float64)) // not 0 if another owner began the response
		has := rnd.IntN(len(whole) + 2)
		want := strings.Join(whole[min(has, len(whole)):], "")
		if got := encode(first + has); got != want {
			t.Fatalf("after %d events:\n%s\nwant\n%s", has, got, want)
		}
		for i, f := range whole {
			if n := frames(t, f)[0].at("sequence_number"); n != float64(first+i) {
				t.Fatalf("event %d has number %v: %s", i, n, f)
			}
		}
		if has > 0 && has < len(whole) {
			middle++
		}
	}
	if middle < cuts()/2 {
		t.Errorf("only %d cuts are inside a response", middle)
	}
}
