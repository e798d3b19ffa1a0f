package messagelog

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/llm"
)

func pointer[T any](v T) *T { return &v }

// samples are messages with every field there is.
var samples = []*llm.Message{
	{Role: llm.User, Content: []llm.Block{llm.Text("What is the weather?")}},
	{ID: "m", Role: llm.System, Content: []llm.Block{llm.Text("")}, Metadata: &llm.Metadata{}},
	{ID: "m", Role: llm.Assistant},
	{ID: `"\`, Role: llm.Assistant, Content: []llm.Block{llm.Text("line\nline\t<b>&amp;</b> \u2028 Zürich 🐟 \x00 \x7f /"), llm.Thinking("hm", &llm.Opaque{Provider: "p", Signature: "s", Data: json.RawMessage(`{"a":["}",{"b":"\"]"}]}`)})}},
	{ID: "m", Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "a", Name: "n", Arguments: json.RawMessage(`{"x":"<\\>","y":1.50,"z":[null,true]}`)}, {ID: "b", Name: "n"}, {Arguments: json.RawMessage(`[]`), Opaque: &llm.Opaque{}}}, Opaque: &llm.Opaque{Provider: "p"}},
	{ID: "m", Role: llm.ToolRole, ToolCallID: "a", Visibility: llm.Internal, Content: []llm.Block{llm.Text("a"), llm.Text("b")}},
	{ID: "m", Role: llm.User, Content: []llm.Block{llm.Image(llm.Blob("0af", "image/png", 123456789012)), llm.Document(llm.Blob("0af", "text/plain", 0), "t")}},
	{ID: "m", Role: llm.User, Content: []llm.Block{llm.Image(llm.URL("https://example.com/?a=b&c")), llm.Document(llm.Base64("application/pdf", "JVBERi0="), "a \"b\".pdf"), {Type: llm.AudioBlock, Source: llm.URL("u")}, {Type: llm.VideoBlock, Source: llm.URL("u"), Title: "t", Opaque: &llm.Opaque{Provider: "p"}}}},
	{ID: "m", Role: llm.User, Content: []llm.Block{{Type: llm.ToolUseBlock, Tool: &llm.ToolPart{ID: "a", Name: "n", Input: json.RawMessage(`{}`)}}, {Type: llm.ToolUseBlock, Tool: &llm.ToolPart{ID: "b"}}, {Type: llm.ToolResultBlock, Tool: &llm.ToolPart{ID: "a", Content: []llm.Block{llm.Text("x"), llm.Image(llm.URL("u"))}}}, {Type: llm.ToolResultBlock, Tool: &llm.ToolPart{}}, llm.Text("after")}},
	{ID: "m", Role: llm.System, Metadata: &llm.Metadata{RunID: "r", StepIndex: pointer(0), SenderAgentID: "a", Compaction: &llm.Interval{FromSeq: 1, ToSeq: 20}, Rewind: &llm.Rewind{FromSeq: 3}, Interrupted: true, Finish: llm.MaxTokens, ClientRole: llm.System, Client: json.RawMessage(`{"parts":[1]}`),
		Arrival: &llm.Arrival{Steps: 2, Point: llm.DuringCalls, After: "c", Resumed: true}}},
	{ID: "m", Role: llm.User, Metadata: &llm.Metadata{StepIndex: pointer(123)}},
	{ID: "m", Role: llm.User, Metadata: &llm.Metadata{Rewind: &llm.Rewind{}}},
	{ID: "m", Role: llm.User, Metadata: &llm.Metadata{Client: json.RawMessage(`[]`)}},
}

func encode(t testing.TB, m *llm.Message) []byte {
	t.Helper()
	data, err := m.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What a store wrote is decoded without the help of json.Unmarshal, and to the same messages.
func TestDecoder_DecodesEverythingThatIsWritten(t *testing.T) {
	var d Decoder
	var all []string
	for _, m := range samples {
		data := encode(t, m)
		all = append(all, string(data))
		want := new(llm.Message)
		if err := json.Unmarshal(data, want); err != nil {
			t.Fatal(err)
		}
		p := d.parse(string(data))
		got := p.message()
		if got == nil || p.at != len(data) {
			t.Errorf("stops at %d of %s", p.at, data)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" || !reflect.DeepEqual(want, got) {
			t.Errorf("%s (-want +got):\n%s", data, diff)
		}
	}
	data := []byte("[" + strings.Join(all, ",") + "]")
	var want []*llm.Message
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if got, ok := d.array(string(data)); !ok || !reflect.DeepEqual(want, got) {
		t.Errorf("an array: %t (-want +got):\n%s", ok, cmp.Diff(want, got))
	}
}

func FuzzDecoder(f *testing.F) {
	for _, m := range samples {
		f.Add(encode(f, m))
	}
	for _, s := range []string{``, `{}`, `null`, `{"role":"user","content":"text"}`, `{"role":"user","content":[],"metadata":{"step_index":01}}`, `{"role":"user","content":[],"metadata":{,}}`,
		`{"role":"user","content":[],"metadata":{"interrupted":true,"run_id":"r"}}`, `{"role":"user","content":[{"type":"text","text":"\ud83d\udc1f\u00e9\/"}]}`, `{"role":"user","content":[{"type":"image","source":{"type":"url"}}]}`,
		`{"role":"assistant","content":[],"tool_calls":[{"id":"a","name":"b","arguments":{"a":1,"a":2}}]}`, `{"role":"assistant","content":[],"tool_calls":[{"id":"a","name":"b","arguments":[}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_result","tool_use_id":"b","content":[]}]}]}`, `{"role":"user","content":[],"metadata":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var d Decoder
		p := d.parse(string(data))
		got := p.message()
		if got == nil || p.at != len(data) {
			return
		}
		want := new(llm.Message)
		if err := json.Unmarshal(data, want); err != nil || !reflect.DeepEqual(want, got) {
			t.Errorf("%s: json.Unmarshal: %v (-want +got):\n%s", data, err, cmp.Diff(want, got))
		}
	})
}

func TestDecoder_LeavesTheRestToTheStrictDecoder(t *testing.T) {
	var d Decoder
	for _, s := range []string{`{"role":"user","content":"text"}`, ` {"content":[{"text":"\ud83d\udc1f","type":"text"}],"role":"user"}`} {
		want := new(llm.Message)
		if err := json.Unmarshal([]byte(s), want); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Message(s); err != nil || !reflect.DeepEqual(want, got) {
			t.Errorf("%s: %v, %v", s, got, err)
		}
		if got, err := d.Messages("[" + s + "]"); err != nil || !reflect.DeepEqual([]*llm.Message{want}, got) {
			t.Errorf("[%s]: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{`{"role":"friend","content":[]}`, `{"role":"user","content":[]`, `{"role":"user","content":[],"metadata":{"finish_reason":"x"}}`} {
		if m, err := d.Message(s); err == nil {
			t.Errorf("%s is decoded to %v", s, m)
		}
		if m, err := d.Messages("[" + s + "]"); err == nil {
			t.Errorf("[%s] is decoded to %v", s, m)
		}
	}
}

func TestDecoder_AllocatesAFewTimesForAMessage(t *testing.T) {
	row := func(i int) string {
		step := i
		data, err := json.Marshal([]*llm.Message{
			{ID: fmt.Sprint("q", i), Role: llm.User, Content: []llm.Block{llm.Text("What is the weather in the town where I was born?")}},
			{ID: fmt.Sprint("a", i), Role: llm.Assistant, Content: []llm.Block{llm.Text("It rains, as it did yesterday, and as it will do tomorrow.")}, Metadata: &llm.Metadata{RunID: "run", StepIndex: &step}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var rows []string
	for i := range 500 {
		rows = append(rows, row(i))
	}
	allocs := testing.AllocsPerRun(5, func() {
		d := Decoder{Expect: 1000}
		for _, data := range rows {
			if _, err := d.Messages(data); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Logf("%.2f allocations for each message", allocs/1000)
	if allocs > 50 {
		t.Errorf("1,000 messages take %v allocations", allocs)
	}
}

func BenchmarkDecoder(b *testing.B) {
	data := []byte("[")
	for i := range 1000 {
		data = append(data, encode(b, samples[i%len(samples)])...)
		data = append(data, ",]"[min(i/999, 1)])
	}
	text := string(data)
	b.Run("trusting", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			d := Decoder{Expect: 1000}
			if _, ok := d.array(text); !ok {
				b.Fatal()
			}
		}
	})
	b.Run("strict", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			var list []*llm.Message
			if err := json.Unmarshal(data, &list); err != nil {
				b.Fatal(err)
			}
		}
	})
}
