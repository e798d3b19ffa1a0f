package state

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken/internal/appendjson"
)

// Scope is the lifetime of a key's value.
type Scope uint8

const (
	Run    Scope = iota // from the start of a run to its end, across waits and restarts
	Thread              // until the thread is deleted
)

// String returns "run" or "thread".
func (s Scope) String() string {
	if s == Thread {
		return "thread"
	}
	return "run"
}

// Merge says what happens if two writers that saw the same snapshot update the same key.
type Merge uint8

const (
	Exclusive   Merge = iota // they conflict: one of them must read again
	Commutative              // both updates apply; their order must not matter
)

// Options are the properties of a key. The zero Options mean: run scope, exclusive, saved.
type Options struct {
	Scope Scope
	Merge Merge
	// Transient values stay in memory: they are neither saved nor exported, and are lost
	// when the run waits or its process ends.
	Transient bool
	// Derived values are exported but not saved: their owner derives them from data that
	// it saves elsewhere. They are part of neither [Store.Changes] nor [Store.Delta].
	Derived bool
}

// A Key names a slot that holds a value of type V and changes by updates of type U. A key that
// was never written has V's zero value. Declare keys once, as package variables.
type Key[V, U any] struct{ core *core }

// NewKey returns a key whose values change by apply. Apply returns the new value; it must not
// modify the old one, which readers may share. The name must be unique among the keys of an
// agent. NewKey panics if name is empty, which is a programming error.
func NewKey[V, U any](name string, apply func(V, U) V, opts Options) *Key[V, U] {
	if name == "" {
		panic("state: a key needs a name")
	}
	return &Key[V, U]{core: &core{
		name: name,
		typ:  reflect.TypeFor[V](),
		opts: opts,
		apply: func(cur, update any) any {
			v, _ := cur.(V)
			u, _ := update.(U) // a nil update of an interface type has no type left
			return apply(v, u)
		},
		decode: func(data []byte) (any, error) {
			var v V
			err := json.Unmarshal(data, &v)
			return v, err
		},
	}}
}

// NewValue returns a key whose updates replace the value. It panics if name is empty.
func NewValue[V any](name string, opts Options) *Key[V, V] {
	k := NewKey(name, func(_, v V) V { return v }, opts)
	k.core.apply = func(_, update any) any { return update }
	return k
}

// EncodedBy sets the encoder of the key's values and returns the key. F appends to buf exactly
// what json.Marshal returns, and must not keep buf. It speeds up values that are encoded often.
// Call it where the key is declared.
func (k *Key[V, U]) EncodedBy(f func(buf []byte, v V) ([]byte, error)) *Key[V, U] {
	k.core.append = func(buf []byte, v any) ([]byte, error) { return f(buf, v.(V)) }
	return k
}

// Name returns the key's name.
func (k *Key[V, U]) Name() string { return k.core.name }

// Options returns the key's properties.
func (k *Key[V, U]) Options() Options { return k.core.opts }

// Get returns the value in r, or V's zero value if the key was never written or was cleared.
// The caller must not modify what the value refers to: other readers share it.
func (k *Key[V, U]) Get(r Reader) V {
	v, _ := k.Lookup(r)
	return v
}

// Lookup returns the value in r, and whether there is one: false if the key was never written
// or was cleared.
func (k *Key[V, U]) Lookup(r Reader) (V, bool) {
	v, ok := r.load(k.core)
	if !ok {
		var zero V
		return zero, false
	}
	return v.(V), true
}

// Update records the update u in w. Readers see it after the batch is applied.
func (k *Key[V, U]) Update(w Writer, u U) { w.record(op{key: k.core, update: u}) }

// Clear records in w that the key is reset, as if it were never written.
func (k *Key[V, U]) Clear(w Writer) { w.record(op{key: k.core, clear: true}) }

func (k *Key[V, U]) untyped() *core { return k.core }

// AnyKey is a *[Key] of any types.
type AnyKey interface {
	// Name returns the key's name.
	Name() string
	// Options returns the key's properties.
	Options() Options
	untyped() *core
}

// Reader is a source of values: a [Snapshot], a struct that embeds one, or a *[Store].
type Reader interface{ load(*core) (any, bool) }

// Writer records updates: a *[Batch], or a struct that embeds a Batch.
type Writer interface{ record(op) }

// core is a key without its types.
type core struct {
	name   string
	typ    reflect.Type // of values
	opts   Options
	apply  func(cur, update any) any
	decode func([]byte) (any, error)
	append func(buf []byte, v any) ([]byte, error) // nil for json.Marshal
}

// appendValue appends the JSON of v. It returns an error if the encoder panics.
func (c *core) appendValue(buf []byte, v any) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if err != nil {
			err = fmt.Errorf("encode state key %q: %w", c.name, err)
		}
	}()
	if c.append != nil {
		return c.append(buf, v)
	}
	switch v := v.(type) {
	case json.RawMessage:
		return appendjson.Raw(buf, "", v)
	case string:
		return appendjson.String(buf, v), nil
	case bool:
		return strconv.AppendBool(buf, v), nil
	case int:
		return strconv.AppendInt(buf, int64(v), 10), nil
	}
	return appendjson.Value(buf, "", v)
}

// Schema is an immutable set of keys. Stores with the same keys share one.
type Schema struct {
	keys   []*core        // by slot
	slots  map[string]int // by name
	sorted []int          // slots in the order of their keys' names
}

// NewSchema returns a schema of the keys. A key may be listed twice; two different keys with
// the same name are an error.
func NewSchema(keys ...AnyKey) (*Schema, error) {
	s := &Schema{slots: make(map[string]int, len(keys))}
	for _, k := range keys {
		if err := s.add(k.untyped()); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Schema) add(c *core) error {
	if i, ok := s.slots[c.name]; ok {
		if s.keys[i] != c {
			return fmt.Errorf("state key %q is declared twice", c.name)
		}
		return nil
	}
	slot := len(s.keys)
	at, _ := slices.BinarySearchFunc(s.sorted, c.name, func(i int, name string) int { return strings.Compare(s.keys[i].name, name) })
	s.slots[c.name] = slot
	s.keys = append(s.keys, c)
	s.sorted = slices.Insert(s.sorted, at, slot)
	return nil
}

// Type returns the type of the values of a key, or nil if the schema has no such key.
func (s *Schema) Type(name string) reflect.Type {
	if slot, ok := s.slots[name]; ok {
		return s.keys[slot].typ
	}
	return nil
}

// Names returns the names of the keys, in the order of NewSchema.
func (s *Schema) Names() []string {
	names := make([]string, len(s.keys))
	for i, c := range s.keys {
		names[i] = c.name
	}
	return names
}

// slot returns the slot of the key, or -1 if the schema does not have it.
func (s *Schema) slot(c *core) int {
	if i, ok := s.slots[c.name]; ok && s.keys[i] == c {
		return i
	}
	return -1
}
