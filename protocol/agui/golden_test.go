package agui_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// TestGolden encodes the events of every run of the golden corpus and compares the bytes with
// testdata/runs. Each section of events there has a section of frames here, and another one
// with the frames that differ for a client older than version 1.0. The real client packages
// check all of them too, in internal/e2e/agui.
func TestGolden(t *testing.T) {
	protocoltest.Golden(t, ".txtar", func(t *testing.T, r *protocoltest.GoldenRun) []byte {
		got := &txtar.Archive{}
		now, before := encodeRun(t, r, true), encodeRun(t, r, false)
		for i, f := range now {
			got.Files = append(got.Files, f)
			got.Files = append(got.Files, txtar.File{Name: f.Name + " before 1.0", Data: otherFrames(t, f.Data, before[i].Data)})
		}
		return txtar.Format(got)
	})
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

// encodeRun encodes the events of a golden run. The activations of a run share an
// encoder, as they do in the server.
func encodeRun(t *testing.T, r *protocoltest.GoldenRun, current bool) (out []txtar.File) {
	t.Helper()
	conversation := func() ([]*llm.Message, error) { return conversationOf(t, r.Archive), nil }
	encoders := map[string]*agui.Encoder{}
	for _, s := range r.Segments {
		var frames protocol.Frames
		for i := range s.Entries {
			e := &s.Entries[i]
			if encoders[e.RunID] == nil {
				encoders[e.RunID] = agui.NewEncoder(agui.Options{Current: current, Conversation: conversation})
			}
			frames.Entry(e.Cursor, 0)
			if err := encoders[e.RunID].Encode(&frames, e); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, txtar.File{Name: s.Name, Data: frames.Bytes()})
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
