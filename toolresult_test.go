package awaken_test

import (
	"encoding/json"
	"testing"

	"github.com/awaken-go/awaken"
)

func TestToolResult_IsNotEscapedForHTML(t *testing.T) {
	for data, want := range map[string]string{
		`{"html":"\u003cb\u003eTom \u0026 Jerry\u003C/b\u003E"}`: `{"html":"<b>Tom & Jerry</b>"}`,
		`{"path":"C:\\u003c","quote":"\"\u003c\""}`:              `{"path":"C:\\u003c","quote":"\"<\""}`,
		`{"nul":"\u0000\u00e9"}`:                                 `{"nul":"\u0000\u00e9"}`,
		`"\u003cb\u003e"`:                                        `<b>`,
		`["\u003c"]`:                                             `["<"]`,
	} {
		r := &awaken.ToolResult{Data: json.RawMessage(data)}
		if got := r.Text(); got != want {
			t.Errorf("%s is shown as %s, want %s", data, got, want)
		}
	}
	encoded, err := json.Marshal(map[string]string{"a": "x < y && y > z"})
	if err != nil {
		t.Fatal(err)
	}
	if got := (&awaken.ToolResult{Data: encoded, Message: "result"}).Text(); got != "result\n"+`{"a":"x < y && y > z"}` {
		t.Errorf("the model sees %s", got)
	}
}

// A client that follows a run has the same text of a result as one that reads it later.
func TestToolResult_IsShownAsItIsStored(t *testing.T) {
	for data, want := range map[string]string{
		`{"from": "cache", "n": [1, 2]}`: `{"from":"cache","n":[1,2]}`,
		"{\n  \"a\": \"b  <c>\"\n}":      `{"a":"b  <c>"}`,
		`"a  text"`:                      `a  text`,
		`{"a": `:                         `{"a": `, // it is not JSON
		`{"html": "Tom \u0026 Jerry"}`:   `{"html":"Tom & Jerry"}`,
	} {
		r := &awaken.ToolResult{Data: json.RawMessage(data)}
		if got := r.Text(); got != want {
			t.Errorf("%s is shown as %s, want %s", data, got, want)
		}
		if !json.Valid(r.Data) {
			continue
		}
		live := &awaken.ToolCallDone{ID: "c", Result: r}
		encoded, err := awaken.AppendEvent(nil, live)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := awaken.UnmarshalEvent(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if got := stored.(*awaken.ToolCallDone).Result.Text(); got != r.Text() {
			t.Errorf("%s is shown as %s, and after it was stored as %s", data, r.Text(), got)
		}
	}
}
