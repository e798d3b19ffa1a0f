package strict_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/awaken-go/awaken/internal/strict"
)

// FuzzUnmarshal compares the scanner with encoding/json, which has a parser of its own.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `[1,-2.5e3,null,true,"x"]`, `{"id":"x","count":3,"items":[{"name":"a"},{"name":"b"}]}`, `{"id":1,"id":2}`, `{"i\u0064":"x"}`, `{"id":"x","i\u0064":"y"}`,
		`{"a":{"b":{"b":1}}}`, `{"a":{"b":1,"b":2}}`, `{"a":1,}`, `{"a" 1}`, `[1 2]`, `[,]`, `{"a":}`, `"\"`, `"\x"`, "\"\xff\"", "{\"\xff\":1,\"\xfe\":2}", `{} {}`, "{}\x00", "\x00",
		`[[[[[]]]]]`, `[[[[]]]]`, `{"map":{"a":"b","a":"c"}}`, `{"ID":"x"}`, string(conversationOf(1)),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const depth = 4
		var got, want any
		err := strict.UnmarshalBody(data, depth, &got)
		_, malformed := errors.AsType[*strict.Malformed](err)
		deepest, repeats := structure(data)
		switch {
		case !json.Valid(data) || !utf8.Valid(data) || deepest > depth:
			if !malformed {
				t.Fatalf("error is %v, want a malformed body", err)
			}
		case repeats:
			if err == nil || malformed || !strings.Contains(err.Error(), "appears twice") {
				t.Fatalf("error is %v, want a field that appears twice", err)
			}
		default:
			if jsonErr := json.Unmarshal(data, &want); (err == nil) != (jsonErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, %v, want %v, %v", got, err, want, jsonErr)
			}
		}
		var typed, plain doc
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		jsonErr := dec.Decode(&plain)
		if err := strict.Unmarshal(data, &typed); err == nil && (jsonErr != nil || !reflect.DeepEqual(typed, plain)) {
			t.Fatalf("got %+v, want %+v, %v", typed, plain, jsonErr)
		}
	})
}

// structure reads the tokens of a document. It returns the deepest nesting and whether a name
// appears twice in an object.
func structure(data []byte) (deepest int, repeats bool) {
	type object struct {
		names map[string]bool // nil for an array
		value bool            // whether a value comes next
	}
	var open []object
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		tok, err := dec.Token()
		if err == io.EOF || err != nil {
			return deepest, repeats
		}
		if tok == json.Delim('}') || tok == json.Delim(']') {
			open = open[:len(open)-1]
			continue
		}
		if n := len(open); n > 0 && open[n-1].names != nil {
			in := &open[n-1]
			if name, ok := tok.(string); ok && !in.value {
				repeats = repeats || in.names[name]
				in.names[name] = true
			}
			in.value = !in.value
		}
		switch tok {
		case json.Delim('{'):
			open = append(open, object{names: map[string]bool{}})
		case json.Delim('['):
			open = append(open, object{})
		}
		deepest = max(deepest, len(open))
	}
}
