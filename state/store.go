package state

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Store holds the current state and applies batches to it. It tracks which values changed, to
// be saved ([Store.Changes]) and to be shown to clients ([Store.Delta]). It is not safe for
// concurrent use; its snapshots are.
type Store struct {
	snap    Snapshot
	dirty   []uint8           // by slot: unsaved, unshown; nil until the first change
	encoded []json.RawMessage // by slot: the cached JSON of a dirty value; same length as dirty
}

// What has not happened yet to the latest value of a slot.
const (
	unsaved uint8 = 1 << iota
	unshown
)

// NewStore returns an empty store for the keys of schema.
func NewStore(schema *Schema) *Store {
	return &Store{snap: Snapshot{schema: schema}}
}

func (s *Store) load(c *core) (any, bool) { return s.snap.load(c) }

// Snapshot returns the current state.
func (s *Store) Snapshot() Snapshot { return s.snap }

// Apply applies b atomically. It returns an *UnknownKeyError, and changes nothing, if b
// updates a key that is not in the schema. An empty batch changes nothing.
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

// Change is the new value of a key.
type Change struct {
	Key   string
	Scope Scope
	Value json.RawMessage // nil if the key was cleared
}

// Changes returns the changes since the last call of Saved: one for each changed key that is
// neither transient nor derived. If a value cannot be encoded as JSON, Changes returns an
// error and clears that value without recording a change: the saved value stays, and the next
// call returns the other changes.
func (s *Store) Changes() ([]Change, error) { return s.changes(unsaved) }

// Delta returns the changes since the last call of Shown, of the same keys and with the same
// errors as Changes.
func (s *Store) Delta() ([]Change, error) { return s.changes(unshown) }

func (s *Store) changes(what uint8) ([]Change, error) {
	var out []Change
	for i, d := range s.dirty {
		c := s.snap.schema.keys[i]
		if d&what == 0 {
			continue
		}
		ch := Change{Key: c.name, Scope: c.opts.Scope}
		if v := s.snap.at(i); v != nil {
			data, err := s.encode(i, v)
			if err != nil {
				s.forget(i)
				return nil, err
			}
			ch.Value = data
		}
		out = append(out, ch)
	}
	return out, nil
}

// Written returns the current values of the keys that b has updated, in the order in which b updates them first. The value
// of a key that has none is nil. Unencoded are the names of the keys whose values leave the process in no way: transient ones, and
// values that cannot be encoded as JSON.
func (s *Store) Written(b *Batch) (values []Change, unencoded []string) {
	for i := range b.ops {
		c := b.ops[i].key
		slot := s.snap.schema.slot(c)
		if slot < 0 || slices.ContainsFunc(b.ops[:i], func(o op) bool { return o.key == c }) {
			continue
		}
		if c.opts.Transient {
			unencoded = append(unencoded, c.name)
			continue
		}
		ch := Change{Key: c.name, Scope: c.opts.Scope}
		if v := s.snap.at(slot); v != nil {
			data, err := s.encode(slot, v)
			if err != nil {
				unencoded = append(unencoded, c.name)
				continue
			}
			ch.Value = data
		}
		values = append(values, ch)
	}
	return values, unencoded
}

// encode returns the JSON of the value of a slot, and keeps it if it is going to be saved.
func (s *Store) encode(slot int, v any) (json.RawMessage, error) {
	dirty := slot < len(s.dirty) && s.dirty[slot] != 0
	if dirty && s.encoded[slot] != nil {
		return s.encoded[slot], nil
	}
	data, err := s.snap.schema.keys[slot].appendValue(nil, v)
	if dirty && err == nil {
		s.encoded[slot] = data
	}
	return data, err
}

// forget clears a slot without recording a change.
func (s *Store) forget(slot int) {
	s.snap.values = slices.Clone(s.snap.values)
	s.snap.values[slot] = nil
	s.dirty[slot] = 0
}

// Saved marks the changes that Changes returned as saved.
func (s *Store) Saved() { s.done(unsaved) }

// Shown marks the changes that Delta returned as shown to clients.
func (s *Store) Shown() { s.done(unshown) }

func (s *Store) done(what uint8) {
	for i := range s.dirty {
		if s.dirty[i] &^= what; s.dirty[i] == 0 {
			s.encoded[i] = nil
		}
	}
}

// Unknown says what Restore does with values whose key is not in the schema.
type Unknown uint8

const (
	Skip   Unknown = iota // ignore them; the saved values stay as they are
	Reject                // return an *UnknownKeyError
)

// Restore sets saved values, by key name, without recording changes. Other keys keep their
// values. If a value cannot be decoded, Restore returns an error and changes nothing.
func (s *Store) Restore(saved map[string]json.RawMessage, unknown Unknown) error {
	return s.set(saved, unknown, false)
}

// Seed sets the initial values of a run, by key name. Unlike Restore, it records them as
// changes, and returns an *UnknownKeyError for a key that is not in the schema.
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

// decode decodes a value. It returns an error if UnmarshalJSON panics.
func decode(c *core, data []byte) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return c.decode(data)
}

// Extend adds the keys of schema to the store's own. Values stay. It returns an error, and
// changes nothing, if a different key has the same name. A run uses it when it is handed to
// another agent.
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

// mark records that a slot has changed, unless its key is transient or derived.
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
