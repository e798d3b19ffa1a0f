package appendjson

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

var texts = []string{"", "plain", `"\/`, "a\x00\x1f\b\f\n\r\t\x7f", "<b>&amp;</b>", "Grüße, 世界 🙂", "\u2028 and \u2029", "\xff\xe2\x80", "\xed\xa0\x80", "\ufffd",
	strings.Repeat("long text ", 100) + "<"}

func FuzzString(f *testing.F) {
	for _, s := range texts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := String([]byte("x"), s); string(got[1:]) != string(want) {
			t.Errorf("%q is written as %s, want %s", s, got[1:], want)
		}
	})
}

func FuzzRaw(f *testing.F) {
	for _, s := range []string{``, ` `, `null`, ` true `, `false`, `nul`, `truefalse`, `0`, `-0`, `01`, `-`, `1.`, `.5`, `1.5e+10`, `1E-3`, `1e`, `123456789012345678901234567890`,
		`""`, `"`, `"\"`, `"\u00e4\ud800"`, `"\u00g4"`, `"\x"`, "\"\n\"", "\"\u2028<&>\u2029\"", "\"\xe2\x80\xa8\xe2\x80\xff\"", "\"\xff\"", "\u2028", `<`,
		`{}`, `{ }`, `[ ]`, ` { "a" : [ 1 , 2 , { "b" : null } ] } `, `{"a":1,}`, `[1,]`, `[,1]`, `{a:1}`, `{"a"}`, `{"a" 1}`, `[1 2]`, `[`, `{`, `]`, `[}`, `{]`, `1 2`,
		"\ufeff{}", "{\"a\":1}\x00", strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth), strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1),
		strings.Repeat(`{"a":`, 50), strings.Repeat("[", 10001) + strings.Repeat("]", 10001)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		want, wantErr := json.Marshal(json.RawMessage(raw))
		got, err := Raw([]byte("x"), "", raw)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%q: %v, want %v", raw, err, wantErr)
		}
		if string(got) != "x"+string(want) {
			t.Errorf("%q is written as %s, want x%s", raw, got, want)
		}
		// Valid JSON that is not nested too deeply must not need the fallback.
		_, fast := compact(nil, raw)
		if fast && wantErr != nil || !fast && wantErr == nil && bytes.Count(raw, []byte("["))+bytes.Count(raw, []byte("{")) <= maxDepth {
			t.Errorf("%q: compact says %v", raw, fast)
		}
	})
}

func FuzzFloat(f *testing.F) {
	for _, n := range []float64{0, math.Copysign(0, -1), 1, 0.1, 1e-6, 9.99e-7, -1e-9, 1e20, 1e21, 1.7976931348623157e308, math.NaN(), math.Inf(-1)} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n float64) {
		want, wantErr := json.Marshal(struct {
			N float64 `json:"n,omitempty"`
		}{n})
		buf, err := FloatIf(nil, `,"n":`, n)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%v: %v, want %v", n, err, wantErr)
		}
		if got := Close(buf, 0); err == nil && string(got) != string(want) {
			t.Errorf("%v is written as %s, want %s", n, got, want)
		}
	})
}

func TestClose_WritesTheAppendedFields(t *testing.T) {
	type wire struct {
		A string `json:"a,omitempty"`
		B int    `json:"b,omitempty"`
		C bool   `json:"c,omitempty"`
		D string `json:"d"`
		E uint64 `json:"e"`
	}
	for _, w := range []wire{{}, {A: "x"}, {B: -1, E: math.MaxUint64}, {C: true}, {"x", 2, true, "y", 3}} {
		want, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		buf := []byte("[")
		buf = TextIf(buf, `,"a":`, w.A)
		buf = IntIf(buf, `,"b":`, w.B)
		buf = TrueIf(buf, `,"c":`, w.C)
		buf = Text(buf, `,"d":`, w.D)
		buf = Uint(buf, `,"e":`, w.E)
		if got := Close(buf, 1); string(got) != "["+string(want) {
			t.Errorf("got %s, want [%s", got, want)
		}
	}
	if got := Close([]byte("["), 1); string(got) != "[{}" {
		t.Errorf("nothing is written as %s", got)
	}
}

func BenchmarkRaw(b *testing.B) {
	doc := json.RawMessage(`{"a":12.5,"b":"` + strings.Repeat("some text, ", 20) + `","list":[1,2,3,{"deep":null}],"city":"Genève"}`)
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			if _, err := json.Marshal(doc); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(doc)))
		buf := make([]byte, 0, 1024)
		for b.Loop() {
			if _, err := Raw(buf, "", doc); err != nil {
				b.Fatal(err)
			}
		}
	})
}
