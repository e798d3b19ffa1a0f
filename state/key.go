package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken/internal/appendjson"
)

// Scope is how long a key's value lives.
type Scope uint8

const (
	Run    Scope = iota // from the start of a run to its end, resumes included
	Thread              // as long as the thread
)

func (s Scope) String() string {
	if s == Thread {
		return "thread"
	}
	return "run"
}

// Merge says what happens when two writers that saw the same snapshot both
// update a key.
type Merge uint8

const (
	Exclusive   Merge = iota // they conflict; one of them has to look again
	Commutative              // both apply; the order must not matter
)

// Options are a key's properties. The zero value is run-scoped, exclusive and saved.
type Options struct {
	Scope Scope
	Merge Merge
	// Transient values never leave memory: they are neither saved nor exported.
	Transient bool
	// Derived values are exported like others but saved by whoever owns their
	// source, so they are no changes of their own.
	Derived bool
}

// A Key names a slot that holds a V and changes by applying a U. Declare keys
// once, as package variables. The value of a key that was never written is V's
// zero value.
type Key[V, U any] struct{ core *core }

// NewKey returns a key whose updates are folded in by apply. Apply must return a
// new value and leave the one it is given alone, because others may be reading it.
// NewKey panics if name is empty: that is a mistake in the program.
func NewKey[V, U any](name string, apply func(V, U) V, opts Options) *Key[V, U] {
	if name == "" {
		panic("state: a key needs a name")
	}
	return &Key[V, U]{core: &core{
		name: name,
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

// NewValue returns a key whose update replaces the value.
func NewValue[V any](name string, opts Options) *Key[V, V] {
	k := NewKey(name, func(_, v V) V { return v }, opts)
	k.core.apply = func(_, update any) any { return update }
	return k
}

// EncodedBy makes the key's values be encoded by f, which appends to buf what
// json.Marshal returns and keeps nothing. It is for values that are encoded often, and is
// called where the key is declared. It returns the key.
func (k *Key[V, U]) EncodedBy(f func(buf []byte, v V) ([]byte, error)) *Key[V, U] {
	k.core.append = func(buf []byte, v any) ([]byte, error) { return f(buf, v.(V)) }
	return k
}

// Name is the key's globally unique name.
func (k *Key[V, U]) Name() string { return k.core.name }

// Options returns the key's properties.
func (k *Key[V, U]) Options() Options { return k.core.opts }

// Get returns the value r sees, or V's zero value.
func (k *Key[V, U]) Get(r Reader) V {
	v, _ := k.Lookup(r)
	return v
}

// Lookup returns the value r sees and whether one was ever written.
func (k *Key[V, U]) Lookup(r Reader) (V, bool) {
	v, ok := r.load(k.core)
	if !ok {
		var zero V
		return zero, false
	}
	return v.(V), true
}

// Update records that u is to be applied.
func (k *Key[V, U]) Update(w Writer, u U) { w.record(op{key: k.core, update: u}) }

// Clear records that the key is to be as if never written.
func (k *Key[V, U]) Clear(w Writer) { w.record(op{key: k.core, clear: true}) }

func (k *Key[V, U]) untyped() *core { return k.core }

// AnyKey is a key of whatever type.
type AnyKey interface {
	Name() string
	Options() Options
	untyped() *core
}

// Reader is something a key can be read from: a [Snapshot], a struct that embeds
// one, or a *[Store].
type Reader interface{ load(*core) (any, bool) }

// Writer is something updates can be recorded in: a *[Batch] or a struct that
// embeds one.
type Writer interface{ record(op) }

// core is a key without its types.
type core struct {
	name   string
	opts   Options
	apply  func(cur, update any) any
	decode func([]byte) (any, error)
	append func(buf []byte, v any) ([]byte, error) // nil for json.Marshal
}

// appendValue appends a value's JSON. An encoder that panics is an error.
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

// Schema is a fixed set of keys, each with a dense slot, made once and shared by
// all stores that hold the same keys.
type Schema struct {
	keys   []*core
	slots  map[string]int
	sorted []int // slots in the order of their keys' names
}

// NewSchema returns the schema of keys. The same key may be listed twice; two
// keys of one name are an error.
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

// Names lists the keys' names in the order they were added.
func (s *Schema) Names() []string {
	names := make([]string, len(s.keys))
	for i, c := range s.keys {
		names[i] = c.name
	}
	return names
}

// slot returns the slot of exactly this key, or -1.
func (s *Schema) slot(c *core) int {
	if i, ok := s.slots[c.name]; ok && s.keys[i] == c {
		return i
	}
	return -1
}
