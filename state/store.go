package state

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Store holds the state of one run and applies batches to it. It is not safe for
// concurrent use; the snapshots it hands out are.
type Store struct {
	snap    Snapshot
	dirty   []uint8           // by slot: unsaved, unshown; nil until something changes
	encoded []json.RawMessage // by slot: the value's JSON, once it was asked for; as long as dirty
}

// What has not been done yet with a slot's newest value.
const (
	unsaved uint8 = 1 << iota
	unshown
)

// NewStore returns an empty store for the keys of schema.
func NewStore(schema *Schema) *Store {
	return &Store{snap: Snapshot{schema: schema}}
}

func (s *Store) load(c *core) (any, bool) { return s.snap.load(c) }

// Snapshot returns the present state.
func (s *Store) Snapshot() Snapshot { return s.snap }

// Apply applies b, all or nothing. An empty batch changes nothing.
// It returns a *UnknownKeyError for a key that is not in the schema.
func (s *Store) Apply(b *Batch) error {
	if b.Len() == 0 {
		return nil
	}
	next, err := s.snap.apply(b)
	if err != nil {
		return err
	}
	for i := range b.ops {
		s.mark(s.snap.schema.slot(b.ops[i].key))
	}
	s.snap = next
	return nil
}

// Change is the new value of one key, ready to be saved.
type Change struct {
	Key   string
	Scope Scope
	Value json.RawMessage // nil when the key was cleared
}

// Changes returns what has to be saved since the last call of Saved: one change
// for each changed key that is neither transient nor derived. A value that has no
// JSON is an error, and is then cleared without being a change, so that what was
// saved before stays and the rest can be saved.
func (s *Store) Changes() ([]Change, error) { return s.changes(unsaved) }

// Delta returns the same changes since the last call of Shown.
func (s *Store) Delta() ([]Change, error) { return s.changes(unshown) }

func (s *Store) changes(what uint8) ([]Change, error) {
	var out []Change
	for i, d := range s.dirty {
		c := s.snap.schema.keys[i]
		if d&what == 0 {
			continue
		}
		ch := Change{Key: c.name, Scope: c.opts.Scope}
		if v := s.snap.values[i]; v != nil {
			if s.encoded[i] == nil {
				data, err := c.appendValue(nil, v)
				if err != nil {
					s.forget(i)
					return nil, err
				}
				s.encoded[i] = data
			}
			ch.Value = s.encoded[i]
		}
		out = append(out, ch)
	}
	return out, nil
}

// forget makes a slot as if never written, and no change.
func (s *Store) forget(slot int) {
	s.snap.values = slices.Clone(s.snap.values)
	s.snap.values[slot] = nil
	s.dirty[slot] = 0
}

// Saved says that everything Changes returned is now safe.
func (s *Store) Saved() { s.done(unsaved) }

// Shown says that whoever looks on knows everything Delta returned.
func (s *Store) Shown() { s.done(unshown) }

func (s *Store) done(what uint8) {
	for i := range s.dirty {
		if s.dirty[i] &^= what; s.dirty[i] == 0 {
			s.encoded[i] = nil
		}
	}
}

// Unknown says what to do with saved values whose key is not in the schema.
type Unknown uint8

const (
	Skip   Unknown = iota // leave them out; what is stored stays stored
	Reject                // fail with a *UnknownKeyError
)

// Restore sets saved values without marking them changed. Values it does not mention stay.
func (s *Store) Restore(saved map[string]json.RawMessage, unknown Unknown) error {
	return s.set(saved, unknown, false)
}

// Seed sets the values a child run starts with. Unlike Restore it counts them as
// changes, and it rejects keys that are not in the schema.
func (s *Store) Seed(values map[string]json.RawMessage) error {
	return s.set(values, Reject, true)
}

func (s *Store) set(saved map[string]json.RawMessage, unknown Unknown, changed bool) error {
	if len(saved) == 0 {
		return nil
	}
	values := make([]any, len(s.snap.schema.keys))
	copy(values, s.snap.values)
	touched := make([]bool, len(values))
	for name, data := range saved {
		i, ok := s.snap.schema.slots[name]
		if !ok {
			if unknown == Reject {
				return &UnknownKeyError{Key: name}
			}
			continue
		}
		v, err := decode(s.snap.schema.keys[i], data)
		if err != nil {
			return fmt.Errorf("decode state key %q: %w", name, err)
		}
		values[i], touched[i] = v, true
	}
	s.snap.values = values
	for i, t := range touched {
		if changed && t {
			s.mark(i)
		}
	}
	return nil
}

// decode reads a value; an UnmarshalJSON that panics is an error.
func decode(c *core, data []byte) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return c.decode(data)
}

// Extend makes the store hold the keys of schema as well as those it has. Values
// stay. It is for an agent that is replaced in the middle of a run.
func (s *Store) Extend(schema *Schema) error {
	next := &Schema{slots: make(map[string]int, len(schema.keys))}
	for _, keys := range [][]*core{s.snap.schema.keys, schema.keys} {
		for _, c := range keys {
			if err := next.add(c); err != nil {
				return err
			}
		}
	}
	values := make([]any, len(next.keys))
	copy(values, s.snap.values)
	s.snap.schema, s.snap.values = next, values
	if s.dirty != nil {
		s.dirty = append(s.dirty, make([]uint8, len(next.keys)-len(s.dirty))...)
		s.encoded = append(s.encoded, make([]json.RawMessage, len(next.keys)-len(s.encoded))...)
	}
	return nil
}

// mark notes that a slot has changed. Keys that nobody saves or is shown are not
// worth noting.
func (s *Store) mark(slot int) {
	if o := s.snap.schema.keys[slot].opts; o.Transient || o.Derived {
		return
	}
	if s.dirty == nil {
		s.dirty = make([]uint8, len(s.snap.schema.keys))
		s.encoded = make([]json.RawMessage, len(s.snap.schema.keys))
	}
	s.dirty[slot], s.encoded[slot] = unsaved|unshown, nil
}
