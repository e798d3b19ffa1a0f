package llm

import (
	"encoding/json"
	"strings"
	"testing"
)

// JSON that means the same has the same digest, however it is written, and other JSON has another one.
func TestDigest_OfJSON(t *testing.T) {
	sum := func(text string) uint64 {
		if !json.Valid([]byte(text)) {
			t.Fatalf("%s is not JSON", text)
		}
		var d digester
		d.json(json.RawMessage(text))
		return d.sum
	}
	same := [][]string{
		{`{"a":[1,2],"b":"x y"}`, "{ \"a\" : [ 1 ,\n\t2 ], \"b\": \"x y\" }\r\n"},
		{`"<a>&b"`, `"\u003ca\u003E\u0026b"`},
		{`"a/b"`, `"a\/b"`},
		{`"a\nb\t\u0001"`, `"a\u000ab\u0009\u0001"`},
		{`"a\"b\\"`, `"a\u0022b\u005c"`},
		{`"😀é"`, `"\ud83d\ude00\u00e9"`},
		{"\"\ufffd\"", `"\ud800"`},
	}
	seen := map[uint64]string{}
	for _, list := range same {
		for _, text := range list {
			if sum(text) != sum(list[0]) {
				t.Errorf("%s and %s have different digests", list[0], text)
			}
		}
		seen[sum(list[0])] = list[0]
	}
	for _, text := range []string{`["a","b"]`, `["a\",\"b"]`, `["a,b"]`, `["ab"]`, `["a b"]`, `["a\\b"]`, `["a\nb"]`, `["anb"]`, `[1,2]`, `[12]`, `[1.0]`, `""`, `" "`, `{}`, `[]`, `"\\u0041"`, `"A"`,
		`"` + strings.Repeat("x", 7) + `"`, `"` + strings.Repeat("x", 8) + `"`, `"` + strings.Repeat("x", 9) + `"`} {
		if other, ok := seen[sum(text)]; ok {
			t.Errorf("%s and %s have the same digest", text, other)
		}
		seen[sum(text)] = text
	}
}

// A request is digested without an allocation but that of the result.
func TestBudget_DigestTakesOneAllocation(t *testing.T) {
	r := &Request{Model: "m", System: []Block{Text("Be good.")}, Tools: []Tool{{Name: "t", Description: "does it", Parameters: json.RawMessage(`{"type": "object"}`)}},
		Messages: NewMessages(UserText("hello"), &Message{Role: Assistant, ToolCalls: []ToolCall{{ID: "c", Name: "t", Arguments: json.RawMessage(`{"a": "\u003cb"}`)}}})}
	if n := testing.AllocsPerRun(100, func() { _ = r.Digest(nil) }); n > 1 {
		t.Errorf("%v allocations, want 1", n)
	}
}

func FuzzDigest_JSON(f *testing.F) {
	for _, text := range []string{`{"a":"\u00e9"}`, `"\ud83d\ude00"`, `[1, 2]`, `"\`, `"\u12`, ``} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var d digester
		d.json(data)
		var value json.RawMessage
		if json.Unmarshal(data, &value) != nil {
			return
		}
		compact, err := json.Marshal(value) // without white space, and with < > & escaped
		if err != nil {
			return
		}
		var again digester
		again.json(compact)
		if d.sum != again.sum {
			t.Errorf("%q and %q have different digests", data, compact)
		}
	})
}
