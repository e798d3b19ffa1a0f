package agui_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/agui"
)

var update = flag.Bool("update", false, "write what is encoded into testdata/runs, instead of comparing")

// goldenRuns are the runs that every protocol encodes.
const goldenRuns = "../../testdata/runs"

var eventSection = regexp.MustCompile(`^events\d*$`)

// TestGolden encodes the events of every run of the golden corpus and compares the bytes with
// testdata/runs. Each section of events there has a section of frames here, and another one
// with the frames that differ for a client older than version 1.0. The real client packages
// check all of them too, in e2e/agui.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob(goldenRuns + "/*.txtar")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d runs, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(strings.TrimSuffix(name, ".txtar"), func(t *testing.T) {
			run, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{}
			now, before := encodeRun(t, run, true), encodeRun(t, run, false)
			for i, f := range now {
				got.Files = append(got.Files, f)
				got.Files = append(got.Files, txtar.File{Name: f.Name + " before 1.0", Data: otherFrames(t, f.Data, before[i].Data)})
			}
			path := filepath.Join("testdata/runs", name)
			if *update {
				if err := os.WriteFile(path, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), string(txtar.Format(got))); d != "" {
				t.Errorf("the frames differ from %s (-want +got):\n%s", path, d)
			}
		})
	}
}

// otherFrames returns the frames of old that differ from those of now. Both have the same
// number of frames.
func otherFrames(t *testing.T, now, old []byte) (out []byte) {
	t.Helper()
	a, b := bytes.SplitAfter(now, []byte("\n\n")), bytes.SplitAfter(old, []byte("\n\n"))
	if len(a) != len(b) {
		t.Fatalf("%d frames for a client of today, %d for one from before 1.0", len(a), len(b))
	}
	for i := range b {
		if !bytes.Equal(a[i], b[i]) {
			out = append(out, b[i]...)
		}
	}
	return out
}

// encodeRun encodes the events of a golden file. The activations of a run share an
// encoder, as they do in the server.
func encodeRun(t *testing.T, a *txtar.Archive, current bool) (out []txtar.File) {
	t.Helper()
	conversation := func() ([]*llm.Message, error) { return conversationOf(t, a), nil }
	encoders := map[string]*agui.Encoder{}
	at := awaken.Cursor{Epoch: 1}
	for _, f := range a.Files {
		if !eventSection.MatchString(f.Name) {
			continue
		}
		var frames protocol.Frames
		run := ""
		for _, ev := range eventsOf(t, f.Data) {
			if start, ok := ev.(*awaken.RunStart); ok {
				run = start.RunID
			}
			if encoders[run] == nil {
				encoders[run] = agui.NewEncoder(agui.Options{Current: current, Conversation: conversation})
			}
			at.Seq++
			frames.Entry(at, 0)
			if err := encoders[run].Encode(&frames, &awaken.Entry{Cursor: at, RunID: run, Event: ev}); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, txtar.File{Name: f.Name, Data: frames.Bytes()})
	}
	return out
}

func eventsOf(t testing.TB, data []byte) (out []awaken.Event) {
	t.Helper()
	for line := range bytes.Lines(data) {
		ev, err := awaken.UnmarshalEvent(bytes.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ev)
	}
	return out
}

// conversationOf returns the final messages of the first thread of a golden file.
func conversationOf(t *testing.T, a *txtar.Archive) []*llm.Message {
	t.Helper()
	var view awaken.View
	for _, f := range a.Files {
		if f.Name != "messages" {
			continue
		}
		threads := 0
		for line := range bytes.Lines(f.Data) {
			if line[0] == '#' {
				threads++
				continue
			}
			m := new(llm.Message)
			if err := json.Unmarshal(line, m); err != nil {
				t.Fatal(err)
			}
			if threads < 2 {
				view.Append(m)
			}
		}
	}
	return view.Messages()
}
