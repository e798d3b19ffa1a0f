package file

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/state/profile"
)

const profilesDir = "profiles"

// Profile implements [profile.Store] in the folder of a [Store], with one file for each
// entry. It is closed with its Store.
type Profile struct {
	*profileFolder
	mark json.RawMessage // of the values that it writes, or nil
}

type profileFolder struct {
	gate   *gate
	folder *folder
	now    func() time.Time

	comparing sync.RWMutex // excludes other writers while an entry is compared and set

	making     sync.Mutex
	namespaces map[string]bool // folders that are durable; guarded by making
}

func profilePath(namespace, key string) string {
	return profilesDir + "/" + fileName(namespace) + "/" + fileName(key) + ".json"
}

// Marked returns the store for a writer whose values carry a mark.
func (p *Profile) Marked(mark json.RawMessage) profile.Store {
	return &Profile{p.profileFolder, slices.Clone(mark)}
}

// Get returns an entry, or nil if there is none.
func (p *Profile) Get(_ context.Context, namespace, key string) (*profile.Entry, error) {
	if err := p.gate.enter(); err != nil {
		return nil, err
	}
	defer p.gate.leave()
	return p.read(profilePath(namespace, key))
}

func (p *Profile) read(path string) (*profile.Entry, error) {
	data, err := p.folder.root.ReadFile(path)
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
		return nil, fmt.Errorf("%s holds an entry that belongs in %s", path, want)
	}
	return &e, nil
}

// Set creates or replaces an entry.
func (p *Profile) Set(_ context.Context, namespace, key string, value json.RawMessage) error {
	if err := p.gate.enter(); err != nil {
		return err
	}
	defer p.gate.leave()
	p.comparing.RLock()
	defer p.comparing.RUnlock()
	return p.write(namespace, key, value)
}

// CompareAndSet sets an entry if its value is still old.
func (p *Profile) CompareAndSet(_ context.Context, namespace, key string, old, value json.RawMessage) (bool, error) {
	if err := p.gate.enter(); err != nil {
		return false, err
	}
	defer p.gate.leave()
	p.comparing.Lock()
	defer p.comparing.Unlock()
	switch e, err := p.read(profilePath(namespace, key)); {
	case err != nil:
		return false, err
	case (e != nil) != (old != nil) || e != nil && !bytes.Equal(e.Value, old):
		return false, nil
	}
	var err error
	if value == nil {
		err = p.remove(fileName(namespace), fileName(key)+".json")
	} else {
		err = p.write(namespace, key, value)
	}
	return err == nil, err
}

func (p *Profile) write(namespace, key string, value json.RawMessage) error {
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
	if err := enc.Encode(profile.Entry{Namespace: namespace, Key: key, Value: value, UpdatedAt: p.now(), Mark: p.mark}); err != nil {
		return fmt.Errorf("profile %s of %s: %w", namespace, key, err)
	}
	path := profilePath(namespace, key)
	dir := profilesDir + "/" + fileName(namespace)
	if err := p.makeNamespace(dir); err != nil {
		return err
	}
	// Each writer has its own temporary file, so writers need no lock.
	return p.folder.replaceVia(path, dir+"/.tmp-"+ids.New(), buf.Bytes())
}

// makeNamespace creates the folder of a namespace. When it returns, the name is durable,
// even if another writer has created it.
func (p *Profile) makeNamespace(dir string) error {
	p.making.Lock()
	defer p.making.Unlock()
	if p.namespaces[dir] {
		return nil
	}
	if err := p.folder.root.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	for _, parent := range []string{".", profilesDir} {
		if err := p.folder.syncDir(parent); err != nil {
			return err
		}
	}
	p.namespaces[dir] = true
	return nil
}

// Delete removes an entry.
func (p *Profile) Delete(_ context.Context, namespace, key string) error {
	if err := p.gate.enter(); err != nil {
		return err
	}
	defer p.gate.leave()
	p.comparing.RLock()
	defer p.comparing.RUnlock()
	return p.remove(fileName(namespace), fileName(key)+".json")
}

