package strict_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/strict"
)

type inner struct {
	Name string `json:"name"`
}

type doc struct {
	ID    string            `json:"id"`
	Count int               `json:"count"`
	Big   uint8             `json:"big"`
	On    bool              `json:"on"`
	Share float64           `json:"share"`
	List  []string          `json:"list"`
	In    inner             `json:"in"`
	Items []inner           `json:"items"`
	Map   map[string]string `json:"map"`
	Picky picky             `json:"picky"`
}

// picky has its own words for what is wrong.
type picky struct{}

func (*picky) UnmarshalJSON([]byte) error { return errors.New("picky is never content") }

// outer embeds a document, as decoders do that add fields to one.
type outer struct {
	doc
	Extra string `json:"extra"`
}

func TestUnmarshal_Decodes(t *testing.T) {
	t.Parallel()
	var d doc
	if err := strict.Unmarshal([]byte(" {\"id\":\"x\",\"count\":3,\"items\":[{\"name\":\"a\"}]}\n"), &d); err != nil {
		t.Fatal(err)
	}
	if d.ID != "x" || d.Count != 3 || len(d.Items) != 1 || d.Items[0].Name != "a" {
		t.Errorf("got %+v", d)
	}
	var raw map[string]json.RawMessage
	if err := strict.Unmarshal([]byte(`{"a":1}`), &raw); err != nil || string(raw["a"]) != "1" {
		t.Errorf("got %s, %v", raw, err)
	}
}

func TestUnmarshal_NamesTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ data, want string }{
		{`{"idd":"x"}`, `unknown field "idd"`},
		{`{"in":{"nam":"x"}}`, `unknown field "nam", did you mean "name"?`},
		{`{"zzzzzz":"x"}`, `unknown field "zzzzzz"`},
		{`{"id":1}`, `field "id" is a JSON number, want a string`},
		{`{"count":"many"}`, `field "count" is a JSON string, want a whole number`},
		{`{"count":1.5}`, `field "count" is a JSON number 1.5, want a whole number`},
		{`{"big":300}`, `field "big" is a JSON number 300, want a whole number`},
		{`{"on":"yes"}`, `field "on" is a JSON string, want true or false`},
		{`{"share":[]}`, `field "share" is a JSON array, want a number`},
		{`{"list":"a"}`, `field "list" is a JSON string, want an array`},
		{`{"list":[1]}`, `field "list" is a JSON number, want a string`},
		{`{"in":7}`, `field "in" is a JSON number, want an object`},
		{`{"in":{"name":true}}`, `field "in.name" is a JSON bool, want a string`},
		{`{"map":[]}`, `field "map" is a JSON array, want an object`},
		{`[]`, `found a JSON array, want an object`},
		{`{"picky":1}`, `picky is never content`},
		{`{"id":"x"`, `not JSON: unexpected end`},
		{``, `not JSON: unexpected end`},
		{`{'id':1}`, `not JSON: `},
		{`{"id":"x"} {}`, `not JSON: unexpected data after the JSON value`},
		{`{"id":"x"}}`, `not JSON: unexpected data after the JSON value`},
	} {
		var d doc
		err := strict.Unmarshal([]byte(tt.data), &d)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want %s", tt.data, err, tt.want)
		}
	}
}

