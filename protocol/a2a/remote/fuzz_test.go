package remote

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// What a server sends may be anything. It is decoded or refused, and what is decoded has one meaning and ids that can be kept.
func FuzzDecodeEvent(f *testing.F) {
	for _, s := range []string{
		`{"task":{"id":"1","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"artifacts":[{"artifactId":"a","parts":[{"text":"x"},{"data":{"a":1}},{"url":"https://x"},{"raw":"AA=="}]}],"history":[null]}}`,
		`{"message":{"messageId":"m","role":roleAgent,"parts":[{"text":"x"}]}}`,
		`{"statusUpdate":{"taskId":"1","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"q","role":roleAgent,"parts":[{"text":"?"},{"data":{"tickets":[{"ticketId":"t","kind":"approval","message":"May I?","toolName":"x","arguments":{}}]}}]}}}}`,
		`{"artifactUpdate":{"taskId":"1","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]},"append":true,"lastChunk":true}}`,
		`{"task":null}`, `{}`, `[]`, `null`, `{"task":{},"message":{}}`, `{"kind":"task"}`, "\x00", `{"task":{"id":"` + strings.Repeat("x", 600) + `"}}`, strings.Repeat(`{"a":`, 20000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ev, err := decodeEvent(data)
		if err != nil {
			return
		}
		var r reply
		switch {
		case ev.Task != nil:
			if ev.Task.ID == "" || len(ev.Task.ID) > maxID {
				t.Errorf("accepted the id %q", ev.Task.ID)
			}
			u := r.replace(ev.Task.Artifacts)
			if u.text != string(r.text()) {
				t.Errorf("yielded %q, want %q", u.text, r.text())
			}
			r.fallback(&ev.Task.Status, ev.Task.History)
			for _, q := range questionsOf(&ev.Task.Status) {
				if _, err := json.Marshal(q); err != nil {
					t.Errorf("a question cannot be stored: %v", err)
				}
			}
		case ev.Status != nil:
			questionsOf(&ev.Status.Status)
		case ev.Artifact != nil:
			r.add(&ev.Artifact.Artifact, ev.Artifact.Append)
		}
	})
}

// A stream is read as events, whatever is in it and wherever it is cut.
func FuzzReadFrames(f *testing.F) {
	f.Add([]byte("data: {}\n\ndata: {\ndata: }\n\n"))
	f.Add([]byte("event: error\r\ndata: x\r\n\r\n: ping\n\nid: 1\ndata"))
	f.Add([]byte("data:\n\ndata: " + strings.Repeat("x", 40<<10) + "\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		for fr, err := range readFrames(bytes.NewReader(data)) {
			if err != nil {
				return
			}
			if len(fr.data) > maxEvent {
				t.Errorf("an event has %d bytes", len(fr.data))
			}
			_, _ = decodeFrame(fr, n%2 == 0)
			n++
		}
		if n > len(data) {
			t.Errorf("%d events in %d bytes", n, len(data))
		}
	})
}

// However an answer is told, as changes or whole, what was yielded since the last retraction is the answer.
func FuzzReply(f *testing.F) {
	f.Add([]byte("aAbBcC"), uint8(3))
	f.Fuzz(func(t *testing.T, script []byte, every uint8) {
		var r reply
		var heard string
		take := func(u update) {
			if u.retracts {
				heard = ""
			}
			heard += u.text
		}
		var all []artifact
		for i, b := range script {
			text := string(rune('a' + b%26))
			id := string(rune('A' + b%3))
			appends := b&64 == 0
			a := artifact{ArtifactID: id, Parts: []part{{Text: &text}}}
			at := -1
			for j := range all {
				if all[j].ArtifactID == id {
					at = j
				}
			}
			switch {
			case at < 0:
				all = append(all, a)
			case appends:
				whole := *all[at].Parts[0].Text + text
				all[at].Parts = []part{{Text: &whole}}
			default:
				all[at] = a
			}
			take(r.add(&a, appends))
			if every > 0 && i%int(every) == 0 {
				take(r.replace(all))
			}
			if heard != string(r.text()) {
				t.Fatalf("heard %q, want %q", heard, r.text())
			}
		}
	})
}
