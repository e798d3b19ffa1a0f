package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/state/profile"
)

// Archive keeps datasets and runs in a profile. It is safe for concurrent use.
type Archive struct {
	values profile.Store
	now    func() time.Time
}

// New returns the archive in a profile.
func New(values profile.Store) *Archive { return &Archive{values: values, now: time.Now} }

const datasetsNamespace = "eval_datasets"

// MaxDataset is the maximum size of a dataset, in bytes of JSON.
const MaxDataset = 20 << 20

// Dataset is a stored dataset.
type Dataset struct {
	Spec eval.Dataset `json:"spec"`
	Meta Meta         `json:"meta"`
}

// Meta is the metadata of a dataset.
type Meta struct {
	Source    Source `json:"source"`
	Hidden    bool   `json:"hidden"`
	CreatedAt int64  `json:"created_at"` // Unix ms
	UpdatedAt int64  `json:"updated_at"` // Unix ms
	UpdatedBy string `json:"updated_by,omitempty"`
	Revision  int64  `json:"revision"` // counts the writes
}

// Source says where a dataset comes from. All come from users.
type Source struct {
	Kind string `json:"kind"`
}

// Summary is a dataset in a list.
type Summary struct {
	ID          string
	Description string
	Fixtures    int
	Meta        Meta
}

// stored is the stored form of a dataset. The fields that lists show come first, so that a list reads only the first bytes.
type stored struct {
	Meta        Meta         `json:"meta"`
	Fixtures    int          `json:"fixtures"`
	Description string       `json:"description"` // the first bytes
	Spec        eval.Dataset `json:"spec"`
}

const (
	maxShown = 1000    // bytes of a description in a list
	headSize = 8 << 10 // bytes that have what a list shows, however it is escaped
	atOnce   = 50      // datasets or runs that are read at a time
)

