package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken/state/profile"
)

// Profile implements [profile.Store].
type Profile struct {
	*profileData
	mark json.RawMessage // of the values that it writes, or nil
}

type profileData struct {
	mu      sync.Mutex
	entries map[[2]string]profile.Entry // namespace, key
	now     func() time.Time
}

// NewProfile returns an empty profile store.
func NewProfile() *Profile {
	return &Profile{profileData: &profileData{entries: map[[2]string]profile.Entry{}, now: time.Now}}
}

// Marked returns the store for a writer whose values carry a mark.
func (p *Profile) Marked(mark json.RawMessage) profile.Store {
	return &Profile{p.profileData, slices.Clone(mark)}
}

// entry returns what is stored for a value.
func (p *Profile) entry(namespace, key string, value json.RawMessage) profile.Entry {
	return profile.Entry{Namespace: namespace, Key: key, Value: slices.Clone(value), UpdatedAt: p.now(), Mark: p.mark}
}

// Get returns an entry, or nil if there is none.
func (p *Profile) Get(_ context.Context, namespace, key string) (*profile.Entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.entries[[2]string{namespace, key}]
	if !ok {
		return nil, nil
	}
	e.Value = slices.Clone(e.Value)
	return &e, nil
}

// Set creates or replaces an entry.
func (p *Profile) Set(_ context.Context, namespace, key string, value json.RawMessage) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entries[[2]string{namespace, key}] = p.entry(namespace, key, value)
	return nil
}

// CompareAndSet sets an entry if its value is still old.
func (p *Profile) CompareAndSet(_ context.Context, namespace, key string, old, value json.RawMessage) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := [2]string{namespace, key}
	if e, ok := p.entries[at]; ok != (old != nil) || !bytes.Equal(e.Value, old) {
		return false, nil
	}
	if value == nil {
		delete(p.entries, at)
		return true, nil
	}
	p.entries[at] = p.entry(namespace, key, value)
	return true, nil
}

// Delete removes an entry.
func (p *Profile) Delete(_ context.Context, namespace, key string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.entries, [2]string{namespace, key})
	return nil
}

// List returns the entries of a namespace, sorted by key.
func (p *Profile) List(_ context.Context, namespace string) ([]profile.Entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []profile.Entry
	for k, e := range p.entries {
		if k[0] == namespace {
			e.Value = slices.Clone(e.Value)
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b profile.Entry) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// Page returns some of the entries of a namespace.
func (p *Profile) Page(_ context.Context, namespace string, page profile.Page) ([]profile.Entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var keys []string
	for k := range p.entries {
		if k[0] == namespace {
			keys = append(keys, k[1])
		}
	}
	var out []profile.Entry
	for _, key := range page.Select(keys) {
		e := p.entries[[2]string{namespace, key}]
		e.Value = slices.Clone(page.Cut(e.Value))
		out = append(out, e)
	}
	return out, nil
}

// Clear removes the entries of a key in all namespaces.
func (p *Profile) Clear(_ context.Context, key string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.entries, func(k [2]string, _ profile.Entry) bool { return k[1] == key })
	return nil
}

var _ profile.Store = (*Profile)(nil)
