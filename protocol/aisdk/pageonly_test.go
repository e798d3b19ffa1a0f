package aisdk_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The history returns a user message as the page sent it: with its metadata, data parts in their places,
// and the names of its files.
func TestHistory_UserMessagesAreAsThePageSentThem(t *testing.T) {
	g := newRig(t)
	const sent = `{"id":"m","role":"user","metadata":{"sentAt":1,"tags":["a"]},"parts":[
		{"type":"data-place","id":"p","data":{"lat":1.5}},
		{"type":"text","text":"look"},
		{"type":"data-empty","data":null},
		{"type":"file","mediaType":"image/png","url":"data:image/png;base64,AAAA","filename":"a.png"},
		{"type":"file","mediaType":"text/plain","url":"data:text/plain;base64,AAAA","filename":"b.txt"},
		{"type":"data-last","data":"x"}]}`
	for range 2 { // a repetition changes nothing
		if status, body := g.post(g.URL, `{"id":"t","messages":[`+sent+`]}`); status != 200 && status != 400 {
			t.Fatalf("%d: %s", status, body)
		}
	}
	_, body := g.get(g.URL, "/v1/ai-sdk/threads/t/messages", "")
	var got struct{ Messages []map[string]any }
	var want map[string]any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(sent), &want); err != nil {
		t.Fatal(err)
	}
	if len(got.Messages) != 2 {
		t.Fatalf("%s", body)
	}
	if diff := cmp.Diff(want, got.Messages[0]); diff != "" {
		t.Errorf("the message differs (-sent +returned):\n%s", diff)
	}
}
