package replay

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// shape says where the JSON of a Go type has times. The types say it: a field with the tag `time:"ms"` or `time:"s"` holds a time or a
// duration of the runtime's clock. JSON of clients, models and tools has no Go type, so nothing in it is a time.
type shape struct {
	time   bool
	fields map[string]*shape // of an object
	elem   *shape            // of an array, or of an object with any names
	state  bool              // an object with the values of state keys, by their names
	patch  bool              // an operation on the state
}

var (
	shapesMu sync.Mutex
	shapes   = map[reflect.Type]*shape{}
)

// shapeOf returns the shape of a type.
func shapeOf(t reflect.Type) *shape {
	shapesMu.Lock()
	defer shapesMu.Unlock()
	return makeShape(t)
}

// makeShape returns the shape of a type, or nil if its JSON has no times. It requires the lock.
func makeShape(t reflect.Type) *shape {
	if t == nil || t == reflect.TypeFor[json.RawMessage]() {
		return nil
	}
	if sh, ok := shapes[t]; ok {
		return sh
	}
	sh := &shape{}
	shapes[t] = sh // types may contain themselves
	switch {
	case t == reflect.TypeFor[state.Snapshot]():
		sh.fields = map[string]*shape{"extensions": {state: true}}
	case t == reflect.TypeFor[builtin.Calls]():
		sh.fields = map[string]*shape{"calls": {elem: makeShape(t.Elem())}}
	case t.Kind() == reflect.Pointer:
		shapes[t] = makeShape(t.Elem())
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map:
		sh.elem = makeShape(t.Elem())
	case t.Kind() == reflect.Struct:
		sh.fields = map[string]*shape{}
		sh.addFields(t)
	}
	return shapes[t]
}

// addFields adds the fields of a struct, with those of the structs that it embeds.
func (sh *shape) addFields(t reflect.Type) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			sh.addFields(f.Type)
		case isTime(f):
			sh.fields[name] = &shape{time: true}
		case t == reflect.TypeFor[awaken.StateDelta]():
			sh.fields[name] = &shape{elem: &shape{patch: true}}
		case t == reflect.TypeFor[awaken.CallWrites]() && name == "state":
			sh.fields[name] = &shape{state: true}
		default:
			sh.fields[name] = makeShape(f.Type)
		}
	}
}

// isTime reports whether the tag of a field says that it holds a time.
func isTime(f reflect.StructField) bool {
	tag := f.Tag.Get("time")
	return tag == "ms" || tag == "s"
}

// timeless returns the JSON of an event or a record, which has no spaces, with 0 for every time of the runtime.
func (s *stage) timeless(line string, t reflect.Type) string {
	return (&masker{text: line, keys: s.keyShape}).mask(shapeOf(t))
}

// keyShape returns the shape of the values of a state key of the version, or nil.
func (s *stage) keyShape(name string) *shape {
	if sh, ok := s.keys[name]; ok {
		return sh
	}
	var sh *shape
	reg := s.version.Registry()
	for _, id := range reg.AgentIDs() {
		if agent, err := reg.Runnable(id); err == nil {
			if t := agent.Schema.Type(name); t != nil {
				sh = shapeOf(t)
				break
			}
		}
	}
	s.keys[name] = sh
	return sh
}

// masker replaces the times in a JSON text.
type masker struct {
	text string
	keys func(name string) *shape
	out  strings.Builder
	done int // how much of text is in out
}

func (m *masker) mask(sh *shape) string {
	m.value(0, sh)
	if m.done == 0 {
		return m.text
	}
	m.out.WriteString(m.text[m.done:])
	return m.out.String()
}

// value masks the value that begins at i, and returns the index after it.
func (m *masker) value(i int, sh *shape) int {
	switch {
	case sh == nil || i >= len(m.text):
		return m.skip(i)
	case m.text[i] == '{':
		return m.object(i+1, sh)
	case m.text[i] == '[':
		for i++; i < len(m.text) && m.text[i] != ']'; {
			next := m.value(i, sh.elem)
			if next < len(m.text) && m.text[next] == ',' {
				next++
			}
			if next <= i { // it is not JSON
				return len(m.text)
			}
			i = next
		}
		return min(i+1, len(m.text))
	}
	if end := afterDigits(m.text, i); sh.time && end > i {
		m.out.WriteString(m.text[m.done:i])
		m.out.WriteByte('0')
		m.done = end
	}
	return m.skip(i)
}

// object masks the fields of an object, and returns the index after it.
func (m *masker) object(i int, sh *shape) int {
	path := ""
	for i < len(m.text) && m.text[i] == '"' {
		from := i + 1
		i = afterString(m.text, i)
		if i >= len(m.text) || m.text[i] != ':' {
			return len(m.text)
		}
		name, at := m.text[from:i-1], i+1
		i = m.value(at, m.field(sh, name, path))
		if sh.patch && name == "path" {
			path = strings.Trim(m.text[at:i], `"`)
		}
		if i < len(m.text) && m.text[i] == ',' {
			i++
		}
	}
	return min(i+1, len(m.text))
}

// field returns the shape of a field of an object.
func (m *masker) field(sh *shape, name, path string) *shape {
	switch {
	case sh.state:
		return m.keys(name)
	case sh.patch:
		if key, ok := strings.CutPrefix(path, "/extensions/"); ok && name == "value" {
			return m.keys(strings.NewReplacer("~1", "/", "~0", "~").Replace(key))
		}
		return nil
	case sh.fields != nil:
		return sh.fields[name]
	}
	return sh.elem
}

// skip returns the index after the value that begins at i.
func (m *masker) skip(i int) int {
	if i < len(m.text) && m.text[i] == '"' {
		return afterString(m.text, i)
	}
	if end := afterValue(m.text, i); end > i {
		return end
	}
	for i < len(m.text) && !strings.ContainsRune(",]}", rune(m.text[i])) {
		i++
	}
	return i
}

// afterString returns the index after the string that begins at i, or len(s) if it does not end.
func afterString(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// afterValue returns the index after the object or array that begins at i. It returns i for another value.
func afterValue(s string, i int) int {
	for depth := 0; i < len(s); {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			if depth > 0 {
				i = afterString(s, i)
				continue
			}
		}
		if depth < 0 {
			return i
		}
		if depth == 0 {
			if s[i] == '}' || s[i] == ']' {
				i++
			}
			return i
		}
		i++
	}
	return i
}

// afterDigits returns the index after the digits that begin at i.
func afterDigits(s string, i int) int {
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return i
}
