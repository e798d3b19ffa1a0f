package config

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
)

// The sides of a [Versions.Diff] beside published versions.
const (
	LiveSide  = "live"  // what new runs use
	DraftSide = "draft" // what is live, with all drafts published
)

// DocumentDiff is how a document differs between two sides.
type DocumentDiff struct {
	Key
	Op      string      `json:"op"` // add, remove or replace
	Changes []FieldDiff `json:"changes"`
}

// FieldDiff is how a field of a document differs. Secrets are shown as everywhere: as ***, or only whether they are set.
type FieldDiff struct {
	Path   string          `json:"path"` // a JSON Pointer
	Op     string          `json:"op"`   // add, remove or replace
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// The kinds of differences.
const (
	opAdd     = "add"
	opRemove  = "remove"
	opReplace = "replace"
)

// Document returns a document of a version as clients see it. awaken.ErrNotFound means that the version does not exist, or
// has no such document.
func (v *Versions) Document(ctx context.Context, number int64, key Key) (json.RawMessage, error) {
	s, err := v.side(ctx, strconv.FormatInt(number, 10))
	if err != nil {
		return nil, err
	}
	e, ok := s.entries[key]
	if !ok {
		return nil, fmt.Errorf("%s in version %d: %w", key, number, awaken.ErrNotFound)
	}
	docs, err := v.shown(ctx, s, []Entry{e})
	return docs[key], err
}

// side is a set of documents.
type side struct {
	entries map[Key]Entry
	raw     map[Key]json.RawMessage // those that are in no version
}

// side returns the documents of a version by its number, of LiveSide or of DraftSide.
func (v *Versions) side(ctx context.Context, name string) (*side, error) {
	number, err := strconv.ParseInt(name, 10, 64)
	switch {
	case name == LiveSide || name == DraftSide:
		head, err := v.store.Head(ctx)
		if err != nil {
			return nil, err
		}
		number = head.Live
	case err != nil || number < 1 || strconv.FormatInt(number, 10) != name:
		return nil, fmt.Errorf("%w: side is %q, want the number of a version, %s or %s", awaken.ErrInvalid, name, LiveSide, DraftSide)
	}
	s := &side{raw: map[Key]json.RawMessage{}}
	if s.entries, err = v.catalogue.entries(ctx, number); err != nil || name != DraftSide {
		return s, err
	}
	for _, ns := range Namespaces {
		for r, err := range v.records.stored(ctx, ns) {
			if err != nil {
				return nil, err
			}
			key := Key{ns, r.ID}
			if doc := effective(key, &r.Record); !r.Meta.Hidden && hashOf(doc) != s.entries[key].Hash {
				s.entries[key], s.raw[key] = Entry{key, hashOf(doc), r.Meta.Revision}, doc
			}
		}
	}
	return s, nil
}

// shown returns documents of a side as clients see them.
func (v *Versions) shown(ctx context.Context, s *side, list []Entry) (map[Key]json.RawMessage, error) {
	var hashes []string
	for _, e := range list {
		if s.raw[e.Key] == nil {
			hashes = append(hashes, e.Hash)
		}
	}
	stored, err := v.store.Documents(ctx, hashes...)
	if err != nil {
		return nil, err
	}
	out := make(map[Key]json.RawMessage, len(list))
	for _, e := range list {
		raw := s.raw[e.Key]
		if raw == nil {
			raw = stored[e.Hash]
		}
		if raw == nil {
			return nil, fmt.Errorf("document %s of %s: %w", e.Hash, e.Key, awaken.ErrNotFound)
		}
		if out[e.Key], err = redact(e.Namespace, raw); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Key, err)
		}
	}
	return out, nil
}

