package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/awaken-go/awaken/internal/appendjson"
)

// Snapshot is the state at one revision. It is immutable, cheap to copy, and safe for
// concurrent use. The zero Snapshot is empty.
type Snapshot struct {
	revision uint64
	schema   *Schema
	values   []any // by slot, up to the last one written; nil means never written
}

// Revision returns the number of batches that were applied before this snapshot.
func (s Snapshot) Revision() uint64 { return s.revision }

func (s Snapshot) load(c *core) (any, bool) {
	if s.schema == nil {
		return nil, false
	}
	v := s.at(s.schema.slot(c))
	return v, v != nil
}

// at returns the value in a slot, or nil if it was never written.
func (s Snapshot) at(slot int) any {
	if slot < 0 || slot >= len(s.values) {
		return nil
	}
	return s.values[slot]
}

// apply returns the snapshot with b applied.
func (s Snapshot) apply(b *Batch) (Snapshot, error) {
	n := len(s.values)
	for i := range b.ops {
		if s.schema == nil || s.schema.slot(b.ops[i].key) < 0 {
			return s, &UnknownKeyError{Key: b.ops[i].key.name}
		}
		n = max(n, s.schema.slot(b.ops[i].key)+1)
	}
	values := make([]any, n)
	copy(values, s.values)
	for i := range b.ops {
		o := &b.ops[i]
		slot := s.schema.slot(o.key)
		switch {
		case o.clear:
			values[slot] = nil
		case o.set:
			values[slot] = o.update
		default:
			values[slot] = o.key.apply(values[slot], o.update)
		}
	}
	return Snapshot{revision: s.revision + 1, schema: s.schema, values: values}, nil
}

// Export returns the JSON of all written values, except transient ones, by key name.
func (s Snapshot) Export() (map[string]json.RawMessage, error) {
	out := make(map[string]json.RawMessage)
	for i, v := range s.values {
		if v == nil || s.schema.keys[i].opts.Transient {
			continue
		}
		data, err := s.schema.keys[i].appendValue(nil, v)
		if err != nil {
			return nil, err
		}
		out[s.schema.keys[i].name] = data
	}
	return out, nil
}

// Value returns the JSON of the key with that name, and whether it was written. It reports
// false for transient keys.
func (s Snapshot) Value(name string) (json.RawMessage, bool, error) {
	if s.schema == nil {
		return nil, false, nil
	}
	i, ok := s.schema.slots[name]
	if !ok || s.at(i) == nil || s.schema.keys[i].opts.Transient {
		return nil, false, nil
	}
	data, err := s.schema.keys[i].appendValue(nil, s.values[i])
	return data, err == nil, err
}

// SetValue records in w that the key with that name gets a value, which [Store.Written] has returned; nil clears the
// key. It returns an *UnknownKeyError if the snapshot has no such key, and an error if the value cannot be decoded.
func (s Snapshot) SetValue(w Writer, name string, value json.RawMessage) error {
	if s.schema == nil {
		return &UnknownKeyError{Key: name}
	}
	i, ok := s.schema.slots[name]
	if !ok {
		return &UnknownKeyError{Key: name}
	}
	c := s.schema.keys[i]
	if value == nil {
		w.record(op{key: c, clear: true})
		return nil
	}
	v, err := decode(c, value)
	if err != nil {
		return fmt.Errorf("decode state key %q: %w", name, err)
	}
	w.record(op{key: c, update: v, set: true})
	return nil
}

// MarshalJSON encodes the snapshot as {"revision": n, "extensions": {key: value}}, without
// transient keys.
func (s Snapshot) MarshalJSON() ([]byte, error) { return s.AppendJSON(make([]byte, 0, 256)) }

// AppendJSON appends the result of MarshalJSON to buf. After an error it returns buf
// unchanged.
func (s Snapshot) AppendJSON(buf []byte) (_ []byte, err error) {
	out := appendjson.Uint(buf, `{"revision":`, s.revision)
	out = append(out, `,"extensions":`...)
	start := len(out)
	if s.schema != nil {
		for _, i := range s.schema.sorted {
			c := s.schema.keys[i]
			if s.at(i) == nil || c.opts.Transient {
				continue
			}
			out = append(appendjson.String(append(out, ','), c.name), ':')
			if out, err = c.appendValue(out, s.values[i]); err != nil {
				return buf, err
			}
		}
	}
	return append(appendjson.Close(out, start), '}'), nil
}

// UnmarshalJSON decodes the result of MarshalJSON. The snapshot has no typed keys: it can be
// exported and encoded, but [Key.Get] finds nothing in it.
func (s *Snapshot) UnmarshalJSON(data []byte) error {
	var w struct {
		Revision   uint64                     `json:"revision"`
		Extensions map[string]json.RawMessage `json:"extensions"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil {
		return fmt.Errorf("state snapshot: %w", err)
	}
	schema := &Schema{slots: make(map[string]int, len(w.Extensions))}
	var values []any
	for _, name := range slices.Sorted(maps.Keys(w.Extensions)) {
		if err := schema.add(&core{name: name}); err != nil {
			return err
		}
		values = append(values, w.Extensions[name])
	}
	*s = Snapshot{revision: w.Revision, schema: schema, values: values}
	return nil
}