func (p *Profile) remove(dir, name string) error {
	dir = profilesDir + "/" + dir
	if err := p.folder.root.Remove(dir + "/" + name); err != nil && !missing(err) {
		return err
	}
	// Sync even if it was missing: another goroutine may just have removed it.
	if err := p.folder.syncDir(dir); err != nil && !missing(err) {
		return err
	}
	return nil
}

// List returns the entries of a namespace, sorted by key.
func (p *Profile) List(_ context.Context, namespace string) ([]profile.Entry, error) {
	if err := p.gate.enter(); err != nil {
		return nil, err
	}
	defer p.gate.leave()
	dir := profilesDir + "/" + fileName(namespace)
	names, err := p.folder.list(dir)
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

// Page returns some of the entries of a namespace.
func (p *Profile) Page(_ context.Context, namespace string, page profile.Page) ([]profile.Entry, error) {
	if err := p.gate.enter(); err != nil {
		return nil, err
	}
	defer p.gate.leave()
	dir := profilesDir + "/" + fileName(namespace)
	names, err := p.folder.list(dir)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, name := range names {
		if !isEntry(name) {
			continue
		}
		e, err := p.begin(dir+"/"+name, profile.Page{Size: 1})
		if err != nil {
			return nil, err
		}
		if e != nil {
			keys = append(keys, e.Key)
		}
	}
	var out []profile.Entry
	for _, key := range page.Select(keys) {
		path := profilePath(namespace, key)
		var e *profile.Entry
		if page.Size > 0 {
			e, err = p.begin(path, page)
		} else {
			e, err = p.read(path)
		}
		if err != nil {
			return nil, err
		}
		if e != nil { // it was not removed meanwhile
			out = append(out, *e)
		}
	}
	return out, nil
}

// besides is more than what a file has beside the value of its entry.
const besides = 16 << 10

// begin reads an entry, with its value cut, or nil if there is none.
func (p *Profile) begin(path string, page profile.Page) (*profile.Entry, error) {
	f, err := p.folder.root.Open(path)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var e profile.Entry
	data, err := io.ReadAll(io.LimitReader(f, int64(page.Size+besides)))
	if err == nil && int64(len(data)) == info.Size() {
		err = json.Unmarshal(data, &e)
		e.Value = page.Cut(e.Value)
	} else if err == nil {
		dec := json.NewDecoder(bytes.NewReader(data))
		for _, into := range []any{nil, nil, &e.Namespace, nil, &e.Key, nil} { // { "namespace" … "key" … "value"
			if into == nil {
				_, err = dec.Token()
			} else {
				err = dec.Decode(into)
			}
			if err != nil {
				break
			}
		}
		e.Value, e.UpdatedAt = page.Cut(bytes.TrimLeft(data[dec.InputOffset():], ": ")), info.ModTime() // that of the entry is behind its value
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &e, nil
}

func isEntry(name string) bool {
	return strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".")
}

// Clear removes the entries of a key in all namespaces.
func (p *Profile) Clear(_ context.Context, key string) error {
	if err := p.gate.enter(); err != nil {
		return err
	}
	defer p.gate.leave()
	p.comparing.RLock()
	defer p.comparing.RUnlock()
	dirs, err := p.listNamespaces()
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
func (p *Profile) listNamespaces() ([]string, error) {
	names, err := p.folder.list(profilesDir)
	return slices.DeleteFunc(names, func(name string) bool {
		info, err := p.folder.root.Stat(profilesDir + "/" + name)
		return err != nil || !info.IsDir()
	}), err
}

// clean removes temporary files that dying processes left behind.
func (p *Profile) clean() error {
	dirs, err := p.listNamespaces()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		names, err := p.folder.list(profilesDir + "/" + dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if strings.HasPrefix(name, ".tmp-") {
				if err := p.folder.root.Remove(profilesDir + "/" + dir + "/" + name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

var _ profile.Store = (*Profile)(nil)
