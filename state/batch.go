package state

import "fmt"

// Batch is a list of updates that are applied together. The zero value is ready.
type Batch struct{ ops []op }

type op struct {
	key    *core
	update any
	clear  bool
}

func (b *Batch) record(o op) { b.ops = append(b.ops, o) }

// Len is the number of recorded updates.
func (b *Batch) Len() int { return len(b.ops) }

// Reset empties the batch, keeping its memory.
func (b *Batch) Reset() {
	clear(b.ops)
	b.ops = b.ops[:0]
}

// Append adds other's updates after b's, whatever they touch: other was made
// knowing b.
func (b *Batch) Append(other *Batch) { b.ops = append(b.ops, other.ops...) }

// Merge adds other's updates to b's. Both were made from the same snapshot, so it
// returns a *ConflictError and changes nothing when both touch an exclusive key.
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

// ConflictError reports two writers of one exclusive key.
type ConflictError struct{ Key string }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("two writers of the exclusive state key %q", e.Key)
}

// UnknownKeyError reports a key that the schema does not have.
type UnknownKeyError struct{ Key string }

func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("state key %q is not registered", e.Key)
}

var (
	_ Writer = (*Batch)(nil)
	_ Reader = Snapshot{}
)
