package genui

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxProblems is how many mistakes one error reports.
const maxProblems = 8

// Problem is a mistake in a user interface that a model wrote.
type Problem struct {
	At    string // where: a JSON pointer into the arguments, or line:column of a text
	Found string // what is there
	Want  string // what is accepted there
}

// Error returns "at: found, want …".
func (p *Problem) Error() string { return p.At + ": " + p.Found + ", want " + p.Want }

// problems collects mistakes.
type problems struct {
	list []error
	more int
}

func (p *problems) add(at, want, found string, args ...any) {
	if len(p.list) == maxProblems {
		p.more++
		return
	}
	if at == "" {
		at = "/"
	}
	p.list = append(p.list, &Problem{at, fmt.Sprintf(found, args...), want})
}

// err returns the mistakes as one error, or nil. Each is a *Problem.
func (p *problems) err() error {
	if p.more > 0 {
		return errors.Join(append(p.list, fmt.Errorf("and %d more mistakes", p.more))...)
	}
	return errors.Join(p.list...)
}

// below returns the JSON pointer of a member.
func below(at string, name any) string {
	s := fmt.Sprint(name)
	return at + "/" + strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

// show returns a short form of a value for an error.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "is null"
	case map[string]any:
		return "is an object with " + keysOf(v)
	case []any:
		return fmt.Sprintf("is an array of %d", len(v))
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("is a %T", v)
	}
	return fmt.Sprintf("is %.80s", data)
}

func keysOf(m map[string]any) string {
	if len(m) == 0 {
		return "no keys"
	}
	return "the keys " + list(slices.Collect(maps.Keys(m)))
}

// list returns names in order, separated by commas, and not more than 20.
func list(names []string) string {
	names = slices.Sorted(slices.Values(names))
	if len(names) > 20 {
		return strings.Join(names[:20], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}

// object returns the member of m as an object. A missing one is a problem if it is required.
func (p *problems) object(at string, m map[string]any, name string, required bool) map[string]any {
	v, ok := m[name]
	o, isObject := v.(map[string]any)
	switch {
	case !ok && required:
		p.add(below(at, name), "an object", "is missing")
	case ok && !isObject:
		p.add(below(at, name), "an object", "%s", show(v))
	}
	return o
}

// array is object for arrays.
func (p *problems) array(at string, m map[string]any, name string, required bool) []any {
	v, ok := m[name]
	a, isArray := v.([]any)
	switch {
	case !ok && required:
		p.add(below(at, name), "an array", "is missing")
	case ok && !isArray:
		p.add(below(at, name), "an array", "%s", show(v))
	}
	return a
}

// text is object for texts, which are not empty.
func (p *problems) text(at string, m map[string]any, name string, required bool) string {
	v, ok := m[name]
	s, isText := v.(string)
	switch {
	case !ok && required:
		p.add(below(at, name), "a text", "is missing")
	case ok && !isText:
		p.add(below(at, name), "a text", "%s", show(v))
	case ok && strings.TrimSpace(s) == "":
		p.add(below(at, name), "a text that is not empty", "is empty")
	}
	return s
}

// only reports members that are not accepted.
func (p *problems) only(at string, m map[string]any, names ...string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(names, name) {
			p.add(below(at, name), "one of "+list(names), "is unknown")
		}
	}
}
