package state

import "fmt"

// Batch is a list of updates that are applied together. The zero Batch is empty and ready to
// use.
type Batch struct{ ops []op }

type op struct {
	key    *core
	update any
	clear  bool
	set    bool // update is the new value
}

func (b *Batch) record(o op) { b.ops = append(b.ops, o) }

// Len returns the number of recorded updates.
func (b *Batch) Len() int { return len(b.ops) }

// Reset empties the batch but keeps its memory.
func (b *Batch) Reset() {
	clear(b.ops)
	b.ops = b.ops[:0]
}

// Append adds other's updates after b's. Use it if the writer of other has seen the updates of
// b, so that they cannot conflict.
func (b *Batch) Append(other *Batch) { b.ops = append(b.ops, other.ops...) }

// Merge adds other's updates after b's. Use it if both were made from the same snapshot. If
// both update the same exclusive key, it returns a *ConflictError and changes nothing.
func (b *Batch) Merge(other *Batch) error {
	for i := range other.ops {
		k := other.ops[i].key
		if k.opts.Merge == Exclusive && b.touches(k) {
			return &ConflictError{Key: k.name}
		}
	}
	b.Append(other)
	return nil
}

func (b *Batch) touches(k *core) bool {
	for i := range b.ops {
		if b.ops[i].key == k {
			return true
		}
	}
	return false
}

// ConflictError reports two writers of the same exclusive key.
type ConflictError struct{ Key string }

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("two writers of the exclusive state key %q", e.Key)
}

// UnknownKeyError reports a key that is not in the schema.
type UnknownKeyError struct{ Key string }

// Error implements error.
func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("state key %q is not registered", e.Key)
}

var (
	_ Writer = (*Batch)(nil)
	_ Reader = Snapshot{}
)
