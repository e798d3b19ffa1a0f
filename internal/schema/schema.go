// Package schema infers JSON Schemas from Go types, simplifies them for language
// models, and validates documents against them.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Describer is implemented by types that refine the schema inferred for them, with
// enums, bounds or descriptions.
type Describer interface {
	// DescribeSchema changes the inferred schema. It is called on a zero value, and only for the
	// first of all that ask for the schema of its type.
	DescribeSchema(s *Node)
}

// Node is a schema, or a part of one, that a Describer may change. Methods that change
// it return it.
type Node struct{ s *jsonschema.Schema }

// Property returns the node of a property, or nil if there is none.
func (n *Node) Property(name string) *Node {
	if p := n.s.Properties[name]; p != nil {
		return &Node{p}
	}
	return nil
}

// Enum restricts the value to one of values.
func (n *Node) Enum(values ...any) *Node { n.s.Enum = values; return n }

// Items returns the node of an array's elements, or nil if there is none.
func (n *Node) Items() *Node {
	if n.s.Items != nil {
		return &Node{n.s.Items}
	}
	return nil
}

// Replace replaces the inferred schema, but keeps its description. It panics if raw is
// not a schema: that is a programming error.
func (n *Node) Replace(raw string) *Node {
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		panic(fmt.Sprintf("schema: %v", err))
	}
	s.Description = n.s.Description
	*n.s = s
	return n
}

// Range sets inclusive bounds.
func (n *Node) Range(lo, hi float64) *Node { n.s.Minimum, n.s.Maximum = &lo, &hi; return n }

// Min sets an inclusive lower bound.
func (n *Node) Min(lo float64) *Node { n.s.Minimum = &lo; return n }

// Describe sets the description.
func (n *Node) Describe(text string) *Node { n.s.Description = text; return n }

// Optional makes the named properties optional.
func (n *Node) Optional(names ...string) *Node {
	n.s.Required = slices.DeleteFunc(n.s.Required, func(r string) bool { return slices.Contains(names, r) })
	return n
}

// For returns the JSON Schema of t. A `jsonschema` struct tag is the description of a
// property, or constrains it: enum=a,enum=b,minimum=1,maximum=9,description=text. Properties
// are required unless their json tag says omitempty or omitzero.
func For(t reflect.Type) (json.RawMessage, error) {
	k := knownOf(t)
	return slices.Clone(k.raw), k.err
}

// known is the schema of a type, which is always the same: making it takes longer than all else
// that a tool or a plugin needs to start.
type known struct {
	raw    json.RawMessage
	err    error
	object bool // its values are JSON objects
}

var schemas sync.Map // of *known by reflect.Type

func knownOf(t reflect.Type) *known {
	if k, ok := schemas.Load(t); ok {
		return k.(*known)
	}
	k := &known{}
	var s jsonschema.Schema
	k.raw, k.err = ForWith(t, nil)
	k.object = k.err == nil && json.Unmarshal(k.raw, &s) == nil && typeOf(&s) == "object"
	schemas.Store(t, k)
	return k
}

// ForWith is For with the schemas of types whose JSON differs from their Go type. It panics
// if one of them is not a schema: that is a programming error.
func ForWith(t reflect.Type, special map[reflect.Type]string) (json.RawMessage, error) {
	types := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[time.Duration]():   {Type: "integer", Description: "nanoseconds"},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[slog.Level]():      {Type: "string"},
		reflect.TypeFor[big.Int]():         {Type: "string"},
		reflect.TypeFor[big.Rat]():         {Type: "string"},
		reflect.TypeFor[big.Float]():       {Type: "string"},
	}
	for typ, raw := range special {
		n := Node{&jsonschema.Schema{}}
		types[typ] = n.Replace(raw).s
	}
	s, err := infer(t, types)
	if err != nil {
		return nil, err
	}
	if d, ok := reflect.New(t).Interface().(Describer); ok {
		d.DescribeSchema(&Node{s})
	}
	return json.Marshal(s)
}

// ForObject is For, except that it fails if the values of t are not JSON objects.
func ForObject(t reflect.Type) (json.RawMessage, error) {
	if k := knownOf(t); k.err == nil && !k.object {
		return nil, fmt.Errorf("the values of %v are not JSON objects; want a struct or a map", t)
	}
	return For(t)
}