// Diff returns the differences between the documents of two sides, ordered by key: at most limit, after a key. A side is the number of a
// version, LiveSide or DraftSide. More reports whether there are further differences.
func (v *Versions) Diff(ctx context.Context, from, to string, after Key, limit int) (list []DocumentDiff, more bool, err error) {
	a, err := v.side(ctx, from)
	if err != nil {
		return nil, false, err
	}
	b, err := v.side(ctx, to)
	if err != nil {
		return nil, false, err
	}
	changed := map[Key]*document{}
	for key, e := range a.entries {
		if b.entries[key].Hash != e.Hash {
			changed[key] = nil
		}
	}
	for key, e := range b.entries {
		if a.entries[key].Hash != e.Hash {
			changed[key] = nil
		}
	}
	keys := slices.DeleteFunc(sortedKeys(changed), func(k Key) bool { return compareKeys(k, after) <= 0 })
	if more = len(keys) > limit; more {
		keys = keys[:limit]
	}
	before, err := v.shown(ctx, a, a.of(keys))
	if err != nil {
		return nil, false, err
	}
	now, err := v.shown(ctx, b, b.of(keys))
	if err != nil {
		return nil, false, err
	}
	for _, key := range keys {
		d, err := compare(key, before[key], now[key])
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", key, err)
		}
		list = append(list, d)
	}
	return list, more, nil
}

// of returns the entries of keys, as far as the side has them.
func (s *side) of(keys []Key) (out []Entry) {
	for _, key := range keys {
		if e, ok := s.entries[key]; ok {
			out = append(out, e)
		}
	}
	return out
}

// compare returns how a document, nil if there is none, differs from another one.
func compare(key Key, before, after json.RawMessage) (DocumentDiff, error) {
	d := DocumentDiff{Key: key, Op: opReplace, Changes: []FieldDiff{}}
	var trees [2]any
	for i, doc := range []json.RawMessage{before, after} {
		tree, err := parseOptional(doc)
		if err != nil {
			return d, err
		}
		trees[i] = tree
	}
	switch {
	case before == nil:
		d.Op = opAdd
	case after == nil:
		d.Op = opRemove
	}
	d.add(nil, trees[0], trees[1])
	return d, nil
}

// add adds the differences between two values at a path. Objects are compared by name. Lists are compared by position, apart
// from what they have in common at the beginning and at the end.
func (d *DocumentDiff) add(path []string, before, after any) {
	path = slices.Clip(path)
	if reflect.DeepEqual(before, after) {
		return
	}
	old, wasObject := before.(map[string]any)
	now, isObject := after.(map[string]any)
	if wasObject && isObject {
		names := maps.Clone(old)
		maps.Copy(names, now)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			at := append(path, name)
			b, had := old[name]
			a, has := now[name]
			switch {
			case had && has:
				d.add(at, b, a)
			case has:
				d.Changes = append(d.Changes, FieldDiff{Path: pointer(at), Op: opAdd, After: encode(a)})
			default:
				d.Changes = append(d.Changes, FieldDiff{Path: pointer(at), Op: opRemove, Before: encode(b)})
			}
		}
		return
	}
	oldList, wasList := before.([]any)
	list, isList := after.([]any)
	if !wasList || !isList {
		d.Changes = append(d.Changes, FieldDiff{Path: pointer(path), Op: opReplace, Before: encode(before), After: encode(after)})
		return
	}
	first := 0
	for first < min(len(oldList), len(list)) && reflect.DeepEqual(oldList[first], list[first]) {
		first++
	}
	same := 0
	for same < min(len(oldList), len(list))-first && reflect.DeepEqual(oldList[len(oldList)-1-same], list[len(list)-1-same]) {
		same++
	}
	for i := first; i < max(len(oldList), len(list))-same; i++ {
		at := append(path, strconv.Itoa(i))
		switch {
		case i < len(oldList)-same && i < len(list)-same:
			d.add(at, oldList[i], list[i])
		case i < len(list)-same:
			d.Changes = append(d.Changes, FieldDiff{Path: pointer(at), Op: opAdd, After: encode(list[i])})
		default:
			d.Changes = append(d.Changes, FieldDiff{Path: pointer(at), Op: opRemove, Before: encode(oldList[i])})
		}
	}
}

// Pins counts the unfinished runs of all tenants by the version that they are pinned to and their agent, newest version
// first.
func (v *Versions) Pins(ctx context.Context) ([]Pin, error) {
	list, err := v.store.Pins(ctx)
	slices.SortFunc(list, func(a, b Pin) int {
		return cmp.Or(cmp.Compare(b.Version, a.Version), strings.Compare(a.AgentID, b.AgentID))
	})
	return list, err
}
