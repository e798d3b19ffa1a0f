package awakentest

import (
	"context"
	"fmt"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
)

// Versions is a [registry.Versions] that keeps versions in memory and can simulate their
// loss.
type Versions struct {
	mu     sync.Mutex
	live   *registry.Registry
	all    map[string]*registry.Registry
	lost   map[string]error
	choose func(thread *awaken.Thread) *registry.Registry
}

var _ registry.Versions = (*Versions)(nil)

// NewVersions returns Versions with the given registries. The last one is live.
func NewVersions(regs ...*registry.Registry) *Versions {
	v := &Versions{all: map[string]*registry.Registry{}, lost: map[string]error{}}
	v.Publish(regs...)
	return v
}

// Publish adds versions and makes the last one live.
func (v *Versions) Publish(regs ...*registry.Registry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, reg := range regs {
		v.live, v.all[reg.ID()] = reg, reg
	}
}

// Lose makes Pinned return err for a version. A nil err makes the version available again.
func (v *Versions) Lose(id string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lost[id] = err
}

// Divert makes Choose call fn. If fn returns nil, Choose returns the live version.
func (v *Versions) Divert(fn func(thread *awaken.Thread) *registry.Registry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.choose = fn
}

// Registry returns the live version.
func (v *Versions) Registry() *registry.Registry {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.live
}

// Choose returns the version for a new run; see [Versions.Divert].
func (v *Versions) Choose(thread *awaken.Thread) *registry.Registry {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.choose != nil {
		if reg := v.choose(thread); reg != nil {
			return reg
		}
	}
	return v.live
}

// Pinned returns the version with that id; see [Versions.Lose].
func (v *Versions) Pinned(_ context.Context, id string) (*registry.Registry, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.lost[id]; err != nil {
		return nil, err
	}
	if reg := v.all[id]; reg != nil {
		return reg, nil
	}
	return nil, fmt.Errorf("version %q %w", id, awaken.ErrNotFound)
}