// Clean rewrites a schema into the subset that all providers accept: const
// becomes a one-value enum, "T or null" becomes T, arrays get items, objects get
// properties, and $schema is dropped.
func Clean(raw json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("schema is not JSON: %w", err)
	}
	switch v.(type) {
	case map[string]any, bool:
	default:
		return nil, errors.New("schema is neither an object nor a boolean")
	}
	return json.Marshal(clean(v))
}

// clean works from the inside out, so that a schema that moves up is already clean.
func clean(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	delete(m, "$schema")
	for k, sub := range m {
		switch k {
		case "properties", "$defs", "definitions", "patternProperties":
			if props, ok := sub.(map[string]any); ok {
				for name, p := range props {
					props[name] = clean(p)
				}
			}
		case "items", "additionalProperties", "not":
			m[k] = clean(sub)
		case "anyOf", "oneOf", "allOf", "prefixItems":
			if list, ok := sub.([]any); ok {
				for i := range list {
					list[i] = clean(list[i])
				}
			}
		}
	}
	if types, ok := m["type"].([]any); ok {
		if enum, ok := m["enum"].([]any); ok && len(types) > 1 {
			m["enum"] = slices.DeleteFunc(enum, func(v any) bool { return v == nil })
		}
		rest := slices.DeleteFunc(slices.Clone(types), func(t any) bool { return t == "null" })
		switch {
		case len(rest) == 1:
			m["type"] = rest[0]
		case len(rest) > 1:
			m["type"] = rest
		case len(types) > 0:
			m["type"] = "null"
		}
	}
	if c, ok := m["const"]; ok {
		if enum, has := m["enum"].([]any); has && !slices.ContainsFunc(enum, func(v any) bool { return reflect.DeepEqual(v, c) }) {
			return false // no value satisfies both
		}
		m["enum"] = []any{c}
		delete(m, "const")
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		dropNull(m, k)
	}
	switch m["type"] {
	case "array":
		if _, ok := m["items"]; !ok {
			m["items"] = map[string]any{}
		}
	case "object":
		if _, ok := m["properties"]; !ok {
			m["properties"] = map[string]any{}
		}
	}
	return m
}

// dropNull removes null from a list of alternatives. If one is left, it is merged into m
// in place of the list, unless both have the same keyword.
func dropNull(m map[string]any, k string) {
	alts, ok := m[k].([]any)
	if !ok {
		return
	}
	rest := slices.DeleteFunc(slices.Clone(alts), func(a any) bool {
		am, ok := a.(map[string]any)
		return ok && len(am) == 1 && am["type"] == "null"
	})
	if len(rest) == 0 || len(rest) == len(alts) {
		return
	}
	m[k] = rest
	one, ok := rest[0].(map[string]any)
	if !ok || len(rest) > 1 {
		return
	}
	for key := range one {
		if _, has := m[key]; has {
			return
		}
	}
	delete(m, k)
	maps.Copy(m, one)
}

// Schema is a compiled schema, safe for concurrent use.
type Schema struct {
	s    *validator.Schema
	fast *fastObject // nil if the schema is too complex for the fast path
}

// Compile compiles a schema. References outside the document are errors. It remembers the schemas
// that were compiled last, because clients send the same tools with every request.
func Compile(raw json.RawMessage) (*Schema, error) {
	if s := compiled.find(raw); s != nil {
		return s, nil
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("schema is not JSON: %w", err)
	}
	c := validator.NewCompiler()
	c.AssertFormat()
	c.UseRegexpEngine(compilePattern)
	c.UseLoader(validator.SchemeURLLoader{}) // it has no loaders: references outside the document fail
	if err := c.AddResource("mem:schema", doc); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s, err := c.Compile("mem:schema")
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	out := &Schema{s: s, fast: newFastObject(raw)}
	compiled.add(raw, out)
	return out, nil
}

// memory holds compiled schemas by their text.
type memory struct {
	mu    sync.Mutex
	bytes int // of the texts
	byRaw map[string]*Schema
}

// maxMemory bounds the texts of remembered schemas. Compiled, they take up to 80 times as much.
const maxMemory = 256 << 10

var compiled = memory{byRaw: map[string]*Schema{}}

