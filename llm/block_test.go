package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/llm"
)

// checkJSON checks that v is written as wire and wire is read as v.
func checkJSON[T any](t *testing.T, v T, wire string) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wire, string(data)); diff != "" {
		t.Errorf("encoded (-want +got):\n%s", diff)
	}
	var got T
	if err := json.Unmarshal([]byte(wire), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v, got); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
}

// checkRejected checks that wire cannot be read as a T, and why.
func checkRejected[T any](t *testing.T, wire, why string) {
	t.Helper()
	var v T
	err := json.Unmarshal([]byte(wire), &v)
	if err == nil {
		t.Fatalf("decoded %s as %+v, want error %q", wire, v, why)
	}
	if diff := cmp.Diff(why, err.Error()); diff != "" {
		t.Errorf("error of %s (-want +got):\n%s", wire, diff)
	}
}

func TestBlockJSON_RoundTripsEveryType(t *testing.T) {
	t.Parallel()
	signed := &llm.Opaque{Provider: "anthropic", Signature: "c2ln"}
	for _, tt := range []struct {
		name  string
		block llm.Block
		wire  string
	}{
		{"text", llm.Text("Hello"), `{"type":"text","text":"Hello"}`},
		{"empty text", llm.Text(""), `{"type":"text","text":""}`},
		{
			"text with opaque", llm.Block{Type: llm.TextBlock, Text: "a", Opaque: &llm.Opaque{Provider: "gemini", Data: json.RawMessage(`{"thought":"x"}`)}},
			`{"type":"text","text":"a","opaque":{"provider":"gemini","data":{"thought":"x"}}}`,
		},
		{
			"image inline", llm.Image(llm.Base64("image/png", "aGk=")),
			`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}`,
		},
		{
			"image by URL", llm.Image(llm.URL("https://x.test/a.png")),
			`{"type":"image","source":{"type":"url","url":"https://x.test/a.png"}}`,
		},
		{
			"image by URL with a media type", llm.Image(&llm.Source{Type: "url", MediaType: "image/png", URL: "https://x.test/a"}),
			`{"type":"image","source":{"type":"url","media_type":"image/png","url":"https://x.test/a"}}`,
		},
		{
			"audio", llm.Block{Type: llm.AudioBlock, Source: llm.Base64("audio/mpeg", "aGk=")},
			`{"type":"audio","source":{"type":"base64","media_type":"audio/mpeg","data":"aGk="}}`,
		},
		{
			"video", llm.Block{Type: llm.VideoBlock, Source: llm.URL("https://x.test/a.mp4")},
			`{"type":"video","source":{"type":"url","url":"https://x.test/a.mp4"}}`,
		},
		{
			"document", llm.Document(llm.URL("https://x.test/a.pdf"), "A"),
			`{"type":"document","source":{"type":"url","url":"https://x.test/a.pdf"},"title":"A"}`,
		},
		{
			"image with a name", llm.Block{Type: llm.ImageBlock, Source: llm.URL("https://x.test/a.png"), Title: "a.png"},
			`{"type":"image","source":{"type":"url","url":"https://x.test/a.png"},"title":"a.png"}`,
		},
		{
			"document without title", llm.Document(llm.URL("https://x.test/a.pdf"), ""),
			`{"type":"document","source":{"type":"url","url":"https://x.test/a.pdf"}}`,
		},
		{
			"tool use", llm.Block{Type: llm.ToolUseBlock, Tool: &llm.ToolPart{ID: "c1", Name: "add", Input: json.RawMessage(`{"a":1}`)}},
			`{"type":"tool_use","id":"c1","name":"add","input":{"a":1}}`,
		},
		{
			"tool use without input", llm.Block{Type: llm.ToolUseBlock, Tool: &llm.ToolPart{ID: "c1", Name: "add"}},
			`{"type":"tool_use","id":"c1","name":"add","input":null}`,
		},
		{
			"tool result", llm.Block{Type: llm.ToolResultBlock, Tool: &llm.ToolPart{ID: "c1", Content: []llm.Block{llm.Text("3"), llm.Image(llm.URL("u"))}}},
			`{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"3"},{"type":"image","source":{"type":"url","url":"u"}}]}`,
		},
		{
			"empty tool result", llm.Block{Type: llm.ToolResultBlock, Tool: &llm.ToolPart{ID: "c1"}},
			`{"type":"tool_result","tool_use_id":"c1","content":[]}`,
		},
		{"thinking", llm.Thinking("hm", nil), `{"type":"thinking","thinking":"hm"}`},
		{
			"signed thinking", llm.Thinking("hm", signed),
			`{"type":"thinking","thinking":"hm","opaque":{"provider":"anthropic","signature":"c2ln"}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkJSON(t, tt.block, tt.wire)
		})
	}
}

func TestBlockJSON_ErrorsNameTheProblem(t *testing.T) {
	t.Parallel()
	const types = "want text, image, audio, video, document, tool_use, tool_result or thinking"
	for _, tt := range []struct{ name, wire, why string }{
		{"no object", `3`, `content block: found a JSON number, want an object`},
		{"null", `null`, `content block: type is missing, ` + types},
		{"no type", `{"text":"a"}`, `content block: type is missing, ` + types},
		{"unknown type", `{"type":"poem"}`, `content block: type is "poem", ` + types},
		{"type of the wrong type", `{"type":1}`, `content block: field "type" is a JSON number, want a string`},

		{"text without text", `{"type":"text"}`, `text block: field "text" is missing`},
		{"null text", `{"type":"text","text":null}`, `text block: field "text" is missing`},
		{"text of the wrong type", `{"type":"text","text":["a"]}`, `text block: field "text" is a JSON array, want a string`},
		{"field of another type", `{"type":"text","text":"a","thinking":"b"}`, `text block: unknown field "thinking"`},
		{"unknown field in opaque", `{"type":"text","text":"a","opaque":{"provider":"p","sig":"s"}}`, `text block: unknown field "sig"`},
		{"thinking without thinking", `{"type":"thinking","text":"a"}`, `thinking block: unknown field "text"`},
		{"empty thinking block", `{"type":"thinking"}`, `thinking block: field "thinking" is missing`},

		{"media without source", `{"type":"image"}`, `image block: field "source" is missing`},
		{"source of the wrong type", `{"type":"audio","source":"u"}`, `audio block: field "source" is a JSON string, want an object`},
		{"unknown field in source", `{"type":"video","source":{"type":"url","uri":"u"}}`, `video block: unknown field "uri", did you mean "url"?`},
		{"unknown source", `{"type":"image","source":{"type":"file"}}`, `image block: source.type is "file", want base64, url or blob`},
		{"blob without an ID", `{"type":"image","source":{"type":"blob","media_type":"image/png"}}`, `image block: source of type blob requires "id" and "media_type"`},
		{"blob with data", `{"type":"image","source":{"type":"blob","media_type":"image/png","id":"a","data":"eA=="}}`, `image block: source of type blob must not have fields "data" and "url"`},
		{"blob with a negative size", `{"type":"image","source":{"type":"blob","media_type":"image/png","id":"a","size":-1}}`, `image block: source.size is -1, want 0 or more`},
		{"URL with an ID", `{"type":"image","source":{"type":"url","url":"u","id":"a"}}`, `image block: source of type url must not have fields "id" and "size"`},
		{"URL source without URL", `{"type":"image","source":{"type":"url"}}`, `image block: source of type url requires "url"`},
		{"URL source with data", `{"type":"image","source":{"type":"url","url":"u","data":"d"}}`, `image block: source of type url must not have field "data"`},
		{"inline source without data", `{"type":"image","source":{"type":"base64","media_type":"m"}}`, `image block: source of type base64 requires "media_type" and "data"`},
		{"inline source with URL", `{"type":"image","source":{"type":"base64","url":"u"}}`, `image block: source of type base64 must not have field "url"`},

		{"tool use with a result's field", `{"type":"tool_use","tool_use_id":"c"}`, `tool_use block: unknown field "tool_use_id"`},
		{"id of the wrong type", `{"type":"tool_use","id":7}`, `tool_use block: field "id" is a JSON number, want a string`},
		{"tool result with a wrong block", `{"type":"tool_result","content":[{"type":"text","txt":"a"}]}`, `tool_result block: text block: unknown field "txt", did you mean "text"?`},
		{"tool result with an unknown block", `{"type":"tool_result","content":[{"type":"poem"}]}`, `tool_result block: content block: type is "poem", ` + types},
		{"tool result with a string", `{"type":"tool_result","content":"a"}`, `tool_result block: field "content" is a JSON string, want an array`},
		{
			"tool result in a tool result", `{"type":"tool_result","content":[{"type":"tool_result"}]}`,
			`tool_result block: a tool_result block cannot be in a tool_result block`,
		},
		{
			"tool use in a tool result", `{"type":"tool_result","content":[{"type":"tool_use"}]}`,
			`tool_result block: a tool_use block cannot be in a tool_result block`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkRejected[llm.Block](t, tt.wire, tt.why)
		})
	}
}

func TestBlockJSON_RejectsWritingWhatItCannotRead(t *testing.T) {
	t.Parallel()
	result := llm.Block{Type: llm.ToolResultBlock}
	for _, tt := range []struct {
		name  string
		block llm.Block
		why   string
	}{
		{"no type", llm.Block{}, `content block: type is ""`},
		{"nested result", llm.Block{Type: llm.ToolResultBlock, Tool: &llm.ToolPart{Content: []llm.Block{result}}}, "cannot be in a tool_result block"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := json.Marshal(tt.block)
			if err == nil || !strings.Contains(err.Error(), tt.why) {
				t.Errorf("error is %v, want one with %q", err, tt.why)
			}
		})
	}
}

func TestBlockJSON_WritesToolBlocksWithoutATool(t *testing.T) {
	t.Parallel()
	for typ, want := range map[llm.BlockType]string{
		llm.ToolUseBlock:    `{"type":"tool_use","id":"","name":"","input":null}`,
		llm.ToolResultBlock: `{"type":"tool_result","tool_use_id":"","content":[]}`,
	} {
		if got, err := json.Marshal(llm.Block{Type: typ}); err != nil || string(got) != want {
			t.Errorf("encoded %s, %v, want %s", got, err, want)
		}
	}
}

// A decoder that descends before it checks the type reads each level again for the level
// above: 5000 levels in 250 KB took 11 seconds.
func TestBlockJSON_DoesNotDescendIntoNestedResults(t *testing.T) {
	t.Parallel()
	const levels = 4000
	deep := strings.Repeat(`{"type":"tool_result","content":[`, levels) + strings.Repeat(`]}`, levels)
	checkRejected[llm.Block](t, deep, `tool_result block: a tool_result block cannot be in a tool_result block`)
}
