package file

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/profile"
)

const profilesDir = "profiles"

// Profile implements [profile.Store] in the folder of a [Store]: one file for each
// entry, written anew with each change. It is closed with its Store.
type Profile struct{ s *Store }

// Profile returns the store's profile entries.
func (s *Store) Profile() *Profile { return &Profile{s} }

func profilePath(namespace, key string) string {
	return profilesDir + "/" + fileName(namespace) + "/" + fileName(key) + ".json"
}

// Get returns an entry, or nil.
func (p *Profile) Get(_ context.Context, namespace, key string) (*profile.Entry, error) {
	if err := p.s.enter(); err != nil {
		return nil, err
	}
	defer p.s.life.RUnlock()
	return p.read(profilePath(namespace, key))
}

func (p *Profile) read(path string) (*profile.Entry, error) {
	data, err := p.s.root.ReadFile(path)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var e profile.Entry
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if want := profilePath(e.Namespace, e.Key); path != want {
		return nil, fmt.Errorf("%s holds an entry whose file is called %s", path, want)
	}
	return &e, nil
}

// Set creates or replaces an entry.
func (p *Profile) Set(_ context.Context, namespace, key string, value json.RawMessage) error {
	s := p.s
	if err := s.enter(); err != nil {
		return err
	}
	defer s.life.RUnlock()
	if err := checkID("profile namespace", namespace); err != nil {
		return err
	}
	if err := checkID("profile key", key); err != nil {
		return err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(profile.Entry{Namespace: namespace, Key: key, Value: value, UpdatedAt: s.opts.Now()}); err != nil {
		return fmt.Errorf("profile %s of %s: %w", namespace, key, err)
	}
	path := profilePath(namespace, key)
	dir := profilesDir + "/" + fileName(namespace)
	if err := s.makeNamespace(dir); err != nil {
		return err
	}
	// Each writer has a file of its own until it is renamed, so that they need no lock.
	return s.replaceVia(s.root, path, dir+"/.tmp-"+ids.New(), buf.Bytes())
}

// makeNamespace makes the folder of a namespace. Its name is durable when it returns,
// also if somebody else has made it, or is about to.
func (s *Store) makeNamespace(dir string) error {
	s.making.Lock()
	defer s.making.Unlock()
	if s.namespaces[dir] {
		return nil
	}
	if err := s.root.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	for _, parent := range []string{".", profilesDir} {
		if err := s.syncDir(s.root, parent); err != nil {
			return err
		}
	}
	s.namespaces[dir] = true
	return nil
}

// Delete removes an entry.
func (p *Profile) Delete(_ context.Context, namespace, key string) error {
	if err := p.s.enter(); err != nil {
		return err
	}
	defer p.s.life.RUnlock()
	return p.remove(fileName(namespace), fileName(key)+".json")
}

func (p *Profile) remove(dir, name string) error {
	dir = profilesDir + "/" + dir
	if err := p.s.root.Remove(dir + "/" + name); err != nil && !missing(err) {
		return err
	}
	// Also if it was not there: perhaps somebody has just removed it.
	if err := p.s.syncDir(p.s.root, dir); err != nil && !missing(err) {
		return err
	}
	return nil
}

// List returns the entries of a namespace, sorted by key.
func (p *Profile) List(_ context.Context, namespace string) ([]profile.Entry, error) {
	if err := p.s.enter(); err != nil {
		return nil, err
	}
	defer p.s.life.RUnlock()
	dir := profilesDir + "/" + fileName(namespace)
	names, err := listDir(p.s.root, dir)
	if err != nil {
		return nil, err
	}
	var out []profile.Entry
	for _, name := range names {
		if !isEntry(name) {
			continue
		}
		e, err := p.read(dir + "/" + name)
		if err != nil {
			return nil, err
		}
		if e != nil {
			out = append(out, *e)
		}
	}
	slices.SortFunc(out, func(a, b profile.Entry) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

func isEntry(name string) bool {
	return strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".")
}

// Clear removes what an entity left behind, in all namespaces.
func (p *Profile) Clear(_ context.Context, key string) error {
	if err := p.s.enter(); err != nil {
		return err
	}
	defer p.s.life.RUnlock()
	dirs, err := p.s.listNamespaces()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := p.remove(dir, fileName(key)+".json"); err != nil {
			return err
		}
	}
	return nil
}

// listNamespaces returns the folders of the namespaces.
func (s *Store) listNamespaces() ([]string, error) {
	names, err := listDir(s.root, profilesDir)
	return slices.DeleteFunc(names, func(name string) bool {
		info, err := s.root.Stat(profilesDir + "/" + name)
		return err != nil || !info.IsDir()
	}), err
}

// cleanProfiles removes what writers left behind that died in the middle.
func (s *Store) cleanProfiles() error {
	dirs, err := s.listNamespaces()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		names, err := listDir(s.root, profilesDir+"/"+dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if strings.HasPrefix(name, ".tmp-") {
				if err := s.root.Remove(profilesDir + "/" + dir + "/" + name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

var _ profile.Store = (*Profile)(nil)
