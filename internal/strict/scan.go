package strict

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxDepth is the nesting that encoding/json refuses to go beyond.
const maxDepth = 10_000

// scanner reads JSON for its structure: its nesting and the names in its objects. It takes the
// syntax on trust and stops where that fails, because encoding/json reads the data next.
type scanner struct {
	data  []byte
	pos   int
	depth int // the deepest nesting allowed
}

// next returns the byte that begins the next value, name or end of an object or array. It is 0
// at the end of the data.
func (s *scanner) next() byte {
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			return c
		}
	}
	return 0
}

// value reads a value that is to be decoded into a t. Level is how many objects and arrays it is in.
func (s *scanner) value(t reflect.Type, level int) error {
	if t == moment || t == optionalMoment {
		return s.time(level)
	}
	switch c := s.next(); c {
	case '"':
		s.text()
	case '{', '[':
		s.pos++
		switch {
		case level == s.depth:
			return tooDeep(s.depth)
		case c == '{':
			return s.object(shapeOf(t), level+1)
		}
		item := shapeOf(t).item
		for i := 0; s.more(']'); i++ {
			if err := s.value(item, level+1); err != nil {
				return within("["+strconv.Itoa(i)+"]", err)
			}
		}
	case '}', ']':
		s.pos = len(s.data)
	default:
		for s.pos < len(s.data) && strings.IndexByte(" \t\r\n,]}", s.data[s.pos]) < 0 {
			s.pos++
		}
	}
	return nil
}

// time reads a time. That of encoding/json does not say which field is wrong.
func (s *scanner) time(level int) error {
	s.next()
	start := s.pos
	if err := s.value(rawMessage, level); err != nil {
		return err
	}
	raw := s.data[start:s.pos]
	if string(raw) == "null" || new(time.Time).UnmarshalJSON(raw) == nil {
		return nil
	}
	return &FieldError{problem: fmt.Sprintf("is %.80s, want a time such as \"2026-01-02T15:04:05Z\"", raw)}
}

// more reports whether another element comes before the end, which it reads.
func (s *scanner) more(end byte) bool {
	c := s.next()
	if c == end {
		s.pos++
	}
	return c != end && c != 0
}

func (s *scanner) object(sh *shape, level int) error {
	seen := map[string]bool{}
	for s.more('}') {
		quoted := s.text()
		f := field{of: sh.value}
		if !sh.opaque && quoted != nil {
			var err error
			if f, err = sh.field(quoted); err != nil {
				return err
			}
			if seen[f.name] {
				return &FieldError{Path: f.name, problem: "appears twice"}
			}
			seen[f.name] = true
		}
		if err := s.value(f.of, level); err != nil {
			return within(f.name, err)
		}
	}
	return nil
}

// text reads a string and returns it with its quotes.
func (s *scanner) text() []byte {
	start := s.pos
	if s.next() == '"' {
		for s.pos++; s.pos < len(s.data); s.pos++ {
			switch s.data[s.pos] {
			case '\\':
				s.pos++
			case '"':
				s.pos++
				return s.data[start:s.pos]
			}
		}
	}
	s.pos = len(s.data)
	return nil
}

func tooDeep(depth int) error {
	return &Malformed{fmt.Sprintf("nested deeper than %d levels", depth)}
}

// FieldError is the error of a field of a document.
type FieldError struct {
	// Path is the path of the field: names with dots between them. Of an unknown field it is the name alone.
	Path    string
	Unknown bool // the document may not have such a field
	problem string
}

// Error names the field and the problem.
func (e *FieldError) Error() string {
	if e.Unknown {
		return fmt.Sprintf("unknown field %q%s", e.Path, e.problem)
	}
	return fmt.Sprintf("field %q %s", e.Path, e.problem)
}

// within puts a step in front of the path of a field.
func within(step string, err error) error {
	if e, ok := errors.AsType[*FieldError](err); ok && !e.Unknown {
		if e.Path != "" && !strings.HasPrefix(e.Path, "[") {
			step += "."
		}
		e.Path = step + e.Path
	}
	return err
}

// field returns the field that a quoted name stands for.
func (sh *shape) field(quoted []byte) (field, error) {
	f, ok := sh.fields[string(quoted[1:len(quoted)-1])]
	if ok {
		return f, nil
	}
	var name string
	_ = json.Unmarshal(quoted, &name) // the whole is decoded next
	if sh.fields == nil {
		return field{name, sh.value}, nil
	}
	if f, ok = sh.fields[name]; !ok {
		return f, Unknown(name, slices.Collect(maps.Keys(sh.fields)))
	}
	return f, nil
}
