package skills

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Library holds the skills of its sources. It is safe for concurrent use.
type Library struct {
	sources []Source

	mu       sync.Mutex
	sets     []*Set // the latest first; runs finish their step with the set that they began it with
	changes  uint64 // how often the skills changed
	warnings []string
}

// keptSets is how many sets a library remembers for the steps that use them.
const keptSets = 8

// Open reads the skills of the sources. If two sources have a skill of the same name, the first
// one counts.
func Open(sources ...Source) (*Library, error) {
	l := &Library{sources: sources}
	if _, err := l.Reload(); err != nil {
		return nil, err
	}
	return l, nil
}

// Reload reads the sources again and reports whether the skills changed. Runs use the new skills
// from their next step on; what they have activated stays as it was. After an error the library
// has the skills that it had.
func (l *Library) Reload() (changed bool, err error) {
	all := map[string]*Skill{}
	var warnings []string
	for _, src := range l.sources {
		list, w, err := src.Load()
		if err != nil {
			return false, fmt.Errorf("skills: %w", err)
		}
		warnings = append(warnings, w...)
		for _, s := range list {
			switch {
			case s.seal == nil:
				return false, fmt.Errorf("skills: skill %q is not sealed", s.Name)
			case all[s.Name] != nil:
				warnings = append(warnings, fmt.Sprintf("skill %q is left out: an earlier source has a skill of the same name", s.Name))
			default:
				all[s.Name] = s
			}
		}
	}
	set := newSet(all)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warnings = warnings
	if len(l.sets) > 0 && l.sets[0].digest == set.digest {
		return false, nil
	}
	l.changes++
	l.sets = append([]*Set{set}, l.sets[:min(len(l.sets), keptSets-1)]...)
	return true, nil
}

// Watch reloads the library at that interval until ctx is done. It logs what changes and what is
// left out.
func (l *Library) Watch(ctx context.Context, every time.Duration, log *slog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		changed, err := l.Reload()
		if err != nil && err.Error() != last {
			log.Warn("cannot read skills; keeping the previous ones", "error", err)
		}
		if last = ""; err != nil {
			last = err.Error()
		}
		if changed {
			log.Info("skills changed", "skills", l.Set().Names(), "warnings", l.Warnings())
		}
	}
}

// Set returns the current skills.
func (l *Library) Set() *Set { return l.at("") }

// at returns the set with that digest, or the current one if it is unknown.
func (l *Library) at(digest string) *Set {
	if l == nil {
		return emptySet
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.sets {
		if s.digest == digest {
			return s
		}
	}
	return l.sets[0]
}

// revision returns a number that changes with the skills.
func (l *Library) revision() uint64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes
}

// Warnings returns what the last reading left out or mended.
func (l *Library) Warnings() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.warnings)
}

// Set is an immutable set of skills.
type Set struct {
	byName map[string]*Skill
	names  []string
	digest string
}

var emptySet = newSet(nil)

func newSet(byName map[string]*Skill) *Set {
	s := &Set{byName: byName, names: slices.Sorted(maps.Keys(byName))}
	var b strings.Builder
	for _, name := range s.names {
		b.WriteString(name + " " + byName[name].Digest() + "\n")
	}
	sum := sha256.Sum256([]byte(b.String()))
	s.digest = hex.EncodeToString(sum[:])
	return s
}

// Names returns the names of the skills, in order.
func (s *Set) Names() []string { return slices.Clone(s.names) }

// Get returns the skill with that name, or nil.
func (s *Set) Get(name string) *Skill { return s.byName[name] }

// shelf is what an agent's plugin offers: the skills of a library and those of the documents that
// the agent's version has.
type shelf struct {
	library   *Library
	documents map[string]*Skill

	mu     sync.Mutex
	merged []*Set // with the digests of the library's sets
}

func newShelf(l *Library, documents []*Skill) (*shelf, error) {
	sh := &shelf{library: l, documents: map[string]*Skill{}}
	var errs []error
	for _, s := range documents {
		if s.seal == nil || sh.documents[s.Name] != nil {
			errs = append(errs, fmt.Errorf("skill %q is listed twice or not sealed", s.Name))
		}
		sh.documents[s.Name] = s
	}
	return sh, errors.Join(errs...)
}

// at returns the skills with those of the library's set of that digest, or of its current one if
// it is unknown. A document takes precedence over a file.
func (sh *shelf) at(digest string) *Set {
	set := sh.library.at(digest)
	if len(sh.documents) == 0 {
		return set
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, m := range sh.merged {
		if m.digest == set.digest {
			return m
		}
	}
	all := maps.Clone(set.byName)
	if all == nil {
		all = map[string]*Skill{}
	}
	maps.Copy(all, sh.documents)
	m := newSet(all)
	m.digest = set.digest
	sh.merged = append([]*Set{m}, sh.merged[:min(len(sh.merged), keptSets-1)]...)
	return m
}
