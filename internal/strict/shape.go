package strict

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"time"
)

// shape says what the values of a type look like in JSON. A shape without fields, values and
// items is that of anything.
type shape struct {
	opaque bool             // the type decodes itself and checks its own names
	fields map[string]field // of a struct
	value  reflect.Type     // of a map's values
	item   reflect.Type     // of the elements of a slice or an array
}

type field struct {
	name string
	of   reflect.Type
}

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	rawMessage      = reflect.TypeFor[json.RawMessage]()
	moment          = reflect.TypeFor[time.Time]()
	optionalMoment  = reflect.TypeFor[*time.Time]()

	anything = &shape{}
	shapes   sync.Map // reflect.Type -> *shape
)

func shapeOf(t reflect.Type) *shape {
	for t != nil && t.Kind() == reflect.Pointer && !t.Implements(unmarshaler) {
		t = t.Elem()
	}
	if t == nil {
		return anything
	}
	if sh, ok := shapes.Load(t); ok {
		return sh.(*shape)
	}
	sh := &shape{}
	p := reflect.PointerTo(t)
	switch {
	case t.Implements(unmarshaler) || p.Implements(unmarshaler) || p.Implements(textUnmarshaler):
		sh.opaque, sh.value, sh.item = true, rawMessage, rawMessage
	case t.Kind() == reflect.Struct:
		sh.fields = fieldsOf(t)
	case t.Kind() == reflect.Map:
		sh.value = t.Elem()
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		sh.item = t.Elem()
	}
	shapes.Store(t, sh)
	return sh
}

// fieldsOf returns a struct's fields by their JSON names, those of embedded structs included.
func fieldsOf(t reflect.Type) map[string]field {
	m := map[string]field{}
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			e := f.Type
			if e.Kind() == reflect.Pointer {
				e = e.Elem()
			}
			if e.Kind() == reflect.Struct {
				embedded = append(embedded, e)
			}
		case !f.IsExported():
		case name == "":
			m[f.Name] = field{f.Name, f.Type}
		default:
			m[name] = field{name, f.Type}
		}
	}
	for _, e := range embedded { // the struct's own fields win
		for name, f := range fieldsOf(e) {
			if _, ok := m[name]; !ok {
				m[name] = f
			}
		}
	}
	return m
}
