package server

import (
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/protocol"
)

// Query has the parameters in the query of a request.
type Query struct {
	values url.Values
	raw    string           // as it was sent
	params []protocol.Param // that the route has
}

// queryOf reads the query of a request to a route, and checks its parameters against their kinds.
func queryOf(r *http.Request, route *protocol.Route) (Query, error) {
	q := Query{r.URL.Query(), r.URL.RawQuery, route.Query}
	for _, p := range q.params {
		if err := checkParam(p, q.values.Get(p.Name)); err != nil {
			return Query{}, err
		}
	}
	return q, nil
}

// Values returns all parameters.
func (q Query) Values() url.Values { return q.values }

// Value returns a query parameter that has several names, or "".
func (q Query) Value(names ...string) string {
	for _, n := range names {
		if q.values.Has(n) {
			return strings.TrimSpace(q.values.Get(n))
		}
	}
	return ""
}

// Number returns an integer parameter of the route, clamped to the range from low to high.
func (q Query) Number(name string, def, low, high int) int {
	return protocol.NumberParam(q.values, name, def, low, high)
}

// Page returns the offset and limit of a list.
func (q Query) Page() (offset, limit int) {
	return q.Number("offset", 0, 0, math.MaxInt32), q.Number("limit", 50, 1, 200)
}

// CheckKnown refuses query parameters that the route does not have: a list whose filter is misspelt would
// have everything.
func (q Query) CheckKnown() error {
	if _, err := url.ParseQuery(q.raw); err != nil { // then q.values lacks what is wrong
		return protocol.BadRequest("the query is not valid: %s; want name=value with & between them", Plain(err.Error()))
	}
	var known []string
	for _, p := range q.params {
		known = append(known, p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		switch best := strict.Nearest(name, known); {
		case slices.Contains(known, name):
		case best != "":
			return protocol.BadRequest("unknown parameter %.80q, did you mean %q?", name, best)
		default:
			return protocol.BadRequest("unknown parameter %.80q, want %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// Times returns the parameters since and until as Unix ms; 0 if they are not set.
func (q Query) Times() (since, until int64, err error) {
	parse := func(name string) (int64, error) {
		t, err := TimeOf(name, q.Value(name))
		if err != nil || t.IsZero() {
			return 0, err
		}
		if t.Before(time.UnixMilli(1)) {
			return 0, protocol.BadRequest("%s is %q, want a time after 1970", name, q.Value(name))
		}
		return t.UnixMilli(), nil
	}
	if since, err = parse("since"); err != nil {
		return 0, 0, err
	}
	until, err = parse("until")
	return since, until, err
}

// TimeOf parses a parameter that is a time. An empty one is the zero time.
func TimeOf(name, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, protocol.BadRequest("%s is %q, want a time such as 2026-01-02T15:04:05Z", name, s)
	}
	return t, nil
}

// checkParam checks the value of a parameter against its kind. An empty value passes.
func checkParam(p protocol.Param, value string) error {
	if !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
		return protocol.BadRequest("%s is not valid, want UTF-8 without control characters", p.Name)
	}
	value = strings.TrimSpace(value)
	switch {
	case value == "" || p.Kind == "string":
		return nil
	case p.Kind == "integer":
		if _, err := strconv.Atoi(value); err != nil {
			return protocol.BadRequest("%s is %q, want a whole number", p.Name, value)
		}
	case p.Kind == "number":
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			return protocol.BadRequest("%s is %q, want a number", p.Name, value)
		}
	case !slices.Contains(p.Values(), value):
		return protocol.BadRequest("%s is %q, want %s", p.Name, value, strings.Join(p.Values(), ", "))
	}
	return nil
}