func TestUnmarshal_KeepsGoNamesOutOfItsErrors(t *testing.T) {
	t.Parallel()
	var o outer
	err := strict.Unmarshal([]byte(`{"count":"many"}`), &o)
	if want := `field "count" is a JSON string, want a whole number`; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	err = strict.Unmarshal([]byte(`{"in":{"name":true}}`), &o)
	if want := `field "in.name" is a JSON bool, want a string`; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func TestUnmarshal_NamesTheTimeThatIsNone(t *testing.T) {
	type inner struct {
		At *time.Time `json:"at"`
	}
	type outer struct {
		inner
		From time.Time          `json:"from"`
		List []time.Time        `json:"list"`
		Map  map[string][]inner `json:"map"`
	}
	const want = `, want a time such as "2026-01-02T15:04:05Z"`
	for doc, problem := range map[string]string{
		`{"at":"tomorrow"}`:                                 `field "at" is "tomorrow"` + want,
		`{"at":""}`:                                         `field "at" is ""` + want,
		`{"from":1700000000}`:                               `field "from" is 1700000000` + want,
		`{"from":{"a":[1]}}`:                                `field "from" is {"a":[1]}` + want,
		`{"from":"2026-01-02"}`:                             `field "from" is "2026-01-02"` + want,
		`{"list":["2026-01-02T15:04:05Z",true]}`:            `field "list[1]" is true` + want,
		`{"map":{"a":[{"at":"x"}]}}`:                        `field "map.a[0].at" is "x"` + want,
		`{"from":"` + strings.Repeat("9", 1000) + `"}`:      `field "from" is "` + strings.Repeat("9", 79) + want,
		`{"at":null,"from":"2026-01-02T15:04:05.5+01:00"}`:  "",
		`{"from":null,"list":[],"map":{"a":[{"at":null}]}}`: "",
	} {
		err := strict.Unmarshal([]byte(doc), new(outer))
		if got := fmt.Sprint(err); err == nil && problem != "" || err != nil && got != problem {
			t.Errorf("%s: got %v, want %q", doc, err, problem)
		}
	}
	if err := strict.Unmarshal([]byte(`{"at":"x"`), new(outer)); err == nil || !strings.Contains(err.Error(), "not JSON") {
		t.Errorf("a document that is cut off: %v", err)
	}
}

func TestUnmarshal_TakesNamesExactlyAndOnce(t *testing.T) {
	type inner struct {
		N int `json:"n"`
	}
	type outer struct {
		inner
		ID    string            `json:"id"`
		List  []inner           `json:"list"`
		Map   map[string]*inner `json:"map"`
		Any   any               `json:"any"`
		Plain int
	}
	for doc, want := range map[string]string{
		`{"ID":"x"}`:                            `unknown field "ID", did you mean "id"?`,
		`{"id":"x","id":"y"}`:                   `field "id" appears twice`,
		`{"list":[{"n":1},{"N":2}]}`:            `unknown field "N", did you mean "n"?`,
		`{"list":[{"n":1,"n":2}]}`:              `field "list[0].n" appears twice`,
		`{"map":{"a":{"n":1},"a":{"n":2}}}`:     `field "map.a" appears twice`,
		`{"map":{"a":{"N":1}}}`:                 `unknown field "N", did you mean "n"?`,
		`{"any":{"x":1,"x":2}}`:                 `field "any.x" appears twice`,
		`{"N":1}`:                               `unknown field "N", did you mean "n"?`,
		`{"n":1,"id":"a","Plain":3,"map":null}`: "",
	} {
		var v outer
		err := strict.Unmarshal([]byte(doc), &v)
		if got := fmt.Sprint(err); err == nil && want != "" || err != nil && got != want {
			t.Errorf("%s: got %v, want %q", doc, err, want)
		}
	}
}

func TestUnmarshalBody_ReportsTheWorstMistakeFirst(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		data, want string
		malformed  bool
	}{
		{`{"idd":"x"`, `not JSON: unexpected end`, true},
		{`{"id":"x","id":"y",}`, `not JSON: invalid character '}' looking for beginning of object key string`, true},
		{`{"idd":"x"} {}`, `not JSON: unexpected data after the JSON value`, true},
		{"{\"idd\":\"\xff\"}", `not UTF-8`, true},
		{"{\"id\":\xff}", `not UTF-8`, true},
		{`{"idd":"x","map":` + strings.Repeat("[", 5) + strings.Repeat("]", 5) + `}`, `nested deeper than 4 levels`, true},
		{strings.Repeat("[", 100_000), `nested deeper than 10000 levels`, true},
		{`{"idd":"x","id":1}`, `unknown field "idd", did you mean "id"?`, false},
	} {
		var d doc
		err := strict.UnmarshalBody([]byte(tt.data), 4, &d)
		if _, malformed := errors.AsType[*strict.Malformed](err); malformed != tt.malformed || fmt.Sprint(err) != tt.want {
			t.Errorf("%.40s: error is %v, malformed %t, want %s", tt.data, err, malformed, tt.want)
		}
	}
}

func TestUnmarshalBody_LimitsDepthWithoutALimit(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{-1, 0, 1 << 30} {
		var v any
		if err := strict.UnmarshalBody([]byte(strings.Repeat("[", 9000)+strings.Repeat("]", 9000)), depth, &v); err != nil {
			t.Error(err)
		}
		if err := strict.UnmarshalBody([]byte(strings.Repeat("[", 11000)+strings.Repeat("]", 11000)), depth, &v); err == nil || err.Error() != "nested deeper than 10000 levels" {
			t.Errorf("error is %v", err)
		}
	}
}

func TestUnmarshalKnown_IgnoresUnknownFields(t *testing.T) {
	t.Parallel()
	var o outer
	if err := strict.UnmarshalKnown([]byte(`{"extra":"x","more":1}`), &o); err != nil || o.Extra != "x" {
		t.Errorf("got %+v, %v", o, err)
	}
	err := strict.UnmarshalKnown([]byte(`{"count":"many","more":1}`), &o)
	if want := `field "count" is a JSON string, want a whole number`; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}
