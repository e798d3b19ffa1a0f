package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// inference infers the schema of one type. A recursive type becomes a definition that refers
// to itself.
type inference struct {
	special map[reflect.Type]*jsonschema.Schema
	open    map[reflect.Type]bool   // types that are being inferred
	names   map[reflect.Type]string // of recursive types, in $defs
	defs    map[string]*jsonschema.Schema
}

// infer returns the schema of t.
func infer(t reflect.Type, special map[reflect.Type]*jsonschema.Schema) (*jsonschema.Schema, error) {
	in := &inference{special: special, open: map[reflect.Type]bool{}, names: map[reflect.Type]string{}, defs: map[string]*jsonschema.Schema{}}
	s, err := in.of(t)
	if err != nil || len(in.defs) == 0 {
		return s, err
	}
	if len(s.AnyOf) > 0 { // a pointer to a recursive type
		s = s.AnyOf[1]
	}
	if s.Ref != "" { // the outermost schema says itself what it is
		s = in.defs[strings.TrimPrefix(s.Ref, refPrefix)].CloneSchemas()
	}
	s.Defs = in.defs
	return s, nil
}

const refPrefix = "#/$defs/"

func (in *inference) of(t reflect.Type) (*jsonschema.Schema, error) {
	nullable := t.Kind() == reflect.Pointer
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s, err := in.value(t)
	if err != nil || !nullable {
		return s, err
	}
	switch {
	case s.Ref != "":
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "null"}, s}}, nil
	case s.Type != "":
		s.Types, s.Type = []string{"null", s.Type}, ""
	case len(s.Types) > 0 && !slices.Contains(s.Types, "null"):
		s.Types = append([]string{"null"}, s.Types...)
	}
	return s, nil
}

// value returns the schema of a type that is not a pointer.
func (in *inference) value(t reflect.Type) (*jsonschema.Schema, error) {
	if s := in.special[t]; s != nil {
		return s.CloneSchemas(), nil
	}
	if t.Name() == "" {
		return in.composite(t)
	}
	if in.open[t] {
		if in.names[t] == "" {
			in.names[t] = in.unusedName(t)
		}
		return &jsonschema.Schema{Ref: refPrefix + in.names[t]}, nil
	}
	in.open[t] = true
	s, err := in.composite(t)
	delete(in.open, t)
	if name := in.names[t]; err == nil && name != "" {
		in.defs[name] = s
		s = &jsonschema.Schema{Ref: refPrefix + name}
	}
	return s, err
}

// unusedName returns a name for the definition of t.
func (in *inference) unusedName(t reflect.Type) string {
	base := notWord.ReplaceAllString(t.Name(), "_") // a generic type's name has brackets
	used := slices.Collect(maps.Values(in.names))
	name := base
	for i := 2; slices.Contains(used, name); i++ {
		name = base + strconv.Itoa(i)
	}
	return name
}

var notWord = regexp.MustCompile(`\W+`)

// integers lists the bounds of the integer kinds that float64 can express.
var integers = map[reflect.Kind][]float64{
	reflect.Int: nil, reflect.Int64: nil, reflect.Uint: {0}, reflect.Uint64: {0}, reflect.Uintptr: {0},
	reflect.Int8: {math.MinInt8, math.MaxInt8}, reflect.Int16: {math.MinInt16, math.MaxInt16}, reflect.Int32: {math.MinInt32, math.MaxInt32},
	reflect.Uint8: {0, math.MaxUint8}, reflect.Uint16: {0, math.MaxUint16}, reflect.Uint32: {0, math.MaxUint32},
}

