// Package profile keeps values outside runs: shared by agents and threads, or
// belonging to one user, agent or tenant's entity.
//
// A [Key] binds a namespace to a Go type at compile time; the entity is chosen at
// run time, by one of the scope functions or any string:
//
//	var locale = profile.NewKey[string]("locale")
//
//	lang, err := locale.Read(ctx, store, "user::alice")
//	err = locale.Write(ctx, store, profile.Global, "en-GB")
//
// Hooks and tools find the store on their call. Unlike run and thread state,
// profile values are not part of a commit: a write is visible to everyone at once.
//
// The package imports only the standard library.
package profile

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Store keeps profile entries. Implementations are safe for concurrent use.
type Store interface {
	// Get returns the entry, or nil when there is none.
	Get(ctx context.Context, namespace, key string) (*Entry, error)
	// Set creates or replaces the entry.
	Set(ctx context.Context, namespace, key string, value json.RawMessage) error
	// Delete removes the entry; removing what is not there is no error.
	Delete(ctx context.Context, namespace, key string) error
	// List returns the entries of a namespace, sorted by key.
	List(ctx context.Context, namespace string) ([]Entry, error)
	// Clear removes every entry of one key, in all namespaces: what an entity
	// left behind.
	Clear(ctx context.Context, key string) error
}

// Entry is one stored value.
type Entry struct {
	Namespace string          `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	UpdatedAt time.Time       `json:"updated_at"`
}

// Global is the key of values that everyone shares.
const Global = "global"

// ParentThread is the key of values that a thread and its children share.
func ParentThread(id string) string { return "parent_thread::" + id }

// AgentType is the key of values that all runs of an agent share.
func AgentType(name string) string { return "agent_type::" + name }

// Thread is the key of values that belong to a thread.
func Thread(id string) string { return "thread::" + id }

// User is the key of values that belong to a user.
func User(id string) string { return "user::" + id }

// Key is typed access to one namespace. Declare keys once, as package variables.
type Key[V any] struct{ namespace string }

// NewKey returns a key. It panics if namespace is empty: that is a mistake in the
// program.
func NewKey[V any](namespace string) Key[V] {
	if namespace == "" {
		panic("profile: a key needs a namespace")
	}
	return Key[V]{namespace: namespace}
}

// Namespace is the key's namespace.
func (k Key[V]) Namespace() string { return k.namespace }

// Read returns the value, or V's zero value when there is none.
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

// Write sets the value.
func (k Key[V]) Write(ctx context.Context, s Store, key string, v V) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("profile %s of %s: %w", k.namespace, key, err)
	}
	return s.Set(ctx, k.namespace, key, data)
}

// Delete removes the value.
func (k Key[V]) Delete(ctx context.Context, s Store, key string) error {
	return s.Delete(ctx, k.namespace, key)
}
