package schema

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

// slow checks a document without the fast path.
func slow(t testing.TB, s *Schema, data []byte) error {
	t.Helper()
	v, err := validator.UnmarshalJSON(bytes.NewReader(data))
	if err != nil || outOfRange(data) != "" && len(data) > 100 {
		return err
	}
	return s.s.Validate(v)
}

func mustCompile(t testing.TB, raw string) *Schema {
	t.Helper()
	s, err := Compile(json.RawMessage(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return s
}

const plainDoc = `{"type":"object","properties":{"s":{"type":"string"},"n":{"type":"number"},"i":{"type":"integer"},"b":{"type":"boolean","description":"x"}},"required":["s"]}`

// The fast path is worth its code only if ordinary arguments take it.
func TestFastPath_AcceptsOrdinaryArguments(t *testing.T) {
	t.Parallel()
	closed := strings.TrimSuffix(plainDoc, "}") + `,"additionalProperties":{"not":{}}}`
	for _, raw := range []string{plainDoc, closed} {
		s := mustCompile(t, raw)
		if s.fast == nil {
			t.Fatalf("%s has no fast path", raw)
		}
		for _, doc := range []string{
			`{"s":"x"}`, ` { "s" : "a \" quote" , "n" : -1.5e3 , "i" : 0 , "b" : false } `, `{"i":12,"s":""}`, `{"s":"né"}`,
		} {
			if !s.fast.ok([]byte(doc)) {
				t.Errorf("%s does not take the fast path of %s", doc, raw)
			}
		}
	}
}

func TestFastPath_IsOffForUnsupportedSchemas(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"type":"object","minProperties":1}`,
		`{"type":"object","properties":{"a":{"type":"string","minLength":1}}}`,
		`{"type":"object","properties":{"a":{"type":["string","null"]}}}`,
		`{"type":"object","properties":{"a":{"type":"array"}}}`,
		`{"type":"object","properties":{"a":{"enum":["x"],"type":"string"}}}`,
		`{"type":"object","properties":{"a":true}}`,
		`{"type":"object","required":["a"]}`,
		`{"type":"object","additionalProperties":{"type":"string"}}`,
		`{"type":"object","patternProperties":{"a":{"type":"string"}}}`,
		`{"type":"object","if":{"required":["a"]},"then":false}`,
		`{"type":["object","null"]}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"Properties":{"a":{"type":"number"}}}`,
		`{"properties":{}}`,
		`true`,
	} {
		if mustCompile(t, raw).fast != nil {
			t.Errorf("%s has a fast path", raw)
		}
	}
}

func TestFastPath_NeverAcceptsInvalidDocuments(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, plainDoc)
	c := mustCompile(t, strings.TrimSuffix(plainDoc, "}")+`,"additionalProperties":false}`)
	odd := mustCompile(t, `{"type":"object","properties":{"\ufffd":{"type":"boolean"}}}`)
	for _, doc := range []string{
		``, `{`, `[]`, `null`, `{}`, `{"s":1}`, `{"s":null}`, `{"s":"x","i":1.5}`, `{"s":"x","i":"1"}`, `{"s":"x","i":1e2}`, `{"s":"x","n":"1"}`,
		`{"s":"x","b":0}`, `{"s":"x","b":"true"}`, `{"s":"x","x":{}}`, `{"s":"x","x":[1]}`, `{"s":"x","x":null}`, `{"\u0073":1}`, `{"s":"x","s":1}`,
		`{"s":1,"s":"x"}`, `{"s":"x"}{}`, `{"s":"x"} x`, "{\"s\":\"\xff\"}", "{\"s\":\"x\",\"\xff\":1}", `{"s":"x","n":1e400}`, "\ufeff" + `{"s":"x"}`,
	} {
		for _, sch := range []*Schema{s, c, odd} {
			if sch.fast == nil {
				t.Fatal("no fast path")
			}
			if sch.fast.ok([]byte(doc)) {
				if err := slow(t, sch, []byte(doc)); err != nil {
					t.Errorf("%q: the fast path accepts it, the validator says %v", doc, err)
				}
			}
		}
	}
}

// schemaFrom derives a supported schema from bytes, so that the fuzzer reaches many.
func schemaFrom(shape []byte) string {
	names := []string{"a", "b", "name", "é", "", "\ufffd", "x y", `q"q`, "s", "i"}
	types := []string{"string", "number", "integer", "boolean"}
	props, required := map[string]any{}, []string{}
	open := true
	for _, c := range shape {
		name := names[int(c>>2)%len(names)]
		if c >= 0xf0 {
			open = false
			continue
		}
		props[name] = map[string]any{"type": types[c&3]}
		if c&0x40 != 0 {
			required = append(required, name)
		}
	}
	doc := map[string]any{"type": "object", "properties": props, "additionalProperties": open}
	if len(required) > 0 {
		seen := map[string]bool{}
		var uniq []string
		for _, r := range required {
			if !seen[r] {
				seen[r] = true
				uniq = append(uniq, r)
			}
		}
		doc["required"] = uniq
	}
	data, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// FuzzFastPath checks the promise of the fast path: the full validator accepts what it
// accepts.
func FuzzFastPath(f *testing.F) {
	for _, doc := range []string{
		`{"a":"x","b":1,"name":true,"i":7}`, `{"é":"x","":1}`, "{\"\xff\":1}", `{"a":"\ud800"}`, `{"a":1,"a":"x"}`, `{"x y":-0.0e-0}`, ` {"a" :1 , "zz":"y"} `, `{"q\"q":1}`,
	} {
		f.Add([]byte{0x41, 0x06, 0x0b, 0x15}, []byte(doc))
		f.Add([]byte{0x00, 0x44, 0xf0}, []byte(doc))
	}
	compiled := map[string]*Schema{}
	f.Fuzz(func(t *testing.T, shape, doc []byte) {
		if len(shape) > 12 {
			shape = shape[:12]
		}
		raw := schemaFrom(shape)
		s := compiled[raw]
		if s == nil {
			s = mustCompile(t, raw)
			if s.fast == nil {
				t.Fatalf("%s has no fast path", raw)
			}
			if len(compiled) < 10_000 {
				compiled[raw] = s
			}
		}
		full := slow(t, s, doc)
		if s.fast.ok(doc) && full != nil {
			t.Errorf("schema %s, document %q: the fast path accepts it, the validator says %v", raw, doc, full)
		}
		if err := s.Check(doc); (err == nil) != (full == nil) && !(err != nil && strings.HasSuffix(err.Error(), "is out of range")) {
			t.Errorf("schema %s, document %q: Check says %v, the validator %v", raw, doc, err, full)
		}
	})
}