func (in *inference) composite(t reflect.Type) (*jsonschema.Schema, error) {
	s := new(jsonschema.Schema)
	var err error
	switch k := t.Kind(); k {
	case reflect.Bool:
		s.Type = "boolean"
	case reflect.String:
		s.Type = "string"
	case reflect.Float32, reflect.Float64:
		s.Type = "number"
	case reflect.Interface: // anything
	case reflect.Map:
		if t.Key().Kind() != reflect.String && !t.Key().Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return nil, fmt.Errorf("the keys of %v are not strings", t)
		}
		s.Type = "object"
		s.AdditionalProperties, err = in.of(t.Elem())
	case reflect.Slice:
		s.Types = []string{"null", "array"}
		s.Items, err = in.of(t.Elem())
	case reflect.Array:
		s.Type, s.MinItems, s.MaxItems = "array", new(t.Len()), new(t.Len())
		s.Items, err = in.of(t.Elem())
	case reflect.Struct:
		return in.object(t)
	default:
		bounds, ok := integers[k]
		if !ok {
			return nil, fmt.Errorf("type %v has no JSON form", t)
		}
		s.Type = "integer"
		if len(bounds) > 0 {
			s.Minimum = &bounds[0]
		}
		if len(bounds) > 1 {
			s.Maximum = &bounds[1]
		}
	}
	return s, err
}

// object returns the schema of a struct.
func (in *inference) object(t reflect.Type) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}, Properties: map[string]*jsonschema.Schema{}}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" && options == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		p, err := in.of(f.Type)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		if tag, ok := f.Tag.Lookup("jsonschema"); ok {
			if err := refine(p, tag); err != nil {
				return nil, fmt.Errorf("field %s: tag jsonschema:%q: %w", f.Name, tag, err)
			}
		}
		s.Properties[name] = p
		s.PropertyOrder = append(slices.DeleteFunc(s.PropertyOrder, func(o string) bool { return o == name }), name)
		if o := strings.Split(options, ","); !slices.Contains(o, "omitempty") && !slices.Contains(o, "omitzero") {
			s.Required = append(s.Required, name)
		}
	}
	return s, nil
}

// keyword matches a tag that is not just a description.
var keyword = regexp.MustCompile(`^[^ \t\n]*=`)

// refine applies a jsonschema tag to the schema of a field: a description, or keywords such as
// enum=a,enum=b,minimum=1,maximum=9,description=text. The description comes last, because it
// may contain commas. Constraints of a list apply to its elements.
func refine(s *jsonschema.Schema, tag string) error {
	if !keyword.MatchString(tag) {
		s.Description = tag
		return nil
	}
	of := s
	if s.Items != nil {
		of = s.Items
	}
	for rest := tag; rest != ""; {
		var word string
		if text, ok := strings.CutPrefix(rest, "description="); ok {
			s.Description = text
			return nil
		}
		word, rest, _ = strings.Cut(rest, ",")
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "enum":
			v, err := parseValue(of, value)
			if err != nil {
				return err
			}
			of.Enum = append(of.Enum, v)
		case "minimum", "maximum":
			n, err := strconv.ParseFloat(value, 64)
			if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || !slices.Contains([]string{"integer", "number"}, typeOf(of)) {
				return fmt.Errorf("%s is %q on a value of type %s, want a number on a number", name, value, typeOf(of))
			}
			if name == "minimum" {
				of.Minimum = &n
			} else {
				of.Maximum = &n
			}
		default:
			return fmt.Errorf("unknown keyword %q, want enum, minimum, maximum or description", name)
		}
	}
	if len(of.Enum) > 0 && len(of.Types) > 0 {
		of.Enum = append(of.Enum, nil) // null stays allowed
	}
	return nil
}

// parseValue reads a value of an enum as the type of s.
func parseValue(s *jsonschema.Schema, text string) (any, error) {
	switch kind := typeOf(s); kind {
	case "string":
		return text, nil
	case "integer", "number", "boolean":
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil || v == nil {
			return nil, fmt.Errorf("enum has %q on a value of type %s", text, kind)
		}
		return v, nil
	default:
		return nil, fmt.Errorf("enum is set on a value of type %q, want a string, a number or a boolean", kind)
	}
}

// typeOf returns the type of a schema's values other than null.
func typeOf(s *jsonschema.Schema) string {
	for _, t := range s.Types {
		if t != "null" {
			return t
		}
	}
	return s.Type
}
