// Package profile provides values that outlive runs and threads: shared by all, or belonging
// to one user, agent or thread.
//
// A [Key] binds a namespace to a Go type. The owner of a value is a string, chosen at run
// time; [User], [Thread], [AgentType] and [ParentThread] build the usual ones:
//
//	var locale = profile.NewKey[string]("locale")
//
//	lang, err := locale.Read(ctx, store, profile.User("alice"))
//	err = locale.Write(ctx, store, profile.Global, "en-GB")
//	n, err := visits.Update(ctx, store, profile.User("alice"), func(n int) (int, error) { return n + 1, nil })
//
// Hooks and tools get the store from the field Profile of their call. Unlike run and thread
// state, profile values are not part of a commit: a write is visible immediately. What a tainted run writes is marked, and
// taints the runs that read it; see [Unmarked].
//
// The package depends only on the standard library.
package profile

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Store keeps profile entries, identified by namespace and key. Implementations are safe for
// concurrent use; package profiletest tests them.
type Store interface {
	// Get returns the entry, or nil if it does not exist.
	Get(ctx context.Context, namespace, key string) (*Entry, error)
	// Set creates or replaces the entry.
	Set(ctx context.Context, namespace, key string, value json.RawMessage) error
	// CompareAndSet sets the entry if its value is still old, as Get returned it, and reports whether
	// it did. A nil old means that the entry does not exist. A nil value deletes the entry.
	CompareAndSet(ctx context.Context, namespace, key string, old, value json.RawMessage) (bool, error)
	// Delete deletes the entry. It is no error if the entry does not exist.
	Delete(ctx context.Context, namespace, key string) error
	// List returns the entries of a namespace, sorted by key.
	List(ctx context.Context, namespace string) ([]Entry, error)
	// Page returns some of the entries that List returns.
	Page(ctx context.Context, namespace string, p Page) ([]Entry, error)
	// Clear deletes the entries of key in all namespaces, such as all values of a user.
	Clear(ctx context.Context, key string) error
	// Marked returns the same store for a writer whose values carry a mark, which is JSON: Set and CompareAndSet
	// write it with the value, as Entry.Mark. Values that are written without one have none.
	Marked(mark json.RawMessage) Store
}

// Entry is one stored value.
type Entry struct {
	Namespace string          `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	UpdatedAt time.Time       `json:"updated_at"`
	// Mark says what is to be known about the value when it is read. The runtime marks what tainted runs write, with
	// the run's awaken.Taint.
	Mark json.RawMessage `json:"mark,omitempty"`
}

// Unmarked returns the store behind the one that hooks and tools get from a run, for values that hold no content:
// counters, approvals, credentials. What is written through it does not carry the run's taint, and reading does not taint the
// run; Entry.Mark is still returned. It returns s itself if s is not a run's.
func Unmarked(s Store) Store {
	if run, ok := s.(interface{ Unmarked() Store }); ok {
		return run.Unmarked()
	}
	return s
}

// Page selects entries of a namespace, so that a long list is read in pieces.
type Page struct {
	After      string // only entries behind this key; "" means all
	Descending bool   // the last key first
	Limit      int    // at most so many, 1 or more
	// Size cuts values after about so many bytes, and then they are no longer valid JSON; 0 means that they are whole.
	Size int
}

// Select returns the keys of the page, in their order. It is for stores that have all keys at hand.
func (p *Page) Select(keys []string) []string {
	keys = slices.DeleteFunc(keys, func(key string) bool {
		return p.After != "" && (key == p.After || key < p.After != p.Descending)
	})
	slices.Sort(keys)
	if p.Descending {
		slices.Reverse(keys)
	}
	return keys[:min(len(keys), p.Limit)]
}

// Cut returns as much of a value as the page has.
func (p *Page) Cut(value json.RawMessage) json.RawMessage {
	if p.Size > 0 && len(value) > p.Size {
		return value[:p.Size]
	}
	return value
}

// Global is the key of values that all runs share.
const Global = "global"

// ParentThread returns the key of values that a thread and its children share.
func ParentThread(id string) string { return "parent_thread::" + id }

// AgentType returns the key of values that all runs of an agent share.
func AgentType(name string) string { return "agent_type::" + name }

// Thread returns the key of values that belong to a thread.
func Thread(id string) string { return "thread::" + id }

// User returns the key of values that belong to a user.
func User(id string) string { return "user::" + id }

// Key gives typed access to one namespace. Declare keys once, as package variables.
type Key[V any] struct{ namespace string }

// NewKey returns a key for values of type V. It panics if namespace is empty, which is a
// programming error.
func NewKey[V any](namespace string) Key[V] {
	if namespace == "" {
		panic("profile: a key needs a namespace")
	}
	return Key[V]{namespace: namespace}
}

// Namespace returns the key's namespace.
func (k Key[V]) Namespace() string { return k.namespace }

// Read returns the value of an owner, or V's zero value if it does not exist.
func (k Key[V]) Read(ctx context.Context, s Store, key string) (V, error) {
	var v V
	e, err := s.Get(ctx, k.namespace, key)
	if err != nil || e == nil {
		return v, err
	}
	if err := json.Unmarshal(e.Value, &v); err != nil {
		return v, fmt.Errorf("profile %s of %s: %w", k.namespace, key, err)
	}
	return v, nil
}

// Write sets the value of an owner.
func (k Key[V]) Write(ctx context.Context, s Store, key string, v V) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("profile %s of %s: %w", k.namespace, key, err)
	}
	return s.Set(ctx, k.namespace, key, data)
}

// Update replaces the value of an owner with the result of change, and returns it. If another
// writer comes between, change is called again with the value of that writer, so no update is lost.
// Change must not modify what its argument refers to. If it returns an error, nothing is written.
func (k Key[V]) Update(ctx context.Context, s Store, key string, change func(V) (V, error)) (V, error) {
	var none V
	for {
		if err := ctx.Err(); err != nil {
			return none, context.Cause(ctx)
		}
		e, err := s.Get(ctx, k.namespace, key)
		if err != nil {
			return none, err
		}
		var v V
		var old json.RawMessage
		if e != nil {
			old = e.Value
			if err := json.Unmarshal(old, &v); err != nil {
				return none, fmt.Errorf("profile %s of %s: %w", k.namespace, key, err)
			}
		}
		if v, err = change(v); err != nil {
			return none, err
		}
		data, err := json.Marshal(v)
		if err != nil {
			return none, fmt.Errorf("profile %s of %s: %w", k.namespace, key, err)
		}
		if done, err := s.CompareAndSet(ctx, k.namespace, key, old, data); done || err != nil {
			return v, err
		}
	}
}

// Delete deletes the value of an owner.
func (k Key[V]) Delete(ctx context.Context, s Store, key string) error {
	return s.Delete(ctx, k.namespace, key)
}