// Datasets returns the datasets by id, whose descriptions are cut after 1,000 bytes. It does not read the fixtures, and holds only some datasets in memory.
func (a *Archive) Datasets(ctx context.Context) iter.Seq2[Summary, error] {
	return func(yield func(Summary, error) bool) {
		for e, err := range a.pages(ctx, datasetsNamespace, profile.Page{Limit: atOnce, Size: headSize}) {
			var s Summary
			if err == nil {
				s, err = a.summary(ctx, e)
			}
			if errors.Is(err, awaken.ErrNotFound) { // it was deleted meanwhile
				continue
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// pages returns the entries of a namespace, page by page.
func (a *Archive) pages(ctx context.Context, namespace string, p profile.Page) iter.Seq2[*profile.Entry, error] {
	return func(yield func(*profile.Entry, error) bool) {
		for {
			entries, err := a.values.Page(ctx, namespace, p)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range entries {
				if !yield(&entries[i], nil) {
					return
				}
			}
			if len(entries) < p.Limit {
				return
			}
			p.After = entries[len(entries)-1].Key
		}
	}
}

// summary returns what a list shows of a dataset, of which only the first bytes may have been read.
func (a *Archive) summary(ctx context.Context, e *profile.Entry) (Summary, error) {
	out := Summary{ID: e.Key}
	dec := json.NewDecoder(bytes.NewReader(e.Value))
	_, err := dec.Token() // {
	for _, into := range []struct {
		name  string
		value any
	}{{"meta", &out.Meta}, {"fixtures", &out.Fixtures}, {"description", &out.Description}} {
		var name json.Token
		if err == nil {
			name, err = dec.Token()
		}
		if err == nil && name != into.name {
			return a.older(ctx, e.Key)
		}
		if err == nil {
			err = dec.Decode(into.value)
		}
	}
	if err != nil {
		return out, fmt.Errorf("dataset %q: %w", e.Key, err)
	}
	return out, nil
}

// older is summary of a dataset that an older version has stored, which is read as a whole.
func (a *Archive) older(ctx context.Context, id string) (Summary, error) {
	d, err := a.Dataset(ctx, id)
	if err != nil {
		return Summary{}, err
	}
	return Summary{id, shown(d.Spec.Description), len(d.Spec.Fixtures), d.Meta}, nil
}

// shown returns as much of a description as a list shows.
func shown(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "")
}

// Dataset returns a dataset, or awaken.ErrNotFound.
func (a *Archive) Dataset(ctx context.Context, id string) (*Dataset, error) {
	d, _, err := a.dataset(ctx, id)
	return d, err
}

// dataset returns a dataset, and its entry to compare with.
func (a *Archive) dataset(ctx context.Context, id string) (*Dataset, json.RawMessage, error) {
	return get[Dataset](ctx, a, datasetsNamespace, "dataset", id)
}

// get returns an entry, decoded and as it is stored, or awaken.ErrNotFound. The noun is for errors.
func get[T any](ctx context.Context, a *Archive, namespace, noun, id string) (*T, json.RawMessage, error) {
	e, err := a.values.Get(ctx, namespace, id)
	if err != nil {
		return nil, nil, err
	}
	if e == nil {
		return nil, nil, fmt.Errorf("%s %q: %w", noun, id, awaken.ErrNotFound)
	}
	v := new(T)
	if err := json.Unmarshal(e.Value, v); err != nil {
		return nil, nil, fmt.Errorf("%s %q: %w", noun, id, err)
	}
	return v, e.Value, nil
}

// Create stores a new dataset. It returns awaken.ErrConflict if the ID exists, and awaken.ErrInvalid if it is larger than [MaxDataset].
func (a *Archive) Create(ctx context.Context, id string, spec *eval.Dataset, by string) (*Dataset, error) {
	now := a.now().UnixMilli()
	d := &Dataset{Spec: *spec, Meta: Meta{Source: Source{"user"}, CreatedAt: now, UpdatedAt: now, UpdatedBy: by, Revision: 1}}
	if err := a.set(ctx, id, nil, d); err != nil {
		return nil, err
	}
	return d, nil
}

func (a *Archive) set(ctx context.Context, id string, old json.RawMessage, d *Dataset) error {
	if d.Spec.Fixtures == nil {
		d.Spec.Fixtures = []eval.Fixture{}
	}
	data, err := json.Marshal(stored{d.Meta, len(d.Spec.Fixtures), shown(d.Spec.Description), d.Spec})
	if err != nil {
		return err
	}
	if len(data) > MaxDataset {
		return fmt.Errorf("dataset %q: %w: it would have %d bytes; want at most %d: put some of its fixtures into another dataset", id, awaken.ErrInvalid, len(data), MaxDataset)
	}
	return a.swap(ctx, id, old, data)
}

// swap replaces what is stored of a dataset; nil means nothing.
func (a *Archive) swap(ctx context.Context, id string, old, data json.RawMessage) error {
	ok, err := a.values.CompareAndSet(ctx, datasetsNamespace, id, old, data)
	switch {
	case err != nil:
		return err
	case !ok && old == nil:
		return fmt.Errorf("dataset %q: %w: it already exists", id, awaken.ErrConflict)
	case !ok:
		return fmt.Errorf("dataset %q: %w: it was changed at the same time", id, awaken.ErrConflict)
	}
	return nil
}

// ErrUnchanged is returned by the change function of [Archive.Change] to keep the dataset as it is.
var ErrUnchanged = errors.New("nothing is changed")

// Change replaces a dataset that has the expected revision with the result of change; -1 takes any. It returns awaken.ErrNotFound, or
// awaken.ErrConflict if the revision is another one, or awaken.ErrInvalid if it is larger than [MaxDataset]. If change fails or returns
// [ErrUnchanged], nothing is written; after ErrUnchanged, Change returns the dataset.
func (a *Archive) Change(ctx context.Context, id string, expected int64, by string, change func(*eval.Dataset) error) (*Dataset, error) {
	d, old, err := a.dataset(ctx, id)
	if err != nil {
		return nil, err
	}
	if expected >= 0 && d.Meta.Revision != expected {
		return nil, stale(id, d.Meta.Revision, expected)
	}
	switch err := change(&d.Spec); {
	case errors.Is(err, ErrUnchanged):
		return d, nil
	case err != nil:
		return nil, err
	}
	d.Meta.Revision++
	d.Meta.UpdatedAt, d.Meta.UpdatedBy = a.now().UnixMilli(), by
	return d, a.set(ctx, id, old, d)
}

// Delete deletes a dataset that has the expected revision, and returns it; -1 takes any. It returns awaken.ErrNotFound, or awaken.ErrConflict if
// the revision is another one or the dataset is changed at the same time.
func (a *Archive) Delete(ctx context.Context, id string, expected int64) (*Dataset, error) {
	d, old, err := a.dataset(ctx, id)
	if err != nil {
		return nil, err
	}
	if expected >= 0 && d.Meta.Revision != expected {
		return nil, stale(id, d.Meta.Revision, expected)
	}
	return d, a.swap(ctx, id, old, nil)
}

func stale(id string, revision, expected int64) error {
	return fmt.Errorf("dataset %q: %w: its revision is %d, not %d", id, awaken.ErrConflict, revision, expected)
}
