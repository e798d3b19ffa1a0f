package provider

import (
	"encoding/json"
	"strings"
	"testing"
)

func repaired(pieces []string, truncated bool) string {
	var a arguments
	var sb strings.Builder
	for _, p := range pieces {
		sb.WriteString(a.add(p))
	}
	sb.WriteString(a.end(truncated))
	return sb.String()
}

func TestArguments_RepairsOnlyWhatIsUnambiguous(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``: ``, `{}`: `{}`, `{"a":1}`: `{"a":1}`, ` {"a": [1, 2]} `: `{"a": [1, 2]}`,
		"{\"a\":\"x\ny\"}": `{"a":"x\ny"}`, `{"a":1,}`: `{"a":1}`, `{"a":[1, ], }`: `{"a":[1]}`, `{"a":1}}`: `{"a":1}`,
		`{"a":["x"`: `{"a":["x"]}`, `{"a":true`: `{"a":true}`, `{"a":{}`: `{"a":{}}`, `{"a":"x",`: `{"a":"x"}`,
		`{"a":1`: `{"a":1`, `{"a":"x`: `{"a":"x`, `{"a":tru`: `{"a":tru`, `{"re":"\d"}`: `{"re":"\\d"}`,
		`"{\"a\":1}"`: `{"a":1}`, `"text"`: `"text"`, `{"a":"}]{[,"}`: `{"a":"}]{[,"}`, `{"a":"\"}"}`: `{"a":"\"}"}`, `[1,2]`: `[1,2]`,
	} {
		for _, pieces := range [][]string{{in}, strings.Split(in, "")} {
			if got := repaired(pieces, false); got != want {
				t.Errorf("%q in %d pieces: %q, want %q", in, len(pieces), got, want)
			}
		}
	}
	if got := repaired([]string{`{"a":["x"`}, true); got != `{"a":["x"` {
		t.Errorf("truncated: %q", got)
	}
}

// Valid JSON objects are never changed, however they are cut.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"c, }"}],"d":"\u00e9\\"}`, `{}`, `{"a" : [ 1 , 2 ] , "b":null}`} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		if !json.Valid([]byte(s)) || !strings.HasPrefix(s, "{") || n < 1 {
			return
		}
		var pieces []string
		for rest := s; rest != ""; {
			k := min(n, len(rest))
			pieces, rest = append(pieces, rest[:k]), rest[k:]
		}
		if got := repaired(pieces, false); got != strings.TrimRight(s, " \t\r\n") {
			t.Errorf("%q became %q", s, got)
		}
	})
}

func BenchmarkArguments(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var a arguments
		a.add(`{"city":"Paris","days":3,"units":"metric"}`)
		a.end(false)
	}
}