func (m *memory) find(raw []byte) *Schema {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byRaw[string(raw)]
}

func (m *memory) add(raw []byte, s *Schema) {
	if len(raw) > maxMemory/4 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for old := range m.byRaw { // any will do
		if m.bytes+len(raw) <= maxMemory {
			break
		}
		delete(m.byRaw, old)
		m.bytes -= len(old)
	}
	if _, ok := m.byRaw[string(raw)]; !ok {
		m.byRaw[string(raw)] = s
		m.bytes += len(raw)
	}
}

// maxErrors is how many violations an error lists.
const maxErrors = 20

// Check validates a JSON document. The error lists the violations with their location in the
// document. A schema may demand more work than any document is worth: Check fails if the steps of
// the validation exceed a budget that grows with the document.
func (s *Schema) Check(data []byte) error {
	if s.fast != nil && s.fast.ok(data) {
		return nil
	}
	v, err := validator.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if n := outOfRange(data); n != "" {
		return fmt.Errorf("number %s is out of range", n)
	}
	steps := leastSteps + stepsPerByte*len(data)
	if m := (meter{steps}); !m.add(s.s, v) {
		return fmt.Errorf("the schema is too complex: it takes more than %d steps to validate this document", steps)
	}
	err = s.s.Validate(v)
	if err == nil {
		return nil
	}
	ve, ok := errors.AsType[*validator.ValidationError](err)
	if !ok {
		return err
	}
	var errs []error
	collect(ve, nil, &errs)
	if more := len(errs) - maxErrors; more > 0 {
		errs = append(errs[:maxErrors], fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}

// outOfRange returns the first number of a JSON document whose exponent is beyond that of
// any float64, or "". The validator computes exactly: the ten bytes of 1e-999999 would
// take it as long as a million other bytes.
func outOfRange(data []byte) string {
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			i = stringEnd(data, i)
		case (c == 'e' || c == 'E') && data[i-1] >= '0' && data[i-1] <= '9':
			end := i + 1
			for end < len(data) && strings.IndexByte("+-0123456789", data[end]) >= 0 {
				end++
			}
			if exp, err := strconv.Atoi(string(data[i+1 : end])); err != nil || exp > 400 || exp < -400 {
				start := i
				for start > 0 && strings.IndexByte("+-.0123456789", data[start-1]) >= 0 {
					start--
				}
				return string(data[max(start, i-20):min(end, i+20)])
			}
		}
	}
	return ""
}

var printer = message.NewPrinter(language.English)

// Violation is one way in which a document does not match a schema. The errors of [Schema.Check] are violations.
type Violation struct {
	Path             []string // of the value
	Missing, Unknown []string // fields that it lacks, and fields that it must not have
	Reason           string   // what else is wrong with it
	// Form is the path of the value that must match one of several schemas, of which this is the violation of
	// one; nil if the schema leaves no choice.
	Form []string
}

// Error names the value by its path.
func (v *Violation) Error() string {
	at := "/" + strings.Join(v.Path, "/")
	switch {
	case len(v.Missing) > 0:
		return fmt.Sprintf("%s: missing %s", at, quoted(v.Missing))
	case len(v.Unknown) > 0:
		return fmt.Sprintf("%s: unknown field %s", at, quoted(v.Unknown))
	}
	return fmt.Sprintf("%s: %s", at, v.Reason)
}

// collect flattens the validator's tree of errors into one error per leaf.
func collect(ve *validator.ValidationError, form []string, out *[]error) {
	if len(ve.Causes) > 0 {
		switch ve.ErrorKind.(type) {
		case *kind.OneOf, *kind.AnyOf:
			if form == nil {
				form = append([]string{}, ve.InstanceLocation...)
			}
		}
		for _, c := range ve.Causes {
			collect(c, form, out)
		}
		return
	}
	v := &Violation{Path: ve.InstanceLocation, Form: form}
	switch k := ve.ErrorKind.(type) {
	case *kind.Required:
		v.Missing = k.Missing
	case *kind.AdditionalProperties:
		v.Unknown = k.Properties
	default:
		v.Reason = k.LocalizedString(printer)
	}
	*out = append(*out, v)
}

func quoted(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	slices.Sort(q)
	return strings.Join(q, ", ")
}
