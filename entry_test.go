package awaken_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
)

func TestEntry_SplitsIntoItsDeltas(t *testing.T) {
	e := awaken.Entry{Cursor: awaken.Cursor{Epoch: 2, Seq: 10}, RunID: "r", Time: 7,
		Event: &awaken.TextDelta{Delta: "Grüße!"}, Chunks: []awaken.Chunk{{Offset: 0, Len: 2}, {Offset: 3, Len: 5}, {Offset: 4, Len: 1}}}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var back awaken.Entry
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, back); diff != "" {
		t.Fatalf("changed in JSON (-want +got):\n%s", diff)
	}
	var got []string
	for _, part := range back.Split() {
		got = append(got, part.Cursor.String()+" "+part.Event.(*awaken.TextDelta).Delta)
	}
	if diff := cmp.Diff([]string{"2-10 Gr", "2-13 üße", "2-14 !"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if back.Last() != 14 {
		t.Errorf("the last number is %d, want 14", back.Last())
	}
}

func TestEntry_RejectsChunksThatDoNotAddUpToItsText(t *testing.T) {
	for name, doc := range map[string]string{
		"have 10 bytes, want 3":         `{"epoch":1,"seq":1,"time":0,"event":{"event_type":"text_delta","delta":"abc"},"chunks":[[0,1],[1,9]]}`,
		"offset is 0, want more than 0": `{"epoch":1,"seq":1,"time":0,"event":{"event_type":"text_delta","delta":"abc"},"chunks":[[0,1],[0,2]]}`,
		"step_end event has no":         `{"epoch":1,"seq":1,"time":0,"event":{"event_type":"step_end"},"chunks":[[0,0]]}`,
		`x event has no`:                `{"epoch":1,"seq":1,"time":0,"event":{"event_type":"x"},"chunks":[[0,0]]}`,
	} {
		var e awaken.Entry
		if err := json.Unmarshal([]byte(doc), &e); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want an error that says %q", doc, err, name)
		}
	}
}

// Processes of two versions may write to one log: what one does not know of an event, it ignores.
func TestUnmarshalEvent_IgnoresFieldsOfALaterVersion(t *testing.T) {
	ev, err := awaken.UnmarshalEvent([]byte(`{"event_type":"inference_complete","model":"m","duration_ms":7,"composition":{"left_out":1},"of_a_later_version":{"x":[1]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := ev.(*awaken.InferenceComplete); !ok || got.Model != "m" || got.DurationMS != 7 || got.Composition == nil {
		t.Errorf("got %+v", ev)
	}
}

// An event of an unknown type is encoded as it was; unknown fields of an entry are ignored.
func TestEntry_OfALaterVersion(t *testing.T) {
	const event = `{"z":[1,{"b":"<&>","a":1.50}],"event_type":"of_a_later_version"}`
	var e awaken.Entry
	if err := json.Unmarshal([]byte(`{"epoch":1,"seq":7,"run_id":"r","time":5,"written_by":{"version":"2.0"},"event":`+event+`}`), &e); err != nil {
		t.Fatal(err)
	}
	if e.Seq != 7 || e.RunID != "r" || e.Time != 5 || e.Event.Type() != "of_a_later_version" || len(e.Split()) != 1 {
		t.Errorf("got %+v, a %s event", e, e.Event.Type())
	}
	got, err := e.MarshalJSON()
	if want := `{"epoch":1,"seq":7,"run_id":"r","time":5,"event":` + event + `}`; err != nil || string(got) != want {
		t.Errorf("encoded as %s, want %s: %v", got, want, err)
	}
	for _, bad := range []string{`{}`, `{"event_type":7}`, `[]`, `null`, `{"event_type":"x"`} {
		if _, err := awaken.UnmarshalEvent([]byte(bad)); err == nil {
			t.Errorf("%s is no event", bad)
		}
	}
}
