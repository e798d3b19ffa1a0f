package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// tower is a schema of a few kilobytes whose references stand for width^height subschemas.
func tower(width, height int) string {
	var sb strings.Builder
	sb.WriteString(`{"$ref":"#/$defs/l0","$defs":{`)
	for i := range height {
		fmt.Fprintf(&sb, `"l%d":{"allOf":[`, i)
		for j := range width {
			if j > 0 {
				sb.WriteByte(',')
			}
			fmt.Fprintf(&sb, `{"$ref":"#/$defs/l%d"}`, i+1)
		}
		sb.WriteString(`]},`)
	}
	fmt.Fprintf(&sb, `"l%d":{"type":"object"}}}`, height)
	return sb.String()
}

// doubling is a recursive schema: each level of a document doubles the work.
const doubling = `{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`

func TestCheck_FailsWhenValidationTakesTooManySteps(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)
	for _, tt := range []struct{ name, schema, doc string }{
		{"references", tower(10, 15), `{}`},
		{"recursion", doubling, deep},
		{"patterns", `{"additionalProperties":{"$ref":"#/$defs/t"},"$defs":{"t":{"anyOf":[` + strings.Repeat(`{"enum":[`+strings.TrimSuffix(strings.Repeat(`1,`, 2000), ",")+`]},`, 50) + `{}]}}}`,
			`{"a":1,"b":2,"c":3}`},
	} {
		s := mustCompile(t, tt.schema)
		start := time.Now()
		err := s.Check([]byte(tt.doc))
		if err == nil || !strings.Contains(err.Error(), "too complex") {
			t.Errorf("%s: %v, want an error: too complex", tt.name, err)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s: took %s", tt.name, took)
		}
	}
	// A large document is no mistake.
	s := mustCompile(t, `{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer","minimum":0},"b":{"type":"string","minLength":1}},"required":["a"]}}`)
	if err := s.Check([]byte("[" + strings.TrimSuffix(strings.Repeat(`{"a":1,"b":"x"},`, 50_000), ",") + "]")); err != nil {
		t.Error(err)
	}
}

func TestBounds_RefuseExpensiveSchemas(t *testing.T) {
	t.Parallel()
	many := `{"properties":{`
	for i := range 2000 {
		many += fmt.Sprintf(`"p%d":{},`, i)
	}
	many = strings.TrimSuffix(many, ",") + `}}`
	for _, tt := range []struct{ schema, want string }{
		{`{"type":"object","description":"` + strings.Repeat("x", 10_000) + `"}`, "want at most 10000 in a request"},
		{many, "want at most 1000 in a request"},
		{tower(10, 15), "references repeat subschemas too often: want at most 10000"},
		{`{"pattern":"` + strings.Repeat("x{1000}", 6) + `"}`, "want at most 10000"},
		{`{"allOf":[` + strings.TrimSuffix(strings.Repeat(`{"pattern":"x{1000}"},`, 60), ",") + `]}`, "patterns are too complex"},
		{`{"patternProperties":{"(x{1000}){900}":{}}}`, ""},
		{`{"$dynamicRef":"#a","$defs":{"a":{"$dynamicAnchor":"a"}}}`, "$dynamicRef, want $ref"},
		{`{"type":"nothing"}`, "schema"},
		{`{`, "not JSON"},
	} {
		b := Bounds{Bytes: 10_000, Parts: 1000}
		if tt.schema == many {
			b.Bytes = 0
		}
		start := time.Now()
		_, err := b.Compile(json.RawMessage(tt.schema))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.60s: %v, want an error with %q", tt.schema, err, tt.want)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%.60s: took %s", tt.schema, took)
		}
	}
}

func TestBounds_AreForAllSchemasTogether(t *testing.T) {
	t.Parallel()
	b := Bounds{Bytes: 1000, Parts: 10}
	raw := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`) // three objects
	for range 3 {
		if _, err := b.Compile(raw); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Compile(raw); err == nil {
		t.Error("a fourth schema with three objects is accepted, want at most ten in all")
	}
	open := Bounds{Bytes: -1, Parts: -1}
	if _, err := open.Compile(json.RawMessage(tower(10, 15))); err != nil {
		t.Errorf("without bounds: %v", err)
	}
}

// FuzzMeter checks that the meter counts no fewer values than a validation that succeeds must
// look at, and that a small budget always suffices to stop.
func FuzzMeter(f *testing.F) {
	f.Add(doubling, `{"a":{"a":{}}}`)
	f.Add(tower(3, 4), `{}`)
	f.Add(plainDoc, `{"s":"x"}`)
	f.Add(`{"$ref":"#"}`, `1`)
	f.Add(`{"items":[{"$ref":"#"}],"$schema":"http://json-schema.org/draft-07/schema#"}`, `[[1]]`)
	f.Fuzz(func(t *testing.T, raw, doc string) {
		b := Bounds{Bytes: 4096, Parts: 100}
		s, err := b.Compile(json.RawMessage(raw))
		if err != nil {
			return
		}
		start := time.Now()
		_ = s.Check([]byte(doc))
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("schema %s, document %s: took %s", raw, doc, took)
		}
	})
}
