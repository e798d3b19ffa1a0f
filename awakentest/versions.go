package awakentest

import (
	"context"
	"fmt"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
)

// Versions is an [registry.Snapshots] that keeps what it is given in memory, and can lose it.
type Versions struct {
	mu     sync.Mutex
	live   *registry.Registry
	all    map[string]*registry.Registry
	lost   map[string]error
	choose func(thread *awaken.Thread) *registry.Registry
}

var _ registry.Snapshots = (*Versions)(nil)

// NewVersions returns versions of which the last is live.
func NewVersions(regs ...*registry.Registry) *Versions {
	v := &Versions{all: map[string]*registry.Registry{}, lost: map[string]error{}}
	v.Publish(regs...)
	return v
}

// Publish adds versions and makes the last live.
func (v *Versions) Publish(regs ...*registry.Registry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, reg := range regs {
		v.live, v.all[reg.ID()] = reg, reg
	}
}

// Lose makes Pinned fail for a version; a nil err ends that.
func (v *Versions) Lose(id string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lost[id] = err
}

// Divert lets fn choose for new runs. If it returns nil they get what is live.
func (v *Versions) Divert(fn func(thread *awaken.Thread) *registry.Registry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.choose = fn
}

func (v *Versions) Registry() *registry.Registry {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.live
}

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

func (v *Versions) Pinned(_ context.Context, id string) (*registry.Registry, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.lost[id]; err != nil {
		return nil, err
	}
	if reg := v.all[id]; reg != nil {
		return reg, nil
	}
	return nil, fmt.Errorf("version %q: %w", id, awaken.ErrNotFound)
}
